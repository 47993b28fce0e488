//! The ledger: every movement of money is one balanced double entry, written with the change (decisions 8).

mod history;
pub mod lines;
mod proofs;
pub mod report;
pub mod verify;

use entity::journal_entry::EntryKind;
use entity::posting::Book;
use entity::token::TokenKind;
use entity::{
    AccountToken, Currency, Day, Owned, PostingToken, TimeSpan, Timestamp, Token, balance, deposit,
    journal_entry, posting,
};
use sea_orm::sea_query::{Expr, ExprTrait, SelectStatement, SimpleExpr};
use sea_orm::{ColumnTrait, DbErr, QueryFilter, QuerySelect, QueryTrait};
use uuid::Uuid;

use crate::error::Error;
use crate::services::context::{Account, Context};
use crate::store::Tx;
use crate::views;

pub use history::history;

/// Why money moves, and because of what.
pub struct Entry {
    /// Whose money.
    pub account: AccountToken,
    /// Why.
    pub kind: EntryKind,
    /// The record that moves it.
    pub source: Source,
    /// By the account's clock.
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

/// What a debit may draw on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FundsSource {
    /// What is available today: money that leaves the account.
    Available,
    /// What charges have pending as well, so that available may become negative: money that goes back to cards. A deposit
    /// that has not arrived is nobody's to give.
    AvailableAndPending,
}

/// Write one movement: `amount` AUD cents to the merchant's book, available from `available_on`, and what
/// balances it to `others`. The sum must be zero; an entry that is not balanced is a fault of ours that a
/// test finds, so it is written as it is and shows in `ledger verify`.
///
/// Only for credits, and for what is taken whether or not it is there: any other debit has to look at the balance first,
/// see [`debit`].
pub fn record(tx: &Tx, entry: &Entry, available_on: Day, amount: i64, others: &[(Book, i64)]) {
    post(tx, entry, available_on, amount, others);
    tx.credit(entry.account, available_on, amount);
}

/// One of several debits of an account that happen together or not at all.
pub struct Debit<'a> {
    /// Why.
    pub entry: &'a Entry,
    /// AUD cents, at least zero.
    pub amount: i64,
    /// Where they go.
    pub to: Book,
}

/// There is less money than is to be taken, and nothing was written. What its caller does about it is never left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BalanceTooLow;

/// Take `amount` AUD cents, at least zero, from what is available today, and give it to `to`, unless `draws` does not
/// cover it.
///
/// However many debits race, they take turns: each sees what the one before has taken.
pub async fn debit(
    tx: &Tx,
    entry: &Entry,
    draws: FundsSource,
    amount: i64,
    to: Book,
) -> Result<Result<(), BalanceTooLow>, Error> {
    debit_all(tx, draws, &[Debit { entry, amount, to }]).await
}

/// The same, with several debits of one account at one instant.
pub async fn debit_all(
    tx: &Tx,
    draws: FundsSource,
    debits: &[Debit<'_>],
) -> Result<Result<(), BalanceTooLow>, Error> {
    let Some(Debit { entry: Entry { account, now, .. }, .. }) = debits.first() else { return Ok(Ok(())) };
    let sum: i64 = debits.iter().map(|debit| debit.amount).sum();
    tx.lock_account(*account).await?;
    if !covers(tx, *account, *now, draws, sum).await? {
        return Ok(Err(BalanceTooLow));
    }
    let today = now.day();
    tx.debit(*account, today, sum).await?;
    for Debit { entry, amount, to } in debits {
        post(tx, entry, today, -amount, &[(*to, *amount)]);
    }
    Ok(Ok(()))
}

/// Whether an account has so many AUD cents, at least zero. Without [`Tx::lock_account`] only until another debit takes
/// them.
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
    Ok(amount <= arrived(tx, account, now, up_to).await?)
}

/// What lies in the merchant's book, or what of it is available up to a day, without deposits that have not arrived. Credits
/// of units that share this commit count: whoever sees their records must see their money.
async fn arrived(tx: &Tx, account: AccountToken, now: Timestamp, up_to: Option<Day>) -> Result<i64, Error> {
    let arriving = SimpleExpr::SubQuery(None, Box::new(arriving(account, now, up_to).into()));
    let rows = balance::Entity::owned_by(account)
        .apply_if(up_to, |rows, day| rows.filter(balance::Column::AvailableOn.lte(day)))
        .select_only()
        .column_as(sum_of(balance::Column::Amount.into_expr()).sub(arriving), "arrived");
    let written = rows.into_tuple::<i64>().one(tx).await?.unwrap_or_default();
    Ok(written + tx.credits_to_come(account, up_to))
}

/// Deposits that have not arrived: all of them, or those that are in the balance of a day, today, and arrive later on it.
/// Balances know days, deposits have an hour.
fn arriving(account: AccountToken, now: Timestamp, up_to: Option<Day>) -> SelectStatement {
    use deposit::Column::{Amount, AvailableAt};

    let tomorrow = now.last_midnight() + TimeSpan::days(1);
    let arriving = deposit::Entity::owned_by(account)
        .filter(AvailableAt.gt(now))
        .apply_if(up_to, |arriving, _| arriving.filter(AvailableAt.lt(tomorrow)))
        .select_only()
        .column_as(sum_of(Amount.into_expr()), "arriving");
    arriving.into_query()
}

/// PostgreSQL sums BIGINT to NUMERIC.
fn sum_of(amount: SimpleExpr) -> SimpleExpr {
    Expr::expr(amount).sum().if_null(0).cast_as("BIGINT")
}

/// The journal entry with its postings.
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
    // Of the merchant even nothing is said: it is a line of a settlement.
    tx.append(&posting(merchant_posting(tx, entry), Book::Merchant, amount, available_on));
    for (book, amount) in others.iter().filter(|(_, amount)| *amount != 0) {
        tx.append(&posting(tx.token(), *book, *amount, entry.now.day()));
    }
}

/// A charge is captured once, and finds its line by its own id.
fn merchant_posting(tx: &Tx, entry: &Entry) -> PostingToken {
    if entry.kind == EntryKind::Charge { Token::new(entry.source.id) } else { tx.token() }
}

/// What the account owns: available today, and pending.
pub async fn balance(ctx: &Context, account: &Account) -> Result<views::balance::Balance, Error> {
    let today = account.now.day();
    let in_days = sum_where(balance::Column::AvailableOn.into_expr().lte(today.number()));
    let arriving =
        SimpleExpr::SubQuery(None, Box::new(arriving(account.id(), account.now, Some(today)).into()));
    let pending = sum_where(balance::Column::AvailableOn.into_expr().gt(today.number()));
    let (in_days, arriving, pending) = balance::Entity::owned_by(account.id())
        .select_only()
        .column_as(in_days, "in_days")
        .column_as(arriving, "arriving")
        .column_as(pending, "pending")
        .into_tuple::<(i64, i64, i64)>()
        .one(ctx.store.read())
        .await?
        .ok_or_else(|| DbErr::RecordNotFound("a sum".into()))?;
    Ok(views::balance::Balance::new(in_days - arriving, pending + arriving))
}

fn sum_where(condition: SimpleExpr) -> SimpleExpr {
    sum_of(Expr::case(condition, balance::Column::Amount.into_expr()).finally(0).into())
}
