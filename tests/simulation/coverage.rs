//! What runs of many seeds have reached of the crash points and of the rows of the state tables, and what none has.

use std::collections::BTreeSet;

use card_payments::services::payments::state::{ChargeAction, EffectiveState};
use card_payments::services::refunds::state::RefundAction;
use card_payments::services::subscriptions::state::{self as subscriptions, SubscriptionAction};
use card_payments::services::transfers::state::TransferAction;
use entity::refund::RefundState;
use entity::subscription::SubscriptionState;
use entity::transfer::TransferStatus;

/// The places that were reached.
#[derive(Default)]
pub struct Coverage(BTreeSet<String>);

impl Coverage {
    /// Adds what a run has reached, and returns its other output.
    pub fn add(&mut self, output: &str) -> String {
        let (places, rest): (Vec<_>, Vec<_>) = output.lines().partition(|line| line.starts_with("reached: "));
        self.0.extend(places.iter().filter_map(|line| line.strip_prefix("reached: ")).map(str::to_owned));
        rest.join("\n") + "\n"
    }

    /// Prints how much was reached, and each row of the tables that was not.
    pub fn print(&self) {
        let points: Vec<_> = self.0.iter().filter_map(|place| place.strip_prefix("crash point ")).collect();
        println!("{} crash points reached: {}", points.len(), points.join(", "));
        let rows = rows();
        let missed: Vec<_> = rows.difference(&self.0).map(String::as_str).collect();
        println!("{} of {} rows of the state tables reached", rows.len() - missed.len(), rows.len());
        for row in missed {
            println!("not reached: {row}");
        }
    }
}

/// Returns the rows of the tables whose moves clients and workers make.
fn rows() -> BTreeSet<String> {
    let mut rows = BTreeSet::new();
    for state in EffectiveState::all() {
        rows.extend(
            [ChargeAction::Capture, ChargeAction::Void]
                .map(|action| format!("charge {state:?} + {action:?}")),
        );
    }
    for state in RefundState::ALL {
        rows.extend(RefundAction::ALL.iter().map(|action| format!("refund {state:?} + {action:?}")));
    }
    for status in TransferStatus::ALL {
        rows.insert(format!("transfer {status:?} + {:?}", TransferAction::Return));
    }
    for state in SubscriptionState::ALL {
        let legal =
            SubscriptionAction::ALL.iter().filter(|action| subscriptions::next(*state, **action).is_ok());
        rows.extend(legal.map(|action| format!("subscription {state:?} + {action:?}")));
    }
    rows
}
