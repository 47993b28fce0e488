//! Folds, stores and finds the text of searches (`docs/decisions.md`, 20 and 204).

use entity::AccountToken;
use sea_orm::sea_query::{Expr, ExprTrait, Query, SimpleExpr};
use sea_orm::{ConnectionTrait, DbBackend, DbErr};
use uuid::Uuid;

use crate::store::Tx;

/// SQLite's full-text table of the charges' words; PostgreSQL indexes the row's own column.
pub const TABLE: &str = "charges_search";

/// Returns three private-use characters for the account: a trigram of its own in every row and every search. Two accounts may
/// share a code; the search checks the account itself as well.
pub fn account_code(account: AccountToken) -> String {
    const FIRST: u32 = 0xE000;
    const HOW_MANY: u32 = 6400;
    let bytes = account.id().into_bytes();
    // The last bytes of a UUIDv7 are the random ones.
    let mut random =
        u64::from_be_bytes([0, 0, bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]]);
    (0..3)
        .filter_map(|_| {
            let digit = u32::try_from(random % u64::from(HOW_MANY)).ok()?;
            random /= u64::from(HOW_MANY);
            char::from_u32(FIRST + digit)
        })
        .collect()
}

/// Adds a charge's text to the search table.
pub(super) fn append(tx: &Tx, account: AccountToken, id: Uuid, text: &str) {
    if tx.get_database_backend() != DbBackend::Postgres {
        let text = format!("{}\n{text}", account_code(account));
        tx.append_values(TABLE, [("text", text.into()), ("id", id.into())]);
    }
}

/// Removes a charge's text, as it was added, from the search table.
pub(super) async fn remove(tx: &Tx, account: AccountToken, id: Uuid, text: &str) -> Result<(), DbErr> {
    if tx.get_database_backend() == DbBackend::Postgres {
        return Ok(());
    }
    // The words find the few rows among which to look for the id, which has no index.
    let words = format!("{}\n{text}", account_code(account)).replace('"', "\"\"");
    let found = Query::select()
        .column("rowid")
        .from(TABLE)
        .and_where(Expr::cust_with_values("charges_search MATCH ?", [format!("\"{words}\"")]))
        .and_where(Expr::col("id").eq(id))
        .take();
    let gone = Query::delete().from_table(TABLE).and_where(Expr::col("rowid").in_subquery(found)).take();
    tx.execute(&gone).await?;
    Ok(())
}

/// Returns the stored text of a search, one line for each text, so that no match spans two.
pub fn stored_text<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    texts.into_iter().map(folded).collect::<Vec<_>>().join("\n")
}

/// Folds a text or a query for comparison.
pub fn folded(text: &str) -> String {
    text.replace('\n', " ").to_lowercase()
}

/// Returns the condition that a stored text contains a query.
pub fn contains(backend: DbBackend, text: SimpleExpr, query: &str) -> SimpleExpr {
    if backend == DbBackend::Postgres {
        // The index is on the column itself.
        text.like(pattern(&folded(query)))
    } else {
        holds(backend, text, &folded(query))
    }
}

/// Returns the condition that a text holds folded words. No index helps.
pub fn holds(backend: DbBackend, text: SimpleExpr, words: &str) -> SimpleExpr {
    let position = if backend == DbBackend::Postgres { "strpos($1, $2) > 0" } else { "instr(?, ?) > 0" };
    Expr::cust_with_exprs(position, [text, Expr::value(words)])
}

/// Returns the LIKE pattern of texts that hold folded words. Percent, underscore and backslash are ordinary characters in them.
pub fn pattern(words: &str) -> String {
    format!("%{}%", words.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_"))
}
