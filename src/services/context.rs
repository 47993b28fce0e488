//! The context, and for whom services work: an account, or the caller of a write.

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use acquirer::Acquirer;
use base::clock::{Clock, IdGenerator};
use base::random::RandomSource;
use base::request_context::{self, detach};
use base::request_permits::acquire_detached_permit;
use base::trace;
use base::trusted_clock::TrustedClock;
use entity::api_key::KeyRestriction;
use entity::pricing::Pricing;
use entity::section::{Right, Section};
use entity::token::TokenKind;
use entity::{AccountToken, TimeSpan, Timestamp, Token, account};
use futures::future::{BoxFuture, FutureExt};
use outbound::Outbound;
use outbound::blobs::Blobs;
use sea_orm::{DeleteMany, EntityTrait, UpdateMany};
use store::Tx;
use tokio_util::task::TaskTracker;
use vault::{OperatorKeys, Vault};

use super::account_version::AssumedVersion;
use super::audit::anchor::AuditAnchor;
use super::idempotency::claim::IdempotencyClaim;
use super::memory::Memory;
use super::memory::known_keys::KeyEntry;
use super::people::person::Person;
use super::wallets::providers::Wallets;
use crate::Store;
use crate::config::Environment;
use crate::error::{Error, ErrorCode};

/// The context, shared by all requests and workers of a process.
pub type Ctx = Arc<Context>;

/// The dependencies of the services.
pub struct Context {
    /// The environment: test or live.
    pub environment: Environment,
    pub store: Store,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// The times that may be now, for what cannot be undone.
    pub trusted: TrustedClock,
    pub ids: Arc<IdGenerator>,
    /// The source of all other random values that clients see.
    pub random: Arc<RandomSource>,
    /// Encrypts, decrypts and computes keyed hashes.
    pub vault: Arc<Vault>,
    /// The operator's keys, which unwrap data keys that another process has added to the table.
    pub operator: OperatorKeys,
    /// The acquirer, which moves the money.
    pub acquirer: Arc<dyn Acquirer>,
    /// The guarded HTTP client for addresses that clients give.
    pub outbound: Outbound,
    /// The operator's wallet settings.
    pub wallets: Wallets,
    /// The store of file contents.
    pub blobs: Arc<dyn Blobs>,
    /// The tasks that must end before the process does.
    pub tasks: TaskTracker,
    /// The configuration of the process.
    pub settings: Settings,
    /// The memories of the process.
    pub memory: Memory,
}

pub struct Settings {
    /// The acquirer's time limit for an answer.
    pub acquirer_timeout: Duration,
    /// The folder for uploads in progress.
    pub incoming: PathBuf,
    /// The destination of the heads of the audit trail, if there is one.
    pub audit_anchor: Option<AuditAnchor>,
    /// The server's address as clients know it.
    pub base_url: Arc<str>,
    /// The retention of events and webhooks.
    pub retention: TimeSpan,
    /// The time after a customer's deletion at which its personal data is erased; `None` if it is not erased by itself.
    pub erase_after: Option<TimeSpan>,
    /// The longest time for which one request moves a clock.
    pub clock_move_timeout: Duration,
}

impl Context {
    /// Runs work in its own task, which the request merely awaits: a disconnect or a time-out does not cancel it, and
    /// the process waits for it before it ends.
    ///
    /// Refusals: `service_unavailable` if too many requests have such work already; the work has not begun.
    pub async fn in_own_task<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        if !acquire_detached_permit(request_context::account()) {
            metrics::counter!("card_payments_shed_total", "what" => "task").increment(1);
            request_context::mark_shed();
            return Err(ErrorCode::ServiceUnavailable.into());
        }
        // Boxed, because a task is compiled for each type of its work.
        let task = self.tasks.spawn(detach(trace::within(trace::current(), work.boxed())));
        task.await.unwrap_or_else(|_| Err(Error::internal("a task ended before its work did")))
    }

    /// Returns the token of a record that the server makes by itself once it is due. In live it follows from its subject: a
    /// database that is restored from a backup makes the same record again, and the party that moved its money knows its token.
    /// In test it is new, because a restored snapshot may take another course.
    pub(super) fn token_of_due<K: TokenKind>(&self, due: Timestamp, subject: &str) -> Token<K> {
        match self.environment {
            Environment::Test => self.ids.token(),
            Environment::Live => IdGenerator::token_of(due, subject),
        }
    }

    /// Returns the wall-clock time at which a replaced key ends: after a grace by the later of the times that may be now, so that it does
    /// not go too early; without a grace now.
    pub(super) fn end_after(&self, grace: TimeSpan) -> Timestamp {
        if grace == TimeSpan::ZERO { self.clock.now() } else { self.trusted.latest() + grace }
    }

    /// Updates rows in a unit of their own. Returns how many there were.
    pub(super) async fn update<E: EntityTrait>(&self, rows: UpdateMany<E>) -> Result<u64, Error> {
        let unit = self.store.write(rows, async |tx, rows| Ok(rows.clone().exec(tx).await?.rows_affected));
        unit.await
    }

    /// Deletes rows in a unit of their own.
    pub(super) async fn delete<E: EntityTrait>(&self, rows: DeleteMany<E>) -> Result<(), Error> {
        let unit = self.store.write(rows, async |tx, rows| {
            rows.clone().exec(tx).await?;
            Ok(())
        });
        unit.await
    }
}

