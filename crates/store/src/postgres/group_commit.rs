//! PostgreSQL: group commit. While as many groups are being written as PostgreSQL writes well at once, units gather; then one
//! statement writes what has gathered, or on a distributed one a call of each node. No timer: a unit that finds fewer is written
//! at once, and alone.
//!
//! A group that the database refuses is written unit by unit, each by a statement of its own, so that a lost compare-and-set, a
//! taken key or a refused row is one unit's alone. A group whose answer is lost is in doubt for all of its units.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use base::mutex::lock;
use base::request_context::detach;
use base::trace;
use sea_orm::{DbErr, RuntimeErr};
use tokio::sync::oneshot;

use crate::citus::unit_call::UnitCalls;
use crate::limits::{GROUP_KINDS_MAX, GROUP_UNITS_MAX, GROUPS_MAX};
use crate::postgres::group_statement::{GroupTexts, Writes};
use crate::postgres::pool::PostgresPool;
use crate::statements::Statements;
use crate::unit::open_transaction::{CommitError, has_derived, uncommitted};

/// The condition under which units are written in groups.
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
pub(crate) struct GroupCommit {
    writer: GroupWriter,
    statements: Arc<Statements>,
    grouping: Grouping,
    /// By node of a distributed database; otherwise one.
    queues: Mutex<HashMap<Option<i32>, Queue>>,
}

/// The way in which a group is written.
pub(crate) enum GroupWriter {
    /// By one statement, on connections of its own.
    Statement(PostgresPool, GroupTexts),
    /// A distributed database: by a call of a function.
    Call(UnitCalls),
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
    outcome: oneshot::Sender<QueueOutcome>,
}

/// The outcome that a waiting unit learns.
enum QueueOutcome {
    /// It leads its group: it writes it, and its own writes with it.
    Leads(GroupLeader, Writes),
    /// It was written; whether the group has derived rows.
    Written(bool),
    /// Its group was refused.
    Alone(Writes),
    /// The answer to its group is lost.
    InDoubt(String),
}

/// The right to write a group, with the units that follow. Dropped, it goes to the units that have gathered, these first: the task
/// of the unit that was to write them is gone before it has begun.
pub(crate) struct GroupLeader {
    of: Arc<GroupCommit>,
    node: Option<i32>,
    followers: VecDeque<Member>,
}

