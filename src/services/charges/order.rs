//! Turns the parameters of POST /charges and POST /authorisations into a [`ChargeOrder`].

use entity::charge::Origin;
use entity::{Currency, JsonText};
use serde_json::Map;

use crate::error::{Error, ErrorCode};
use crate::params::{Params, non_blank, rules};
use crate::services::accounts::faults::parse_sandbox_outcome;
use crate::services::acquirer_lookup;
use crate::services::charges::params::{NewCharge, NewThreeDSecure};
use crate::services::context::{Account, Context};
use crate::services::payer::{self, PaymentMethodParams};
use crate::services::payments::order::{ChargeOrder, SettlementAmounts, Terms, amount_range};

/// Checks the parameters and makes an order of them.
///
/// Refusals, first match wins: `service_unavailable` if the acquirer does not return the details of the number or the
/// currency, `invalid_resource`, `token_already_used`.
pub(in crate::services) async fn build_order(
    ctx: &Context,
    account: &Account,
    origin: Origin,
    params: Params<NewCharge>,
    outcome: Option<&str>,
) -> Result<ChargeOrder, Error> {
    let Params { value: new_charge, mut faults } = params;
    let forced = parse_sandbox_outcome(outcome, &mut faults);
    let offered = PaymentMethodParams {
        card: new_charge.card.as_ref(),
        card_token: new_charge.card_token.as_deref(),
        payment_source_token: new_charge.payment_source_token.as_deref(),
        customer_token: new_charge.customer_token.as_deref(),
    };
    let found = payer::find(ctx, account, &offered, &mut faults).await?;
    let currency = acquirer_lookup::accepted_currency(ctx, new_charge.currency.as_deref()).await?;
    if currency.is_none() && !faults.has("currency") {
        faults.add("currency", "is not a supported currency");
    }
    if let Some((currency, rate)) = currency {
        faults.check_range("amount", new_charge.amount, &amount_range(account, currency, rate));
    }
    if let (Some((currency, _)), Some(adjustment)) = (currency, &new_charge.platform_adjustment)
        && non_blank(adjustment.currency.as_deref())
            .is_some_and(|other| Currency::parse(other) != Some(currency))
    {
        faults.add("platform_adjustment.currency", "must be the currency of the charge");
    }
    // Fees depend on the card; without a card there is a fault already.
    let (Some(found), Some((currency, rate))) = (found, currency) else { return Err(faults.into()) };
    let payer = match found {
        payer::PayerLookup::Payer(payer) => payer,
        // A spent token is refused after all faults of the request's own shape.
        payer::PayerLookup::Spent if faults.is_empty() => return Err(ErrorCode::TokenAlreadyUsed.into()),
        payer::PayerLookup::Spent => return Err(faults.into()),
    };
    let platform_adjustment = new_charge.platform_adjustment.as_ref().map(|adjustment| adjustment.amount);
    let card = (payer.card.issuing_country.as_str(), payer.card.scheme);
    let settlement =
        SettlementAmounts::new(account, (new_charge.amount, currency, rate), card, platform_adjustment)?;
    let unreadable = ["amount", "platform_adjustment.amount"].iter().any(|param| faults.has(param));
    if !unreadable && platform_adjustment.is_some() && settlement.entitlement() < 0 {
        let most = rate.amount_max(currency, (settlement.amount - settlement.fees).max(0));
        faults.add("platform_adjustment.amount", format!("must be at most {most}"));
    }
    if !faults.is_empty() {
        return Err(faults.into());
    }
    let terms = Terms {
        origin,
        amount: new_charge.amount,
        currency,
        rate,
        capture: new_charge.capture.unwrap_or(true),
        email: new_charge.email,
        description: new_charge.description,
        ip_address: new_charge.ip_address,
        reference: new_charge.reference,
        metadata: new_charge.metadata.iter().flat_map(rules::metadata_text).collect(),
        platform_adjustment,
        three_d_secure: results(new_charge.three_d_secure)?,
    };
    let mut order = ChargeOrder::new(ctx, account, terms, *payer)?;
    order.call.forced = forced;
    Ok(order)
}

/// Returns the fields that were sent of a 3-D Secure verification made elsewhere (`docs/decisions.md`, 142).
fn results(sent: Option<NewThreeDSecure>) -> Result<Option<JsonText>, Error> {
    let Some(NewThreeDSecure { version, eci, cavv, transaction_id, .. }) = sent else { return Ok(None) };
    let cavv = cavv.map(|cavv| cavv.expose().to_owned());
    let sent = [("version", version), ("eci", eci), ("cavv", cavv), ("transaction_id", transaction_id)];
    let sent: Map<_, _> =
        sent.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?.into()))).collect();
    if sent.is_empty() { Ok(None) } else { Ok(Some(JsonText::encode(&sent)?)) }
}
