//! SQLite, in this process: the caller's thread runs the statement. A row by its key takes about as long as waking up a
//! thread, so only statements that may take longer go to another thread.

mod adapter;
mod connection;
mod fault;
mod fence;
mod file;
mod readers;
mod row;
mod schema;
mod snapshot;
mod writer;

pub use adapter::SqliteAdapter;
pub(super) use connection::Connection;
pub use file::{DatabaseFile, FileLock};
pub(super) use file::{is_served, refuse_other_name};
pub use readers::Readers;
pub(super) use schema::migrate;
pub use snapshot::ReadSnapshot;
pub(super) use writer::{WriteConnection, Writer};
