//! Accounts, their API keys, and the first account.

pub mod access;
mod account_row;
mod authenticate;
pub mod create;
pub mod faults;
mod kept;
pub mod key_params;
pub mod key_view;
pub mod keys;
pub mod named_rows;
pub mod operator;
pub mod params;
pub mod restricted_keys;
pub mod settings;
pub mod snapshot_rows;
pub mod stored_json;
pub mod stored_rows;
pub mod view;
pub mod wipe;

use entity::account::TransfersSchedule;
use entity::api_key::KeyKind;
use entity::bank_account::BankAccountState;
use entity::merchant::MerchantStatus;
use entity::pricing::Pricing;
use entity::{
    AccountToken, JsonText, Owned, TimeSpan, Timestamp, account, api_key, bank_account, deposit, installation,
};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder};
use store::Tx;
use vault::Vault;

pub use self::account_row::{AccountJoin, IS_PRESENT};
pub use self::authenticate::{
    AuthenticatedAccount, authenticate, authenticate_and_find, authenticate_hashed, find_with_account,
    key_hash,
};
pub use self::kept::{authenticate_payment, find_changed};
use base::random::{RandomSource, RandomStream};
use base::secret::Secret;

use crate::Store;
use crate::error::Error;
use crate::limits::{
    MAXIMUM_CHARGE_CENTS, OPENING_DEPOSIT_CENTS, RETENTION_DAYS_MIN, SETTLEMENT_DELAY_DAYS,
    THIRD_PARTY_TRANSFER_FEE_CENTS,
};
use crate::services::context::{Account, Context};
use crate::services::data_keys::unseal;
use crate::services::{bank_accounts, deposits};

/// An account's pair of API keys.
#[derive(Debug, Clone, Default)]
pub struct ApiKeyPair {
    /// The key for servers.
    pub secret: Secret,
    /// The key for browsers.
    pub publishable: Secret,
}

impl ApiKeyPair {
    /// Generates a new pair.
    pub fn mint(random: &RandomSource) -> Self {
        let publishable = format!("pk_{}", random.token22(RandomStream::PublishableKey));
        Self { secret: random.token22(RandomStream::SecretKey).into(), publishable: publishable.into() }
    }
}

/// Finds the account that an operator names, `wall` being the wall clock's now. `None` if it does not exist or is
/// deleted.
pub async fn find_by_token(
    store: &Store,
    token: AccountToken,
    wall: Timestamp,
) -> Result<Option<Account>, Error> {
    let row = account::Entity::find_by_id(token).one(store.read()).await?;
    Ok(row.filter(|row| row.closed_at.is_none()).map(|row| Account::new(row, wall)))
}

/// Creates the first account of an empty test database, or adds the given keys to it, as every start does. A key that
/// is not given stays the one the account has, or is generated. Returns the pair to use.
pub async fn ensure_first_account(
    ctx: &Context,
    secret: Option<Secret>,
    publishable: Option<Secret>,
) -> Result<ApiKeyPair, Error> {
    let given_or = |known: ApiKeyPair| ApiKeyPair {
        secret: secret.clone().unwrap_or(known.secret),
        publishable: publishable.clone().unwrap_or(known.publishable),
    };
    let keys = given_or(ApiKeyPair::mint(&ctx.random));
    let new = NewAccount::new(ctx, "First account", "first@example.com", &keys);
    let existing = ctx
        .store
        .write(new, async |tx, new| {
            // If two servers start at once on an empty database, one creates the account.
            if let Some(made) = installation::Entity::find_by_id(FIRST_ACCOUNT).one(tx).await? {
                return Ok(made.value.parse::<AccountToken>().ok());
            }
            let value = new.row.id.to_string();
            // Inserted at once: the other one waits here, before it looks whether its key is another account's, and then runs again.
            tx.insert(&installation::Model { name: FIRST_ACCOUNT.into(), value }).await?;
            new.record(tx).await?;
            Ok(None)
        })
        .await?;
    let Some(account) = existing else { return Ok(keys) };
    let keys = given_or(shown_keys(ctx, account).await?);
    let mut rows = key_rows(ctx, account, &keys).to_vec();
    rows.retain(|row| match row.kind {
        KeyKind::Secret => secret.is_some(),
        KeyKind::Publishable => publishable.is_some(),
        // Of no pair.
        KeyKind::Restricted => false,
    });
    ctx.store.write(rows, async |tx, rows| add_keys(tx, rows).await).await?;
    Ok(keys)
}

