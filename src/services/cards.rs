//! Cards: stores them and spends their single-use tokens (specification, Cards; `docs/decisions.md`, 102 and 107).

mod expiry;
pub mod params;
mod validation;
pub mod view;

pub use expiry::CardExpiryWork;
pub use validation::{
    CardCredentials, ValidatedCard, validate, validate_network_token, validate_wallet_card,
};

use acquirer::NetworkProof;
use base::mutants::{self, Mutant};
use base::secret::Secret;
use entity::card::{self, COLUMN, CardState, Column};
use entity::{AccountToken, CardToken, CustomerToken, Listed, Owned, Timestamp, customer, subscription};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, UpdateMany};
use store::Tx;
use zeroize::Zeroizing;

use super::context::{Account, Caller, Context};
use super::data_keys::reencrypt::SealedTable;
use super::{data_keys, idempotency};
use crate::error::{Error, ErrorCode};
use crate::limits::CARD_TOKEN_LIFETIME_MONTHS;
use crate::params::{Params, non_blank};
use crate::services::cards::params::NewCard;
use crate::services::cards::view::Card;

/// Stores a card in exchange for a single-use token.
///
/// Refusals: `service_unavailable` if the acquirer does not return the number's details; `invalid_resource`.
pub async fn store(ctx: &Context, caller: &Caller, params: Params<NewCard>) -> Result<Card, Error> {
    let Params { value, mut faults } = params;
    let card = validate(ctx, &caller.account, &value, "", &mut faults).await?;
    let (Some(card), true) = (card, faults.is_empty()) else { return Err(faults.into()) };
    let row = single_use(ctx, &caller.account, card);
    let unit = idempotency::write(ctx, caller, row, async |tx, row| {
        tx.append(row);
        Ok(Card::new(row.clone(), None))
    });
    unit.await
}

/// Returns one card.
///
/// Refusals: `not_found`, also for an unused token that has expired.
pub async fn show(ctx: &Context, account: &Account, token: &str) -> Result<Card, Error> {
    let id = token.parse().map_err(|_| ErrorCode::NotFound)?;
    let row = find(ctx, account, id).await?.ok_or(ErrorCode::NotFound)?;
    let primary = find_primary_id(ctx, account, &row).await?;
    Ok(Card::new(row, primary))
}

/// Finds an account's card. An unused one that has expired is not found, even before a worker erases it.
pub async fn find(ctx: &Context, account: &Account, id: CardToken) -> Result<Option<card::Model>, Error> {
    let row = card::Entity::at(account.id(), id).one(ctx.store.read()).await?;
    Ok(row.filter(|row| row.state != CardState::Unused || row.expires_at.is_some_and(|at| at > account.now)))
}

/// Returns whether a card has expired, by year and month: it is valid until the end of its last month.
pub fn has_expired(expiry: (i32, u32), now: Timestamp) -> bool {
    expiry < now.year_and_month()
}

/// Returns the primary card of the card's customer.
pub async fn find_primary_id(
    ctx: &Context,
    account: &Account,
    card: &card::Model,
) -> Result<Option<CardToken>, Error> {
    let Some(customer) = card.customer_id else { return Ok(None) };
    let row = customer::Entity::at(account.id(), customer).one(ctx.store.read()).await?;
    Ok(row.map(|row| row.primary_card_id))
}

/// Returns the row with its credentials encrypted.
pub fn seal(ctx: &Context, card: ValidatedCard) -> card::Model {
    let ValidatedCard { mut row, credentials } = card;
    let data_keys = ctx.vault.data_keys();
    let sealed = |what, plain: &[u8]| data_keys.seal(&context(&row, what), plain);
    let number = sealed(SealedCredential::Number, credentials.number.expose().as_bytes());
    let cvc = credentials.cvc.map(|cvc| sealed(SealedCredential::Cvc, cvc.expose().as_bytes()).bytes);
    let network = credentials
        .network
        .map(|network| sealed(SealedCredential::Network, &encode_cryptogram(&network)).bytes);
    row.sealed_by = Some(number.key);
    row.number_sealed = Some(number.bytes);
    row.cvc_sealed = cvc;
    row.network_sealed = network;
    row
}

