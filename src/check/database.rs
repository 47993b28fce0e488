//! Checks the database: it is reachable, ours, of this release, and set up so that committed data is durable.

use base::clock::Clock;
use store::{
    ConnectError, DatabaseKind, Inspection, Integrity, Location, PostgresServer, SqliteFile, inspect,
};

use super::configuration::Configuration;
use super::findings::{Area, Findings};
use crate::app;
use crate::services::installation;

/// The release that the tests run on.
const POSTGRES_RELEASE: i64 = 150_000;
const MIB: u64 = 1024 * 1024;

/// Checks the database; `None` where it cannot be inspected.
pub async fn check(
    configuration: &Configuration,
    clock: &dyn Clock,
    findings: &mut Findings,
) -> Option<Inspection> {
    findings.begin_area(Area::Database);
    let location = match configuration.database.location() {
        Ok(location) => location,
        Err(error) => {
            findings.wrong(format!("CARD_PAYMENTS_DATABASE_URL: {error}"), error.remedy());
            return None;
        }
    };
    let inspection = match inspect(&location, clock).await {
        Ok(inspection) => inspection,
        Err(error) => {
            match (&location, store::check_integrity(&location).await) {
                (Location::Sqlite { path }, Ok(Integrity::Corrupted(_))) => {
                    let error = ConnectError::Damaged(path.clone());
                    findings.wrong(error.to_string(), error.remedy());
                }
                _ => findings.wrong(error.to_string(), error.remedy()),
            }
            return None;
        }
    };
    match &inspection.kind {
        DatabaseKind::Sqlite(file) => check_file(file, findings),
        DatabaseKind::Postgres(server) => {
            if configuration.is_live() && !location.is_server_verified() {
                findings.warning(
                    "its address demands no certificate, so a machine on the way can read and change all data",
                    "add ?sslmode=verify-full to it",
                );
            }
            check_server(server, configuration.is_live(), findings);
        }
    }
    contents(&inspection, configuration, findings);
    report_integrity(&location, findings).await;
    Some(inspection)
}

async fn report_integrity(location: &Location, findings: &mut Findings) {
    match store::check_integrity(location).await {
        Ok(Integrity::Intact(text)) => findings.ok(text),
        Ok(Integrity::NotChecked(why)) => {
            findings.ok(format!("damage was not checked: {why}"));
        }
        Ok(Integrity::Corrupted(damaged)) => {
            findings.wrong(format!("it is damaged: {}", damaged.join("; ")), ConnectError::RESTORE);
        }
        Err(error) => findings
            .warning(format!("damage could not be checked: {error}"), "run check again when it is less busy"),
    }
}

fn contents(inspection: &Inspection, configuration: &Configuration, findings: &mut Findings) {
    let Inspection { found, missing, unknown, .. } = inspection;
    let environment = configuration.database.environment;
    if let Err(error) = installation::refuse_other(found.environment.as_deref(), environment) {
        findings.wrong(error.to_string(), "name the right database, or the right CARD_PAYMENTS_ENVIRONMENT");
    }
    let seed =
        app::clock_and_random(&configuration.database).ok().and_then(|(_, random)| random.fingerprint());
    let (kept, is_empty) = (found.seed.as_deref(), found.keys.is_empty());
    if let Err(error) = installation::refuse_other_seed(kept, is_empty, seed.as_deref()) {
        findings.wrong(error.to_string(), "name the right database, or its CARD_PAYMENTS_SEED");
    }
    if !unknown.is_empty() {
        let error = ConnectError::unknown(unknown);
        findings.wrong(error.to_string(), error.remedy());
    } else if missing.is_empty() {
        findings.ok(match &found.environment {
            Some(environment) => {
                format!("its schema is up to date; it belongs to the {environment} environment")
            }
            None => "its schema is up to date; it belongs to no environment yet".into(),
        });
    } else if found.environment.is_none() && found.keys.is_empty() {
        findings.ok("it is empty: the first start fills it");
    } else {
        findings.warning(
            format!("its schema lacks {} of this release's steps: {}", missing.len(), missing.join(", ")),
            "make a backup; the next start runs them, and so does card-payments migrate",
        );
    }
}

