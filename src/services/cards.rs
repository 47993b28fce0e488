//! Cards: storing them, and the one use of their tokens (specification, Cards; decisions 4).

mod expiry;

pub use expiry::Expiry;

use entity::card::{self, CardState, Column};
use entity::{AccountToken, CardToken, CustomerToken, Owned, Timestamp, customer, subscription};
use futures::FutureExt;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, UpdateMany};

use super::context::{Account, Context};
use super::idempotency;
use crate::card_number::{CardNumber, cvc_length};
use crate::error::{Error, ErrorCode};
use crate::limits::CARD_TOKEN_LIFETIME_MONTHS;
use crate::params::card::NewCard;
use crate::params::{Faults, Params};
use crate::secret::Secret;
use crate::store::Tx;
use crate::views;

/// A card whose parameters are right, with the digits that its row does not hold.
pub struct Presented {
    /// Its row, as yet without ciphertexts.
    pub row: card::Model,
    /// The number.
    pub number: Secret,
    /// The card verification code.
    pub cvc: Secret,
}

/// Store a card in exchange for a single-use token.
///
/// Refusals: `invalid_resource`.
pub async fn store(
    ctx: &Context,
    account: &Account,
    params: Params<NewCard>,
) -> Result<views::card::Card, Error> {
    let Params { value, mut faults } = params;
    let card = present(ctx, account, &value, "", &mut faults);
    let (Some(card), true) = (card, faults.is_empty()) else { return Err(faults.into()) };
    let mut row = seal(ctx, card);
    row.expires_at = Some(account.now.plus_months(CARD_TOKEN_LIFETIME_MONTHS));
    let unit = idempotency::write(ctx, account, row, |tx, row| {
        async move {
            tx.append(row);
            Ok(views::card::Card::new(row.clone(), None))
        }
        .boxed()
    });
    unit.await
}

/// One card.
///
/// Refusals: `not_found`, an unused token that has expired included.
pub async fn show(ctx: &Context, account: &Account, token: &str) -> Result<views::card::Card, Error> {
    let id = token.parse().map_err(|_| ErrorCode::NotFound)?;
    let row = find(ctx, account, id).await?.ok_or(ErrorCode::NotFound)?;
    let primary = primary_beside(ctx, account, &row).await?;
    Ok(views::card::Card::new(row, primary))
}

/// A card that is still there for this account: an unused one whose time is over is not, whether or not a
/// worker has erased it yet.
pub async fn find(ctx: &Context, account: &Account, id: CardToken) -> Result<Option<card::Model>, Error> {
    let row = card::Entity::owned_by(account.id()).filter(Column::Id.eq(id)).one(ctx.store.read()).await?;
    Ok(row.filter(|row| row.state != CardState::Unused || row.expires_at.is_some_and(|at| at > account.now)))
}

/// The primary card of the customer that the card belongs to.
pub async fn primary_beside(
    ctx: &Context,
    account: &Account,
    card: &card::Model,
) -> Result<Option<CardToken>, Error> {
    let Some(customer) = card.customer_id else { return Ok(None) };
    let row = customer::Entity::owned_by(account.id())
        .filter(customer::Column::Id.eq(customer))
        .one(ctx.store.read())
        .await?;
    Ok(row.map(|row| row.primary_card_id))
}