/// Copies a card for a pending payment, with its credentials encrypted, so that the payment does not depend on the card
/// itself. The copy's token is never shown.
pub fn copy(ctx: &Context, card: &card::Model, credentials: CardCredentials) -> card::Model {
    let row = card::Model {
        id: ctx.ids.token(),
        state: CardState::Reserved,
        customer_id: None,
        expires_at: None,
        ..card.clone()
    };
    seal(ctx, ValidatedCard { row, credentials })
}

/// Returns the row of a token that may be used once within a month.
pub fn single_use(ctx: &Context, account: &Account, card: ValidatedCard) -> card::Model {
    let mut row = seal(ctx, card);
    let latest = account.now_by(ctx.trusted.latest());
    row.expires_at = Some(latest.plus_months(CARD_TOKEN_LIFETIME_MONTHS));
    row
}

/// Decrypts a stored card's credentials; cvc and proof exist until its first use.
pub async fn unseal(ctx: &Context, row: &card::Model) -> Result<CardCredentials, Error> {
    let open = async |sealed: &Option<Vec<u8>>, what| {
        let Some(sealed) = sealed else { return Ok(None) };
        let key = row.sealed_by.ok_or_else(|| Error::internal("a ciphertext without its key's id"))?;
        let plain = data_keys::unseal(ctx, &context(row, what), key, sealed).await?;
        let text = std::str::from_utf8(&plain).map(Secret::from);
        text.map(Some).map_err(|_| Error::internal("digits are no text"))
    };
    let number = open(&row.number_sealed, SealedCredential::Number).await?;
    Ok(CardCredentials {
        number: number.ok_or_else(|| Error::internal("the number of this card is erased"))?,
        cvc: open(&row.cvc_sealed, SealedCredential::Cvc).await?,
        network: open(&row.network_sealed, SealedCredential::Network).await?.map(|text| read(&text)),
    })
}

impl SealedTable for card::Entity {
    const SEALED_BY: Column = Column::SealedBy;
    const SEALED: &'static [Column] = &[Column::NumberSealed, Column::CvcSealed, Column::NetworkSealed];

    fn context(row: &card::Model, column: Column) -> Vec<u8> {
        if matches!(column, Column::CvcSealed) {
            context(row, SealedCredential::Cvc)
        } else if matches!(column, Column::NetworkSealed) {
            context(row, SealedCredential::Network)
        } else {
            context(row, SealedCredential::Number)
        }
    }
}

/// Returns the indicator, a line end and the cryptogram.
fn encode_cryptogram(network: &NetworkProof) -> Zeroizing<Vec<u8>> {
    let eci = network.eci.as_deref().unwrap_or_default();
    Zeroizing::new([eci, "\n", network.cryptogram.expose()].concat().into_bytes())
}

fn read(text: &Secret) -> NetworkProof {
    let (eci, cryptogram) = text.expose().split_once('\n').unwrap_or_default();
    NetworkProof { eci: non_blank(Some(eci)).map(str::to_owned), cryptogram: cryptogram.into() }
}

#[derive(Debug, Clone, Copy)]
enum SealedCredential {
    Number,
    Cvc,
    Network,
}

/// Returns the associated data that binds a ciphertext to its row.
fn context(row: &card::Model, what: SealedCredential) -> Vec<u8> {
    format!("{what:?} of {} of {}", row.id, row.account_id).into_bytes()
}

/// Reserves an unused token for an attempt. Returns false if it was used or has expired.
pub async fn reserve(tx: &Tx, account: AccountToken, id: CardToken, now: Timestamp) -> Result<bool, Error> {
    let unused = if mutants::is(Mutant::TokenUsedTwice) {
        card::Entity::update_at(account, id)
    } else {
        from(account, id, CardState::Unused)
    };
    let unused = unused.filter(COLUMN.expires_at.gt(now));
    Ok(tx.compare_and_set(unused.col_expr(Column::State, state(CardState::Reserved))).await?)
}

/// Spends an unused token at once, and erases its credentials. Returns false as [`reserve`] does.
pub async fn take(tx: &Tx, account: AccountToken, id: CardToken, now: Timestamp) -> Result<bool, Error> {
    let unused = from(account, id, CardState::Unused).filter(COLUMN.expires_at.gt(now));
    let taken = erase_credentials(unused).col_expr(Column::State, state(CardState::Used));
    Ok(tx.compare_and_set(taken).await?)
}

