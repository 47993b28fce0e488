//! Every row of a database.

use sea_orm::DbBackend;

/// Returns every row of every table as text: equal texts mean that nothing changed. The schema says which tables there are, so none is
/// forgotten. Only uses of keys are left out, which a worker counts in its own time, the log of requests, which is about those that
/// change nothing, too, and the time that a worker notes. `text` answers a query.
pub async fn rows(backend: DbBackend, text: impl AsyncFn(String) -> String) -> String {
    let (tables, together) = if backend == DbBackend::Sqlite {
        // A virtual table's rows are in its shadow tables.
        (
            "SELECT group_concat(one, ' UNION ALL ') FROM (
                 SELECT 'SELECT ''' || m.name || ' '' || ' || group_concat('quote(' || c.name || ')', ' || '','' || ')
                     || ' AS row FROM ' || m.name AS one
                 FROM sqlite_master m, pragma_table_info(m.name) c
                 WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%' AND m.name NOT IN ('key_uses', 'logged_requests') GROUP BY m.name)",
            "group_concat(row, char(10))",
        )
    } else {
        (
            "SELECT string_agg(format('SELECT %L || '' '' || t::text AS row FROM %I t', table_name, table_name), ' UNION ALL ')
             FROM information_schema.tables WHERE table_schema = current_schema() AND table_name NOT IN ('key_uses', 'logged_requests')",
            "string_agg(row, chr(10))",
        )
    };
    let all = text(tables.to_owned()).await;
    let rows =
        text(format!("SELECT {together} FROM (SELECT row FROM ({all}) AS every ORDER BY row) AS ordered"))
            .await;
    // Readers of events number them, and so does a worker. The number is the last column.
    let noted = ["event_sequences ", "installation 'clock',", "installation (clock,"];
    let kept = rows.lines().filter(|row| !noted.iter().any(|noted| row.starts_with(noted)));
    let kept = kept.map(|row| match row.rsplit_once(',') {
        Some((row, _)) if row.starts_with("events ") => row,
        _ => row,
    });
    kept.collect::<Vec<_>>().join("\n")
}
