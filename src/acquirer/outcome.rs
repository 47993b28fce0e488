//! The outcomes that test cards and the sandbox force on the simulator.

use entity::failure::Decline;

/// How an attempt on a card ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulatedOutcome {
    /// Money is reserved or taken.
    Approved(Aftermath),
    /// The issuer refuses.
    Declined(Decline),
    /// The connection fails.
    Fault(Fault),
}

/// The consequence of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aftermath {
    /// Nothing unusual.
    Ordinary,
    /// The holder disputes the charge as soon as it is captured.
    Disputed,
    /// Refunds are accepted and then fail.
    RefundsFail,
}

/// A failure of any call that is not the issuer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing was done, and the answer says so.
    GatewayError,
    /// The call was done, and no answer ever comes.
    NoAnswer,
    /// The call was done, and the loss of its answer is known at once.
    AnswerLost,
}

impl SimulatedOutcome {
    /// Parses the `Sandbox-Outcome` header: a decline code or one of four other words.
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