/// The installation entry that names the first account.
const FIRST_ACCOUNT: &str = "first_account";

/// Finds the first account, which a test database has.
pub async fn first(store: &Store) -> Result<AccountToken, Error> {
    let made = installation::Entity::find_by_id(FIRST_ACCOUNT).one(store.read()).await?;
    made.and_then(|made| made.value.parse().ok()).ok_or_else(|| Error::internal("there is no first account"))
}

/// An account that is not recorded yet.
pub struct NewAccount {
    pub row: account::Model,
    keys: [api_key::Model; 2],
    bank_account: Option<bank_account::Model>,
    deposit: Option<deposit::Model>,
}

impl NewAccount {
    /// Makes an account with these keys, every switch on, the opening deposit and its own bank account.
    pub fn new(ctx: &Context, business_name: &str, email: &str, keys: &ApiKeyPair) -> Self {
        let mut row = opening(ctx.ids.token(), business_name, email, ctx.clock.now());
        let bank_account = bank_accounts::own(ctx, &row);
        row.bank_account_id = Some(bank_account.id);
        let deposit = Some(opening_deposit(ctx, &row));
        Self { keys: key_rows(ctx, row.id, keys), row, bank_account: Some(bank_account), deposit }
    }

    /// Makes an account with these keys that holds only its owner's bank account. The given row belongs to no account
    /// yet.
    pub fn with(
        ctx: &Context,
        mut row: account::Model,
        keys: &ApiKeyPair,
        bank_account: bank_account::Model,
    ) -> Self {
        row.bank_account_id = Some(bank_account.id);
        let bank_account = bank_account::Model { state: BankAccountState::Attached, ..bank_account };
        Self { keys: key_rows(ctx, row.id, keys), row, bank_account: Some(bank_account), deposit: None }
    }

    /// Returns the kinds of its keys that already belong to an account.
    pub async fn taken_keys(&self, tx: &Tx) -> Result<Vec<KeyKind>, Error> {
        let mut taken = Vec::new();
        for key in &self.keys {
            if api_key::Entity::find_by_id(key.hash.clone()).one(tx).await?.is_some() {
                taken.push(key.kind);
            }
        }
        Ok(taken)
    }

    /// Records the account, its keys, bank account and deposit.
    pub async fn record(&self, tx: &Tx) -> Result<(), Error> {
        add_keys(tx, &self.keys).await?;
        tx.append(&self.row);
        if let Some(bank_account) = &self.bank_account {
            tx.append(bank_account);
        }
        match &self.deposit {
            Some(deposit) => deposits::book(tx, deposit).await,
            None => Ok(()),
        }
    }
}

fn key_rows(ctx: &Context, account: AccountToken, keys: &ApiKeyPair) -> [api_key::Model; 2] {
    let wall = ctx.clock.now();
    [(KeyKind::Secret, &keys.secret), (KeyKind::Publishable, &keys.publishable)]
        .map(|(kind, key)| key_row(&ctx.vault, account, kind, key, wall))
}

/// Adds the keys that do not exist yet.
async fn add_keys(tx: &Tx, rows: &[api_key::Model]) -> Result<(), Error> {
    for row in rows {
        match api_key::Entity::find_by_id(row.hash.clone()).one(tx).await? {
            Some(known) if known.account_id != row.account_id => {
                return Err(Error::internal("a configured API key belongs to another account"));
            }
            Some(known) if known.valid_until.is_some() => keys::revive(tx, row).await?,
            Some(_) => {}
            None => tx.append(row),
        }
    }
    Ok(())
}

