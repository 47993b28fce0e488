//! The lines of settlements: the merchant's postings, each paid out with one transfer (`docs/decisions.md`, 205). No
//! charge has a job of its own: one statement claims all waiting lines.

use std::collections::HashMap;

use base::mutants::{self, Mutant};
use entity::posting::{self, Column};
use entity::{AccountToken, ChargeToken, Day, Owned, Token, TransferToken, charge, transfer};
use sea_orm::sea_query::{Asterisk, DynIden, Expr, ExprTrait, SelectStatement, SimpleExpr};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbBackend, JoinType, QueryFilter, QuerySelect, QueryTrait, RelationTrait,
    Select, Value,
};
use store::Tx;

use super::sum_of;
use crate::error::Error;
use crate::services::by_key;

/// The count and sums of several lines, in AUD cents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SettlementLines {
    pub count: i64,
    /// The sum of the positive lines.
    pub credits: i64,
    /// The sum of the negative lines, as a positive number.
    pub debits: i64,
}

impl SettlementLines {
    /// Returns the lines' total.
    pub fn amount(self) -> i64 {
        self.credits - self.debits
    }
}

/// The lines that a settlement pays out.
#[derive(Debug, Clone, Copy)]
pub enum PaidLines {
    /// Those that are available on a day.
    Of(Day),
    /// Those, and debits whatever their day, among all that wait.
    WithLaterDebits(Day),
}

impl PaidLines {
    fn condition(self) -> SimpleExpr {
        let waiting = is_unsettled();
        match self {
            Self::Of(day) => waiting.and(Column::AvailableOn.lte(day)),
            Self::WithLaterDebits(day) => waiting.and(Column::AvailableOn.lte(day).or(Column::Amount.lt(0))),
        }
    }
}

/// Sums the waiting lines that a settlement pays out.
pub async fn waiting(tx: &Tx, account: AccountToken, paid: PaidLines) -> Result<SettlementLines, Error> {
    sum(tx, posting::Entity::owned_by(account).filter(paid.condition())).await
}

/// Assigns the waiting lines that a settlement pays out to its transfer. Credits take no lock, so there may be more
/// lines than [`waiting`] saw.
pub async fn claim(
    tx: &Tx,
    account: AccountToken,
    paid: PaidLines,
    transfer: TransferToken,
) -> Result<SettlementLines, Error> {
    let claim = posting::Entity::update_of(account)
        .filter(paid.condition())
        .col_expr(Column::Unsettled, Expr::value(mutants::is(Mutant::SettledAgain)))
        .col_expr(Column::TransferId, Expr::value(transfer));
    claim.exec(tx).await?;
    sum(tx, posting::Entity::owned_by(account).filter(Column::TransferId.eq(transfer))).await
}

/// Returns the lines of a transfer that is not made to the waiting ones.
pub async fn release(tx: &Tx, account: AccountToken, transfer: TransferToken) -> Result<(), Error> {
    let release = posting::Entity::update_of(account)
        .filter(Column::TransferId.eq(transfer))
        .col_expr(Column::Unsettled, Expr::value(true))
        .col_expr(Column::TransferId, Expr::value(None::<uuid::Uuid>));
    release.exec(tx).await?;
    Ok(())
}

/// Returns the transfers that paid out charges, by charge, with one query for a whole page.
pub async fn transfers_of(
    db: &impl ConnectionTrait,
    account: AccountToken,
    charges: impl Iterator<Item = ChargeToken>,
) -> Result<HashMap<ChargeToken, transfer::Model>, Error> {
    let lines: Vec<_> = charges.map(Token::id).collect();
    if lines.is_empty() {
        return Ok(HashMap::new());
    }
    let backend = db.get_database_backend();
    let mut paid = by_key::rows::<posting::Entity>(backend, account, lines);
    if backend == DbBackend::Postgres {
        let its = by_key::row::<transfer::Entity>(account, posting(Column::TransferId));
        by_key::join(QueryTrait::query(&mut paid), JoinType::InnerJoin, its, transfer::Entity);
    } else {
        paid = paid.inner_join(transfer::Entity);
    }
    let paid = paid.select_also(transfer::Entity).all(db).await?;
    let paid = paid.into_iter().filter_map(|(line, transfer)| Some((Token::new(line.id.id()), transfer?)));
    Ok(paid.collect())
}

/// Joins to each charge of a statement the transfer that paid it out, with the columns that
/// `crate::services::charges::view::ShownCharge` shows.
pub fn with_transfer(
    statement: &mut SelectStatement,
    backend: DbBackend,
    account: AccountToken,
    charges: &DynIden,
) {
    let paid = |column: transfer::Column| Expr::col((transfer::Entity, column));
    if backend == DbBackend::Postgres {
        let of_charge = posting(Column::Id).equals((charges.clone(), charge::Column::Id));
        let line =
            posting::Entity::owned_by(account).filter(of_charge).select_only().column(Column::TransferId);
        let its = SimpleExpr::SubQuery(None, Box::new(line.into_query().into()));
        let its = by_key::row::<transfer::Entity>(account, its);
        by_key::join(statement, JoinType::LeftJoin, its, transfer::Entity);
    } else {
        statement
            .left_join(posting::Entity, posting::Relation::Charge.def().rev().from_alias(charges.clone()))
            .left_join(transfer::Entity, posting::Relation::Transfer.def());
    }
    statement
        .expr_as(paid(transfer::Column::Id), "transfer_id")
        .expr_as(paid(transfer::Column::Status), "transfer_status")
        .expr_as(paid(transfer::Column::CreatedAt), "transfer_created_at");
}

/// Returns the values of the statement's part that [`with_transfer`] writes, in their order.
pub fn values_with_transfer(backend: DbBackend, account: AccountToken) -> Vec<Value> {
    // PostgreSQL looks up one line and one transfer.
    if backend == DbBackend::Postgres { vec![account.into(), account.into()] } else { Vec::new() }
}

fn posting(column: Column) -> Expr {
    Expr::col((posting::Entity, column))
}

/// Returns the condition of the partial index, word for word.
fn is_unsettled() -> SimpleExpr {
    Expr::cust("unsettled")
}

async fn sum(tx: &Tx, lines: Select<posting::Entity>) -> Result<SettlementLines, Error> {
    let amount = || Column::Amount.into_expr();
    let credits = sum_of(Expr::case(amount().gt(0), amount()).finally(0).into());
    let debits = sum_of(Expr::case(amount().lt(0), Expr::value(0).sub(amount())).finally(0).into());
    let sums = lines
        .select_only()
        .column_as(Expr::col(Asterisk).count(), "count")
        .column_as(credits, "credits")
        .column_as(debits, "debits")
        .into_tuple::<(i64, i64, i64)>()
        .one(tx)
        .await?;
    let (count, credits, debits) = sums.unwrap_or_default();
    Ok(SettlementLines { count, credits, debits })
}