impl Drop for GroupLeader {
    fn drop(&mut self) {
        let group = {
            let mut queues = lock(&self.of.queues);
            let queue = queues.entry(self.node).or_default();
            self.followers.drain(..).rev().for_each(|member| queue.waiting.push_front(member));
            queue.next_group()
        };
        let Some(mut followers) = group else { return };
        let Some(Member { writes, outcome, .. }) = followers.pop_front() else { return };
        // If its task is gone, what comes back is dropped in turn, and so goes on to others.
        let leader = GroupLeader { of: Arc::clone(&self.of), node: self.node, followers };
        drop(outcome.send(QueueOutcome::Leads(leader, writes)));
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

/// The outcome of a unit's commit.
#[expect(clippy::large_enum_variant, reason = "it is taken apart at once")]
pub(crate) enum Committed {
    /// It was written; whether its group has derived rows.
    Written(bool),
    /// It is to be written alone, as one of the groups in flight if it has the right.
    Alone(Writes, Option<GroupLeader>),
}

impl GroupCommit {
    pub fn new(writer: GroupWriter, statements: Arc<Statements>) -> Self {
        Self { writer, statements, grouping: Grouping::of_environment(), queues: Mutex::default() }
    }

    /// Writes a unit with others, or says that it is to be written alone.
    pub async fn commit(self: &Arc<Self>, mut writes: Writes) -> Result<Committed, CommitError> {
        if let GroupWriter::Call(calls) = &self.writer {
            let shard = calls.shard(&writes).await.map_err(|error| CommitError::Failed(error.into()))?;
            writes.shard = Some(shard);
        }
        if self.grouping == Grouping::Never {
            return Ok(Committed::Alone(writes, None));
        }
        let (leader, own) = match self.enter(writes) {
            GroupEntry::Leads(leader, own) => (leader, own),
            GroupEntry::Waits(outcome) => match outcome.await {
                Ok(QueueOutcome::Leads(leader, own)) => (leader, own),
                Ok(QueueOutcome::Written(derived)) => return Ok(Committed::Written(derived)),
                Ok(QueueOutcome::Alone(own)) => return Ok(Committed::Alone(own, None)),
                Ok(QueueOutcome::InDoubt(error)) => return Err(in_doubt(error)),
                Err(_) => return Err(in_doubt("the task that wrote its group is gone".into())),
            },
        };
        if leader.followers.is_empty() && self.grouping == Grouping::WhenBusy {
            return Ok(Committed::Alone(own, Some(leader)));
        }
        // Others depend on it: a caller who goes away does not stop it half-way.
        let group = Arc::clone(self).write_group(leader, own);
        let written = tokio::spawn(detach(trace::within(trace::current(), group))).await;
        written.unwrap_or_else(|_| Err(in_doubt("the task that wrote a group is gone".into())))
    }

    /// Writes a group, and tells its other units.
    async fn write_group(
        self: Arc<Self>,
        mut leader: GroupLeader,
        own: Writes,
    ) -> Result<Committed, CommitError> {
        let others = std::mem::take(&mut leader.followers);
        let is_group = !others.is_empty();
        let units: Vec<_> = std::iter::once(&own).chain(others.iter().map(|member| &member.writes)).collect();
        let written = self.write(&units).await;
        drop(leader);
        for member in others {
            let outcome = match &written {
                Ok(derived) => QueueOutcome::Written(*derived),
                Err(CommitError::Failed(_)) => QueueOutcome::Alone(member.writes),
                Err(CommitError::InDoubt(error)) => QueueOutcome::InDoubt(error.to_string()),
            };
            // The send fails if the unit's task is gone.
            drop(member.outcome.send(outcome));
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

    fn enter(self: &Arc<Self>, writes: Writes) -> GroupEntry {
        let node = writes.shard.map(|shard| shard.node);
        let mut queues = lock(&self.queues);
        let queue = queues.entry(node).or_default();
        if queue.in_flight < GROUPS_MAX {
            queue.in_flight += 1;
            return GroupEntry::Leads(
                GroupLeader { of: Arc::clone(self), node, followers: VecDeque::new() },
                writes,
            );
        }
        let (outcome, receiver) = oneshot::channel();
        queue.waiting.push_back(Member { kind: writes.kind(), writes, outcome });
        GroupEntry::Waits(receiver)
    }

    /// Writes a group as one transaction. Returns whether rows were derived.
    pub async fn write(&self, units: &[&Writes]) -> Result<bool, CommitError> {
        self.statements.wrote();
        self.statements.committed();
        let (connections, texts) = match &self.writer {
            GroupWriter::Statement(connections, texts) => (connections, texts),
            GroupWriter::Call(calls) => return calls.write(units).await,
        };
        let transaction = connections.transaction().await.map_err(uncommitted)?;
        let (sql, arguments) = texts.statement(units, transaction.slot).map_err(|error| {
            CommitError::Failed(DbErr::Query(RuntimeErr::Internal(error.to_string())).into())
        })?;
        let row = transaction.query_one(sql, arguments).await.map_err(uncommitted)?;
        has_derived(row).map_err(uncommitted)
    }
}

#[expect(clippy::large_enum_variant, reason = "it is taken apart at once")]
enum GroupEntry {
    Leads(GroupLeader, Writes),
    Waits(oneshot::Receiver<QueueOutcome>),
}

fn in_doubt(error: String) -> CommitError {
    CommitError::InDoubt(DbErr::Conn(RuntimeErr::Internal(error)))
}
