//! Folds, stores and finds the text of searches (`docs/decisions.md`, 20 and 204).

pub mod rebuild;

use entity::{AccountToken, Listed};
use sea_orm::sea_query::{Expr, ExprTrait, Query, SimpleExpr, UnionType};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, DbBackend, DbErr, QueryFilter, QuerySelect, QueryTrait,
};
use store::Tx;
use uuid::Uuid;

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

/// Returns the condition that a row meets one of these. On PostgreSQL it is that each finds it: of conditions that are joined by OR
/// it would use no index, and compare every row with all that a sub-query finds. SQLite scans an index that covers the compared columns.
pub fn any_of<E: Listed>(
    backend: DbBackend,
    account: AccountToken,
    conditions: Vec<SimpleExpr>,
) -> Condition {
    if backend != DbBackend::Postgres {
        return conditions.into_iter().fold(Condition::any(), Condition::add);
    }
    let of = |condition: SimpleExpr| {
        E::owned_by(account).filter(condition).select_only().column(E::ID).into_query()
    };
    let mut conditions = conditions.into_iter();
    let mut found = conditions.next().map(of).unwrap_or_default();
    for condition in conditions {
        found.union(UnionType::Distinct, of(condition));
    }
    Condition::all().add(E::ID.in_subquery(found))
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

/// Folds a text or a query for comparison: each character by itself, so that a part of a text is folded as within the text.
pub fn folded(text: &str) -> String {
    let line = text.chars().map(|c| if c == '\n' { ' ' } else { c });
    line.map(capital).flat_map(char::to_lowercase).collect()
}

/// Returns the one capital of a letter, which several small ones may share: sigma within a word and at its end. Others stay.
fn capital(c: char) -> char {
    let mut capital = c.to_uppercase();
    if capital.len() == 1 { capital.next().unwrap_or(c) } else { c }
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

/// Returns the condition that a text, which is not stored folded, contains a query. Letter case is ignored as far as the database
/// knows it, which on SQLite is that of ASCII. No index helps.
pub fn contains_as_stored(backend: DbBackend, text: SimpleExpr, query: &str) -> SimpleExpr {
    let position = if backend == DbBackend::Postgres {
        "strpos(lower($1), lower($2)) > 0"
    } else {
        "instr(lower(?), lower(?)) > 0"
    };
    Expr::cust_with_exprs(position, [text, Expr::value(query)])
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_letter_is_folded_once_and_as_its_capital_and_its_small_letter_are() {
        for c in '\0'..=char::MAX {
            let once = folded(&c.to_string());
            assert_eq!(folded(&once), once, "{c:?}");
            assert_eq!(folded(&c.to_lowercase().to_string()), once, "{c:?}");
            assert_eq!(folded(&capital(c).to_string()), once, "{c:?}");
        }
    }
}
