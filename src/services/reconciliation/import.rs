//! Imports a statement, once: reads the whole file for faults, then stores its lines and has them compared.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use acquirer::statement::{Fault, Heading, Line, StatementReader};
use base::hexadecimal;
use base::progress::Progress;
use entity::Timestamp;
use entity::statement::{self, Column, Stage};
use entity::statement_line::{self, Column as OfLine};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::batch::Batch;
use super::compare::{compare_books, compare_rest};
use super::summary::summary;
use crate::Store;
use crate::error::{Error, ErrorCode};
use crate::limits::{RECONCILIATION_BATCH, STATEMENT_FAULTS_MAX};
use crate::services::reconciliation::view::Reconciled;

/// The reason why a statement is not reconciled.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// The file cannot be read as a statement; nothing of it is imported.
    #[error("{} fault{}: nothing is imported", .0.len(), if .0.len() == 1 { "" } else { "s" })]
    Faults(Vec<Fault>),
    /// Another file of this name is imported.
    #[error("the statement {0} is imported already, from a file with other contents")]
    Changed(String),
    /// The file is another one since its faults were looked for.
    #[error("the file has changed while it was read: nothing is imported")]
    Unsteady,
    /// Another process is importing.
    #[error("another process goes on with the statement {0}")]
    Taken(String),
    /// Another import has begun before all lines were stored.
    #[error(
        "another import has begun and dropped the statement {0}, whose lines were not all stored: import it again after that one"
    )]
    Dropped(String),
    /// The file cannot be read.
    #[error("the file cannot be read: {0}")]
    File(#[from] io::Error),
    /// The database refuses.
    #[error(transparent)]
    Database(#[from] Error),
}

/// Reconciles the statement in a file with the books, and returns what came of it. A statement that is imported changes nothing,
/// and an import that was cut short goes on. `wall` is the time by the wall clock.
pub async fn reconcile(
    store: &Store,
    mut file: File,
    wall: Timestamp,
    progress: &dyn Progress,
) -> Result<Reconciled, ReconcileError> {
    let (heading, digest) = check(&mut file)?;
    progress.set_total(heading.lines.unsigned_abs());
    let mut seen = match begin(store, &heading, digest, wall).await? {
        ImportStart::AlreadyImported(seen) => return Ok(summary(store, seen, true).await?),
        ImportStart::Fresh(seen) => seen,
    };
    if seen.stage == Stage::Lines {
        store_lines(store, &mut file, &mut seen, wall).await?;
    }
    finish(store, &mut seen, wall, progress).await?;
    Ok(summary(store, seen, false).await?)
}

/// Reads a file to its end. Returns what it says about itself and its digest, or everything that is wrong with it.
fn check(file: &mut File) -> Result<(Heading, String), ReconcileError> {
    let mut digesting = Digesting::new(file);
    let mut reader = StatementReader::new(&mut digesting)?;
    let mut faults = Vec::new();
    while let Some(next) = reader.next_line() {
        faults.extend(next.err().into_iter().flatten());
        if faults.len() >= STATEMENT_FAULTS_MAX {
            return Err(ReconcileError::Faults(faults));
        }
    }
    match reader.heading() {
        Ok(heading) if faults.is_empty() => Ok((heading, digesting.digest())),
        Ok(_) => Err(ReconcileError::Faults(faults)),
        Err(more) => {
            faults.extend(more);
            Err(ReconcileError::Faults(faults))
        }
    }
}

/// A file whose digest is made while it is read.
struct Digesting<'f> {
    file: &'f mut File,
    digest: Sha256,
}

impl<'f> Digesting<'f> {
    fn new(file: &'f mut File) -> Self {
        Self { file, digest: Sha256::new() }
    }

    /// Returns the digest in hexadecimal digits.
    fn digest(self) -> String {
        hexadecimal::encode(&self.digest.finalize())
    }
}

impl Read for Digesting<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(into)?;
        self.digest.update(&into[..n]);
        Ok(n)
    }
}

/// A statement's row.
enum ImportStart {
    /// It was compared before.
    AlreadyImported(statement::Model),
    /// It is to be compared, or its import was cut short.
    Fresh(statement::Model),
}

/// Finds or adds the statement's row. Statements are compared one after the other: one that was cut short is finished before, or
/// dropped if its lines are not all there. A process that still stores them cannot be told from one that was killed, and is refused
/// with its next batch.
async fn begin(
    store: &Store,
    heading: &Heading,
    digest: String,
    wall: Timestamp,
) -> Result<ImportStart, ReconcileError> {
    loop {
        if let Some(same) = one(store, Column::Digest.eq(digest.as_str())).await? {
            match same.stage {
                Stage::Done => return Ok(ImportStart::AlreadyImported(same)),
                Stage::Books | Stage::Rest => return Ok(ImportStart::Fresh(same)),
                // Its lines were stored before the file's digest was compared again: they may be another file's.
                Stage::Lines => drop_lines(store, same).await?,
            }
            continue;
        }
        if let Some(mut unfinished) = one(store, Column::Stage.ne(Stage::Done)).await? {
            if unfinished.stage == Stage::Lines {
                drop_lines(store, unfinished).await?;
            } else {
                finish(store, &mut unfinished, wall, &()).await?;
            }
            continue;
        }
        if let Some(named) = one(store, Column::Name.eq(heading.name.as_str())).await? {
            if named.digest == digest {
                // Another process has begun it since the first look.
                continue;
            }
            return Err(ReconcileError::Changed(heading.name.clone()));
        }
        return add_statement(store, heading, digest, wall).await.map(ImportStart::Fresh);
    }
}

