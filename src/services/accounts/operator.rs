//! Lists and changes accounts for operators.

use entity::AccountToken;
use entity::account::{self, Column};
use entity::audit_entry::Action;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
use serde_json::json;

use super::settings;
use crate::Store;
use crate::error::Error;
use crate::params::values::BLANK;
use crate::params::{self, Params};
use crate::services::accounts::params::ChangedSettings;
use crate::services::accounts::view::AccountSettings;
use crate::services::audit::{self, OperatorAction};
use crate::services::context::Account;

/// The number of accounts that are read at a time.
const PAGE: u64 = 500;

/// Passes every account to `on_account`, oldest first.
pub async fn list<E: From<Error>>(
    store: &Store,
    mut on_account: impl FnMut(AccountSettings) -> Result<(), E>,
) -> Result<(), E> {
    let mut last = None;
    loop {
        let accounts = list_after(store, last, PAGE).await?;
        let Some(account) = accounts.last() else { return Ok(()) };
        last = Some(account.token);
        for account in accounts {
            on_account(account)?;
        }
    }
}

/// Returns up to `limit` accounts newer than `last`, oldest first.
pub async fn list_after(
    store: &Store,
    last: Option<AccountToken>,
    limit: u64,
) -> Result<Vec<AccountSettings>, Error> {
    let mut accounts = account::Entity::find().filter(Column::ClosedAt.is_null()).order_by_asc(Column::Id);
    if let Some(last) = last {
        accounts = accounts.filter(Column::Id.gt(last));
    }
    let accounts = accounts.limit(limit).all(store.read()).await?;
    Ok(accounts.into_iter().map(AccountSettings::from).collect())
}

/// Changes a switch or setting; `word` is its parameter name.
///
/// Refusals: `invalid_resource`.
pub async fn change(
    store: &Store,
    account: &Account,
    word: &str,
    value: &str,
) -> Result<AccountSettings, Error> {
    let to = ChangedSettings::parameters(word, &json!(value));
    let Params { value, mut faults } = params::read::<ChangedSettings>(&to);
    if faults.is_empty() && value.is_empty() {
        faults.add(word, BLANK);
    }
    let changes = Params { value, faults }.valid()?;
    let act = OperatorAction::on(Action::AccountChanged, account.id(), to);
    let change = (account.id(), account.now, changes, act);
    let unit = store.write(change, async |tx, (id, now, changes, act)| {
        let account = settings::record(tx, *id, *now, changes).await?;
        audit::record(tx, act)?;
        Ok(account)
    });
    unit.await.map(AccountSettings::from)
}
