//! The courier delivers webhooks, each endpoint at its own pace, so that a slow or dead one delays nobody else's.
//!
//! What this process commits comes to it at once, and leased; what else is due (retries, replays, what another
//! copy left) it looks for every second. Per endpoint some deliveries are under way and some webhooks wait in memory;
//! the rest waits in the table, and the look leaves out the endpoints that have enough.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use entity::WebhookEndpointToken;
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio::time::Instant;

use crate::error::Error;
use crate::limits::{
    DELIVERIES_MAX, FAILING_REMEMBERED, WEBHOOK_BATCH, WEBHOOKS_UNDER_WAY_MAX, WEBHOOKS_WAITING_MAX,
};
use crate::services::Ctx;
use crate::services::webhooks::{self, Found, Outcome, Parcel};
use crate::store::Announcement;

const PAUSE: Duration = Duration::from_secs(1);

/// Start delivering. When the process stops, what is under way may finish; the leases of the rest run out.
pub fn start(ctx: &Ctx) {
    let (outcomes, recorded) = mpsc::channel(DELIVERIES_MAX);
    let courier = Arc::new(Courier {
        ctx: Ctx::clone(ctx),
        lanes: Mutex::default(),
        turns: Semaphore::new(DELIVERIES_MAX),
        outcomes,
        room: Notify::new(),
    });
    let announcements = ctx.store.listen(Arc::clone(&ctx.clock));
    tokio::spawn(Arc::clone(&courier).hear(announcements));
    tokio::spawn(courier.look());
    tokio::spawn(record(Ctx::clone(ctx), recorded));
}

struct Courier {
    ctx: Ctx,
    lanes: Mutex<HashMap<WebhookEndpointToken, Lane>>,
    /// Deliveries of all endpoints together.
    turns: Semaphore,
    outcomes: mpsc::Sender<Outcome>,
    /// Rung when an endpoint that had enough has room again.
    room: Notify,
}

/// One endpoint's deliveries.
#[derive(Default)]
struct Lane {
    under_way: usize,
    waiting: VecDeque<Parcel>,
    /// When the last delivery failed, if it did.
    failed_at: Option<Instant>,
    /// More of its webhooks are due than there was room for.
    more: bool,
}

impl Lane {
    /// An endpoint that fails is asked by one delivery at a time, until it accepts one.
    fn under_way_max(&self) -> usize {
        if self.failed_at.is_some() { 1 } else { WEBHOOKS_UNDER_WAY_MAX }
    }

    /// Whether there is anything to know about the endpoint. One that was deleted while it failed is heard of no more.
    fn is_needed(&self, now: Instant) -> bool {
        self.under_way > 0 || self.failed_at.is_some_and(|at| now < at + FAILING_REMEMBERED)
    }

    /// How many more webhooks it takes. While it fails, few wait in memory.
    fn room(&self) -> usize {
        let waiting_max =
            if self.failed_at.is_some() { WEBHOOKS_UNDER_WAY_MAX } else { WEBHOOKS_WAITING_MAX };
        (self.under_way_max() + waiting_max).saturating_sub(self.under_way + self.waiting.len())
    }
}

impl Courier {
    fn lanes(&self) -> MutexGuard<'_, HashMap<WebhookEndpointToken, Lane>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The process waits for what is under way, and for nothing else.
    fn stopping(&self) -> bool {
        self.ctx.tasks.is_closed()
    }

    /// Deliver what this process commits.
    async fn hear(self: Arc<Self>, mut announcements: mpsc::Receiver<Announcement>) {
        let mut batch = Vec::with_capacity(WEBHOOK_BATCH);
        while announcements.recv_many(&mut batch, WEBHOOK_BATCH).await > 0 {
            match webhooks::announced(&self.ctx, &batch).await {
                Ok(parcels) => self.take_all(parcels).await,
                // Their leases run out.
                Err(error) => tracing::error!(%error, "announced webhooks were not read"),
            }
            batch.clear();
        }
    }

    /// Look for what else is due.
    async fn look(self: Arc<Self>) {
        while !self.stopping() {
            match self.look_once().await {
                // More may wait.
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => tracing::error!(%error, "due webhooks were not found"),
            }
            tokio::select! {
                () = tokio::time::sleep(PAUSE) => {}
                () = self.ctx.due_webhooks.notified() => {}
                () = self.room.notified() => {}
            }
        }
    }

