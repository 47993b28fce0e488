//! SQLite, in this process: whoever asks runs the statement himself. A row by its key takes about as long as a thread
//! needs to wake up, so nothing is handed to another thread but what may take longer.

mod adapter;
mod connection;
mod fault;
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
pub use snapshot::Look;
pub(super) use writer::{WriteConnection, Writer};
