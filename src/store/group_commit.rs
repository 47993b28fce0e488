//! PostgreSQL: group commit, on a distributed one of the units of each account. While as many groups are being written as PostgreSQL writes well at once, units gather; then one
//! statement writes what has gathered. No timer: a unit that finds fewer is written at once, and alone.
//!
//! A group that the database refuses is written unit by unit, each by a statement of its own, so that a lost compare-and-set, a
//! taken key or a refused row is one unit's alone. A group whose answer is lost is in doubt for all of its units.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sea_orm::sqlx::error::BoxDynError;
use sea_orm::{DbErr, RuntimeErr};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::group_statement::{GroupTexts, Writes};
use super::open_transaction::{CommitError, uncommitted};
use super::postgres_pool::PostgresPool;
use super::statements::Statements;
use super::unit_call::UnitCall;
use crate::limits::{GROUP_KINDS_MAX, GROUP_UNITS_MAX, GROUPS_MAX};
use crate::runtime::request_context::detach;
use crate::trace;

/// When units are written in groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grouping {
    WhenBusy,
    /// For tests: also a unit alone is a group.
    Always,
    /// For tests: each unit is written alone.
    Never,
}

impl Grouping {
    fn of_environment() -> Self {
        let named = if cfg!(feature = "crash-points") {
            std::env::var("CARD_PAYMENTS_TEST_GROUPS").ok()
        } else {
            None
        };
        match named.as_deref() {
            Some("always") => Self::Always,
            Some("never") => Self::Never,
            _ => Self::WhenBusy,
        }
    }
}

/// Writes units in groups.
pub(super) struct GroupCommit {
    connections: PostgresPool,
    statements: Arc<Statements>,
    grouping: Grouping,
    texts: GroupTexts,
    /// By account, those that have a group in flight; not distributed, one for all.
    queues: Mutex<HashMap<Option<Uuid>, Queue>>,
}

/// Units wait only while [`GROUPS_MAX`] groups are being written.
#[derive(Default)]
struct Queue {
    in_flight: u8,
    waiting: VecDeque<Member>,
}

/// A unit that waits.
struct Member {
    writes: Writes,
    kind: u64,
    turn: oneshot::Sender<Turn>,
}

/// What a waiting unit learns.
enum Turn {
    /// It leads its group: it writes it, and its own writes with it.
    Leads(Lead, Writes),
    /// It was written; whether the group has derived rows.
    Written(bool),
    /// Its group was refused.
    Alone(Writes),
    /// The answer to its group is lost.
    InDoubt(String),
}

/// The right to write a group, with the units that follow. Dropped, it goes to the units that have gathered, these first: the task
/// of the unit that was to write them is gone before it has begun.
pub(super) struct Lead {
    of: Arc<GroupCommit>,
    account: Option<Uuid>,
    followers: VecDeque<Member>,
}

impl Drop for Lead {
    fn drop(&mut self) {
        let group = {
            let mut queues = self.of.queues();
            let queue = queues.entry(self.account).or_default();
            self.followers.drain(..).rev().for_each(|member| queue.waiting.push_front(member));
            let group = queue.next_group();
            if queue.in_flight == 0 {
                queues.remove(&self.account);
            }
            group
        };
        let Some(mut followers) = group else { return };
        let Some(Member { writes, turn, .. }) = followers.pop_front() else { return };
        // If its task is gone, what comes back is dropped in turn, and so goes on to others.
        let lead = Lead { of: Arc::clone(&self.of), account: self.account, followers };
        drop(turn.send(Turn::Leads(lead, writes)));
    }
}

impl Queue {
    /// Takes the next group; if no unit waits, one group fewer is in flight. The kinds in a group are few, so that there are
    /// few texts.
    fn next_group(&mut self) -> Option<VecDeque<Member>> {
        let (mut kinds, mut group) = (Vec::new(), VecDeque::new());
        let mut rest = VecDeque::with_capacity(self.waiting.len());
        for member in self.waiting.drain(..) {
            let is_known = kinds.contains(&member.kind);
            if group.len() < GROUP_UNITS_MAX && (is_known || kinds.len() < GROUP_KINDS_MAX) {
                if !is_known {
                    kinds.push(member.kind);
                }
                group.push_back(member);
            } else {
                rest.push_back(member);
            }
        }
        self.waiting = rest;
        if group.is_empty() {
            self.in_flight -= 1;
            return None;
        }
        Some(group)
    }
}

/// What became of a unit.
pub(super) enum Committed {
    /// It was written; whether its group has derived rows.
    Written(bool),
    /// It is to be written alone, as one of the groups in flight if it has the right.
    Alone(Writes, Option<Lead>),
}

impl GroupCommit {
    pub fn new(connections: PostgresPool, statements: Arc<Statements>) -> Self {
        Self {
            connections,
            statements,
            grouping: Grouping::of_environment(),
            texts: GroupTexts::default(),
            queues: Mutex::default(),
        }
    }

