//! The recent requests of a test environment's accounts, with their responses (`docs/decisions.md`, 282). No request
//! waits for the log: it is collected in memory and written by a worker, or before a read. A crash loses the unwritten
//! part.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use base::mutex::lock;
use entity::logged_request::{self, Column};
use entity::{AccountToken, LoggedRequestToken, Owned};
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect};
use serde::Deserialize;
use store::Tx;
use tokio::sync::Notify;

use super::arrivals::{Arrivals, Label, Topic};
use crate::Store;
use crate::error::Error;
use crate::limits::{REQUESTS_LOGGED, REQUESTS_WAITING_MAX, REQUESTS_WRITTEN_AT_ONCE};

/// The unwritten part of the log.
pub struct RequestLog {
    waiting: Mutex<WaitingEntries>,
    /// Locked during a write.
    writing: tokio::sync::Mutex<()>,
    /// Notified while half of the capacity is used.
    fills: Notify,
    arrivals: Arc<Arrivals>,
}

#[derive(Default)]
struct WaitingEntries {
    rows: HashMap<AccountToken, VecDeque<logged_request::Model>>,
    /// The number of rows of all accounts.
    count: usize,
}

impl RequestLog {
    /// Creates an empty log, which announces what it writes.
    pub fn new(arrivals: Arc<Arrivals>) -> Self {
        Self {
            waiting: Mutex::default(),
            writing: tokio::sync::Mutex::default(),
            fills: Notify::new(),
            arrivals,
        }
    }

    /// Adds a request, in place of its account's oldest one if the account has its maximum, and otherwise only while
    /// there is capacity.
    pub fn note(&self, row: logged_request::Model) {
        let mut waiting = lock(&self.waiting);
        let WaitingEntries { rows, count } = &mut *waiting;
        match rows.get_mut(&row.account_id) {
            Some(rows) if rows.len() >= REQUESTS_LOGGED => {
                rows.pop_front();
                rows.push_back(row);
            }
            _ if *count >= REQUESTS_WAITING_MAX => {}
            _ => {
                *count += 1;
                rows.entry(row.account_id).or_default().push_back(row);
            }
        }
        if *count >= REQUESTS_WAITING_MAX / 2 {
            self.fills.notify_one();
        }
    }

    /// Returns whether a client may wait for this request, so that it is written at once.
    pub fn is_awaited(&self, row: &logged_request::Model) -> bool {
        self.arrivals.is_awaited(row.account_id, Topic::Requests, &labels(row))
    }

    /// Waits until half of the capacity is used.
    pub async fn fills(&self) {
        self.fills.notified().await;
    }

    /// Writes the waiting requests of one account, or of all, but not those that arrive meanwhile, or it would never
    /// end: under load, newer requests displace most of them before they need to be written.
    pub async fn write(&self, store: &Store, of: Option<AccountToken>) -> Result<(), Error> {
        // A reader waits for the write in progress, then takes its turn.
        let mut turn = self.writing.lock().await;
        for (account, waiting) in self.waiting(of) {
            for _ in 0..waiting.div_ceil(REQUESTS_WRITTEN_AT_ONCE) {
                let rows = (account, self.take(account), Arc::clone(&self.arrivals));
                store.write(rows, async |tx, (account, rows, to)| add(tx, *account, rows, to).await).await?;
                drop(turn);
                turn = self.writing.lock().await;
            }
        }
        Ok(())
    }

    /// Returns the number of unwritten requests of one account, or of each.
    fn waiting(&self, of: Option<AccountToken>) -> Vec<(AccountToken, usize)> {
        let waiting = lock(&self.waiting);
        let accounts = waiting.rows.iter().filter(|(account, _)| of.is_none_or(|of| of == **account));
        accounts.map(|(account, rows)| (*account, rows.len())).collect()
    }

    /// Removes and returns an account's oldest unwritten requests.
    fn take(&self, of: AccountToken) -> Vec<logged_request::Model> {
        let mut waiting = lock(&self.waiting);
        let Some(rows) = waiting.rows.get_mut(&of) else { return Vec::new() };
        let taken: Vec<_> = rows.drain(..rows.len().min(REQUESTS_WRITTEN_AT_ONCE)).collect();
        if rows.is_empty() {
            waiting.rows.remove(&of);
        }
        waiting.count -= taken.len();
        taken
    }
}

