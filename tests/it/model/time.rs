//! Time: what is due comes about at its instant, in the order of its list (`docs/decisions.md`, 295).

use chrono::Duration;
use http::Method;
use serde_json::json;

use super::cards::CardState;
use super::charges::State;
use super::wire::Time;
use super::world::{World, below, shown};
use crate::harness::random::Random;

/// What may be due, in the order of what is due at the same instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DueItem {
    Card(usize),
    Session(usize),
    Bill(usize),
    End(usize),
    Refund(usize),
    Dispute(usize),
    Return(usize),
    Settlement,
}

/// How long a life lasts at most: events are kept for longer.
const DAYS_MAX: i64 = 85;

impl World {
    pub async fn waits(&mut self, random: &mut Random) {
        let span = [
            Duration::seconds(9),
            Duration::seconds(10),
            Duration::minutes(31),
            Duration::hours(7),
            Duration::days(1),
            Duration::days(3),
            Duration::days(8),
            Duration::days(32),
        ][below(random, 8)];
        let to = self.now + span;
        if to - self.began > Duration::days(DAYS_MAX) {
            return;
        }
        let request = json!({ "to": shown(to) });
        let moved = loop {
            let moved = self.wire.send(Method::PUT, "/1/sandbox/clock", &[], &request).await.ok(200);
            if moved["complete"] == true {
                break moved;
            }
        };
        assert_eq!(moved["now"], shown(to));
        while let Some((at, due)) = self.first_due().filter(|(at, _)| *at <= to) {
            self.now = at;
            self.comes_about(due);
        }
        self.now = to;
        self.check_events().await;
    }

    /// What is due first. What was due before now is due now.
    fn first_due(&self) -> Option<(Time, DueItem)> {
        let cards = self.cards.iter().enumerate().filter(|(_, card)| card.state == CardState::Unused);
        let sessions = self
            .sessions
            .iter()
            .enumerate()
            .filter(|(_, session)| self.charges[session.charge].state == State::Pending);
        let subscriptions = self.subscriptions.iter().enumerate();
        let refunds = self.refunds.iter().enumerate().filter(|(_, refund)| refund.success.is_none());
        let disputes = self.disputes.iter().enumerate().filter(|(_, dispute)| dispute.waits());
        let returns = self.transfers.iter().enumerate();
        let all = cards
            .map(|(n, card)| (Self::expires(card), DueItem::Card(n)))
            .chain(sessions.map(|(n, session)| (session.made + Duration::minutes(30), DueItem::Session(n))))
            .chain(subscriptions.filter(|(_, it)| self.plans[it.plan].is_there).filter_map(|(n, it)| {
                it.due().map(|(at, bills)| (at, if bills { DueItem::Bill(n) } else { DueItem::End(n) }))
            }))
            .chain(refunds.map(|(n, refund)| (refund.made + Duration::seconds(10), DueItem::Refund(n))))
            .chain(disputes.map(|(n, dispute)| (dispute.required_by, DueItem::Dispute(n))))
            .chain(returns.filter_map(|(n, transfer)| transfer.returns.map(|at| (at, DueItem::Return(n)))))
            .chain(self.settles_at.map(|at| (at, DueItem::Settlement)));
        all.map(|(at, due)| (at.max(self.now), due)).min()
    }

    fn comes_about(&mut self, due: DueItem) {
        match due {
            DueItem::Card(n) => self.cards[n].state = CardState::Gone,
            DueItem::Session(n) => self.session_expires(n),
            DueItem::Bill(n) | DueItem::End(n) => self.subscription_is_due(n),
            DueItem::Refund(n) => self.refund_is_due(n),
            DueItem::Dispute(n) => self.dispute_expires(n),
            DueItem::Return(n) => self.transfer_returns(n),
            DueItem::Settlement => self.settles(),
        }
    }
}
