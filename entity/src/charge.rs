//! Charges (specification, Charge; decisions 5).

use sea_orm::entity::prelude::*;
use sea_orm::sea_query::{Expr, SimpleExpr};

use crate::{
    AccountToken, AuthorisationToken, CardToken, ChargeToken, Currency, CustomerToken, FailureCode, JsonText,
    Rate, Timestamp,
};

/// One charge, or an authorisation: that is the same payment under another name, see [`Origin::Authorisation`].
///
/// The flags of the API (`captured`, `authorisation_voided`...) are computed from `state`. Its money is settled in AUD
/// cents when it is made, so a later change of prices or rates does not touch it.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "charges")]
pub struct Model {
    /// Whose row it is.
    #[sea_orm(primary_key, auto_increment = false)]
    pub account_id: AccountToken,
    /// The charge's token.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: ChargeToken,
    /// Who asked for it.
    pub origin: Origin,
    /// The one column that says where the charge stands.
    pub state: ChargeState,
    /// The attempt that may write the outcome of the acquirer call in flight.
    pub attempt: i32,
    /// The attempt that made the capture or void in flight: part of that call's key.
    pub call: i32,
    /// The hash of the Idempotency-Key under which the latest call was asked for.
    pub claim: Option<Vec<u8>>,
    /// When a worker may settle the call in flight, by the wall clock; null when none is.
    pub settle_after: Option<Timestamp>,
    /// In the currency's base unit.
    pub amount: i64,
    /// Of `amount`.
    pub currency: Currency,
    /// What was bought.
    pub description: String,
    /// The purchaser's.
    pub email: String,
    /// The purchaser's.
    pub ip_address: String,
    /// Bank statement text; passed to the acquirer, shown nowhere.
    pub reference: Option<String>,
    /// Keys and values of the caller's, as sent.
    pub metadata: JsonText,
    /// The card as it was charged.
    pub card: JsonText,
    /// The card's token.
    pub card_id: CardToken,
    /// The customer charged, where it was one.
    pub customer_id: Option<CustomerToken>,
    /// Whether POST asked for the capture at once.
    pub capture: bool,
    /// Why it failed; set in state `failed` only.
    pub failure: Option<FailureCode>,
    /// The acquirer's own name of the transaction.
    pub acquirer_reference: Option<String>,
    /// When an authorisation runs out, by the account's clock.
    pub expires_at: Timestamp,
    /// When it was captured, by the account's clock.
    pub captured_at: Option<Timestamp>,
    /// AUD a unit of `currency`, as it was when the charge was made.
    pub rate: Rate,
    /// `amount` in AUD cents.
    pub settlement_amount: i64,
    /// Our fee, in AUD cents.
    pub fees: i64,
    /// The platform's share as sent, in `currency`.
    pub platform_adjustment: Option<i64>,
    /// The platform's share, in AUD cents.
    pub platform_fees: i64,
    /// What the merchant gets: settlement amount - fees - platform fees, in AUD cents.
    pub entitlement: i64,
    /// Sum of its refunds that did not fail, in `currency`.
    pub amount_refunded: i64,
    /// `amount_refunded` in AUD cents, as its refunds were settled.
    pub settlement_refunded: i64,
    /// How many of its refunds are pending.
    pub refunds_pending: i32,
    /// Of a charge that captures an authorisation: which.
    pub authorisation_id: Option<AuthorisationToken>,
    /// Of an authorisation that is captured, or being captured: how much of it, in `currency`. What is settled of it
    /// then is this part.
    pub amount_captured: Option<i64>,
    /// Of the same: the charge that captures it.
    pub captured_as: Option<ChargeToken>,
    /// When it was voided, by the account's clock.
    pub voided_at: Option<Timestamp>,
    /// Results of a 3-D Secure verification made elsewhere, as sent.
    pub three_d_secure: Option<JsonText>,
    /// Sum of its disputes, however they ended, in `currency`.
    pub amount_disputed: i64,
    /// `amount_disputed` in AUD cents, as its disputes were settled.
    pub settlement_disputed: i64,
    /// How many of its disputes are not decided.
    pub disputes_open: i32,
    /// How many of its disputes are not decided in the merchant's favour: then it cannot be refunded.
    pub disputes_standing: i32,
    /// What a search's words are looked up in: folded, fields apart.
    pub search_text: String,
    /// By the account's clock.
    pub created_at: Timestamp,
}

impl Model {
    /// Whether it is an authorisation, and no charge.
    pub fn is_authorisation(&self) -> bool {
        self.origin == Origin::Authorisation
    }

    /// Whether lists of charges show it.
    pub fn listed(&self) -> bool {
        self.state.listed() && !self.is_authorisation()
    }

    /// Its token, as its caller knows it.
    pub fn token(&self) -> String {
        if self.is_authorisation() {
            AuthorisationToken::new(self.id.id()).to_string()
        } else {
            self.id.to_string()
        }
    }
}

string_enum! {
    /// Who asked for a payment.
    pub enum Origin {
        /// POST /charges.
        Payment "payment",
        /// POST /charges, and then the cardholder: approved in a 3-D Secure challenge.
        Challenge "challenge",
        /// POST /authorisations. No charge yet: `id` is its token's, and charges' lists do not show it.
        Authorisation "authorisation",
        /// The capture of an authorisation: the charge that is made of it, or of a part.
        Capture "capture",
        /// The first charge of a subscription, or its reactivation.
        Subscription "subscription",
        /// The calendar of a subscription.
        Renewal "renewal",
    }
}

string_enum! {
    /// Where a charge stands. Expiry is not a state: it asks the clock (`services::payments::state`).
    pub enum ChargeState {
        /// The cardholder has been asked to verify it; the acquirer has not been asked.
        Pending "pending",
        /// Being asked of the acquirer.
        Processing "processing",
        /// Funds reserved.
        Authorised "authorised",
        /// Authorised; a capture is being asked of the acquirer.
        Capturing "capturing",
        /// Authorised; a void is being asked of the acquirer.
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
    /// Whether lists and searches show charges in it: attempts that were never approved are in none (decisions 5).
    pub fn listed(self) -> bool {
        match self {
            Self::Authorised | Self::Capturing | Self::Voiding | Self::Captured | Self::Voided => true,
            Self::Pending | Self::Processing | Self::Failed => false,
        }
    }
}

/// Charges in one of the states that are [`ChargeState::listed`]. Word for word the condition of the partial indexes: a
/// bound parameter would keep both planners from using them.
pub const LISTED: &str =
    "state IN ('authorised', 'capturing', 'voiding', 'captured', 'voided') AND origin <> 'authorisation'";

/// Authorisations that the acquirer has answered, failed ones too (decisions 6). Word for word as above.
pub const LISTED_AUTHORISATIONS: &str = "origin = 'authorisation' AND state <> 'processing'";

/// The condition of [`LISTED`].
pub fn listed() -> SimpleExpr {
    Expr::cust(LISTED)
}

/// The condition of [`LISTED_AUTHORISATIONS`].
pub fn listed_authorisations() -> SimpleExpr {
    Expr::cust(LISTED_AUTHORISATIONS)
}

/// None.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sql_condition_names_exactly_the_listed_states() {
        for &state in ChargeState::ALL {
            assert_eq!(LISTED.contains(&format!("'{}'", state.code())), state.listed(), "{state:?}");
        }
    }
}
