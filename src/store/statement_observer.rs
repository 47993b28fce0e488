//! Letting somebody see every statement that this process sends: how tests prove what all of them begin with.

use std::sync::OnceLock;

use sea_orm::{DatabaseConnection, Statement};

static WATCHER: OnceLock<fn(&Statement)> = OnceLock::new();

/// From now on, stores that are opened show their statements, as they are sent; those of migrations, and what begins
/// and ends transactions, are not shown. A process has one watcher, the first.
pub fn watch(watcher: fn(&Statement)) {
    WATCHER.get_or_init(|| watcher);
}

/// Let whoever watches see a statement.
pub(super) fn show(statement: &Statement) {
    if let Some(watcher) = WATCHER.get() {
        watcher(statement);
    }
}

/// PostgreSQL's pool, seen by whoever watches.
pub(super) fn watched(mut connection: DatabaseConnection) -> DatabaseConnection {
    if let Some(&watcher) = WATCHER.get() {
        connection.set_metric_callback(move |sent| watcher(sent.statement));
    }
    connection
}
