//! The outcomes that test cards and the sandbox force on the simulator.

use std::borrow::Cow;

use entity::failure::Decline;

/// The outcome of an attempt on a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulatedOutcome {
    /// Money is reserved or taken.
    Approved(Aftermath),
    /// The issuer refuses.
    Declined(Decline),
    /// Money is reserved or taken, whatever the card says, and the loss of the answer is known at once.
    ApprovedButLost,
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
    /// The call was done, as the card has it, and the loss of its answer is known at once.
    AnswerLost,
}

/// The words of the `Sandbox-Outcome` header besides the decline codes.
pub const SANDBOX_WORDS: [&str; 4] = ["disputed", "gateway_error", "no_answer", "approved_but_lost"];

impl SimulatedOutcome {
    /// Says what happens to an attempt, for a page on which a person chooses it.
    pub fn description(self) -> Cow<'static, str> {
        match self {
            Self::Approved(Aftermath::Ordinary) => "is approved".into(),
            Self::Approved(Aftermath::Disputed) => "is approved, and disputed later".into(),
            Self::Approved(Aftermath::RefundsFail) => "is approved, and its refunds fail".into(),
            Self::Declined(decline) => format!("is declined: {}", decline.code().replace('_', " ")).into(),
            Self::Fault(Fault::GatewayError) => "meets an error of the gateway".into(),
            Self::Fault(Fault::NoAnswer) => "gets no answer".into(),
            Self::Fault(Fault::AnswerLost) => "loses its answer".into(),
            Self::ApprovedButLost => "is approved, and the answer is lost".into(),
        }
    }

    /// Parses the `Sandbox-Outcome` header: a decline code or one of four other words.
    pub fn from_sandbox_word(word: &str) -> Option<Self> {
        match word {
            "gateway_error" => Some(Self::Fault(Fault::GatewayError)),
            "no_answer" => Some(Self::Fault(Fault::NoAnswer)),
            "approved_but_lost" => Some(Self::ApprovedButLost),
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
        for word in SANDBOX_WORDS {
            assert!(SimulatedOutcome::from_sandbox_word(word).is_some(), "{word}");
        }
        for word in ["", "approved", "Disputed", "Lost_card", "three_d_secure_not_completed"] {
            assert_eq!(SimulatedOutcome::from_sandbox_word(word), None, "{word:?}");
        }
    }
}
