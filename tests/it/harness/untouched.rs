//! Proof that a refusal changed nothing.

use super::App;

/// What the first account's callers and the database can see: lists, balance and the number of rows, those of failed
/// attempts included.
pub async fn everything(app: &App) -> String {
    let mut seen = String::new();
    for path in
        ["/1/charges?per_page=500", "/1/customers?per_page=500", "/1/events?per_page=500", "/1/balance"]
    {
        seen += &app.client().get(path).await.ok(200).to_string();
    }
    for table in ["charges", "customers", "cards", "events", "journal_entries", "postings"] {
        let rows = app.number(&format!("SELECT COUNT(*) FROM {table}")).await;
        seen.extend(["\n", table, &rows.to_string()]);
    }
    seen
}
