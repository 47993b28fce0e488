//! What every service needs at hand.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use entity::api_key::KeyKind;
use entity::pricing::Pricing;
use entity::{AccountToken, TimeSpan, Timestamp, account};
use moka::future::Cache;
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

use super::audit::KeyUses;
use super::idempotency::claim::IdempotencyClaim;
use super::request_log::RequestLog;
use super::wallets::providers::Wallets;
use crate::acquirer::Acquirer;
use crate::blobs::Blobs;
use crate::config::Environment;
use crate::error::{Error, ErrorCode};
use crate::outbound::Outbound;
use crate::response::ResponseKind;
use crate::runtime::clock::{Clock, IdGenerator};
use crate::runtime::random::RandomSource;
use crate::runtime::request_context::{acquire_detached_permit, detach};
use crate::store::Store;
use crate::vault::{OperatorKeys, Vault};

/// The context, shared by all requests and workers of a process.
pub type Ctx = Arc<Context>;

/// Everything a service may use.
pub struct Context {
    /// Test or live.
    pub environment: Environment,
    /// The door to the database.
    pub store: Store,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// The generator of ids.
    pub ids: Arc<IdGenerator>,
    /// Where everything else comes from that is drawn for callers to see.
    pub chance: Arc<RandomSource>,
    /// Ciphers and keyed hashes.
    pub vault: Arc<Vault>,
    /// What opens the keys that another process has put into the table since.
    pub operator: OperatorKeys,
    /// Who moves the money.
    pub acquirer: Arc<dyn Acquirer>,
    /// How long the acquirer may take to answer.
    pub acquirer_answer: Duration,
    /// Who calls the addresses that callers give.
    pub outbound: Outbound,
    /// What the operator has told about wallets.
    pub wallets: Wallets,
    /// Where the contents of files are.
    pub blobs: Arc<dyn Blobs>,
    /// A folder for what is being received.
    pub incoming: PathBuf,
    /// The server's address as callers know it.
    pub base_url: Arc<str>,
    /// How long events and webhooks are kept.
    pub retention: TimeSpan,
    /// Rung when a request has made something due at once that it does not wait for.
    pub due_now: Notify,
    /// Rung when a request has made a webhook due.
    pub due_webhooks: Notify,
    /// For how long one request moves a clock.
    pub clock_move: Duration,
    /// API keys looked up lately.
    pub keys: Cache<[u8; 32], KeyEntry>,
    /// How often keys were used lately.
    pub key_uses: KeyUses,
    /// Work that must end before the process does.
    pub tasks: TaskTracker,
    /// What accounts asked for lately, in the test environment.
    pub request_log: RequestLog,
}

impl Context {
    /// Run work in a task of its own that the request merely awaits: a hang-up or a time-out does not cancel
    /// it, and the process does not end before it.
    ///
    /// Refusals: `service_unavailable` where too many requests have such work already; nothing of it has begun.
    pub async fn in_own_task<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        if !acquire_detached_permit() {
            metrics::counter!("card_payments_shed_total", "what" => "task").increment(1);
            return Err(ErrorCode::ServiceUnavailable.into());
        }
        let task = self.tasks.spawn(detach(work));
        task.await.unwrap_or_else(|_| Err(Error::internal("a task ended before its work did")))
    }
}

/// What is remembered of a key that was looked up: never the settings of its account.
#[derive(Debug, Clone, Copy)]
pub struct KeyEntry {
    /// The account it opens.
    pub account: AccountToken,
    /// What it may do.
    pub kind: KeyKind,
    /// Until when, by the wall clock.
    pub valid_until: Option<Timestamp>,
}

/// The account a request acts for, as it stood when the request began.
#[derive(Debug, Clone)]
pub struct Account {
    row: account::Model,
    /// By the account's clock: what the request shows and stores as now.
    pub now: Timestamp,
    /// The Idempotency-Key that the request carries.
    claim: Option<IdempotencyClaim>,
}

impl Account {
    /// The account as its row says, at a wall-clock instant.
    pub fn new(row: account::Model, wall: Timestamp) -> Self {
        let now = row.now(wall);
        Self { row, now, claim: None }
    }

    /// The account, for a request that carries an Idempotency-Key.
    #[must_use]
    pub fn under(self, claim: Option<IdempotencyClaim>) -> Self {
        Self { claim, ..self }
    }

    /// The account, for a request whose answer is wrapped like this.
    #[must_use]
    pub fn answers(&self, wrap: ResponseKind) -> Self {
        Self { claim: self.claim.clone().map(|claim| claim.answers(wrap)), ..self.clone() }
    }

    /// The Idempotency-Key that the request carries.
    pub fn claim(&self) -> Option<&IdempotencyClaim> {
        self.claim.as_ref()
    }

    /// Its token.
    pub fn id(&self) -> AccountToken {
        self.row.id
    }

    /// What its clock shows when the wall clock shows `wall`.
    pub fn now_by(&self, wall: Timestamp) -> Timestamp {
        self.row.now(wall)
    }

    /// How far its clock runs ahead of the wall clock.
    pub fn offset(&self) -> TimeSpan {
        self.row.clock_offset
    }

    /// Its switches and settings.
    pub fn settings(&self) -> &account::Model {
        &self.row
    }

    /// Its pricing table.
    pub fn pricing(&self) -> Result<Pricing, Error> {
        Ok(serde_json::from_str(self.row.pricing.as_str())?)
    }
}
