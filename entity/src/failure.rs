//! The reasons of failed payments.

string_enum! {
    /// The reason for which an acquirer or issuer declines a card.
    pub enum Decline {
        CardDeclined "card_declined",
        InsufficientFunds "insufficient_funds",
        InvalidCvv "invalid_cvv",
        InvalidCard "invalid_card",
        ProcessingError "processing_error",
        SuspectedFraud "suspected_fraud",
        ExpiredCard "expired_card",
        LostCard "lost_card",
        StolenCard "stolen_card",
        Unknown "unknown",
    }
}

string_enum! {
    /// The reason of a failed record: a decline, or no answer of the issuer.
    pub enum FailureCode {
        CardDeclined "card_declined",
        InsufficientFunds "insufficient_funds",
        InvalidCvv "invalid_cvv",
        InvalidCard "invalid_card",
        ProcessingError "processing_error",
        SuspectedFraud "suspected_fraud",
        ExpiredCard "expired_card",
        LostCard "lost_card",
        StolenCard "stolen_card",
        Unknown "unknown",
        GatewayError "gateway_error",
        /// The challenge failed or expired; the acquirer was not called.
        ThreeDSecureNotCompleted "three_d_secure_not_completed",
    }
}

impl From<Decline> for FailureCode {
    fn from(decline: Decline) -> Self {
        match decline {
            Decline::CardDeclined => Self::CardDeclined,
            Decline::InsufficientFunds => Self::InsufficientFunds,
            Decline::InvalidCvv => Self::InvalidCvv,
            Decline::InvalidCard => Self::InvalidCard,
            Decline::ProcessingError => Self::ProcessingError,
            Decline::SuspectedFraud => Self::SuspectedFraud,
            Decline::ExpiredCard => Self::ExpiredCard,
            Decline::LostCard => Self::LostCard,
            Decline::StolenCard => Self::StolenCard,
            Decline::Unknown => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decline_keeps_its_word_as_a_failure_code() {
        for &decline in Decline::ALL {
            assert_eq!(FailureCode::from(decline).code(), decline.code());
        }
    }
}