    /// Take what is due and has room. Says whether to look again at once.
    async fn look_once(self: &Arc<Self>) -> Result<bool, Error> {
        let now = Instant::now();
        let busy: Vec<_> = {
            let mut lanes = self.lanes();
            lanes.retain(|_, lane| lane.is_needed(now));
            lanes.iter().filter(|(_, lane)| lane.room() == 0).map(|(&endpoint, _)| endpoint).collect()
        };
        let found = webhooks::due(&self.ctx, &busy).await?;
        let many = found.len() >= WEBHOOK_BATCH;
        let parcels = webhooks::lease(&self.ctx, self.with_room(found)).await?;
        self.take_all(parcels).await;
        Ok(many)
    }

    /// Of what was found, what its endpoints have room for.
    fn with_room(&self, mut found: Vec<Found>) -> Vec<Found> {
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

    /// Deliver these, soon; give back what there is no room for.
    async fn take_all(self: &Arc<Self>, parcels: Vec<Parcel>) {
        let returned: Vec<_> = parcels.into_iter().filter_map(|parcel| self.take(parcel)).collect();
        if let Err(error) = webhooks::release(&self.ctx, returned).await {
            // Their leases run out.
            tracing::error!(%error, "webhooks were not given back");
        }
    }

    fn take(self: &Arc<Self>, parcel: Parcel) -> Option<Parcel> {
        if self.stopping() {
            return Some(parcel);
        }
        let mut lanes = self.lanes();
        let lane = lanes.entry(parcel.endpoint).or_default();
        if lane.room() == 0 {
            lane.more = true;
            return Some(parcel);
        }
        if lane.under_way < lane.under_way_max() {
            lane.under_way += 1;
            self.ctx.tasks.spawn(Arc::clone(self).carry(parcel));
        } else {
            lane.waiting.push_back(parcel);
        }
        None
    }

    /// Deliver one webhook after another, as long as the endpoint has any.
    async fn carry(self: Arc<Self>, parcel: Parcel) {
        let endpoint = parcel.endpoint;
        let mut next = Some(parcel);
        while let Some(parcel) = next {
            let accepted = self.deliver(parcel).await;
            next = self.after(endpoint, accepted);
        }
    }

    /// Whether it was accepted; `None` if it was not sent.
    async fn deliver(&self, parcel: Parcel) -> Option<bool> {
        let _turn = self.turns.acquire().await;
        match webhooks::send(&self.ctx, parcel).await {
            Ok(Some(outcome)) => {
                let accepted = outcome.accepted();
                if self.stopping() {
                    record_all(&self.ctx, vec![outcome]).await;
                } else {
                    // Nobody receives only when the process ends.
                    let _ = self.outcomes.send(outcome).await;
                }
                Some(accepted)
            }
            Ok(None) => None,
            Err(error) => {
                tracing::error!(%error, "a webhook was not sent");
                None
            }
        }
    }

    /// What is to be delivered next by whoever has delivered.
    fn after(&self, endpoint: WebhookEndpointToken, accepted: Option<bool>) -> Option<Parcel> {
        let mut lanes = self.lanes();
        let lane = lanes.get_mut(&endpoint)?;
        if let Some(accepted) = accepted {
            lane.failed_at = (!accepted).then(Instant::now);
        }
        let goes_on = lane.under_way <= lane.under_way_max() && !self.stopping();
        let next = if goes_on { lane.waiting.pop_front() } else { None };
        if next.is_none() {
            lane.under_way -= 1;
        }
        if lane.waiting.is_empty() && std::mem::take(&mut lane.more) {
            self.room.notify_one();
        }
        if lane.under_way == 0 && lane.failed_at.is_none() {
            lanes.remove(&endpoint);
        }
        next
    }
}

/// Write down what came of deliveries, all that there is at a time.
async fn record(ctx: Ctx, mut outcomes: mpsc::Receiver<Outcome>) {
    let mut batch = Vec::with_capacity(WEBHOOK_BATCH);
    while outcomes.recv_many(&mut batch, WEBHOOK_BATCH).await > 0 {
        record_all(&ctx, std::mem::take(&mut batch)).await;
    }
}

async fn record_all(ctx: &Ctx, outcomes: Vec<Outcome>) {
    if let Err(error) = webhooks::record(ctx, outcomes).await {
        // They are delivered once more when their leases run out.
        tracing::error!(%error, "outcomes of webhooks were not recorded");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_that_failed_is_forgotten_once_nothing_was_sent_to_it_for_long() {
        let failed = Instant::now();
        let idle = Lane { failed_at: Some(failed), ..Lane::default() };
        assert!(idle.is_needed(failed));
        assert!(idle.is_needed(failed + FAILING_REMEMBERED - Duration::from_millis(1)));
        assert!(!idle.is_needed(failed + FAILING_REMEMBERED));
        let busy = Lane { under_way: 1, ..idle };
        assert!(busy.is_needed(failed + FAILING_REMEMBERED * 2));
        assert!(!Lane::default().is_needed(failed));
    }
}
