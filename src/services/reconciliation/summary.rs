//! The result of a reconciliation, in numbers.

use entity::reconciliation::Movement;
use entity::reconciliation_exception::{self as exception, Column, ExceptionKind};
use entity::statement_line::{self, Column as OfLine};
use entity::{Currency, statement};
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, EntityTrait, PaginatorTrait, QueryFilter, QueryOrder, QuerySelect};

use crate::Store;
use crate::error::Error;
use crate::services::reconciliation::view::{Count, Reconciled, Sum};

/// Returns the numbers of a statement as they are now.
pub(super) async fn summary(
    store: &Store,
    seen: statement::Model,
    before: bool,
) -> Result<Reconciled, Error> {
    let db = store.read();
    let lines = || statement_line::Entity::find().filter(OfLine::StatementId.eq(seen.id));
    let matched = lines().filter(OfLine::Entry.is_not_null()).count(db).await?;
    let found: Vec<(ExceptionKind, i64)> = exception::Entity::find()
        .filter(Column::StatementId.eq(seen.id))
        .select_only()
        .column(Column::Kind)
        .column_as(Column::Id.count(), "n")
        .group_by(Column::Kind)
        .order_by_asc(Column::Kind)
        .into_tuple()
        .all(db)
        .await?;
    let resolved = exception::Entity::find().filter(Column::ResolvedBy.eq(seen.id)).count(db).await?;
    let sum = Expr::expr(OfLine::Amount.into_expr()).sum().cast_as("BIGINT");
    let fees: Vec<(Currency, i64)> = lines()
        .filter(OfLine::Movement.eq(Movement::Fee))
        .select_only()
        .column(OfLine::Currency)
        .column_as(sum, "amount")
        .group_by(OfLine::Currency)
        .order_by_asc(OfLine::Currency)
        .into_tuple()
        .all(db)
        .await?;
    Ok(Reconciled {
        statement: seen.name,
        from: seen.first_day,
        to: seen.last_day,
        lines: seen.lines,
        matched,
        exceptions: found.into_iter().map(|(kind, n)| Count { kind, n }).collect(),
        resolved,
        fees: fees.into_iter().map(|(currency, amount)| Sum { currency, amount }).collect(),
        imported_before: before,
    })
}
