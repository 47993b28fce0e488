//! The points in which payments differ.

use entity::Timestamp;
use entity::charge::{self, Origin};
use store::Tx;

use super::outcome::{self, PaymentOutcome};
use crate::error::Error;

/// The purpose of a payment: its work in the commit of the outcome.
pub(in crate::services) trait PaymentPurpose: Send + Sync + 'static {
    /// The record that the commit returns.
    type Record: Send + 'static;
    /// Whether the dispute of a simulated cardholder is opened before the payment is answered, so that its client finds it.
    /// Otherwise a worker opens it.
    const AWAITS_DISPUTE: bool;

    /// Records the outcome by [`outcome::record`], and what follows from it.
    fn record_outcome(
        &self,
        tx: &Tx,
        outcome: &PaymentOutcome,
    ) -> impl Future<Output = Result<Self::Record, Error>> + Send;
}

/// A payment that nothing follows: of a charge, an authorisation or a 3-D Secure challenge, and each capture and void.
pub(in crate::services) struct CardPayment;

impl PaymentPurpose for CardPayment {
    /// The time of the outcome, and the stored row, which another worker may have written.
    type Record = (Timestamp, charge::Model);
    const AWAITS_DISPUTE: bool = true;

    async fn record_outcome(&self, tx: &Tx, outcome: &PaymentOutcome) -> Result<Self::Record, Error> {
        Ok((outcome.now, outcome::record(tx, outcome).await?.0))
    }
}

/// The rules that a payment's origin decides.
pub(super) struct OriginRules {
    /// The way to recover a creation whose answer is lost.
    pub lost_answer: LostAnswer,
    /// Whether it pays a subscription's bill: its client is shown the subscription, whose module recovers it.
    pub is_bill: bool,
    /// Whether card testers could make it, so that its result is counted. A challenge proves the cardholder, and no request
    /// makes a renewal.
    pub is_watched: bool,
}

/// The way to recover a creation whose answer is lost (`docs/decisions.md`, 134 and 135).
pub(super) enum LostAnswer {
    /// The client's response says that nothing was charged, so the payment is reversed.
    Reversed,
    /// No client got a response, so the acquirer's result stands.
    Stands,
}

pub(super) fn rules(origin: Origin) -> OriginRules {
    use LostAnswer::{Reversed, Stands};

    let (lost_answer, is_bill, is_watched) = match origin {
        Origin::Payment | Origin::Authorisation => (Reversed, false, true),
        // A capture is no creation at the acquirer: it is recovered with its authorisation.
        Origin::Challenge | Origin::Capture => (Stands, false, false),
        Origin::Subscription => (Reversed, true, true),
        Origin::Renewal => (Stands, true, false),
    };
    OriginRules { lost_answer, is_bill, is_watched }
}

/// Returns the origins of subscriptions' bills.
pub(in crate::services) fn bills() -> impl Iterator<Item = Origin> {
    Origin::ALL.iter().copied().filter(|origin| rules(*origin).is_bill)
}
