//! The ledger: every movement of money is one balanced double entry, written with the change (decisions 8).

use entity::journal_entry::EntryKind;
use entity::posting::Book;
use entity::{AccountToken, Currency, Day, Owned, Timestamp, balance, journal_entry, posting};
use sea_orm::sea_query::{Expr, ExprTrait, SimpleExpr};
use sea_orm::{ColumnTrait, DbErr, QuerySelect};

use super::context::{Account, Context};
use crate::error::Error;
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

/// Write one movement: `amount` AUD cents to the merchant's book, available from `available_on`, and what
/// balances it to `others`. The sum must be zero; an entry that is not balanced is a fault of ours that a
/// test finds, so it is written as it is and shows in `ledger verify`.
///
/// Only for credits: a debit has to look at the balance first.
pub fn record(tx: &Tx, entry: &Entry, available_on: Day, amount: i64, others: &[(Book, i64)]) {
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
    tx.credit(entry.account, available_on, amount);
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
