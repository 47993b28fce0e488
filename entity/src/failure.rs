//! The reasons of failed payments.

string_enum! {
    /// The reason for which an acquirer or issuer declines a card. More reasons may join: accept unknown ones.
    pub open enum Decline {
        /// The issuer names no reason.
        CardDeclined "card_declined",
        /// The card has too little money or credit.
        InsufficientFunds "insufficient_funds",
        /// The card verification code is wrong.
        InvalidCvv "invalid_cvv",
        /// The issuer does not know the card.
        InvalidCard "invalid_card",
        /// The issuer could not process the payment.
        ProcessingError "processing_error",
        /// The payment looks fraudulent.
        SuspectedFraud "suspected_fraud",
        /// The card has expired.
        ExpiredCard "expired_card",
        /// The card was reported lost.
        LostCard "lost_card",
        /// The card was reported stolen.
        StolenCard "stolen_card",
        /// The acquirer's reason is none of these.
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
