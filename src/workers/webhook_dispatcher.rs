//! The dispatcher delivers webhooks, each endpoint at its own pace, so that a slow or dead one delays no other.
//!
//! The webhooks that this process commits come to it at once, and leased; it polls every second for other due ones (retries,
//! replays, the work of a killed server). Per endpoint some deliveries are in flight and some webhooks wait in memory; the
//! rest waits in the table, and polling leaves out the endpoints that have enough.

mod lanes;

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use base::mutex::lock;
use entity::WebhookEndpointToken;
use futures::FutureExt;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::error::Error;
use crate::limits::{DELIVERIES_MAX, WEBHOOK_BATCH};
use crate::services::Ctx;
use crate::services::webhooks::outbox::{self, OutboxEvent};
use crate::services::webhooks::{self, DeliveryAttempt, DueWebhook, LeasedWebhook};
use lanes::{DeliveryPermits, EndpointLane, Last};

const PAUSE: Duration = Duration::from_secs(1);
/// The divisor of the free permits: one endpoint's share of them.
const SHARES: usize = 32;

/// The tasks of the dispatcher.
pub struct WorkerHandles {
    loops: [JoinHandle<()>; 2],
    recorder: JoinHandle<()>,
}

impl WorkerHandles {
    /// Stops the dispatcher once no delivery is in flight, and records the last results.
    pub async fn stop(self) {
        // The loops hold the last senders of results: without them the recorder ends.
        for it in self.loops {
            it.abort();
            let _ = it.await;
        }
        let _ = self.recorder.await;
    }
}

/// Starts the dispatcher. When the process stops, deliveries in flight may finish; the leases of the rest run out.
pub fn start(ctx: &Ctx) -> WorkerHandles {
    let (outcomes, recorded) = mpsc::channel(DELIVERIES_MAX);
    let dispatcher = Arc::new(WebhookDispatcher {
        ctx: Ctx::clone(ctx),
        lanes: Mutex::default(),
        permits: DeliveryPermits::default(),
        outcomes,
        room: Notify::new(),
    });
    let announcements = outbox::listen(&ctx.store, Arc::clone(&ctx.clock));
    WorkerHandles {
        loops: [
            tokio::spawn(Arc::clone(&dispatcher).receive_committed(announcements)),
            tokio::spawn(dispatcher.poll()),
        ],
        recorder: tokio::spawn(record(Ctx::clone(ctx), recorded)),
    }
}

struct WebhookDispatcher {
    ctx: Ctx,
    lanes: Mutex<HashMap<WebhookEndpointToken, EndpointLane>>,
    permits: DeliveryPermits,
    outcomes: mpsc::Sender<DeliveryAttempt>,
    /// Notified when an endpoint that had enough has room again.
    room: Notify,
}

