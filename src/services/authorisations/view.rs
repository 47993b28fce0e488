//! Authorisation (specification, Authorisation).

use entity::charge::{self, ChargeState};
use entity::{AuthorisationToken, Currency, JsonText, Timestamp};
use macros::view;

use crate::error::failure_message;
use crate::services::cards::view::Card;

/// Money that is reserved on a card. One charge may capture all or a part of it.
#[view]
#[expect(clippy::struct_excessive_bools, reason = "the flags of the specification")]
pub struct Authorisation {
    /// The authorisation's token, `auth_...`.
    token: AuthorisationToken,
    /// Whether the issuer accepted the card.
    success: bool,
    /// The reserved amount in the currency's base unit, such as cents.
    #[schema(example = 400)]
    amount: i64,
    /// The captured part, in the currency's base unit.
    #[schema(example = 0)]
    amount_captured: i64,
    /// What can still be captured, in the currency's base unit; a capture releases the rest.
    #[schema(example = 400)]
    amount_remaining: i64,
    /// The currency of the amounts, an ISO 4217 code.
    currency: Currency,
    /// What was bought, as the request described it.
    #[schema(example = "test authorisation")]
    description: String,
    /// The purchaser's e-mail address.
    #[schema(example = "roland@example.com")]
    email: String,
    /// The purchaser's IP address.
    #[schema(example = "203.192.1.172")]
    ip_address: String,
    /// The time of the authorisation's creation.
    created_at: Timestamp,
    /// A sentence that says why the authorisation failed; null unless it did.
    error_message: Option<&'static str>,
    /// The card as it was authorised.
    #[schema(value_type = Card)]
    card: JsonText,
    /// The currency in which a capture is paid out to you, an ISO 4217 code.
    settlement_currency: Currency,
    /// Your own keys and values, as they were sent.
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    metadata: JsonText,
    /// A word for people: `Success`, `Authorisation Voided`, `Pending`, or a sentence that says why the authorisation failed.
    #[schema(example = "Success")]
    status_message: &'static str,
    /// Whether the reserved money was released because seven days passed without a capture.
    expired: bool,
    /// Whether the reserved money was released by a void.
    voided: bool,
    /// The time of the void; null unless there was one.
    voided_at: Option<Timestamp>,
    /// Whether the authorisation can be captured now.
    capturable: bool,
}

impl Authorisation {
    /// Returns an authorisation at an instant of the account's clock. A verb in flight shows as not done.
    pub fn at(now: Timestamp, row: charge::Model) -> Self {
        let error_message = row.failure.map(failure_message);
        let reserved = ChargeState::RESERVED.contains(&row.state);
        let expired = row.state == ChargeState::Authorised && row.expires_at <= now;
        let capturable = reserved && !expired;
        let voided = row.state == ChargeState::Voided;
        let captured = row.state == ChargeState::Captured;
        let success = reserved || voided || captured;
        Self {
            token: AuthorisationToken::new(row.id.id()),
            success,
            amount: row.amount,
            amount_captured: row.amount_captured.filter(|_| captured).unwrap_or(0),
            amount_remaining: if capturable { row.amount } else { 0 },
            currency: row.currency,
            description: row.description,
            email: row.email,
            ip_address: row.ip_address,
            created_at: row.created_at,
            error_message,
            card: row.card,
            settlement_currency: Currency::Aud,
            metadata: row.metadata,
            status_message: match error_message {
                Some(message) => message,
                None if voided => "Authorisation Voided",
                None if success => "Success",
                None => "Pending",
            },
            expired,
            voided,
            voided_at: row.voided_at,
            capturable,
        }
    }
}
