//! Folds, stores and finds the text of searches (`docs/decisions.md`, 20 and 204).

use sea_orm::DbBackend;
use sea_orm::sea_query::{Expr, ExprTrait, SimpleExpr};

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
    let words = folded(query);
    if backend == DbBackend::Postgres {
        // The index is on the column itself. Percent, underscore and backslash are ordinary characters here.
        let escaped = words.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        text.like(format!("%{escaped}%"))
    } else {
        Expr::cust_with_exprs("instr(?, ?) > 0", [text, Expr::value(words)])
    }
}
