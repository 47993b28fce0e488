//! What PostgreSQL's index of trigrams is told of is in it at once. By default a new row waits in a list, which each search
//! reads from end to end, and of which now and then one payment has to put thousands of rows in their places.

const TABLES: [&str; 4] = ["charges", "recipients", "transfers", "merchants"];

crate::migration!(|backend| {
    if backend != DbBackend::Postgres {
        return String::new();
    }
    TABLES.map(|table| format!("ALTER INDEX {table}_by_words SET (fastupdate = off);")).concat()
});
