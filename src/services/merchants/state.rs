//! The statuses of a merchant: one total table of legal transitions (`docs/decisions.md`, 234).

use entity::event::EventType;
use entity::merchant::MerchantStatus;

use crate::services::state_table;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MerchantTransition {
    pub to: MerchantStatus,
    pub emits: EventType,
}

/// Returns the transition from one status to another, or `None` if it is not legal.
pub fn next(from: MerchantStatus, to: MerchantStatus) -> Option<MerchantTransition> {
    use MerchantStatus::{Active, Declined, OnHold, PendingApproval};

    let legal = match from {
        PendingApproval => match to {
            Active | Declined | OnHold => true,
            PendingApproval => false,
        },
        Active => match to {
            Declined | OnHold => true,
            PendingApproval | Active => false,
        },
        OnHold => match to {
            Active | Declined => true,
            PendingApproval | OnHold => false,
        },
        Declined => match to {
            PendingApproval | Active | Declined | OnHold => false,
        },
    };
    legal.then(|| MerchantTransition { to, emits: event(to) })
}

pub fn event(status: MerchantStatus) -> EventType {
    match status {
        MerchantStatus::PendingApproval => EventType::SubMerchantApplicationSubmitted,
        MerchantStatus::Active => EventType::SubMerchantApplicationActivated,
        MerchantStatus::Declined => EventType::SubMerchantApplicationDeclined,
        MerchantStatus::OnHold => EventType::SubMerchantApplicationOnHold,
    }
}

/// Returns the table as text, one line per legal transition.
pub fn table() -> String {
    state_table::draw(MerchantStatus::ALL.iter().copied(), MerchantStatus::ALL, |from, to| {
        let step = next(from, to)?;
        Some(format!("{} -> {}, emits {}", from.code(), step.to.code(), step.emits.code()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_the_decisions() {
        let expected = "\
pending_approval -> active, emits sub_merchant_application.activated
pending_approval -> declined, emits sub_merchant_application.declined
pending_approval -> on_hold, emits sub_merchant_application.on_hold
active -> declined, emits sub_merchant_application.declined
active -> on_hold, emits sub_merchant_application.on_hold
on_hold -> active, emits sub_merchant_application.activated
on_hold -> declined, emits sub_merchant_application.declined
";
        assert_eq!(table(), expected);
    }
}
