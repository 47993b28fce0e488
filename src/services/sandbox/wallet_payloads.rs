//! POST /sandbox/wallet_payloads: the payload that a device would send.

use base::card_number::CardNumber;
use wallet::DeviceCard;

use crate::error::Error;
use crate::params::values::{BLANK, INVALID};
use crate::params::{Params, non_blank};
use crate::services::context::{Caller, Context};
use crate::services::sandbox::params::{NewWalletPayload, WalletType};
use crate::services::sandbox::view::{WalletPayload, WalletSource};
use crate::services::wallets::certificates;
use crate::services::{acquirer_lookup, idempotency};

/// Years until a test device's card expires.
const CARD_YEARS: i32 = 3;

/// Makes a payload for the account: encrypted for its certificate or for the gateway, signed by the test root, ready for
/// POST /payment_sources.
///
/// Refusals: `invalid_resource`.
pub async fn create(
    ctx: &Context,
    caller: &Caller,
    params: Params<NewWalletPayload>,
) -> Result<WalletPayload, Error> {
    let account = &caller.account;
    let Params { value: new_payload, mut faults } = params;
    let number = match CardNumber::parse(&new_payload.number) {
        Some(possible) => acquirer_lookup::card(ctx, &possible).await?.map(|_| possible),
        None => None,
    };
    if number.is_none() && !new_payload.number.expose().is_empty() {
        faults.add("number", INVALID);
    }
    let certificate = match (new_payload.r#type, non_blank(new_payload.certificate_token.as_deref())) {
        (WalletType::WalletA, Some(token)) => certificates::find(ctx, account, token).await?,
        (WalletType::WalletA, None) | (WalletType::WalletG, _) => None,
    };
    let merchant = certificate.and_then(|row| Some((row.public_key, row.merchant_id?)));
    let readable = !["type", "certificate_token"].iter().any(|param| faults.has(param));
    if readable && new_payload.r#type == WalletType::WalletA && merchant.is_none() {
        let missing = non_blank(new_payload.certificate_token.as_deref()).is_none();
        faults.add("certificate_token", if missing { BLANK } else { INVALID });
    }
    let (Some(number), true) = (number, faults.is_empty()) else { return Err(faults.into()) };

    let (year, expiry_month) = account.now.year_and_month();
    let card = DeviceCard { number: number.digits().expose(), expiry_month, expiry_year: year + CARD_YEARS };
    let (wall, account_id) = (ctx.clock.now(), account.id().to_string());
    let source = match (&ctx.wallets.simulated, merchant) {
        (Some(device), Some((key, merchant_id))) => {
            device.wallet_a(card, (&key, &merchant_id), wall).map(WalletSource::WalletA)
        }
        (Some(device), None) => {
            let gateway = ctx.wallets.gateway.as_ref();
            gateway
                .and_then(|gateway| device.wallet_g(card, (gateway, &account_id), wall))
                .map(WalletSource::WalletG)
        }
        (None, _) => None,
    };
    let source = source.ok_or_else(|| Error::internal("a test device made no payload"))?;
    let payload = WalletPayload { r#type: new_payload.r#type, source };
    idempotency::write(ctx, caller, payload, async |_, payload| Ok(payload.clone())).await
}
