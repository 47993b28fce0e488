//! Folders, files and buckets: there is room, they can be written, and a flush takes no longer than it may.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::statvfs;

use super::configuration::Configuration;
use super::findings::{Area, Findings};
use crate::blobs::{BlobName, Blobs, Bucket, BucketError};
use crate::runtime::clock::IdGenerator;
use crate::runtime::durable_fs;
use crate::store::{ConnectError, Location};

const MIB: u64 = 1024 * 1024;
/// Less room than this is little.
const ROOM: u64 = 1024 * MIB;
/// Less room than this is none: uploads, the database's log and the system's own need it.
const NO_ROOM: u64 = 100 * MIB;
/// A payment waits for two flushes.
const SLOW_FLUSH: Duration = Duration::from_millis(50);
const FLUSHES: usize = 5;
/// What a small commit writes.
const PAGE: [u8; 4096] = [0x5a; 4096];

/// Look at them.
pub async fn look(configuration: &Configuration, findings: &mut Findings) {
    findings.turn_to(Area::Disk);
    for folder in folders(configuration) {
        look_at_folder(&folder, findings);
    }
    if let Some(address) = &configuration.serve.blobs {
        look_at_bucket(address, findings).await;
    }
}

/// The data directory, and where SQLite's file is if it lies elsewhere.
pub(super) fn folders(configuration: &Configuration) -> Vec<PathBuf> {
    let data_dir = configuration.database.data_dir.clone();
    let mut folders = vec![data_dir];
    if let Ok(Location::Sqlite { path }) = configuration.database.url().parse()
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

fn look_at_folder(folder: &Path, findings: &mut Findings) {
    let name = folder.display();
    if let Err(error) = durable_fs::refuse_other(folder) {
        let error = ConnectError::from(error);
        return findings.wrong(error.to_string(), error.mend());
    }
    // One that is not there yet is made in the last one above it that is.
    let there = folder.ancestors().map(or_here).find(|above| above.is_dir()).unwrap_or(Path::new("."));
    let flush = match flush(there) {
        Ok(flush) => flush,
        Err(error) => {
            let mend =
                "give it to the user that runs the server, and see that its disk is mounted for writing";
            return findings.wrong(format!("{} cannot be written: {error}", there.display()), mend);
        }
    };
    let said = if there == or_here(folder) {
        format!("{name} can be written")
    } else {
        format!("{name} is not there yet and can be made")
    };
    let millis = flush.as_millis();
    if flush > SLOW_FLUSH {
        findings.warning(
            format!("{said}, but a flush takes {millis} ms, and a payment waits for two"),
            "use a disk that flushes faster; docs/performance.md says what to expect",
        );
    } else {
        findings.ok(format!("{said}; a flush takes {millis} ms"));
    }
    room(there, findings);
}

fn room(folder: &Path, findings: &mut Findings) {
    let name = folder.display();
    let free = match statvfs(folder) {
        Ok(disk) => disk.f_bavail.saturating_mul(disk.f_frsize),
        Err(error) => {
            return findings
                .warning(format!("nobody knows how much room is left at {name}: {error}"), "look by df");
        }
    };
    let said = format!("{} MiB are free at {name}", free / MIB);
    match free {
        0..NO_ROOM => findings.wrong(said, "make room, or move the data directory to a larger disk"),
        NO_ROOM..ROOM => findings.warning(said, "make room, or move the data directory to a larger disk"),
        ROOM.. => findings.ok(said),
    }
}

/// How long a flush takes: the middle one of some, to a file without a name that is gone afterwards.
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

/// It is asked for a blob that was never there.
async fn look_at_bucket(address: &str, findings: &mut Findings) {
    let said = |error: BucketError| format!("CARD_PAYMENTS_BLOBS: {error}");
    let mend = "see that AWS_REGION, AWS_ENDPOINT and the credentials are those of the bucket, and that they let objects be \
                read, written and listed";
    let bucket = match Bucket::at(address) {
        Ok(bucket) => bucket,
        Err(error) => return findings.wrong(said(error), mend),
    };
    let ids = IdGenerator::default();
    let nothing = BlobName::new(ids.token(), ids.token());
    match bucket.get(nothing).await {
        Ok(_) => findings.ok(format!("{address} answers")),
        Err(error) => findings.wrong(format!("{address}: {error}"), mend),
    }
}
