//! What SQLite walks through where a search finds much, or words of one or two characters: narrow rows that hold the
//! words, in the order in which they are asked for. PostgreSQL scans the table itself, in parallel.

/// What lists showed when this step was released.
const LISTED: &str =
    "state IN ('authorised', 'capturing', 'voiding', 'captured', 'voided') AND origin <> 'authorisation'";

crate::migration!(|backend| {
    if backend == DbBackend::Postgres {
        return String::new();
    }
    format!(
        "
DROP INDEX charges_by_time;
CREATE INDEX charges_by_time ON charges (account_id, created_at, id, search_text, amount, currency) WHERE {LISTED};
DROP INDEX transfers_by_time;
CREATE INDEX transfers_by_time ON transfers (account_id, created_at, id, search_text, amount, recipient_id);
"
    )
});