/// Check a card's parameters, whose names begin with `at`, and make its row: unused, without ciphertexts.
pub fn present(
    ctx: &Context,
    account: &Account,
    card: &NewCard,
    at: &str,
    faults: &mut Faults,
) -> Option<Presented> {
    // What is no card at all is one fault; its placeholder has no more.
    if faults.has(at.trim_end_matches('.')) {
        return None;
    }
    let fault = |faults: &mut Faults, param: &str, predicate| faults.add(&format!("{at}{param}"), predicate);
    let number =
        CardNumber::parse(&card.number).and_then(|number| Some((ctx.acquirer.card(&number)?, number)));
    if number.is_none() && !card.number.expose().trim().is_empty() {
        fault(faults, "number", "is not valid");
    }
    let cvc = card.cvc.expose().trim();
    let cvc_digits = number.as_ref().map(|(info, _)| cvc_length(info.scheme));
    let right_length = cvc_digits.map_or((3..=4).contains(&cvc.len()), |digits| cvc.len() == digits);
    let right = right_length && cvc.bytes().all(|digit| digit.is_ascii_digit());
    if !cvc.is_empty() && !right {
        fault(faults, "cvc", "is not valid");
    }
    let expiry = expiry(card);
    let readable = !["expiry_month", "expiry_year"].iter().any(|param| faults.has(&format!("{at}{param}")));
    if readable && expiry < account.now.year_and_month() {
        fault(faults, "expiry_month", "is expired");
        fault(faults, "expiry_year", "is expired");
    }
    let (info, number) = number?;
    let (expiry_year, month) = expiry;
    let row = card::Model {
        account_id: account.id(),
        id: ctx.ids.token(),
        state: CardState::Unused,
        scheme: info.scheme,
        display_number: number.masked(),
        issuing_country: info.issuing_country,
        expiry_month: i32::try_from(month).ok()?,
        expiry_year,
        name: Some(card.name.clone()),
        address_line1: Some(card.address_line1.clone()),
        address_line2: card.address_line2.clone(),
        address_city: Some(card.address_city.clone()),
        address_postcode: card.address_postcode.clone(),
        address_state: card.address_state.clone(),
        address_country: Some(card.address_country.clone()),
        customer_id: None,
        number_sealed: None,
        cvc_sealed: None,
        sealed_by: None,
        expires_at: None,
        created_at: account.now,
    };
    Some(Presented { row, number: number.digits().clone(), cvc: cvc.into() })
}

/// Year and month, comparable with the calendar's; two-digit years are 20xx (decisions 4).
fn expiry(card: &NewCard) -> (i32, u32) {
    let year = if card.expiry_year < 100 { card.expiry_year + 2000 } else { card.expiry_year };
    (i32::try_from(year).unwrap_or(0), u32::try_from(card.expiry_month).unwrap_or(0))
}

/// The row with number and cvc encrypted.
pub fn seal(ctx: &Context, card: Presented) -> card::Model {
    let Presented { row, number, cvc } = card;
    sealed(ctx, row, &number, Some(&cvc))
}

/// A copy of a card for a payment that waits, with its digits encrypted: whatever becomes of the card itself. Nobody gets
/// its token.
pub fn copy(ctx: &Context, card: &card::Model, number: &Secret, cvc: Option<&Secret>) -> card::Model {
    let copy = card::Model {
        id: ctx.ids.token(),
        state: CardState::Reserved,
        customer_id: None,
        expires_at: None,
        ..card.clone()
    };
    sealed(ctx, copy, number, cvc)
}

fn sealed(ctx: &Context, mut row: card::Model, number: &Secret, cvc: Option<&Secret>) -> card::Model {
    let seal = |digits: &Secret, what| ctx.vault.seal(&context(&row, what), digits.expose().as_bytes());
    let (number, cvc) = (seal(number, Digits::Number), cvc.map(|cvc| seal(cvc, Digits::Cvc)));
    row.sealed_by = Some(number.key);
    row.number_sealed = Some(number.bytes);
    row.cvc_sealed = cvc.map(|cvc| cvc.bytes);
    row
}

/// The digits of a stored card; the cvc is there until its first use.
pub fn unseal(ctx: &Context, row: &card::Model) -> Result<(Secret, Option<Secret>), Error> {
    let open = |sealed: &[u8], what| {
        let key = row.sealed_by.ok_or_else(|| Error::internal("a ciphertext without its key's id"))?;
        let plain = ctx.vault.open(&context(row, what), key, sealed)?;
        std::str::from_utf8(&plain).map(Secret::from).map_err(|_| Error::internal("digits are no text"))
    };
    let number =
        row.number_sealed.as_deref().ok_or_else(|| Error::internal("the number of this card is erased"))?;
    let cvc = row.cvc_sealed.as_deref().map(|sealed| open(sealed, Digits::Cvc)).transpose()?;
    Ok((open(number, Digits::Number)?, cvc))
}

#[derive(Debug, Clone, Copy)]
enum Digits {
    Number,
    Cvc,
}

