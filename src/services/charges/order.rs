//! From the parameters of POST /charges to a charge that can be asked of the acquirer.

use entity::charge::{self, ChargeState};
use entity::{ChargeToken, Currency, CustomerToken, JsonText, Rate};
use serde_json::Map;

use super::call::creation_key;
use crate::acquirer::Authorise;
use crate::error::{Error, ErrorCode};
use crate::limits::{AUTHORISATION_LIFETIME, SETTLE_AFTER};
use crate::params::charge::NewCharge;
use crate::params::{Faults, Params, filled, rules};
use crate::services::accounts::faults::ordered;
use crate::services::context::{Account, Context};
use crate::services::payment::{self, Offered, Payer, TokenUse};

/// What is asked of the acquirer, and the row that records it.
pub struct Order {
    /// In state `processing`.
    pub row: charge::Model,
    /// The card's row, where it came with the request.
    pub inline_card: Option<entity::card::Model>,
    /// What becomes of the card's token.
    pub token: TokenUse,
    /// The call.
    pub call: Authorise,
}

/// The money of a charge, settled in AUD cents.
#[derive(Clone, Copy)]
struct Terms {
    currency: Currency,
    rate: Rate,
    settlement_amount: i64,
    fees: i64,
    platform_adjustment: Option<i64>,
    platform_fees: i64,
}

/// Check an order.
///
/// Refusals, first match wins: `invalid_resource`, `token_already_used`.
pub async fn place(
    ctx: &Context,
    account: &Account,
    params: Params<NewCharge>,
    outcome: Option<&str>,
) -> Result<Order, Error> {
    let Params { value: asked, mut faults } = params;
    let forced = ordered(outcome, &mut faults);
    let offered = Offered {
        card: asked.card.as_ref(),
        card_token: asked.card_token.as_deref(),
        payment_source_token: asked.payment_source_token.as_deref(),
        customer_token: asked.customer_token.as_deref(),
    };
    let found = payment::find(ctx, account, &offered, &mut faults).await?;
    let currency = currency(ctx, asked.currency.as_deref(), &mut faults);
    if let Some((currency, rate)) = currency
        && !faults.has("amount")
    {
        let (min, max) = (
            currency.charge_amount_min(),
            rate.amount_max(currency, account.settings().maximum_charge_cents),
        );
        if asked.amount < min {
            faults.add("amount", format!("must be at least {min}"));
        } else if asked.amount > max {
            faults.add("amount", format!("must be at most {max}"));
        }
    }
    if let (Some((currency, _)), Some(adjustment)) = (currency, &asked.platform_adjustment)
        && filled(adjustment.currency.as_deref())
            .is_some_and(|other| Currency::parse(other) != Some(currency))
    {
        faults.add("platform_adjustment.currency", "must be the currency of the charge");
    }
    // Fees depend on the card; where there is none, there is a fault already.
    let Some(found) = found else { return Err(faults.into()) };
    let Some(currency) = currency else { return Err(faults.into()) };
    let payer = match found {
        payment::Found::Payer(payer) => payer,
        // A token that is spent is refused after every fault of the request's own shape.
        payment::Found::Spent if faults.is_empty() => return Err(ErrorCode::TokenAlreadyUsed.into()),
        payment::Found::Spent => return Err(faults.into()),
    };
    let terms = terms(account, &asked, currency, &payer, &mut faults)?;
    if !faults.is_empty() {
        return Err(faults.into());
    }
    let mut order = order(ctx, account, asked, *payer, terms)?;
    order.call.forced = forced;
    Ok(order)
}

fn currency(ctx: &Context, asked: Option<&str>, faults: &mut Faults) -> Option<(Currency, Rate)> {
    let currency = match filled(asked) {
        None => Some(Currency::Aud),
        Some(code) => Currency::parse(code),
    };
    let taken = currency.and_then(|currency| Some((currency, ctx.acquirer.rate(currency)?)));
    if taken.is_none() && !faults.has("currency") {
        faults.add("currency", "is not a supported currency");
    }
    taken
}