impl WebhookDispatcher {
    fn lanes(&self) -> MutexGuard<'_, HashMap<WebhookEndpointToken, EndpointLane>> {
        lock(&self.lanes)
    }

    /// Returns whether the process is stopping: it waits for deliveries in flight only.
    fn stopping(&self) -> bool {
        self.ctx.tasks.is_closed()
    }

    /// Delivers the webhooks that this process commits.
    async fn receive_committed(self: Arc<Self>, mut announcements: mpsc::Receiver<OutboxEvent>) {
        let mut batch = Vec::with_capacity(WEBHOOK_BATCH);
        while announcements.recv_many(&mut batch, WEBHOOK_BATCH).await > 0 {
            match webhooks::announced(&self.ctx, &batch).await {
                Ok(leased) => self.accept_all(leased).await,
                // Their leases run out.
                Err(error) => tracing::error!(%error, "committed webhooks were not read"),
            }
            batch.clear();
        }
    }

    /// Polls for other due webhooks.
    async fn poll(self: Arc<Self>) {
        while !self.stopping() {
            match self.poll_once().await {
                // More may be due.
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => tracing::error!(%error, "due webhooks were not found"),
            }
            tokio::select! {
                () = tokio::time::sleep(PAUSE) => {}
                () = self.ctx.memory.due_webhooks.notified() => {}
                () = self.room.notified() => {}
            }
        }
    }

    /// Leases the due webhooks for which there is room. Returns whether to poll again at once.
    async fn poll_once(self: &Arc<Self>) -> Result<bool, Error> {
        let now = Instant::now();
        let busy: Vec<_> = {
            let mut lanes = self.lanes();
            lanes.retain(|_, lane| lane.is_needed(now));
            lanes.iter().filter(|(_, lane)| lane.room() == 0).map(|(&endpoint, _)| endpoint).collect()
        };
        let found = webhooks::due(&self.ctx, &busy).await?;
        let many = found.len() >= WEBHOOK_BATCH;
        let leased = webhooks::lease(&self.ctx, self.with_room(found)).await?;
        self.accept_all(leased).await;
        Ok(many)
    }

    /// Filters the webhooks found to those for which their endpoints have room.
    fn with_room(&self, mut found: Vec<DueWebhook>) -> Vec<DueWebhook> {
        let mut lanes = self.lanes();
        let mut planned = HashMap::<WebhookEndpointToken, usize>::new();
        found.retain(|it| {
            let planned = planned.entry(it.endpoint).or_default();
            *planned += 1;
            let Some(lane) = lanes.get_mut(&it.endpoint) else { return true };
            let fits = *planned <= lane.room();
            lane.more |= !fits;
            fits
        });
        found
    }

    /// Accepts webhooks for delivery; releases the leases of those for which there is no room.
    async fn accept_all(self: &Arc<Self>, leased: Vec<LeasedWebhook>) {
        let returned: Vec<_> = leased.into_iter().filter_map(|webhook| self.take(webhook)).collect();
        if let Err(error) = webhooks::release(&self.ctx, returned).await {
            // Their leases run out.
            tracing::error!(%error, "webhook leases were not released");
        }
    }

    fn take(self: &Arc<Self>, webhook: LeasedWebhook) -> Option<LeasedWebhook> {
        if self.stopping() {
            return Some(webhook);
        }
        let mut lanes = self.lanes();
        let lane = lanes.entry(webhook.endpoint).or_default();
        if lane.room() == 0 {
            lane.more = true;
            return Some(webhook);
        }
        if lane.in_flight < self.share_of(lane) {
            lane.in_flight += 1;
            self.begin(webhook);
        } else {
            lane.waiting.push_back(webhook);
        }
        None
    }

    /// Returns the number of deliveries that an endpoint may have in flight: fewer, the more all endpoints have together.
    fn share_of(&self, lane: &EndpointLane) -> usize {
        let fair = 1 + self.permits.remaining() / SHARES;
        lane.in_flight_max().min(fair)
    }

    fn begin(self: &Arc<Self>, webhook: LeasedWebhook) {
        self.ctx.tasks.spawn(Arc::clone(self).run_lane(webhook));
    }

    /// Delivers one webhook after another, as long as the endpoint has any.
    async fn run_lane(self: Arc<Self>, webhook: LeasedWebhook) {
        let endpoint = webhook.endpoint;
        let mut next = Some(webhook);
        while let Some(webhook) = next {
            // The lane continues after any result of a delivery.
            let delivered = AssertUnwindSafe(self.deliver(webhook)).catch_unwind().await;
            let accepted = delivered.unwrap_or_else(|_| {
                tracing::error!("a delivery panicked");
                None
            });
            let mut after = self.after(endpoint, accepted).into_iter();
            next = after.next();
            after.for_each(|webhook| self.begin(webhook));
        }
    }

    /// Delivers a webhook. Returns whether it was accepted; `None` if it was not sent.
    async fn deliver(&self, webhook: LeasedWebhook) -> Option<bool> {
        let proven = self.lanes().get(&webhook.endpoint).is_some_and(EndpointLane::is_proven);
        let _permit = self.permits.take(proven).await;
        match webhooks::send(&self.ctx, webhook).await {
            Ok(Some(delivered)) => {
                let accepted = delivered.accepted();
                // The receiver is gone only when the process ends.
                let _ = self.outcomes.send(delivered).await;
                Some(accepted)
            }
            Ok(None) => None,
            Err(error) => {
                tracing::error!(%error, "a webhook was not sent");
                None
            }
        }
    }

    /// Ends a delivery and returns the webhooks to deliver next: the first in the caller's task, the others, if an endpoint
    /// accepts again, in tasks of their own.
    fn after(&self, endpoint: WebhookEndpointToken, accepted: Option<bool>) -> Vec<LeasedWebhook> {
        let mut lanes = self.lanes();
        let Some(lane) = lanes.get_mut(&endpoint) else { return Vec::new() };
        if let Some(accepted) = accepted {
            lane.last = Some(Last { accepted, at: Instant::now() });
        }
        lane.in_flight -= 1;
        let mut next = Vec::new();
        while lane.in_flight < self.share_of(lane) && !self.stopping() {
            let Some(webhook) = lane.waiting.pop_front() else { break };
            lane.in_flight += 1;
            next.push(webhook);
        }
        if lane.waiting.is_empty() && std::mem::take(&mut lane.more) {
            self.room.notify_one();
        }
        next
    }
}

/// Records the results of deliveries, all that have arrived at a time.
async fn record(ctx: Ctx, mut outcomes: mpsc::Receiver<DeliveryAttempt>) {
    let mut batch = Vec::with_capacity(WEBHOOK_BATCH);
    while outcomes.recv_many(&mut batch, WEBHOOK_BATCH).await > 0 {
        if let Err(error) = webhooks::record(&ctx, std::mem::take(&mut batch)).await {
            // The webhooks are delivered once more when their leases run out.
            tracing::error!(%error, "results of webhooks were not recorded");
        }
    }
}
