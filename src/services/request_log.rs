//! What accounts of a test environment asked for lately, and what they were answered. No request waits for it: it is
//! collected in memory, and written by a worker, or by whoever is about to read it. A crash takes along what is not
//! written yet.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use entity::logged_request::{self, Column};
use entity::{AccountToken, LoggedRequestToken, Owned};
use futures::FutureExt;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};

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
}

#[derive(Default)]
struct Waiting {
    rows: HashMap<AccountToken, VecDeque<logged_request::Model>>,
    /// Of all accounts.
    count: usize,
}

impl RequestLog {
    /// Keep a request, as long as there is room.
    pub fn note(&self, row: logged_request::Model) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.count >= REQUESTS_WAITING_MAX {
            return;
        }
        waiting.count += 1;
        let rows = waiting.rows.entry(row.account_id).or_default();
        rows.push_back(row);
        if rows.len() > REQUESTS_LOGGED {
            rows.pop_front();
            waiting.count -= 1;
        }
    }

    /// The oldest that wait of one account, or of any.
    fn take(&self, of: Option<AccountToken>) -> Option<(AccountToken, Vec<logged_request::Model>)> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let account = of.or_else(|| waiting.rows.keys().next().copied())?;
        let rows = waiting.rows.get_mut(&account)?;
        let taken: Vec<_> = rows.drain(..rows.len().min(REQUESTS_WRITTEN_AT_ONCE)).collect();
        if rows.is_empty() {
            waiting.rows.remove(&account);
        }
        waiting.count -= taken.len();
        Some((account, taken))
    }
}

/// Write down what waits of one account, or of all.
pub async fn write_down(ctx: &Context, of: Option<AccountToken>) -> Result<(), Error> {
    loop {
        // Whoever is about to read waits for what somebody else is just writing.
        let _turn = ctx.request_log.writing.lock().await;
        let Some(rows) = ctx.request_log.take(of) else { return Ok(()) };
        ctx.store.write(rows, |tx, (account, rows)| add(tx, *account, rows).boxed()).await?;
    }
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
        }
    }

    fn taken(log: &RequestLog, of: Option<AccountToken>) -> Vec<String> {
        let mut ids = Vec::new();
        while let Some((_, rows)) = log.take(of) {
            ids.extend(rows.into_iter().map(|row| row.request_id));
        }
        ids
    }

    #[test]
    fn of_each_account_the_last_ones_wait_in_their_order() {
        let log = RequestLog::default();
        for request in 0..REQUESTS_LOGGED + 10 {
            log.note(row(1, request));
        }
        log.note(row(2, 1));
        let other = AccountToken::new(Uuid::from_u128(2));
        assert_eq!(taken(&log, Some(other)), ["1"]);
        let last: Vec<_> = (10..REQUESTS_LOGGED + 10).map(|request| request.to_string()).collect();
        assert_eq!(taken(&log, None), last);
        assert_eq!(log.take(None), None);
    }

    #[test]
    fn what_waits_has_an_end_and_there_is_room_again_once_it_is_taken() {
        let log = RequestLog::default();
        for account in 0..REQUESTS_WAITING_MAX as u128 + 10 {
            log.note(row(account, 1));
        }
        assert_eq!(taken(&log, None).len(), REQUESTS_WAITING_MAX);
        log.note(row(1, 2));
        assert_eq!(taken(&log, None), ["2"]);
    }
}