/// Spends a reserved token and erases its credentials: the acquirer has answered.
pub async fn spend(tx: &Tx, account: AccountToken, id: CardToken) -> Result<(), Error> {
    let spent = erase_credentials(from(account, id, CardState::Reserved));
    Ok(tx.defer_update(spent.col_expr(Column::State, state(CardState::Used))).await?)
}

/// Makes the token usable again: nothing was charged.
pub async fn release(tx: &Tx, account: AccountToken, id: CardToken) -> Result<(), Error> {
    let free = from(account, id, CardState::Reserved).col_expr(Column::State, state(CardState::Unused));
    Ok(tx.defer_update(free).await?)
}

/// Attaches an unused token to a customer. It keeps its number, never its cvc nor a wallet's proof. Returns false as
/// [`reserve`] does.
pub async fn attach(
    tx: &Tx,
    account: AccountToken,
    id: CardToken,
    customer: CustomerToken,
    now: Timestamp,
) -> Result<bool, Error> {
    let attached = from(account, id, CardState::Unused)
        .filter(COLUMN.expires_at.gt(now))
        .col_expr(Column::State, state(CardState::Attached))
        .col_expr(Column::CustomerId, Expr::value(customer))
        .col_expr(Column::CvcSealed, Expr::value(None::<Vec<u8>>))
        .col_expr(Column::NetworkSealed, Expr::value(None::<Vec<u8>>))
        .col_expr(Column::ExpiresAt, Expr::value(None::<i64>));
    Ok(tx.compare_and_set(attached).await?)
}

/// Deletes a customer's card, or all of them. A subscription that named a deleted card falls back to the primary card.
pub async fn delete_of_customer(
    tx: &Tx,
    account: AccountToken,
    customer: CustomerToken,
    only: Option<CardToken>,
) -> Result<u64, Error> {
    use subscription::Column as Naming;

    let mut gone = card::Entity::delete_of(account).filter(Column::CustomerId.eq(customer));
    let mut naming = subscription::Entity::update_of(account)
        .filter(Naming::CustomerId.eq(customer))
        .col_expr(Naming::CardId, Expr::value(None::<uuid::Uuid>));
    if let Some(card) = only {
        gone = gone.filter(Column::Id.eq(card));
        naming = naming.filter(Naming::CardId.eq(card));
    } else {
        naming = naming.filter(Naming::CardId.is_not_null());
    }
    let gone = gone.exec(tx).await?.rows_affected;
    naming.exec(tx).await?;
    Ok(gone)
}

/// Deletes the copy that a pending payment no longer needs.
pub async fn delete_copy(tx: &Tx, account: AccountToken, id: CardToken) -> Result<(), Error> {
    let copy = card::Entity::delete_at(account, id);
    Ok(tx.defer_update(copy).await?)
}

/// Returns a card, whatever its state.
pub async fn load(
    db: &impl ConnectionTrait,
    account: AccountToken,
    id: CardToken,
) -> Result<Option<card::Model>, Error> {
    Ok(card::Entity::at(account, id).one(db).await?)
}

fn from(account: AccountToken, id: CardToken, seen: CardState) -> UpdateMany<card::Entity> {
    card::Entity::update_at(account, id).filter(Column::State.eq(seen))
}

fn erase_credentials(update: UpdateMany<card::Entity>) -> UpdateMany<card::Entity> {
    update
        .col_expr(Column::NumberSealed, Expr::value(None::<Vec<u8>>))
        .col_expr(Column::CvcSealed, Expr::value(None::<Vec<u8>>))
        .col_expr(Column::NetworkSealed, Expr::value(None::<Vec<u8>>))
        .col_expr(Column::SealedBy, Expr::value(None::<uuid::Uuid>))
        .col_expr(Column::ExpiresAt, Expr::value(None::<i64>))
}

fn state(state: CardState) -> sea_orm::sea_query::SimpleExpr {
    Expr::value(sea_orm::ActiveEnum::into_value(state))
}
