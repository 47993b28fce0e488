//! The ledger: every movement of money is one balanced double entry, written with the change (decisions 8).

mod proofs;
pub mod verify;

use entity::journal_entry::EntryKind;
use entity::posting::Book;
use entity::{AccountToken, Currency, Day, Owned, Timestamp, balance, journal_entry, posting};
use sea_orm::sea_query::{Expr, ExprTrait, SimpleExpr};
use sea_orm::{ColumnTrait, DbErr, QueryFilter, QuerySelect};

use crate::error::Error;
use crate::services::context::{Account, Context};
use crate::store::Tx;
use crate::views;

/// Why money moves, and because of what.
pub struct Entry {
    /// Whose money.
    pub account: AccountToken,
    /// Why.
    pub kind: EntryKind,
    /// The token of the record that moves it.
    pub source: String,
    /// By the account's clock.
    pub now: Timestamp,
}

/// What a debit may draw on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Draws {
    /// What is available today: money that leaves the account.
    Available,
    /// What is pending as well, so that available may become negative: money that goes back to cards.
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

/// Take `amount` AUD cents, at least zero, from what is available today, and give it to `to`. False, and
/// nothing written, where `draws` does not cover it.
///
/// However many debits race, they take turns: each sees what the one before has taken.
pub async fn debit(tx: &Tx, entry: &Entry, draws: Draws, amount: i64, to: Book) -> Result<bool, Error> {
    tx.hold_account(entry.account).await?;
    let today = entry.now.day();
    let up_to = match draws {
        Draws::Available => Some(today),
        Draws::AvailableAndPending => None,
    };
    // Who takes nothing needs nothing.
    if amount > 0 && amount > owned(tx, entry.account, up_to).await? {
        return Ok(false);
    }
    tx.debit(entry.account, today, amount).await?;
    post(tx, entry, today, -amount, &[(to, amount)]);
    Ok(true)
}

/// What lies in the merchant's book, or what of it is available up to a day. Credits of units that share this
/// commit count: whoever sees their records must see their money.
async fn owned(tx: &Tx, account: AccountToken, up_to: Option<Day>) -> Result<i64, Error> {
    // PostgreSQL sums BIGINT to NUMERIC.
    let sum = balance::Column::Amount.into_expr().sum().if_null(0).cast_as("BIGINT");
    let mut rows = balance::Entity::owned_by(account).select_only().column_as(sum, "owned");
    if let Some(day) = up_to {
        rows = rows.filter(balance::Column::AvailableOn.lte(day));
    }
    let written = rows.into_tuple::<i64>().one(tx).await?.unwrap_or_default();
    Ok(written + tx.credits_to_come(account, up_to))
}

/// The journal entry with its postings.
fn post(tx: &Tx, entry: &Entry, available_on: Day, amount: i64, others: &[(Book, i64)]) {
    debug_assert_eq!(amount + others.iter().map(|(_, amount)| amount).sum::<i64>(), 0, "an unbalanced entry");
    let entry_id = tx.token();
    tx.append(&journal_entry::Model {
        account_id: entry.account,
        id: entry_id,
        kind: entry.kind,
        source: entry.source.clone(),
        created_at: entry.now,
    });
    let today = entry.now.day();
    let merchant = [(Book::Merchant, amount, available_on)];
    let sides = merchant.into_iter().chain(others.iter().map(|(book, amount)| (*book, *amount, today)));
    // A side of nothing says nothing.
    for (book, amount, available_on) in sides.filter(|(_, amount, _)| *amount != 0) {
        tx.append(&posting::Model {
            account_id: entry.account,
            id: tx.token(),
            entry_id,
            book,
            amount,
            currency: Currency::Aud,
            available_on,
        });
    }
}

/// What the account owns: available today, and pending.
pub async fn balance(ctx: &Context, account: &Account) -> Result<views::balance::Balance, Error> {
    let today = account.now.day();
    let available = sum_where(balance::Column::AvailableOn.into_expr().lte(today.number()));
    let pending = sum_where(balance::Column::AvailableOn.into_expr().gt(today.number()));
    let (available, pending) = balance::Entity::owned_by(account.id())
        .select_only()
        .column_as(available, "available")
        .column_as(pending, "pending")
        .into_tuple::<(i64, i64)>()
        .one(ctx.store.read())
        .await?
        .ok_or_else(|| DbErr::RecordNotFound("a sum".into()))?;
    Ok(views::balance::Balance::new(available, pending))
}

fn sum_where(condition: SimpleExpr) -> SimpleExpr {
    let amount = Expr::case(condition, balance::Column::Amount.into_expr()).finally(0);
    // PostgreSQL sums BIGINT to NUMERIC.
    Expr::expr(amount).sum().if_null(0).cast_as("BIGINT")
}