fn check_file(file: &SqliteFile, findings: &mut Findings) {
    let SqliteFile { path, bytes, logs_ahead, served, unwritable } = file;
    let name = path.display();
    match bytes {
        None => return findings.ok(format!("SQLite: {name} does not exist yet")),
        Some(bytes) if *served => {
            findings.ok(format!("SQLite: {name}, {} MiB; a server runs on it", bytes / MIB));
        }
        Some(bytes) => findings.ok(format!("SQLite: {name}, {} MiB; no server runs on it", bytes / MIB)),
    }
    if bytes.is_some_and(|bytes| bytes > 0) && !logs_ahead {
        findings.warning(format!("{name} has no write-ahead log"), "the next start turns it on");
    }
    if let Some(why) = unwritable {
        findings.wrong(why.to_string(), why.remedy());
    }
}

fn check_server(server: &PostgresServer, live: bool, findings: &mut Findings) {
    let report = &server.report;
    findings.ok(format!("PostgreSQL {}", report.version));
    if report.release < POSTGRES_RELEASE {
        findings.warning("it is older than the tested versions", "upgrade to PostgreSQL 15 or later");
    }
    if report.encoding != "UTF8" {
        findings.wrong(
            format!("its encoding is {}, which cannot hold every name", report.encoding),
            "create the database again: CREATE DATABASE ... ENCODING 'UTF8'",
        );
    }
    for (setting, value, means) in [
        ("fsync", &report.fsync, "a loss of power may destroy the database"),
        ("synchronous_commit", &report.synchronous_commit, "a payment that was answered may be lost"),
        ("full_page_writes", &report.full_page_writes, "a loss of power may destroy the database"),
    ] {
        if value == "off" {
            findings.wrong_in_live(
                live,
                format!("{setting} is off: {means}"),
                format!("ALTER SYSTEM SET {setting} = on, or where it was turned off"),
            );
        }
    }
    if report.standby || report.read_only == "on" {
        findings.wrong("it cannot be written: it is a standby, or read-only", "name the primary server");
    }
    connections(server, findings);
    rights(server, findings);
}

fn connections(server: &PostgresServer, findings: &mut Findings) {
    let PostgresServer { report, wanted, .. } = server;
    let limits = [report.connections, report.of_role, report.of_database];
    let most = limits.into_iter().filter(|limit| *limit >= 0).min().unwrap_or_default();
    let free = report.connections - report.taken;
    if most < *wanted {
        findings.wrong(
            format!("it allows this user {most} connections, and a server opens {wanted}"),
            "raise max_connections, or the limit of the role or of the database",
        );
    } else if free < *wanted {
        findings.warning(
            format!("{free} of its {} connections are free, and a server opens {wanted}", report.connections),
            "raise max_connections, unless the servers being checked hold them",
        );
    } else {
        findings.ok(format!(
            "{free} of its {} connections are free; a server opens {wanted}",
            report.connections
        ));
    }
}

fn rights(server: &PostgresServer, findings: &mut Findings) {
    let report = &server.report;
    if !report.may_create {
        findings.wrong("its user may not create tables", "make that user the owner of the database");
    }
    if report.extensions_missing > 0 && report.extensions_unavailable > 0 {
        findings.wrong(
            "its machine lacks the extensions pg_trgm and btree_gin",
            "install them: they come with PostgreSQL (Debian: in the server's own package)",
        );
    } else if report.extensions_missing > 0 && !report.may_extend {
        findings.wrong(
            "its user may not add the extensions pg_trgm and btree_gin",
            "make that user the owner of the database, or add them as its administrator: CREATE EXTENSION pg_trgm; \
             CREATE EXTENSION btree_gin",
        );
    }
    if report.tables_of_others > 0 {
        findings.wrong(
            format!(
                "another role owns {} of its tables, so no later release could change them",
                report.tables_of_others
            ),
            "REASSIGN OWNED BY that role TO this one",
        );
    }
}
