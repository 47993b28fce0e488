//! The task-local data of a request in flight for its account's request log. The types that read the parameters decide which of
//! them the log may show.

use std::future::Future;
use std::sync::{Arc, Mutex};

use base::mutex::lock;
use entity::{AccountToken, Timestamp};
use serde_json::Value;

use crate::params::ReadValues;

tokio::task_local! {
    static LOG_DATA: Option<SharedLogData>;
}

/// The data as the request and the writer of the log share it.
pub type SharedLogData = Arc<Mutex<RequestLogData>>;

/// The data of an entry of the request log. It has no `Debug`, because it contains what the client sent, secrets included.
#[derive(Default)]
pub struct RequestLogData {
    /// The account that the key authenticated, and the time of its clock.
    pub account: Option<(AccountToken, Timestamp)>,
    pub parameters: Option<Arc<Value>>,
    /// The values of the parameters that were read.
    pub read: ReadValues,
    /// Status and body of the response so far, if it is an error, or if the request is recorded.
    pub answer: Option<(u16, Vec<u8>)>,
    /// Whether a script has posted it by JSONP, whose own method and status say nothing.
    pub is_jsonp: bool,
    /// Whether query or body could not be read.
    pub is_unreadable: bool,
    pub is_recorded: bool,
}

/// Creates the data of a request that is recorded or not.
pub fn shared(is_recorded: bool) -> SharedLogData {
    Arc::new(Mutex::new(RequestLogData { is_recorded, ..RequestLogData::default() }))
}

/// Runs a request whose data is recorded, if there is a log.
pub fn scope<F: Future>(data: Option<SharedLogData>, work: F) -> impl Future<Output = F::Output> {
    LOG_DATA.scope(data, work)
}

/// Takes what was recorded.
pub fn take(data: &SharedLogData) -> RequestLogData {
    std::mem::take(&mut *lock(data))
}

/// Records a part of the current request's data, if there is a log.
pub fn log(record: impl FnOnce(&mut RequestLogData)) {
    let _ = LOG_DATA.try_with(|data| {
        let mut data = lock(data.as_ref()?);
        record(&mut data);
        Some(())
    });
}