    fn queues(&self) -> MutexGuard<'_, HashMap<Option<Uuid>, Queue>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a unit with others, or says that it is to be written alone. A distributed database needs the account.
    pub async fn commit(
        self: &Arc<Self>,
        account: Option<Uuid>,
        writes: Writes,
    ) -> Result<Committed, CommitError> {
        if self.grouping == Grouping::Never {
            return Ok(Committed::Alone(writes, None));
        }
        let (lead, own) = match self.enter(account, writes) {
            Entered::Leads(lead, own) => (lead, own),
            Entered::Waits(turn) => match turn.await {
                Ok(Turn::Leads(lead, own)) => (lead, own),
                Ok(Turn::Written(derived)) => return Ok(Committed::Written(derived)),
                Ok(Turn::Alone(own)) => return Ok(Committed::Alone(own, None)),
                Ok(Turn::InDoubt(error)) => return Err(in_doubt(error)),
                Err(_) => return Err(in_doubt("the task that wrote its group is gone".into())),
            },
        };
        if lead.followers.is_empty() && self.grouping == Grouping::WhenBusy {
            return Ok(Committed::Alone(own, Some(lead)));
        }
        // Others depend on it: a caller who goes away does not stop it half-way.
        let group = Arc::clone(self).write_group(lead, own);
        let written = tokio::spawn(detach(trace::within(trace::current(), group))).await;
        written.unwrap_or_else(|_| Err(in_doubt("the task that wrote a group is gone".into())))
    }

    /// Writes a group, and tells its other units.
    async fn write_group(self: Arc<Self>, mut lead: Lead, own: Writes) -> Result<Committed, CommitError> {
        let others = std::mem::take(&mut lead.followers);
        let is_group = !others.is_empty();
        let units: Vec<_> = std::iter::once(&own).chain(others.iter().map(|member| &member.writes)).collect();
        let written = self.write(lead.account, &units).await;
        drop(lead);
        for member in others {
            let turn = match &written {
                Ok(derived) => Turn::Written(*derived),
                Err(CommitError::Failed(_)) => Turn::Alone(member.writes),
                Err(CommitError::InDoubt(error)) => Turn::InDoubt(error.to_string()),
            };
            // The send fails if the unit's task is gone.
            drop(member.turn.send(turn));
        }
        match written {
            Ok(derived) => Ok(Committed::Written(derived)),
            Err(CommitError::Failed(error)) if is_group => {
                tracing::debug!(%error, "a group is written unit by unit");
                Ok(Committed::Alone(own, None))
            }
            Err(error) => Err(error),
        }
    }

    fn enter(self: &Arc<Self>, account: Option<Uuid>, writes: Writes) -> Entered {
        let mut queues = self.queues();
        let queue = queues.entry(account).or_default();
        if queue.in_flight < GROUPS_MAX {
            queue.in_flight += 1;
            return Entered::Leads(Lead { of: Arc::clone(self), account, followers: VecDeque::new() }, writes);
        }
        let (turn, receiver) = oneshot::channel();
        queue.waiting.push_back(Member { kind: kind(&writes), writes, turn });
        Entered::Waits(receiver)
    }

    /// Writes a group by one statement, which is its own transaction. Returns whether rows were derived.
    async fn write(&self, account: Option<Uuid>, units: &[&Writes]) -> Result<bool, CommitError> {
        let unmade = |error: BoxDynError| {
            CommitError::Failed(DbErr::Query(RuntimeErr::Internal(error.to_string())).into())
        };
        let transaction = self.connections.transaction().await.map_err(uncommitted)?;
        self.statements.wrote();
        self.statements.committed();
        if let Some(account) = account {
            let call = UnitCall::of_group(account, units, transaction.slot).map_err(unmade)?;
            return call.send(&transaction).await;
        }
        let (sql, arguments) = self.texts.statement(units, transaction.slot).map_err(unmade)?;
        let row = transaction.query_one(sql, arguments).await.map_err(uncommitted)?;
        let says = units.iter().any(|unit| unit.rows.derived.derivation.is_some());
        let derived = row.filter(|_| says).map(|row| row.try_get::<i64>("", "derived")).transpose();
        Ok(derived.map_err(uncommitted)?.unwrap_or_default() > 0)
    }
}

enum Entered {
    Leads(Lead, Writes),
    Waits(oneshot::Receiver<Turn>),
}

fn in_doubt(error: String) -> CommitError {
    CommitError::InDoubt(DbErr::Conn(RuntimeErr::Internal(error)))
}

/// Returns a number for the text of the statement that writes these.
fn kind(Writes { held, rows }: &Writes) -> u64 {
    let mut hasher = DefaultHasher::new();
    held.0.iter().for_each(|update| update.texts.hash(&mut hasher));
    rows.tables().iter().for_each(|table| table.name.hash(&mut hasher));
    rows.sums.names().for_each(|name| name.hash(&mut hasher));
    rows.derived.derivation.is_some().hash(&mut hasher);
    hasher.finish()
}
