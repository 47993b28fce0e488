//! Rows on their way. A row has one encoding, that of PostgreSQL's binary COPY: it is sent to PostgreSQL, and its checksum
//! is compared on both sides.

use base::hexadecimal;
use futures::{Stream, TryStreamExt};
use sea_orm::{DbErr, Value};
use sha2::{Digest as _, Sha256};

/// A row whose values are in the order of its table's columns.
pub(super) struct Row {
    pub values: Vec<Value>,
    encoded: Vec<u8>,
}

impl Row {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "sea-orm knows many types; no column of ours is of others"
    )]
    pub fn new(values: Vec<Value>) -> Self {
        let mut encoded = Vec::with_capacity(values.len() * 16);
        encoded.extend(length(values.len()).to_be_bytes().split_at(2).1);
        for value in &values {
            match value {
                Value::Bool(Some(value)) => put(&mut encoded, &[u8::from(*value)]),
                Value::Int(Some(value)) => put(&mut encoded, &value.to_be_bytes()),
                Value::BigInt(Some(value)) => put(&mut encoded, &value.to_be_bytes()),
                Value::String(Some(value)) => put(&mut encoded, value.as_bytes()),
                Value::Bytes(Some(value)) => put(&mut encoded, value),
                Value::Uuid(Some(value)) => put(&mut encoded, value.as_bytes()),
                _ => encoded.extend((-1_i32).to_be_bytes()),
            }
        }
        Self { values, encoded }
    }
}

/// Appends a field: its length and its bytes.
fn put(encoded: &mut Vec<u8>, bytes: &[u8]) {
    encoded.extend(length(bytes.len()).to_be_bytes());
    encoded.extend(bytes);
}

/// Returns the length of a field. PostgreSQL refuses fields over a gibibyte, so a longer one never fits.
fn length(bytes: usize) -> i32 {
    i32::try_from(bytes).unwrap_or(i32::MAX)
}

/// The encoded size of the rows that are committed together: a copy that was cut off continues after them.
const CHUNK_BYTES: usize = 1 << 20;

/// Rows that are committed together.
#[derive(Default)]
pub(super) struct Chunk {
    pub rows: Vec<Row>,
    bytes: usize,
}

impl Chunk {
    fn push(&mut self, row: Row) {
        self.bytes += row.encoded.len();
        self.rows.push(row);
    }

    /// Returns the rows as PostgreSQL's binary COPY takes them.
    pub fn encode(&self) -> Vec<u8> {
        /// The signature, no flags, no extension.
        const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
        const TRAILER: &[u8] = &[0xff, 0xff];

        let mut encoded = Vec::with_capacity(HEADER.len() + self.bytes + TRAILER.len());
        encoded.extend(HEADER);
        self.rows.iter().for_each(|row| encoded.extend(&row.encoded));
        encoded.extend(TRAILER);
        encoded
    }
}

/// Commits rows in chunks, so that few are in memory.
pub(super) async fn in_chunks(
    rows: impl Stream<Item = Result<Row, DbErr>>,
    mut commit: impl AsyncFnMut(Chunk) -> Result<(), DbErr>,
) -> Result<(), DbErr> {
    let mut rows = std::pin::pin!(rows);
    let mut chunk = Chunk::default();
    while let Some(row) = rows.try_next().await? {
        chunk.push(row);
        if chunk.bytes >= CHUNK_BYTES {
            commit(std::mem::take(&mut chunk)).await?;
        }
    }
    commit(chunk).await
}

/// The number and checksum of rows.
#[derive(Clone, Default)]
pub(super) struct Digest {
    pub rows: u64,
    hash: Sha256,
}

impl Digest {
    pub fn add(&mut self, row: &Row) {
        self.rows += 1;
        self.hash.update(&row.encoded);
    }

    fn sum(&self) -> String {
        hexadecimal::encode(&self.hash.clone().finalize())
    }

    pub fn of_table(&self, table: &str) -> CopiedTable {
        CopiedTable { table: table.to_owned(), rows: self.rows, checksum: self.sum() }
    }
}

impl PartialEq for Digest {
    fn eq(&self, other: &Self) -> bool {
        self.rows == other.rows && self.sum() == other.sum()
    }
}

/// A table whose rows are the same in both databases.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct CopiedTable {
    /// The name.
    pub table: String,
    /// The number of rows.
    pub rows: u64,
    /// SHA-256 of the rows in the order of their keys, in hexadecimal.
    pub checksum: String,
}
