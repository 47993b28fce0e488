//! The ledger: every movement of money is one balanced double entry, written with the change that moves it
//! (`docs/decisions.md`, 193).

mod history;
pub mod lines;
mod proofs;
pub mod report;
pub mod verify;
pub mod view;

use base::mutants::{self, Mutant};
use entity::journal_entry::EntryKind;
use entity::posting::Book;
use entity::token::TokenKind;
use entity::{
    AccountToken, Currency, Day, Owned, PostingToken, TimeSpan, Timestamp, Token, account, balance, deposit,
    journal_entry, posting,
};
use sea_orm::sea_query::{Expr, ExprTrait, SelectStatement, SimpleExpr};
use sea_orm::{ColumnTrait, DbErr, EntityTrait, QueryFilter, QuerySelect, QueryTrait, Select};
use store::{Sum, Tx};
use uuid::Uuid;

use crate::error::Error;
use crate::limits::DEBIT_SLOT;
use crate::params::Params;
use crate::services::context::{Account, Context};
use crate::services::ledger::view::Balance;

pub use history::history;

/// The balances of accounts, by the day from which they are available.
struct Balances;

impl Sum for Balances {
    type Row = balance::Model;
    type Key = (AccountToken, Day);
    const SUMMED: balance::Column = balance::Column::Amount;

    fn row((account_id, available_on): Self::Key, slot: i32, amount: i64) -> balance::Model {
        balance::Model { account_id, available_on, slot, amount }
    }
}

/// A journal entry to write: its account, kind, source and time.
pub struct Entry {
    /// The account whose money moves.
    pub account: AccountToken,
    pub kind: EntryKind,
    /// The record that moves the money.
    pub source: Source,
    /// The time, by the account's clock.
    pub now: Timestamp,
}

/// A record that moves money.
pub struct Source {
    id: Uuid,
    token: String,
}

impl<K: TokenKind> From<Token<K>> for Source {
    fn from(token: Token<K>) -> Self {
        Self { id: token.id(), token: token.to_string() }
    }
}

/// The money that a debit may draw on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FundsSource {
    /// Money available today: for money that leaves the account.
    Available,
    /// Pending money of charges as well, so available may become negative: for money that goes back to cards. A deposit
    /// that has not arrived is never drawn on, and what is worth no cent needs none (`docs/decisions.md`, 197).
    AvailableAndPending,
}

/// Writes one movement: `amount` AUD cents to the merchant's book, available from `available_on`, and the balancing
/// postings to `others`. All must sum to zero. An unbalanced entry is a bug for tests to find, so it is written as it
/// is and shows in `ledger verify`.
///
/// Only for credits: see [`debit`] and [`take_all`].
pub fn record(tx: &Tx, entry: &Entry, available_on: Day, amount: i64, others: &[(Book, i64)]) {
    post(tx, entry, available_on, amount, others);
    let times = if mutants::is(Mutant::CreditDoubled) { 2 } else { 1 };
    tx.add::<Balances>((entry.account, available_on), times * amount);
}

/// One of several debits of an account that happen together or not at all.
pub struct Debit<'a> {
    /// The journal entry of the debit.
    pub entry: &'a Entry,
    /// AUD cents, at least zero.
    pub amount: i64,
    /// The book that receives them.
    pub to: Book,
}

/// The balance does not cover the debit, and nothing was written. Every caller must handle it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BalanceTooLow;

/// Takes `amount` AUD cents, at least zero, and gives them to `to`, unless the money of `draws` does not cover them:
/// the money available today, or that and pending money together. Deposits that have not arrived never count. Either
/// way the debit is booked on today, so with [`FundsSource::AvailableAndPending`] available may become negative.
///
/// Concurrent debits of an account run one after the other: each sees those before it (`docs/decisions.md`, 198).
pub async fn debit(
    tx: &Tx,
    entry: &Entry,
    draws: FundsSource,
    amount: i64,
    to: Book,
) -> Result<Result<(), BalanceTooLow>, Error> {
    debit_all(tx, draws, &[Debit { entry, amount, to }]).await
}