/// Adds the statement's row. Of two processes that begin at once, an index lets one.
async fn add_statement(
    store: &Store,
    heading: &Heading,
    digest: String,
    wall: Timestamp,
) -> Result<statement::Model, ReconcileError> {
    let unit = store.write((heading.clone(), digest, wall), async |tx, (heading, digest, wall)| {
        let Heading { name, period, lines } = heading.clone();
        let operator = tx.operator().map(|operator| operator.name.clone()).unwrap_or_default();
        let row = statement::Model {
            id: tx.id(),
            name,
            digest: digest.clone(),
            first_day: period.first_day,
            last_day: period.last_day,
            lines,
            stage: Stage::Lines,
            line: 0,
            account: None,
            entry: None,
            operator,
            created_at: *wall,
            covers_from: period.from,
            covers_until: period.until,
        };
        tx.append_unique(&row, ErrorCode::InvalidState)?;
        Ok(row)
    });
    match unit.await {
        Err(error) if error.code() == ErrorCode::InvalidState => {
            let other = one(store, Column::Stage.ne(Stage::Done)).await?;
            let name = other.map_or_else(|| heading.name.clone(), |other| other.name);
            Err(ReconcileError::Taken(name))
        }
        added => Ok(added?),
    }
}

async fn one(
    store: &Store,
    condition: sea_orm::sea_query::SimpleExpr,
) -> Result<Option<statement::Model>, Error> {
    Ok(statement::Entity::find().filter(condition).one(store.read()).await?)
}

/// Removes a statement of which nothing was compared yet.
async fn drop_lines(store: &Store, unfinished: statement::Model) -> Result<(), Error> {
    let unit = store.write(unfinished.id, async |tx, &id: &Uuid| {
        tx.disable_timeouts().await?;
        let row =
            statement::Entity::delete_many().filter(Column::Id.eq(id)).filter(Column::Stage.eq(Stage::Lines));
        if row.exec(tx).await?.rows_affected == 1 {
            statement_line::Entity::delete_many().filter(OfLine::StatementId.eq(id)).exec(tx).await?;
        }
        Ok(())
    });
    unit.await
}

async fn store_lines(
    store: &Store,
    file: &mut File,
    seen: &mut statement::Model,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    file.seek(SeekFrom::Start(0))?;
    let mut digesting = Digesting::new(file);
    let mut reader = StatementReader::new(&mut digesting)?;
    let mut lines = Vec::new();
    while let Some(next) = reader.next_line() {
        let Ok((at, line)) = next else { break };
        lines.push(row(seen.id, i64::try_from(at).unwrap_or(i64::MAX), line));
        if lines.len() == RECONCILIATION_BATCH {
            store_batch(store, seen, std::mem::take(&mut lines), now).await?;
        }
    }
    drop(reader);
    if digesting.digest() != seen.digest {
        drop_lines(store, seen.clone()).await?;
        return Err(ReconcileError::Unsteady);
    }
    let batch = Batch { lines, ..Batch::default() };
    let next = statement::Model { stage: Stage::Books, line: 0, ..seen.clone() };
    batch.commit(store, seen, next, now).await
}

async fn store_batch(
    store: &Store,
    seen: &mut statement::Model,
    lines: Vec<statement_line::Model>,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    let line = lines.last().map_or(seen.line, |last| last.number);
    let batch = Batch { lines, ..Batch::default() };
    let next = statement::Model { line, ..seen.clone() };
    batch.commit(store, seen, next, now).await
}

fn row(statement_id: Uuid, number: i64, line: Line) -> statement_line::Model {
    let Line { movement, reference, amount, currency, day, zone } = line;
    // A call's key is the token that it is for, and what it does.
    let subject = reference.split(':').next().unwrap_or_default().to_owned();
    let (account, entry) = (None, None);
    statement_line::Model {
        statement_id,
        number,
        movement,
        reference,
        subject,
        amount,
        currency,
        day,
        account,
        entry,
        utc_offset: zone.utc_offset,
        later_utc_offset: zone.later_utc_offset,
    }
}

/// Compares a statement whose lines are stored, from where it was left.
async fn finish(
    store: &Store,
    seen: &mut statement::Model,
    now: Timestamp,
    progress: &dyn Progress,
) -> Result<(), ReconcileError> {
    if seen.stage == Stage::Books {
        compare_books(store, seen, now, progress).await?;
    }
    compare_rest(store, seen, now).await?;
    let done = statement::Model { stage: Stage::Done, ..seen.clone() };
    Batch::default().commit(store, seen, done, now).await
}
