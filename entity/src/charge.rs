//! Charges and authorisations (specification, Charge and Authorisation).

use sea_orm::sea_query::{Expr, SimpleExpr};

use crate::{
    AccountToken, AuthorisationToken, Bytes, CardToken, ChargeToken, Currency, CustomerToken, FailureCode,
    JsonText, Rate, Timestamp,
};

table! {
    /// One charge, or one authorisation, which is the same payment under another name ([`Origin::Authorisation`]).
    ///
    /// The flags of the API (`captured`, `authorisation_voided`...) are computed from `state`. Its amounts in AUD are computed
    /// at its creation, those of an authorisation at its capture, so a later change of prices or rates does not touch it.
    "charges" [account_id: AccountToken, id: ChargeToken] {
        origin: Origin,
        state: ChargeState,
        /// The attempt that may write the outcome of the acquirer call in flight.
        attempt: i32,
        /// The attempt that made the capture or void in flight; part of that call's key.
        call: i32,
        /// The hash of the Idempotency-Key of the latest call.
        claim: Option<Bytes>,
        /// The time from which a worker may recover the call in flight, by the wall clock; null if there is none.
        settle_after: Option<Timestamp>,
        amount: i64,
        currency: Currency,
        description: String,
        email: String,
        ip_address: String,
        /// The text of the bank statement, for the acquirer.
        reference: Option<String>,
        /// As sent.
        metadata: JsonText,
        /// The card as it was charged, as the API shows it.
        card: JsonText,
        card_id: CardToken,
        /// The customer charged, if the request named one.
        customer_id: Option<CustomerToken>,
        /// Whether the payment is captured at once.
        capture: bool,
        /// Set in state `failed` only.
        failure: Option<FailureCode>,
        /// The acquirer's name of the transaction.
        acquirer_reference: Option<String>,
        /// The expiry of the authorisation.
        expires_at: Timestamp,
        captured_at: Option<Timestamp>,
        /// AUD per unit of `currency`, at the creation.
        rate: Rate,
        /// `amount` in AUD cents.
        settlement_amount: i64,
        /// In AUD cents.
        fees: i64,
        /// The platform's share in `currency`, as sent.
        platform_adjustment: Option<i64>,
        /// The platform's share, in AUD cents.
        platform_fees: i64,
        /// The merchant's share in AUD cents: settlement amount - fees - platform fees.
        entitlement: i64,
        /// The sum of its refunds that did not fail.
        amount_refunded: i64,
        /// The same in AUD cents, as its refunds were settled.
        settlement_refunded: i64,
        refunds_pending: i32,
        /// The authorisation that the charge captures.
        authorisation_id: Option<AuthorisationToken>,
        /// The part of an authorisation that is captured, or is being captured. Only this part is settled.
        amount_captured: Option<i64>,
        /// The charge that captures the authorisation.
        captured_as: Option<ChargeToken>,
        voided_at: Option<Timestamp>,
        /// The results of a 3-D Secure verification made elsewhere, as sent.
        three_d_secure: Option<JsonText>,
        /// The sum of its disputes, whatever their outcome.
        amount_disputed: i64,
        /// The same in AUD cents, as its disputes were settled.
        settlement_disputed: i64,
        /// The number of its disputes that are not decided.
        disputes_open: i32,
        /// The number of its disputes that are not decided in the merchant's favour. If there are any, it cannot be refunded.
        disputes_standing: i32,
        /// The folded text that searches read, its fields apart.
        search_text: String,
        created_at: Timestamp,
    }
}

impl Model {
    /// Returns whether it is an authorisation and not a charge.
    pub fn is_authorisation(&self) -> bool {
        self.origin == Origin::Authorisation
    }

    /// Returns whether lists of charges show it.
    pub fn is_listed(&self) -> bool {
        self.state.is_listed() && !self.is_authorisation()
    }

    /// Returns the settlement of a part of the amount, in AUD cents: by the charge's rate, at most `rest`, and all of `rest` with the last
    /// part.
    pub fn settlement_of_part(&self, amount: i64, rest: i64, is_last: bool) -> i64 {
        if is_last { rest } else { rest.min(self.rate.settle_rounded_half_up(amount, self.currency)) }
    }

    /// Returns the token that the API shows.
    pub fn token(&self) -> String {
        if self.is_authorisation() {
            AuthorisationToken::new(self.id.id()).to_string()
        } else {
            self.id.to_string()
        }
    }
}

string_enum! {
    /// The request or event that makes a payment.
    pub enum Origin {
        /// POST /charges.
        Payment "payment",
        /// POST /charges, approved by the cardholder in a 3-D Secure challenge.
        Challenge "challenge",
        /// POST /authorisations. It is no charge, and lists of charges do not show it (`docs/decisions.md`, 173).
        Authorisation "authorisation",
        /// The capture of an authorisation, or of a part of it.
        Capture "capture",
        /// The first charge of a subscription, or its reactivation.
        Subscription "subscription",
        /// The calendar of a subscription.
        Renewal "renewal",
    }
}

string_enum! {
    /// The state of a charge. Expiry is not a state: it depends on the clock (`services::payments::state`).
    pub enum ChargeState {
        /// Waits for the cardholder's verification, before the call of the acquirer.
        Pending "pending",
        /// The acquirer is called.
        Processing "processing",
        /// Funds reserved.
        Authorised "authorised",
        /// Authorised; the acquirer is called for a capture.
        Capturing "capturing",
        /// Authorised; the acquirer is called for a void.
        Voiding "voiding",
        /// Money taken.
        Captured "captured",
        /// Reservation returned.
        Voided "voided",
        /// Declined, or reversed after an unknown outcome.
        Failed "failed",
    }
}

impl ChargeState {
    /// The states in which money is reserved: a capture or void in flight counts as not done (`docs/decisions.md`, 125).
    pub const RESERVED: [Self; 3] = [Self::Authorised, Self::Capturing, Self::Voiding];

    /// Returns whether lists and searches show charges in this state; they show no attempt that was never approved
    /// (`docs/decisions.md`, 123).
    pub fn is_listed(self) -> bool {
        match self {
            Self::Authorised | Self::Capturing | Self::Voiding | Self::Captured | Self::Voided => true,
            Self::Pending | Self::Processing | Self::Failed => false,
        }
    }
}

/// Selects charges in the [`ChargeState::is_listed`] states. Word for word the condition of the partial indexes: with a bound
/// parameter neither planner would use them. No list of states: SQLite would make a table of it, for each index and each write.
pub const LISTED: &str =
    "state <> 'pending' AND state <> 'processing' AND state <> 'failed' AND origin <> 'authorisation'";

/// Selects authorisations that the acquirer has answered, failed ones too. Word for word the condition of their index.
pub const LISTED_AUTHORISATIONS: &str = "origin = 'authorisation' AND state <> 'processing'";

/// Selects a customer's charges that are not listed, and may stay so. Word for word the condition of their index; a charge that
/// is processing is listed or failed soon.
pub const UNLISTED: &str = "(state = 'failed' OR state = 'pending' OR origin = 'authorisation')";

/// Returns the condition of [`LISTED`].
pub fn listed() -> SimpleExpr {
    Expr::cust(LISTED)
}

/// Returns the condition that selects failed charges, word for word that of their index.
pub fn failed() -> SimpleExpr {
    Expr::cust("state = 'failed' AND origin <> 'authorisation'")
}

/// Returns the condition of [`LISTED_AUTHORISATIONS`].
pub fn listed_authorisations() -> SimpleExpr {
    Expr::cust(LISTED_AUTHORISATIONS)
}
