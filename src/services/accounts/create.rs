//! Creates accounts for the operator: in live the only way to the first one (`docs/decisions.md`, 317).

use entity::account::TransfersSchedule;
use entity::api_key::KeyKind;
use entity::audit_entry::Action;
use entity::bank_account::{self, BankAccountState};
use entity::installation;
use sea_orm::EntityTrait;
use serde_json::json;
use store::Tx;

use super::{ApiKeyPair, FIRST_ACCOUNT, NewAccount};
use crate::config::Environment;
use crate::error::Error;
use crate::params::{FieldErrors, Params};
use crate::services::accounts::params::NewAccount as NewAccountParams;
use crate::services::accounts::view::AccountKeys;
use crate::services::audit::{self, OperatorAction};
use crate::services::bank_accounts;
use crate::services::context::{Account, Context};

/// Returns the validated parameters, or every fault that can be found without a database.
pub fn checked(mut params: Params<NewAccountParams>) -> Result<NewAccountParams, FieldErrors> {
    if let Some(given) = &params.value.bank_account {
        bank_accounts::check(given, BANK_ACCOUNT, &mut params.faults);
    }
    params.valid()
}

const BANK_ACCOUNT: &str = "bank_account.";

/// Creates an account. In test it opens like a sandbox account, with money and a bank account for trying payouts, and
/// the first one of a database is the one whose keys the server prints. In live it opens with nothing and a daily
/// payout schedule.
///
/// Refusals: `invalid_resource` if a key already belongs to an account.
pub async fn create(
    ctx: &Context,
    environment: Environment,
    keys: &ApiKeyPair,
    params: NewAccountParams,
) -> Result<AccountKeys, Error> {
    let mut new = NewAccount::new(ctx, &params.business_name, &params.email, keys);
    new.row.partner = params.partner;
    if environment == Environment::Live {
        new.opens_with_nothing();
    }
    if let Some(given) = &params.bank_account {
        let account = Account::new(new.row.clone(), ctx.clock.now());
        let row = bank_accounts::validate(ctx, &account, given, BANK_ACCOUNT, &mut FieldErrors::default());
        new.row.bank_account_id = row.as_ref().map(|row| row.id);
        new.bank_account = row.map(|row| bank_account::Model { state: BankAccountState::Attached, ..row });
    }
    let shown = AccountKeys {
        token: new.row.id,
        business_name: params.business_name,
        secret_key: keys.secret.expose().into(),
        publishable_key: keys.publishable.expose().into(),
    };
    ctx.store
        .write((new, environment), async |tx, (new, environment)| new.made(tx, *environment).await)
        .await?;
    Ok(shown)
}

impl NewAccount {
    fn opens_with_nothing(&mut self) {
        (self.deposit, self.bank_account, self.row.bank_account_id) = (None, None, None);
        self.row.transfers_schedule = TransfersSchedule::Daily;
        self.row.settles_at = TransfersSchedule::Daily.next_after(self.row.created_at);
    }

    async fn made(&self, tx: &Tx, environment: Environment) -> Result<(), Error> {
        let mut faults = FieldErrors::default();
        for kind in self.taken_keys(tx).await? {
            let param = match kind {
                KeyKind::Secret => "secret_key",
                KeyKind::Publishable => "publishable_key",
                // A new account has none.
                KeyKind::Restricted => continue,
            };
            faults.add(param, "is somebody's already");
        }
        if !faults.is_empty() {
            return Err(faults.into());
        }
        if environment == Environment::Test
            && installation::Entity::find_by_id(FIRST_ACCOUNT).one(tx).await?.is_none()
        {
            let value = self.row.id.to_string();
            tx.append(&installation::Model { name: FIRST_ACCOUNT.into(), value });
        }
        self.record(tx).await?;
        let detail = json!({ "business_name": self.row.business_name, "partner": self.row.partner });
        audit::record(tx, &OperatorAction::on(Action::AccountCreated, self.row.id, detail))
    }
}
