//! The statuses of a merchant: one total table of which may follow which (decisions 10).

use std::fmt::Write;

use entity::event::EventType;
use entity::merchant::MerchantStatus;

/// A legal move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MerchantTransition {
    /// Where it ends.
    pub to: MerchantStatus,
    /// What happened then.
    pub emits: EventType,
}

/// The table. `None` where the merchant stays as it is.
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

/// The event of a status.
pub fn event(status: MerchantStatus) -> EventType {
    match status {
        MerchantStatus::PendingApproval => EventType::SubMerchantApplicationSubmitted,
        MerchantStatus::Active => EventType::SubMerchantApplicationActivated,
        MerchantStatus::Declined => EventType::SubMerchantApplicationDeclined,
        MerchantStatus::OnHold => EventType::SubMerchantApplicationOnHold,
    }
}

/// The table as text: a line a legal move.
pub fn table() -> String {
    let mut lines = String::new();
    for &from in MerchantStatus::ALL {
        for step in MerchantStatus::ALL.iter().filter_map(|to| next(from, *to)) {
            // Writing to a String cannot fail.
            let _ = writeln!(lines, "{} -> {}, emits {}", from.code(), step.to.code(), step.emits.code());
        }
    }
    lines
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