/// Returns a row with every switch on, as the first account and sandbox accounts begin.
fn opening(id: AccountToken, business_name: &str, email: &str, now: Timestamp) -> account::Model {
    // As the account's own clock shows it.
    let created_at = now.last_second();
    account::Model {
        id,
        business_name: business_name.into(),
        email: email.into(),
        partner: true,
        disputes: true,
        wallet: true,
        transfers_enabled: true,
        transfers_schedule: TransfersSchedule::Manual,
        settles_at: None,
        bank_account_id: None,
        third_party_transfer_fee: THIRD_PARTY_TRANSFER_FEE_CENTS,
        settlement_delay_days: SETTLEMENT_DELAY_DAYS,
        maximum_charge_cents: MAXIMUM_CHARGE_CENTS,
        pricing: JsonText::encode(&Pricing::default()).unwrap_or_else(|_| JsonText::empty_object()),
        clock_offset: TimeSpan::ZERO,
        clock_moves: 0,
        moving_until: None,
        // There is nothing to purge before then.
        purge_at: now + TimeSpan::days(RETENTION_DAYS_MIN),
        made_by: None,
        referred_by: None,
        status: MerchantStatus::Active,
        acquirer_faults: None,
        card_testing: None,
        strict_parameters: None,
        acquirer_calls: 0,
        closed_at: None,
        wipe_at: None,
        created_at,
    }
}

/// Returns the row of a new merchant's account: pending approval, paid out daily, not a partner.
pub fn merchant(id: AccountToken, business_name: &str, email: &str, now: Timestamp) -> account::Model {
    let transfers_schedule = TransfersSchedule::Daily;
    account::Model {
        partner: false,
        status: MerchantStatus::PendingApproval,
        transfers_schedule,
        settles_at: transfers_schedule.next_after(now),
        ..opening(id, business_name, email, now)
    }
}

/// Returns the opening deposit: an ordinary one, without an event (`docs/decisions.md`, 196).
fn opening_deposit(ctx: &Context, account: &account::Model) -> deposit::Model {
    deposit::Model {
        account_id: account.id,
        id: ctx.ids.token(),
        amount: OPENING_DEPOSIT_CENTS,
        narration: "Opening balance".into(),
        available_at: account.created_at,
        created_at: account.created_at,
    }
}

fn key_row(
    vault: &Vault,
    account: AccountToken,
    kind: KeyKind,
    key: &Secret,
    now: Timestamp,
) -> api_key::Model {
    let hash = key_hash(vault, key).to_vec();
    let sealed = vault.seal(&key_context(account, kind), key.expose().as_bytes());
    api_key::Model {
        hash,
        account_id: account,
        kind,
        sealed: sealed.bytes,
        sealed_by: sealed.key,
        valid_until: None,
        created_at: now,
        id: None,
        restriction: None,
    }
}

/// Returns the associated data that binds a sealed key to its account and kind.
fn key_context(account: AccountToken, kind: KeyKind) -> Vec<u8> {
    format!("{kind:?} API key of {account}").into_bytes()
}

/// Returns the newest pair.
pub async fn shown_keys(ctx: &Context, account: AccountToken) -> Result<ApiKeyPair, Error> {
    let rows = api_key::Entity::owned_by(account)
        .filter(api_key::Column::ValidUntil.is_null())
        .order_by_desc(api_key::Column::CreatedAt)
        .all(ctx.store.read())
        .await?;
    let youngest = async |kind| {
        let row = rows
            .iter()
            .find(|row| row.kind == kind)
            .ok_or_else(|| Error::internal("an account without keys"))?;
        let plain = unseal(ctx, &key_context(account, kind), row.sealed_by, &row.sealed).await?;
        String::from_utf8(plain.to_vec()).map(Secret::from).map_err(|_| Error::internal("a key is no text"))
    };
    Ok(ApiKeyPair {
        secret: youngest(KeyKind::Secret).await?,
        publishable: youngest(KeyKind::Publishable).await?,
    })
}
