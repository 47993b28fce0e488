//! The ledger's rows for reconciliation: each posting with its journal entry (`docs/decisions.md`, 313).

use entity::journal_entry::EntryKind;
use entity::posting::Book;
use entity::{
    AccountToken, Currency, Day, JournalEntryToken, PostingToken, Timestamp, TransferToken, journal_entry,
    posting,
};
use futures::TryStreamExt;
use sea_orm::sea_query::SelectStatement;
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbErr, DerivePartialModel, EntityTrait, FromQueryResult, PartialModelTrait,
    QueryFilter, QueryOrder, QueryResult, QuerySelect, QueryTrait,
};
use serde::Serialize;

use super::{is_posted_by, sum_of};
use crate::Store;
use crate::error::Error;

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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, DerivePartialModel)]
#[sea_orm(entity = "journal_entry::Entity")]
pub struct ReportRow {
    #[sea_orm(from_col = "account_id")]
    pub account: AccountToken,
    /// The journal entry, whose postings sum to zero.
    #[sea_orm(from_col = "id")]
    pub entry: JournalEntryToken,
    /// The time of the movement, by the account's clock.
    pub created_at: Timestamp,
    pub kind: EntryKind,
    /// The token of the record that moved the money.
    pub source: String,
    #[sea_orm(from_expr = "posting::Column::Id")]
    pub posting: PostingToken,
    #[sea_orm(from_expr = "posting::Column::Book")]
    pub book: Book,
    /// AUD cents, signed.
    #[sea_orm(from_expr = "posting::Column::Amount")]
    pub amount: i64,
    /// The ledger's currency, AUD.
    #[sea_orm(from_expr = "posting::Column::Currency")]
    pub currency: Currency,
    /// The day on which the money becomes available.
    #[sea_orm(from_expr = "posting::Column::AvailableOn")]
    pub available_on: Day,
    /// The settlement that has the posting as a line.
    #[sea_orm(from_expr = "posting::Column::TransferId")]
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

/// The balance of a book of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, DerivePartialModel)]
#[sea_orm(entity = "posting::Entity")]
pub struct BookRow {
    #[sea_orm(from_col = "account_id")]
    pub account: AccountToken,
    pub book: Book,
    /// AUD cents, signed. An account's books sum to zero.
    #[sea_orm(from_expr = "sum_of(posting::Column::Amount.into_expr())")]
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
    use posting::Column::{AccountId, Book, Currency};

    let books = posting::Entity::find()
        .apply_if(account, |postings, account| postings.filter(AccountId.eq(account)))
        .filter(is_posted_by(at.end_of_second()))
        .group_by(AccountId)
        .group_by(Book)
        .group_by(Currency)
        .order_by_asc(AccountId)
        .order_by_asc(Book)
        .order_by_asc(Currency);
    Ok(books.into_partial_model().all(&store.snapshot().await?).await?)
}

fn read(row: &QueryResult) -> Result<ReportRow, DbErr> {
    ReportRow::from_query_result(row, "")
}

fn rows(extent: ReportFilter) -> SelectStatement {
    use journal_entry::COLUMN;

    let rows = journal_entry::Entity::find()
        .reverse_join(posting::Entity)
        .apply_if(extent.account, |rows, account| rows.filter(COLUMN.account_id.eq(account)))
        .apply_if(extent.from, |rows, from| rows.filter(COLUMN.created_at.gte(from)))
        .apply_if(extent.to, |rows, to| rows.filter(COLUMN.created_at.lt(to)))
        .order_by_asc(COLUMN.account_id)
        .order_by_asc(COLUMN.created_at)
        .order_by_asc(COLUMN.id)
        .order_by_asc(posting::COLUMN.id)
        .select_only();
    ReportRow::select_cols(rows).into_query()
}
