//! The latest requests of accounts in a test environment (`docs/decisions.md`, 280).

use crate::{AccountToken, JsonText, LoggedRequestToken, Timestamp};

table! {
    /// One request and its response, without secrets. Ids sort by the time of the response.
    "logged_requests" [account_id: AccountToken, id: LoggedRequestToken] {
        /// The client's X-Request-Id, which need not be unique.
        request_id: String,
        method: String,
        /// The template of the path.
        route: String,
        /// The path, without values other than tokens.
        path: String,
        /// The HTTP status; 499 if the client hung up.
        status: i32,
        /// In milliseconds.
        duration: i64,
        idempotency_key: Option<String>,
        /// Whether the response is a replay.
        replayed: bool,
        /// The parameters that may be shown, an object.
        parameters: JsonText,
        /// The names of the other parameters, a list.
        hidden: JsonText,
        /// Code, sentence and messages of an error, an object.
        error: Option<JsonText>,
        created_at: Timestamp,
        /// The same moment by the wall clock, which decides the removal: a moved clock removes no requests.
        logged_at: Timestamp,
    }
}
