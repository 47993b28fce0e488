//! Builds the acquirer call of a payment and the row that records it, from plain data; every module that charges a card
//! makes a [`ChargeOrder`].

use std::ops::RangeInclusive;

use acquirer::AuthoriseCall;
use entity::charge::{self, ChargeState, Origin};
use entity::{ChargeToken, Currency, CustomerToken, JsonText, Rate, Scheme, card};
use serde_json::Map;

use super::call::creation_key;
use crate::error::Error;
use crate::limits::{AUTHORISATION_LIFETIME, SETTLE_AFTER};
use crate::services::cards::CardCredentials;
use crate::services::context::{Account, Caller, Context};
use crate::services::payer::{Payer, TokenUse};
use crate::services::search_text;

pub struct Terms {
    /// The kind of request that makes it.
    pub origin: Origin,
    /// In the currency's base unit.
    pub amount: i64,
    pub currency: Currency,
    /// AUD per unit of `currency`.
    pub rate: Rate,
    /// Whether the money is captured at once.
    pub capture: bool,
    /// The purchaser's email.
    pub email: String,
    pub description: String,
    /// The purchaser's IP address.
    pub ip_address: String,
    /// Bank statement text.
    pub reference: Option<String>,
    /// The client's keys and values.
    pub metadata: Vec<(String, String)>,
    /// The platform's share, in `currency`.
    pub platform_adjustment: Option<i64>,
    /// Results of a 3-D Secure verification made elsewhere.
    pub three_d_secure: Option<JsonText>,
}

/// Returns the amounts that a payment in a currency may have.
pub fn amount_range(account: &Account, currency: Currency, rate: Rate) -> RangeInclusive<i64> {
    currency.charge_amount_min()..=rate.amount_max(currency, account.settings().maximum_charge_cents)
}

/// The settlement of an amount, in AUD cents.
#[derive(Debug, Clone, Copy)]
pub struct SettlementAmounts {
    /// The amount itself.
    pub amount: i64,
    /// Our fee.
    pub fees: i64,
    /// The platform's share.
    pub platform_fees: i64,
}

impl SettlementAmounts {
    /// Computes the settlement of an amount paid by a card of this country and scheme.
    pub fn new(
        account: &Account,
        (amount, currency, rate): (i64, Currency, Rate),
        (issuing_country, scheme): (&str, Scheme),
        platform_adjustment: Option<i64>,
    ) -> Result<Self, Error> {
        let settled = |amount| rate.settle_rounded_half_up(amount, currency);
        let fees = account.pricing()?.fee_rounded_half_up(settled(amount), currency, issuing_country, scheme);
        Ok(Self { amount: settled(amount), fees, platform_fees: platform_adjustment.map_or(0, settled) })
    }

    /// Returns the merchant's share.
    pub fn entitlement(&self) -> i64 {
        self.amount - self.fees - self.platform_fees
    }
}

/// The intent of a payment, recorded before the acquirer is called.
pub struct ChargeIntent {
    /// The charge, in state `processing`.
    pub row: charge::Model,
    pub card: card::Model,
    /// The use of the card's token.
    pub token: TokenUse,
}

/// A payment's intent and the acquirer call that follows it.
pub struct ChargeOrder {
    /// The intent to record, with the row in state `processing`.
    pub intent: Box<ChargeIntent>,
    pub call: AuthoriseCall,
}

impl ChargeOrder {
    /// Makes an order for the account in its current state, paid by `payer`.
    pub fn new(ctx: &Context, account: &Account, terms: Terms, payer: Payer) -> Result<Self, Error> {
        let Payer { card, shown, credentials, token } = payer;
        let Terms { currency, rate, amount, .. } = terms;
        let settlement = SettlementAmounts::new(
            account,
            (amount, currency, rate),
            (&card.issuing_country, card.scheme),
            terms.platform_adjustment,
        )?;
        let customer_id: Option<CustomerToken> = match token {
            TokenUse::Again(customer) => Some(customer),
            TokenUse::Inline | TokenUse::Single(_) => None,
        };
        let id: ChargeToken = ctx.ids.token();
        let row = charge::Model {
            account_id: account.id(),
            id,
            origin: terms.origin,
            state: ChargeState::Processing,
            attempt: 1,
            call: 1,
            claim: None,
            settle_after: Some(ctx.clock.now() + SETTLE_AFTER),
            amount,
            currency,
            search_text: words_of(&terms, card.name.as_deref()),
            description: terms.description,
            email: terms.email,
            ip_address: terms.ip_address,
            reference: terms.reference,
            metadata: JsonText::encode(
                &terms.metadata.into_iter().map(|(key, text)| (key, text.into())).collect::<Map<_, _>>(),
            )?,
            card: shown,
            card_id: card.id,
            customer_id,
            capture: terms.capture,
            failure: None,
            acquirer_reference: None,
            expires_at: account.now + AUTHORISATION_LIFETIME,
            captured_at: None,
            rate,
            settlement_amount: settlement.amount,
            fees: settlement.fees,
            platform_adjustment: terms.platform_adjustment,
            platform_fees: settlement.platform_fees,
            entitlement: settlement.entitlement(),
            amount_refunded: 0,
            settlement_refunded: 0,
            refunds_pending: 0,
            authorisation_id: None,
            amount_captured: None,
            captured_as: None,
            voided_at: None,
            three_d_secure: terms.three_d_secure,
            amount_disputed: 0,
            settlement_disputed: 0,
            disputes_open: 0,
            disputes_standing: 0,
            created_at: account.now,
        };
        let call = authorise(&row, &card, credentials);
        Ok(Self { intent: Box::new(ChargeIntent { row, card, token }), call })
    }

    /// Gives the charge this token, and so its call this key.
    #[must_use]
    pub fn named(mut self, id: ChargeToken) -> Self {
        self.intent.row.id = id;
        self.call.key = creation_key(&self.intent.row);
        self
    }

    /// Keeps the hash of the caller's Idempotency-Key in the row, so that any worker that learns the outcome can store the
    /// response.
    #[must_use]
    pub fn under_key(mut self, caller: &Caller) -> Self {
        self.intent.row.claim = caller.claim.as_ref().map(|claim| claim.hash().to_vec());
        self
    }
}

/// Returns the call that makes a payment.
pub(in crate::services) fn authorise(
    row: &charge::Model,
    card: &card::Model,
    credentials: CardCredentials,
) -> AuthoriseCall {
    AuthoriseCall {
        key: creation_key(row),
        number: credentials.number,
        cvc: credentials.cvc,
        expiry_month: card.expiry_month,
        expiry_year: card.expiry_year,
        name: card.name.clone(),
        amount: row.amount,
        currency: row.currency,
        capture: row.capture,
        // An empty text would stand on the cardholder's statement in place of the default descriptor.
        reference: row.reference.clone().filter(|text| !text.is_empty()),
        network: credentials.network,
        forced: None,
    }
}

/// Returns the text that the search of charges matches: description, email, metadata values, cardholder name.
fn words_of(charge: &Terms, cardholder: Option<&str>) -> String {
    let values = charge.metadata.iter().map(|(_, value)| value.as_str());
    search_text::stored_text(
        [charge.description.as_str(), &charge.email].into_iter().chain(values).chain(cardholder),
    )
}
