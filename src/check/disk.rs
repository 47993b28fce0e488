//! Checks directories, files and buckets: there is space, they are writable, and a flush is fast enough.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base::clock::IdGenerator;
use base::{durable_fs, platform};
use outbound::blobs::{BlobName, Blobs, Bucket, BucketError};
use store::{ConnectError, Location};

use super::configuration::Configuration;
use super::findings::{Area, Findings};

const MIB: u64 = 1024 * 1024;
/// Less free space than this is a warning.
const ROOM: u64 = 1024 * MIB;
/// Less free space than this is an error: uploads, the database's log and the system's own need it.
const NO_ROOM: u64 = 100 * MIB;
/// A payment waits for two flushes.
const SLOW_FLUSH: Duration = Duration::from_millis(50);
const FLUSHES: usize = 5;
/// The size of a small commit.
const PAGE: [u8; 4096] = [0x5a; 4096];

pub async fn check(configuration: &Configuration, findings: &mut Findings) {
    findings.begin_area(Area::Disk);
    for folder in folders(configuration) {
        check_folder(&folder, findings);
    }
    if let Some(address) = &configuration.serve.blobs {
        check_bucket("CARD_PAYMENTS_BLOBS", address, findings).await;
    }
    match &configuration.serve.audit_anchor {
        Some(address) if address.starts_with("s3://") => {
            check_bucket("CARD_PAYMENTS_AUDIT_ANCHOR", address, findings).await;
        }
        Some(file) => check_anchor(Path::new(file), findings),
        None => {}
    }
}

/// Checks that heads of the audit trail can be appended to a file.
fn check_anchor(file: &Path, findings: &mut Findings) {
    let writable = if file.exists() {
        std::fs::File::options().append(true).open(file).map(drop)
    } else {
        tempfile::tempfile_in(or_here(file.parent().unwrap_or(Path::new("")))).map(drop)
    };
    match writable {
        Ok(()) => findings.ok(format!("{} takes the heads of the audit trail", file.display())),
        Err(error) => findings.wrong(
            format!("CARD_PAYMENTS_AUDIT_ANCHOR: {}: {error}", file.display()),
            "make the file, or its folder, writable for the server's user",
        ),
    }
}

/// Returns the data directory, and the directory of SQLite's file if it is another one.
pub(super) fn folders(configuration: &Configuration) -> Vec<PathBuf> {
    let data_dir = configuration.database.data_dir.clone();
    let mut folders = vec![data_dir];
    if let Ok(Location::Sqlite { path }) = configuration.database.location()
        && let Some(folder) = path.parent().map(or_here)
        && folder != or_here(&folders[0])
    {
        folders.push(folder.to_owned());
    }
    folders
}

fn or_here(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

fn check_folder(folder: &Path, findings: &mut Findings) {
    let name = folder.display();
    if let Err(error) = durable_fs::refuse_other(folder) {
        let error = ConnectError::from(error);
        return findings.wrong(error.to_string(), error.remedy());
    }
    // A missing directory is created in its closest existing ancestor.
    let there = folder.ancestors().map(or_here).find(|above| above.is_dir()).unwrap_or(Path::new("."));
    let flush = match flush(there) {
        Ok(flush) => flush,
        Err(error) => {
            let remedy = "make the server's user its owner, and mount its disk for writing";
            return findings.wrong(format!("{} cannot be written: {error}", there.display()), remedy);
        }
    };
    let text = if there == or_here(folder) {
        format!("{name} can be written")
    } else {
        format!("{name} does not exist yet and can be created")
    };
    let millis = flush.as_millis();
    if flush > SLOW_FLUSH {
        findings.warning(
            format!("{text}, but a flush takes {millis} ms, and a payment waits for two"),
            "use a disk that flushes faster; docs/performance.md says what to expect",
        );
    } else {
        findings.ok(format!("{text}; a flush takes {millis} ms"));
    }
    room(there, findings);
}

fn room(folder: &Path, findings: &mut Findings) {
    let name = folder.display();
    let free = match platform::free_bytes(folder) {
        Ok(free) => free,
        Err(error) => {
            return findings.warning(
                format!("the free room at {name} is unknown: {error}"),
                "look with the system's own tools",
            );
        }
    };
    let text = format!("{} MiB are free at {name}", free / MIB);
    match free {
        0..NO_ROOM => findings.wrong(text, "make room, or move the data directory to a larger disk"),
        NO_ROOM..ROOM => findings.warning(text, "make room, or move the data directory to a larger disk"),
        ROOM.. => findings.ok(text),
    }
}

/// Returns the median time of some flushes of an unnamed file, which is gone afterwards.
fn flush(folder: &Path) -> io::Result<Duration> {
    let mut file = tempfile::tempfile_in(folder)?;
    let mut took = Vec::with_capacity(FLUSHES);
    for _ in 0..FLUSHES {
        let began = Instant::now();
        file.write_all(&PAGE)?;
        file.sync_all()?;
        took.push(began.elapsed());
    }
    took.sort_unstable();
    Ok(took[FLUSHES / 2])
}

/// Checks the bucket by reading a blob that never existed.
async fn check_bucket(variable: &str, address: &str, findings: &mut Findings) {
    let describe = |error: BucketError| format!("{variable}: {error}");
    let remedy = "check AWS_REGION, AWS_ENDPOINT and the credentials, and that they permit to read, write and list objects";
    let bucket = match Bucket::at(address) {
        Ok(bucket) => bucket,
        Err(error) => return findings.wrong(describe(error), remedy),
    };
    let ids = IdGenerator::default();
    let nothing = BlobName::new(ids.token(), ids.token());
    match bucket.get(nothing).await {
        Ok(_) => findings.ok(format!("{address} answers")),
        Err(error) => findings.wrong(format!("{address}: {error}"), remedy),
    }
}