fn terms(
    account: &Account,
    asked: &NewCharge,
    (currency, rate): (Currency, Rate),
    payer: &Payer,
    faults: &mut Faults,
) -> Result<Terms, Error> {
    let settlement_amount = rate.settle_rounded_half_up(asked.amount, currency);
    let card = &payer.card;
    let fees = account.pricing()?.fee_rounded_half_up(
        settlement_amount,
        currency,
        &card.issuing_country,
        card.scheme,
    );
    let adjustment = asked.platform_adjustment.as_ref();
    let platform_adjustment = adjustment.map(|adjustment| adjustment.amount);
    let platform_fees = platform_adjustment.map_or(0, |amount| rate.settle_rounded_half_up(amount, currency));
    let unreadable = ["amount", "platform_adjustment.amount"].iter().any(|param| faults.has(param));
    if !unreadable && platform_adjustment.is_some() && platform_fees > settlement_amount - fees {
        let most = rate.amount_max(currency, (settlement_amount - fees).max(0));
        faults.add("platform_adjustment.amount", format!("must be at most {most}"));
    }
    Ok(Terms { currency, rate, settlement_amount, fees, platform_adjustment, platform_fees })
}

fn order(
    ctx: &Context,
    account: &Account,
    asked: NewCharge,
    payer: Payer,
    terms: Terms,
) -> Result<Order, Error> {
    let id: ChargeToken = ctx.ids.token();
    let customer_id: Option<CustomerToken> = match payer.token {
        TokenUse::Again(customer) => Some(customer),
        TokenUse::Inline | TokenUse::Single(_) => None,
    };
    let metadata: Vec<(String, String)> = asked.metadata.iter().flat_map(rules::metadata_text).collect();
    let card = &payer.card;
    let call = Authorise {
        key: creation_key(id),
        number: payer.number,
        cvc: payer.cvc,
        expiry_month: card.expiry_month,
        expiry_year: card.expiry_year,
        name: card.name.clone(),
        amount: asked.amount,
        currency: terms.currency,
        capture: asked.capture.unwrap_or(true),
        reference: asked.reference.clone(),
        network: None,
        forced: None,
    };
    let row = charge::Model {
        account_id: account.id(),
        id,
        state: ChargeState::Processing,
        attempt: 1,
        call: 1,
        claim: account.claim().map(|claim| claim.hash().to_vec()),
        settle_after: Some(ctx.clock.now() + SETTLE_AFTER),
        amount: asked.amount,
        currency: terms.currency,
        search_text: super::search::text(&asked, card.name.as_deref(), &metadata),
        description: asked.description,
        email: asked.email,
        ip_address: asked.ip_address,
        reference: asked.reference,
        metadata: JsonText::of(
            &metadata.into_iter().map(|(key, text)| (key, text.into())).collect::<Map<_, _>>(),
        )?,
        card: payer.shown,
        card_id: card.id,
        customer_id,
        capture: call.capture,
        failure: None,
        acquirer_reference: None,
        expires_at: account.now + AUTHORISATION_LIFETIME,
        captured_at: None,
        rate: terms.rate,
        settlement_amount: terms.settlement_amount,
        fees: terms.fees,
        platform_adjustment: terms.platform_adjustment,
        platform_fees: terms.platform_fees,
        entitlement: terms.settlement_amount - terms.fees - terms.platform_fees,
        amount_refunded: 0,
        settlement_refunded: 0,
        refunds_pending: 0,
        amount_disputed: 0,
        settlement_disputed: 0,
        disputes_open: 0,
        disputes_standing: 0,
        created_at: account.now,
    };
    let inline_card = (payer.token == TokenUse::Inline).then_some(payer.card);
    Ok(Order { row, inline_card, token: payer.token, call })
}
