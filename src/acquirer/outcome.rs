//! What test cards and the sandbox can order of the simulator.

use entity::failure::Decline;

/// How an attempt on a card ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulatedOutcome {
    /// Money is reserved or taken.
    Approved(Aftermath),
    /// The issuer refuses.
    Declined(Decline),
    /// The line fails.
    Fault(Fault),
}

/// What follows an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aftermath {
    /// Nothing unusual.
    Ordinary,
    /// The holder disputes the charge as soon as it is captured.
    Disputed,
    /// Refunds are accepted and then fail.
    RefundsFail,
}

/// How a call of any kind goes wrong without the issuer's doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing was done, and the answer says so.
    GatewayError,
    /// It was done, and no answer ever comes.
    NoAnswer,
    /// It was done, and the answer is known to be lost at once.
    AnswerLost,
}

impl SimulatedOutcome {
    /// The word of the `Sandbox-Outcome` header: a decline code or one of four others.
    pub fn from_sandbox_word(word: &str) -> Option<Self> {
        match word {
            "gateway_error" => Some(Self::Fault(Fault::GatewayError)),
            "no_answer" => Some(Self::Fault(Fault::NoAnswer)),
            "approved_but_lost" => Some(Self::Fault(Fault::AnswerLost)),
            "disputed" => Some(Self::Approved(Aftermath::Disputed)),
            code => Decline::from_code(code).map(Self::Declined),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sandbox_orders_every_decline_and_four_other_outcomes() {
        for &decline in Decline::ALL {
            assert_eq!(
                SimulatedOutcome::from_sandbox_word(decline.code()),
                Some(SimulatedOutcome::Declined(decline))
            );
        }
        for word in ["gateway_error", "no_answer", "approved_but_lost", "disputed"] {
            assert!(SimulatedOutcome::from_sandbox_word(word).is_some(), "{word}");
        }
        for word in ["", "approved", "Disputed", "Lost_card", "three_d_secure_not_completed"] {
            assert_eq!(SimulatedOutcome::from_sandbox_word(word), None, "{word:?}");
        }
    }
}