/// An account, as its row was when the request or the work began.
#[derive(Debug, Clone)]
pub struct Account {
    row: Arc<account::Model>,
    /// The time by the account's clock, which the request shows and stores as now.
    pub now: Timestamp,
    /// The version that the row is assumed to have still, if it may be older than the request.
    pub assumed: Option<Arc<AssumedVersion>>,
    /// The key of the request; `None` for workers and commands.
    pub key: Option<KeyEntry>,
    /// The person whom the dashboard acts for, if people sign in.
    pub person: Option<Arc<Person>>,
}

/// The caller of a write: its account, and its claim of an Idempotency-Key. A service that takes only an [`Account`] reads,
/// or writes what no client repeats.
#[derive(Debug, Clone)]
pub struct Caller {
    pub account: Account,
    /// The claim, if the request has a key.
    pub claim: Option<Arc<IdempotencyClaim>>,
    /// A further condition of the write's commit, which may add records to it.
    pub condition: Option<Arc<dyn WriteCondition>>,
}

impl Caller {
    /// Returns the caller of a write without an Idempotency-Key.
    pub fn without_key(account: Account) -> Self {
        Self { account, claim: None, condition: None }
    }

    /// Claims the Idempotency-Key as a part of a unit, and requires the account to be current.
    ///
    /// Refusals: `unauthorized`, `idempotency_key_in_use`.
    pub(super) async fn require_and_claim(&self, tx: &Tx, claimed_at: Timestamp) -> Result<(), Error> {
        self.account.require_current(tx).await?;
        match &self.claim {
            Some(claim) => claim.record(tx, self.account.id(), claimed_at),
            None => Ok(()),
        }
    }

    /// Notes that the unit which required the account and claimed the key has committed.
    pub(super) fn confirm(&self) {
        self.account.confirm();
        if let Some(claim) = &self.claim {
            claim.mark_owned();
        }
    }
}

/// A condition of a write's commit, which may add records to it.
pub trait WriteCondition: fmt::Debug + Send + Sync {
    /// Refuses the write, or records what goes with it.
    fn require<'u>(&'u self, tx: &'u Tx) -> BoxFuture<'u, Result<(), Error>>;
}

impl Account {
    /// Creates the account from its row at a wall-clock time.
    pub fn new(row: impl Into<Arc<account::Model>>, wall: Timestamp) -> Self {
        let row = row.into();
        let now = row.now(wall);
        Self { row, now, assumed: None, key: None, person: None }
    }

    /// Requires, before a unit's first write, that the account and its key are as the request assumes.
    ///
    /// Refusals: `unauthorized`, which the request does not answer.
    pub async fn require_current(&self, tx: &Tx) -> Result<(), Error> {
        match &self.assumed {
            Some(assumed) => assumed.require(tx).await,
            None => Ok(()),
        }
    }

    /// Records that a unit which required the account to be current has committed.
    pub fn confirm(&self) {
        if let Some(assumed) = &self.assumed {
            assumed.confirm();
        }
    }

    /// Returns the account as a person sees it, who has the rights of their roles there.
    #[must_use]
    pub fn seen_by(self, person: Option<Arc<Person>>) -> Self {
        Self { person, ..self }
    }

    /// Returns the restriction of the key or of the person that the request acts for, if there is one.
    pub fn restriction(&self) -> Option<&KeyRestriction> {
        let of_person = self.person.as_ref().map(|person| &person.restriction);
        of_person.or_else(|| self.key.as_ref()?.restriction.as_deref())
    }

    /// Returns whether the request has a right.
    pub fn may(&self, section: Section, right: Right) -> bool {
        self.restriction().is_none_or(|restriction| restriction.right(section) >= right)
    }

    pub fn id(&self) -> AccountToken {
        self.row.id
    }

    /// Returns the hash of the request's key; `None` for workers and commands.
    pub fn key_hash(&self) -> Option<[u8; 32]> {
        self.key.as_ref().map(|key| key.hash)
    }

    /// Returns the time of the account's clock when the wall clock shows `wall`.
    pub fn now_by(&self, wall: Timestamp) -> Timestamp {
        self.row.now(wall)
    }

    /// Returns how far the account's clock is ahead of the wall clock.
    pub fn offset(&self) -> TimeSpan {
        self.row.clock_offset
    }

    /// Returns the account's switches and settings.
    pub fn settings(&self) -> &account::Model {
        &self.row
    }

    /// Returns the account's pricing table.
    pub fn pricing(&self) -> Result<Pricing, Error> {
        Ok(serde_json::from_str(self.row.pricing.as_str())?)
    }
}
