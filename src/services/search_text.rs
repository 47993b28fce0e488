//! Words as a search folds, keeps and finds them (decisions 1).

use sea_orm::DbBackend;
use sea_orm::sea_query::{Expr, ExprTrait, SimpleExpr};

/// Texts in which words are looked up, a line each: no query finds the end of one and the beginning of the next.
pub fn kept<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    texts.into_iter().map(folded).collect::<Vec<_>>().join("\n")
}

/// One text, or a query, as words are compared.
pub fn folded(text: &str) -> String {
    text.replace('\n', " ").to_lowercase()
}

/// Whether a kept text contains a query.
pub fn contains(backend: DbBackend, text: SimpleExpr, query: &str) -> SimpleExpr {
    let words = folded(query);
    if backend == DbBackend::Postgres {
        // The index is on the column itself; percent, underscore and backslash are letters like any other here.
        let escaped = words.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        text.like(format!("%{escaped}%"))
    } else {
        Expr::cust_with_exprs("instr(?, ?) > 0", [text, Expr::value(words)])
    }
}
