//! What accounts of a test environment asked for lately, and what they were answered. No request waits for it: it is
//! collected in memory, and written by a worker, or by whoever is about to read it. A crash takes along what is not
//! written yet.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use entity::logged_request::{self, Column};
use entity::{AccountToken, LoggedRequestToken, Owned};
use futures::FutureExt;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
use tokio::sync::Notify;

use super::context::Context;
use crate::error::Error;
use crate::limits::{REQUESTS_LOGGED, REQUESTS_WAITING_MAX, REQUESTS_WRITTEN_AT_ONCE};
use crate::store::Tx;

/// What is not written yet.
#[derive(Default)]
pub struct RequestLog {
    waiting: Mutex<Waiting>,
    /// Held while some of it is being written.
    writing: tokio::sync::Mutex<()>,
    /// Rung while half of the room is taken.
    fills: Notify,
}

#[derive(Default)]
struct Waiting {
    rows: HashMap<AccountToken, VecDeque<logged_request::Model>>,
    /// Of all accounts.
    count: usize,
}

impl RequestLog {
    /// Keep a request, in place of its account's oldest or as long as there is room.
    pub fn note(&self, row: logged_request::Model) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let Waiting { rows, count } = &mut *waiting;
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

    /// Wait until half of the room is taken.
    pub async fn fills(&self) {
        self.fills.notified().await;
    }

    /// How many wait of one account, or of each.
    fn waiting(&self, of: Option<AccountToken>) -> Vec<(AccountToken, usize)> {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let accounts = waiting.rows.iter().filter(|(account, _)| of.is_none_or(|of| of == **account));
        accounts.map(|(account, rows)| (*account, rows.len())).collect()
    }

    /// The oldest that wait of an account.
    fn take(&self, of: AccountToken) -> Vec<logged_request::Model> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(rows) = waiting.rows.get_mut(&of) else { return Vec::new() };
        let taken: Vec<_> = rows.drain(..rows.len().min(REQUESTS_WRITTEN_AT_ONCE)).collect();
        if rows.is_empty() {
            waiting.rows.remove(&of);
        }
        waiting.count -= taken.len();
        taken
    }
}

/// Write down what waits of one account, or of all; not what comes meanwhile, or it would never end: as long as many requests
/// come, most of them are pushed out before anybody has to write them.
pub async fn write_down(ctx: &Context, of: Option<AccountToken>) -> Result<(), Error> {
    let log = &ctx.request_log;
    // Whoever is about to read waits for what somebody else is just writing, and then has his turn.
    let mut turn = log.writing.lock().await;
    for (account, waiting) in log.waiting(of) {
        for _ in 0..waiting.div_ceil(REQUESTS_WRITTEN_AT_ONCE) {
            let rows = (account, log.take(account));
            ctx.store.write(rows, |tx, (account, rows)| add(tx, *account, rows).boxed()).await?;
            drop(turn);
            turn = log.writing.lock().await;
        }
    }
    Ok(())
}

/// Add requests, and let the oldest go that are too many then.
async fn add(tx: &Tx, account: AccountToken, rows: &[logged_request::Model]) -> Result<(), Error> {
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
        let gone = logged_request::Entity::delete_many()
            .filter(Column::AccountId.eq(account))
            .filter(Column::Id.lte(id));
        gone.exec(tx).await?;
    }
    for row in rows {
        tx.append(row);
    }
    Ok(())
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
        let log = RequestLog::default();
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
    fn what_waits_has_an_end_and_there_is_room_again_once_it_is_taken() {
        let log = RequestLog::default();
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
        // Its own oldest makes room.
        log.note(row(2, 2));
        log.note(row(0, REQUESTS_LOGGED));
        assert_eq!(taken(&log, busy).last(), Some(&REQUESTS_LOGGED.to_string()));
    }
}
