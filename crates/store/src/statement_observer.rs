//! Shows every statement that this process sends to an observer: tests prove with it what all statements begin with.

use std::sync::OnceLock;

use sea_orm::{DatabaseConnection, Statement};

static WATCHER: OnceLock<fn(&Statement)> = OnceLock::new();

/// Registers the watcher of statements, which stores opened afterwards show as they send them, except those of migrations,
/// those that begin and end transactions, and those of groups, which say together what their units' own say. A process has one
/// watcher, the first.
pub fn watch(watcher: fn(&Statement)) {
    WATCHER.get_or_init(|| watcher);
}

/// Shows a statement to the watcher, if there is one.
pub(crate) fn show(statement: &Statement) {
    if let Some(watcher) = WATCHER.get() {
        watcher(statement);
    }
}

/// Makes PostgreSQL's pool show its statements to the watcher.
pub(crate) fn watched(mut connection: DatabaseConnection) -> DatabaseConnection {
    if let Some(&watcher) = WATCHER.get() {
        connection.set_metric_callback(move |sent| watcher(sent.statement));
    }
    connection
}
