//! The ledger's rows for reconciliation: each posting with its journal entry (`docs/decisions.md`, 313).

use entity::journal_entry::EntryKind;
use entity::posting::Book;
use entity::{
    AccountToken, Currency, Day, JournalEntryToken, PostingToken, Timestamp, TransferToken, journal_entry,
    posting,
};
use futures::TryStreamExt;
use sea_orm::sea_query::{Alias, Expr, ExprTrait, Query, SelectStatement};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbErr, EntityTrait, FromQueryResult, QueryFilter, QueryOrder, QueryResult,
    QuerySelect, QueryTrait,
};
use serde::Serialize;

use super::{is_posted_by, sum_of};
use crate::error::Error;
use crate::store::Store;

/// Selects the movements of a report.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReportFilter {
    /// Only this account's.
    pub account: Option<AccountToken>,
    /// From this time on, by the account's clock.
    pub from: Option<Timestamp>,
    /// Before this time.
    pub to: Option<Timestamp>,
}

/// The names of [`ReportRow`]'s columns.
pub const COLUMNS: [&str; 11] = [
    "account",
    "entry",
    "created_at",
    "kind",
    "source",
    "posting",
    "book",
    "amount",
    "currency",
    "available_on",
    "transfer",
];

/// A posting with its journal entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, FromQueryResult)]
pub struct ReportRow {
    /// The account's token.
    pub account: AccountToken,
    /// The journal entry, whose postings sum to zero.
    pub entry: JournalEntryToken,
    /// The time of the movement, by the account's clock.
    pub created_at: Timestamp,
    /// The kind of movement.
    pub kind: EntryKind,
    /// The token of the record that moved the money.
    pub source: String,
    /// The posting's token.
    pub posting: PostingToken,
    /// The book of the posting.
    pub book: Book,
    /// AUD cents, signed.
    pub amount: i64,
    /// The ledger's currency, AUD.
    pub currency: Currency,
    /// The day on which the money becomes available.
    pub available_on: Day,
    /// The settlement that has the posting as a line.
    pub transfer: Option<TransferToken>,
}

/// Passes each posting of an extent to `on_row`, entry by entry in the order of time, all from one snapshot. Only one row
/// is in memory at a time.
pub async fn report(
    store: &Store,
    extent: ReportFilter,
    mut on_row: impl FnMut(&ReportRow) -> Result<(), std::io::Error>,
) -> Result<(), Error> {
    let snapshot = store.snapshot().await?;
    let query = snapshot.get_database_backend().build(&rows(extent));
    let mut rows = snapshot.stream(query).await?;
    while let Some(row) = rows.try_next().await? {
        on_row(&read(&row)?).map_err(|error| Error::internal(error.to_string()))?;
    }
    Ok(())
}

/// The names of [`BookRow`]'s columns.
pub const BOOK_COLUMNS: [&str; 4] = ["account", "book", "amount", "currency"];

/// What lies in a book of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, FromQueryResult)]
pub struct BookRow {
    /// The account's token.
    pub account: AccountToken,
    /// The book.
    pub book: Book,
    /// AUD cents, signed. An account's books sum to zero.
    pub amount: i64,
    /// The ledger's currency, AUD.
    pub currency: Currency,
}

/// Returns the trial balance at the end of a second: each account's books, in the order of the accounts and the names of their
/// books.
pub async fn trial_balance(
    store: &Store,
    account: Option<AccountToken>,
    at: Timestamp,
) -> Result<Vec<BookRow>, Error> {
    use posting::Column::{AccountId, Amount, Book, Currency};

    let books = posting::Entity::find()
        .apply_if(account, |postings, account| postings.filter(AccountId.eq(account)))
        .filter(is_posted_by(at.end_of_second()))
        .select_only()
        .column_as(AccountId, "account")
        .column_as(Book, "book")
        .column_as(sum_of(Amount.into_expr()), "amount")
        .column_as(Currency, "currency")
        .group_by(AccountId)
        .group_by(Book)
        .group_by(Currency)
        .order_by_asc(AccountId)
        .order_by_asc(Book)
        .order_by_asc(Currency);
    Ok(books.into_model().all(&store.snapshot().await?).await?)
}

fn read(row: &QueryResult) -> Result<ReportRow, DbErr> {
    ReportRow::from_query_result(row, "")
}

fn rows(extent: ReportFilter) -> SelectStatement {
    use journal_entry::Column as Of;
    use posting::Column as Side;

    let entry = |column: Of| Expr::col((journal_entry::Entity, column));
    let side = |column: Side| Expr::col((posting::Entity, column));
    let named = |name: &str| Alias::new(name);
    let its_side = side(Side::AccountId).eq(entry(Of::AccountId)).and(side(Side::EntryId).eq(entry(Of::Id)));
    let mut rows = Query::select()
        .expr_as(entry(Of::AccountId), named("account"))
        .expr_as(entry(Of::Id), named("entry"))
        .expr_as(entry(Of::CreatedAt), named("created_at"))
        .expr_as(entry(Of::Kind), named("kind"))
        .expr_as(entry(Of::Source), named("source"))
        .expr_as(side(Side::Id), named("posting"))
        .expr_as(side(Side::Book), named("book"))
        .expr_as(side(Side::Amount), named("amount"))
        .expr_as(side(Side::Currency), named("currency"))
        .expr_as(side(Side::AvailableOn), named("available_on"))
        .expr_as(side(Side::TransferId), named("transfer"))
        .from(journal_entry::Entity)
        .inner_join(posting::Entity, its_side)
        .take();
    if let Some(account) = extent.account {
        rows.and_where(entry(Of::AccountId).eq(account));
    }
    if let Some(from) = extent.from {
        rows.and_where(entry(Of::CreatedAt).gte(from.millis()));
    }
    if let Some(to) = extent.to {
        rows.and_where(entry(Of::CreatedAt).lt(to.millis()));
    }
    for column in [Of::AccountId, Of::CreatedAt, Of::Id] {
        rows.order_by((journal_entry::Entity, column), sea_orm::sea_query::Order::Asc);
    }
    rows.order_by((posting::Entity, Side::Id), sea_orm::sea_query::Order::Asc).take()
}
