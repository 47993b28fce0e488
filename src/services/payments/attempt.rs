//! The attempt of a payment on its card: what decides it before the acquirer is asked, and what the acquirer's answer means.

use acquirer::{Approval, AuthoriseCall, Failure};
use entity::failure::Decline;
use entity::{FailureCode, charge};

use super::call::call_acquirer;
use super::outcome::AttemptResult;
use super::purpose::rules;
use super::recovery;
use crate::services::card_testing::WatchedPayment;
use crate::services::cards;
use crate::services::context::Context;
use crate::services::due_work::work_time::WorkTime;

/// An attempt that is to be made.
pub(super) struct Attempt {
    /// Whether card testers could make it, so that its result is counted.
    watched: Option<WatchedPayment>,
    /// Year and month.
    expiry: (i32, u32),
}

impl Attempt {
    pub fn new(ctx: &Context, time: &WorkTime, row: &charge::Model, call: &AuthoriseCall) -> Self {
        let watched = rules(row.origin).is_watched.then(|| WatchedPayment::new(ctx, time, row, &call.number));
        let expiry = (call.expiry_year, u32::try_from(call.expiry_month).unwrap_or_default());
        Self { watched: watched.flatten(), expiry }
    }

    /// Makes the attempt: `answer` calls the acquirer. `None` if its outcome is unknown, so that a worker must recover it.
    ///
    /// A payment of an attack by card testers is declined without a call, and so is a card that has expired by the account's clock:
    /// the acquirer knows only its own.
    pub async fn make(
        &mut self,
        ctx: &Context,
        time: &WorkTime,
        row: &charge::Model,
        answer: impl Future<Output = Result<Approval, Failure>>,
    ) -> Option<AttemptResult> {
        if self.watched.as_ref().is_some_and(|watched| watched.is_refused(ctx)) {
            self.watched = None;
            return Some(declined(Decline::SuspectedFraud));
        }
        if cards::has_expired(self.expiry, time.now(ctx)) {
            return Some(declined(Decline::ExpiredCard));
        }
        match call_acquirer(ctx, time, row, answer).await {
            Ok(Approval { reference }) => Some(AttemptResult::Approved { reference }),
            Err(Failure::Declined(decline)) => Some(declined(decline)),
            Err(Failure::GatewayError | Failure::Closed) => Some(recovery::nothing_charged()),
            Err(Failure::NoAnswer) => recovery::creation(ctx, time, row).await,
        }
    }

    /// Counts the result: an approval, or a failure.
    pub fn count(&self, ctx: &Context, failure: Option<FailureCode>) {
        if let Some(watched) = &self.watched {
            watched.record(ctx, failure);
        }
    }
}

fn declined(decline: Decline) -> AttemptResult {
    AttemptResult::Failed { failure: decline.into(), spent: true }
}