/// Makes several debits of one account at one instant as [`debit`] does, all or none.
pub async fn debit_all(
    tx: &Tx,
    draws: FundsSource,
    debits: &[Debit<'_>],
) -> Result<Result<(), BalanceTooLow>, Error> {
    let Some(Debit { entry: Entry { account, now, .. }, .. }) = debits.first() else { return Ok(Ok(())) };
    let sum: i64 = debits.iter().map(|debit| debit.amount).sum();
    tx.lock::<account::Entity>(*account).await?;
    let needs_none = sum == 0 && draws == FundsSource::AvailableAndPending;
    if !needs_none && !covers(tx, *account, *now, draws, sum).await? {
        return Ok(Err(BalanceTooLow));
    }
    write_debits(tx, debits, sum).await.map(Ok)
}

/// Makes several debits of one account at one instant whatever its balance, which may become negative.
pub async fn take_all(tx: &Tx, debits: &[Debit<'_>]) -> Result<(), Error> {
    let Some(Debit { entry: Entry { account, .. }, .. }) = debits.first() else { return Ok(()) };
    // Before its balance, as everywhere.
    tx.lock::<account::Entity>(*account).await?;
    write_debits(tx, debits, debits.iter().map(|debit| debit.amount).sum()).await
}

/// Writes debits of a locked account, with their sum.
async fn write_debits(tx: &Tx, debits: &[Debit<'_>], sum: i64) -> Result<(), Error> {
    let Some(Debit { entry: Entry { account, now, .. }, .. }) = debits.first() else { return Ok(()) };
    let today = now.day();
    tx.add_at_once::<Balances>((*account, today), DEBIT_SLOT, -sum).await?;
    for Debit { entry, amount, to } in debits {
        post(tx, entry, today, -amount, &[(*to, *amount)]);
    }
    Ok(())
}

/// Returns whether an account has `amount` AUD cents, at least zero. Without [`Tx::lock`] another debit may
/// take them right afterwards.
pub async fn covers(
    tx: &Tx,
    account: AccountToken,
    now: Timestamp,
    draws: FundsSource,
    amount: i64,
) -> Result<bool, Error> {
    let up_to = match draws {
        FundsSource::Available => Some(now.day()),
        FundsSource::AvailableAndPending => None,
    };
    Ok(amount <= available_balance(tx, account, now, up_to).await?)
}

/// Returns the merchant's book, all of it or as available up to a day, without deposits that have not arrived. Credits
/// of other units in this commit count: a unit that sees their records must see their money. Debits count whatever their
/// day: a request that began before midnight may come after one that began later.
async fn available_balance(
    tx: &Tx,
    account: AccountToken,
    now: Timestamp,
    up_to: Option<Day>,
) -> Result<i64, Error> {
    let arriving = SimpleExpr::SubQuery(None, Box::new(pending_deposits(account, now, up_to).into()));
    let rows = balance::Entity::owned_by(account)
        .apply_if(up_to, |rows, day| rows.filter(is_available_on(day)))
        .select_only()
        .column_as(sum_of(balance::Column::Amount.into_expr()).sub(arriving), "arrived");
    let written = rows.into_tuple::<i64>().one(tx).await?.unwrap_or_default();
    let counts = |of: AccountToken, day: Day| of == account && up_to.is_none_or(|last| day <= last);
    Ok(written + tx.added::<Balances>(|(of, day)| counts(*of, *day)))
}

/// Returns the condition of a sum that is available on a day. Debits are, whatever theirs.
fn is_available_on(day: Day) -> SimpleExpr {
    balance::Column::AvailableOn.lte(day).or(balance::Column::Slot.eq(DEBIT_SLOT))
}

/// Selects the sum of deposits that have not arrived: all, or those that arrive later today and are in today's balance
/// already. Balances have days, deposits have times.
fn pending_deposits(account: AccountToken, now: Timestamp, up_to: Option<Day>) -> SelectStatement {
    use deposit::Column::{Amount, AvailableAt};

    let tomorrow = now.last_midnight() + TimeSpan::days(1);
    let arriving = deposit::Entity::owned_by(account)
        .filter(AvailableAt.gt(now))
        .apply_if(up_to, |arriving, _| arriving.filter(AvailableAt.lt(tomorrow)))
        .select_only()
        .column_as(sum_of(Amount.into_expr()), "arriving");
    arriving.into_query()
}

/// Sums an amount. The cast is for PostgreSQL, which sums BIGINT to NUMERIC.
fn sum_of(amount: SimpleExpr) -> SimpleExpr {
    Expr::expr(amount).sum().if_null(0).cast_as("BIGINT")
}

/// Appends the journal entry and its postings.
fn post(tx: &Tx, entry: &Entry, available_on: Day, amount: i64, others: &[(Book, i64)]) {
    debug_assert_eq!(amount + others.iter().map(|(_, amount)| amount).sum::<i64>(), 0, "an unbalanced entry");
    let entry_id = tx.token();
    tx.append(&journal_entry::Model {
        account_id: entry.account,
        id: entry_id,
        kind: entry.kind,
        source: entry.source.token.clone(),
        created_at: entry.now,
    });
    let posting = |id: PostingToken, book: Book, amount: i64, available_on: Day| posting::Model {
        account_id: entry.account,
        id,
        entry_id,
        book,
        amount,
        currency: Currency::Aud,
        available_on,
        unsettled: book == Book::Merchant && entry.kind.is_settled(),
        transfer_id: None,
    };
    // The merchant's posting is a line of a settlement, so it is written even if it is zero.
    tx.append(&posting(merchant_posting(tx, entry), Book::Merchant, amount, available_on));
    for (book, amount) in others.iter().filter(|(_, amount)| *amount != 0) {
        if *book == Book::Fees && mutants::is(Mutant::FeesNotPosted) {
            continue;
        }
        tx.append(&posting(tx.token(), *book, *amount, entry.now.day()));
    }
}

/// Returns the id of the merchant's posting. A charge is captured once, so its posting has the charge's id and is found
/// by it.
fn merchant_posting(tx: &Tx, entry: &Entry) -> PostingToken {
    if entry.kind == EntryKind::Charge { Token::new(entry.source.id) } else { tx.token() }
}

/// Returns the account's balance: available today, and pending.
pub async fn balance(ctx: &Context, account: &Account) -> Result<Balance, Error> {
    let arriving = pending_deposits(account.id(), account.now, Some(account.now.day()));
    let rows = balance::Entity::owned_by(account.id());
    let is_available = is_available_on(account.now.day());
    read_balance(ctx, rows, balance::Column::Amount, is_available, arriving).await
}

/// Returns the account's balance as it was at the end of a second, by the postings up to then; the present one without an instant
/// (`docs/decisions.md`, 378).
pub async fn balance_at(
    ctx: &Context,
    account: &Account,
    at: Params<Option<Timestamp>>,
) -> Result<Balance, Error> {
    use posting::Column::{Amount, AvailableOn, Book as InBook};

    let Params { value: at, mut faults } = at;
    if at.is_some_and(|at| at.seconds() > account.now.seconds()) {
        faults.add("at", "must not be in the future");
    }
    let Some(at) = (Params { value: at, faults }).valid()? else { return balance(ctx, account).await };
    let at = at.end_of_second();
    let mut arriving = pending_deposits(account.id(), at, Some(at.day()));
    arriving.and_where(deposit::COLUMN.created_at.lte(at));
    let rows =
        posting::Entity::owned_by(account.id()).filter(InBook.eq(Book::Merchant)).filter(is_posted_by(at));
    read_balance(ctx, rows, Amount, AvailableOn.lte(at.day()), arriving).await
}

/// Returns the condition of a posting whose entry was made at an instant or before it.
fn is_posted_by(at: Timestamp) -> SimpleExpr {
    use journal_entry::Column::{AccountId, CreatedAt, Id};

    let entry = journal_entry::Entity::find()
        .filter(AccountId.into_expr().eq(posting::Column::AccountId.into_expr()))
        .filter(Id.into_expr().eq(posting::Column::EntryId.into_expr()))
        .filter(CreatedAt.lte(at))
        .select_only()
        .column(Id);
    Expr::exists(entry.into_query())
}

/// Sums the amounts that are available, and those that are not. Deposits that arrive later today are pending.
async fn read_balance<E: EntityTrait>(
    ctx: &Context,
    rows: Select<E>,
    amount: impl ColumnTrait,
    is_available: SimpleExpr,
    arriving: SelectStatement,
) -> Result<Balance, Error> {
    let sum_where =
        |condition: SimpleExpr| sum_of(Expr::case(condition, amount.into_expr()).finally(0).into());
    let (in_days, arriving, pending) = rows
        .select_only()
        .column_as(sum_where(is_available.clone()), "in_days")
        .column_as(SimpleExpr::SubQuery(None, Box::new(arriving.into())), "arriving")
        .column_as(sum_where(is_available.not()), "pending")
        .into_tuple::<(i64, i64, i64)>()
        .one(ctx.store.read())
        .await?
        .ok_or_else(|| DbErr::RecordNotFound("a sum".into()))?;
    Ok(Balance::new(in_days - arriving, pending + arriving))
}