/// A ciphertext opens only in its own row.
fn context(row: &card::Model, what: Digits) -> Vec<u8> {
    format!("{what:?} of {} of {}", row.id, row.account_id).into_bytes()
}

/// Hold an unused token for an attempt. False where it is not unused any more, or has expired.
pub async fn reserve(tx: &Tx, account: AccountToken, id: CardToken, now: Timestamp) -> Result<bool, Error> {
    let unused = from(account, id, CardState::Unused).filter(Column::ExpiresAt.gt(now));
    moved(tx, unused.col_expr(Column::State, state(CardState::Reserved))).await
}

/// The acquirer has answered: the token is spent and its digits go.
pub async fn consume(tx: &Tx, account: AccountToken, id: CardToken) -> Result<bool, Error> {
    let spent =
        erased(from(account, id, CardState::Reserved)).col_expr(Column::State, state(CardState::Used));
    moved(tx, spent).await
}

/// Nothing was charged: the token may be used after all.
pub async fn release(tx: &Tx, account: AccountToken, id: CardToken) -> Result<bool, Error> {
    moved(tx, from(account, id, CardState::Reserved).col_expr(Column::State, state(CardState::Unused))).await
}

/// Give an unused token to a customer. It keeps its number, never its cvc. False as for [`reserve`].
pub async fn attach(
    tx: &Tx,
    account: AccountToken,
    id: CardToken,
    customer: CustomerToken,
    now: Timestamp,
) -> Result<bool, Error> {
    let attached = from(account, id, CardState::Unused)
        .filter(Column::ExpiresAt.gt(now))
        .col_expr(Column::State, state(CardState::Attached))
        .col_expr(Column::CustomerId, Expr::value(customer))
        .col_expr(Column::CvcSealed, Expr::value(None::<Vec<u8>>))
        .col_expr(Column::ExpiresAt, Expr::value(None::<i64>));
    moved(tx, attached).await
}

/// Delete a customer's card, or all of them. A subscription that named one falls back to the primary card (decisions 6).
pub async fn delete_of_customer(
    tx: &Tx,
    account: AccountToken,
    customer: CustomerToken,
    only: Option<CardToken>,
) -> Result<u64, Error> {
    use subscription::Column as Naming;

    let mut gone = card::Entity::delete_many()
        .filter(Column::AccountId.eq(account))
        .filter(Column::CustomerId.eq(customer));
    let mut naming = subscription::Entity::update_many()
        .filter(Naming::AccountId.eq(account))
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

/// Delete the copy of a payment that waits no more.
pub async fn delete_copy(tx: &Tx, account: AccountToken, id: CardToken) -> Result<(), Error> {
    card::Entity::delete_by_id((account, id)).exec(tx).await?;
    Ok(())
}

/// A card inside a unit of work.
pub async fn in_unit(
    db: &impl ConnectionTrait,
    account: AccountToken,
    id: CardToken,
) -> Result<Option<card::Model>, Error> {
    Ok(card::Entity::owned_by(account).filter(Column::Id.eq(id)).one(db).await?)
}

fn from(account: AccountToken, id: CardToken, seen: CardState) -> UpdateMany<card::Entity> {
    card::Entity::update_many()
        .filter(Column::AccountId.eq(account))
        .filter(Column::Id.eq(id))
        .filter(Column::State.eq(seen))
}

fn erased(update: UpdateMany<card::Entity>) -> UpdateMany<card::Entity> {
    update
        .col_expr(Column::NumberSealed, Expr::value(None::<Vec<u8>>))
        .col_expr(Column::CvcSealed, Expr::value(None::<Vec<u8>>))
        .col_expr(Column::SealedBy, Expr::value(None::<uuid::Uuid>))
        .col_expr(Column::ExpiresAt, Expr::value(None::<i64>))
}

fn state(state: CardState) -> sea_orm::sea_query::SimpleExpr {
    Expr::value(sea_orm::ActiveEnum::into_value(state))
}

async fn moved(tx: &Tx, update: UpdateMany<card::Entity>) -> Result<bool, Error> {
    Ok(update.exec(tx).await?.rows_affected > 0)
}