/// Inserts requests, deletes the oldest ones above the limit, and announces the new ones.
async fn add(
    tx: &Tx,
    account: AccountToken,
    rows: &[logged_request::Model],
    arrivals: &Arc<Arrivals>,
) -> Result<(), Error> {
    let kept = REQUESTS_LOGGED.saturating_sub(rows.len()) as u64;
    let youngest_to_go: Option<LoggedRequestToken> = logged_request::Entity::owned_by(account)
        .order_by_desc(Column::Id)
        .offset(kept)
        .select_only()
        .column(Column::Id)
        .into_tuple()
        .one(tx)
        .await?;
    if let Some(id) = youngest_to_go {
        let gone = logged_request::Entity::delete_of(account).filter(Column::Id.lte(id));
        gone.exec(tx).await?;
    }
    for row in rows {
        tx.append(row);
        arrivals.announce_after(tx, account, Topic::Requests, labels(row));
    }
    Ok(())
}

/// Returns the labels of a request by which clients wait for it: method, route, status and error code.
fn labels(row: &logged_request::Model) -> Vec<Label> {
    let error = row.error.as_ref().and_then(|error| serde_json::from_str::<LoggedCode>(error.as_str()).ok());
    let mut labels: Vec<Label> =
        vec![row.method.clone().into(), row.route.clone().into(), row.status.to_string().into()];
    labels.extend(error.map(|error| error.error.into()));
    labels
}

/// The part of a logged error by which clients wait for it.
#[derive(Deserialize)]
struct LoggedCode {
    error: String,
}

#[cfg(test)]
mod tests {
    use entity::{JsonText, Timestamp};
    use uuid::Uuid;

    use super::*;

    fn row(account: u128, request: usize) -> logged_request::Model {
        logged_request::Model {
            account_id: AccountToken::new(Uuid::from_u128(account)),
            id: LoggedRequestToken::new(Uuid::from_u128(request as u128)),
            request_id: request.to_string(),
            method: "GET".into(),
            route: String::new(),
            path: String::new(),
            status: 200,
            duration: 0,
            idempotency_key: None,
            replayed: false,
            parameters: JsonText::empty_object(),
            hidden: JsonText::empty_object(),
            error: None,
            created_at: Timestamp::from_millis(0),
            logged_at: Timestamp::from_millis(0),
        }
    }

    fn taken(log: &RequestLog, of: AccountToken) -> Vec<String> {
        let rows = std::iter::repeat_with(|| log.take(of)).take_while(|rows| !rows.is_empty());
        rows.flatten().map(|row| row.request_id).collect()
    }

    #[test]
    fn of_each_account_the_last_ones_wait_in_their_order() {
        let log = RequestLog::new(Arc::new(Arrivals::new(false)));
        for request in 0..REQUESTS_LOGGED + 10 {
            log.note(row(1, request));
        }
        log.note(row(2, 1));
        let [one, other] = [1, 2].map(|account| AccountToken::new(Uuid::from_u128(account)));
        assert_eq!(log.waiting(Some(other)), [(other, 1)]);
        assert_eq!(taken(&log, other), ["1"]);
        assert_eq!(log.waiting(None), [(one, REQUESTS_LOGGED)]);
        let last: Vec<_> = (10..REQUESTS_LOGGED + 10).map(|request| request.to_string()).collect();
        assert_eq!(taken(&log, one), last);
        assert_eq!(log.waiting(None), []);
    }

    #[test]
    fn waiting_entries_are_limited_and_there_is_room_again_once_they_are_taken() {
        let log = RequestLog::new(Arc::new(Arrivals::new(false)));
        for request in 0..REQUESTS_LOGGED {
            log.note(row(0, request));
        }
        let others = REQUESTS_WAITING_MAX - REQUESTS_LOGGED;
        for account in 1..=others as u128 + 10 {
            log.note(row(account, 1));
        }
        assert_eq!(log.waiting(None).len(), 1 + others);
        let [busy, one] = [0, 1].map(|account| AccountToken::new(Uuid::from_u128(account)));
        log.note(row(1, 2));
        assert_eq!(taken(&log, one), ["1"]);
        log.note(row(1, 3));
        assert_eq!(taken(&log, one), ["3"]);
        // The account's own oldest request is displaced.
        log.note(row(2, 2));
        log.note(row(0, REQUESTS_LOGGED));
        assert_eq!(taken(&log, busy).last(), Some(&REQUESTS_LOGGED.to_string()));
    }
}
