//! Turns the parameters of a card, a network token or a wallet payload into a card's row.

use acquirer::{CardInfo, NetworkProof};
use base::card_number::{CardNumber, cvc_length};
use base::secret::Secret;
use entity::card::{self, CardState, SourceType};
use sea_orm::ActiveEnum;
use wallet::WalletCard;

use crate::error::Error;
use crate::params::FieldErrors;
use crate::params::values::INVALID;
use crate::services::acquirer_lookup;
use crate::services::cards::params::NewCard;
use crate::services::cards::params::NewNetworkToken;
use crate::services::context::{Account, Context};

/// A card with valid parameters, and the credentials that its row stores only as ciphertext.
pub struct ValidatedCard {
    /// The card's row, without ciphertexts yet.
    pub row: card::Model,
    /// The credentials for charging it.
    pub credentials: CardCredentials,
}

/// The credentials that charge a card.
pub struct CardCredentials {
    pub number: Secret,
    /// The card verification code.
    pub cvc: Option<Secret>,
    /// The proof of a wallet or network token, in place of a cvc.
    pub network: Option<NetworkProof>,
}

/// The network format of a cryptogram (specification, Card).
const CRYPTOGRAM_3DS: &str = "cryptogram_3ds";

/// Checks a card's parameters, whose names begin with `at`, and makes its row: unused, without ciphertexts. `None`
/// means that `faults` has the reason.
///
/// Refusals: `service_unavailable` if the acquirer does not return the number's details.
pub async fn validate(
    ctx: &Context,
    account: &Account,
    card: &NewCard,
    at: &str,
    faults: &mut FieldErrors,
) -> Result<Option<ValidatedCard>, Error> {
    let expiry = (card.expiry_month, card.expiry_year);
    let numbered = validate_number(ctx, account, (&card.number, expiry), at, faults).await?;
    let cvc = card.cvc.expose().trim();
    let cvc_digits = numbered.as_ref().map(|(row, _)| cvc_length(row.scheme));
    let right_length = cvc_digits.map_or((3..=4).contains(&cvc.len()), |digits| cvc.len() == digits);
    let right = right_length && cvc.bytes().all(|digit| digit.is_ascii_digit());
    if !cvc.is_empty() && !right {
        faults.add(&format!("{at}cvc"), INVALID);
    }
    let Some((row, number)) = numbered else { return Ok(None) };
    let row = card::Model {
        name: Some(card.name.clone()),
        address_line1: Some(card.address_line1.clone()),
        address_line2: card.address_line2.clone(),
        address_city: Some(card.address_city.clone()),
        address_postcode: card.address_postcode.clone(),
        address_state: card.address_state.clone(),
        address_country: Some(card.address_country.clone()),
        ..row
    };
    Ok(Some(ValidatedCard {
        row,
        credentials: CardCredentials { number, cvc: Some(cvc.into()), network: None },
    }))
}

/// Does the same as [`validate`] for a network token.
pub async fn validate_network_token(
    ctx: &Context,
    account: &Account,
    token: &NewNetworkToken,
    at: &str,
    faults: &mut FieldErrors,
) -> Result<Option<ValidatedCard>, Error> {
    let expiry = (token.expiry_month, token.expiry_year);
    let numbered = validate_number(ctx, account, (&token.number, expiry), at, faults).await?;
    Ok(numbered.map(|(row, number)| {
        let row = card::Model {
            source: Some(SourceType::NetworkToken),
            network_type: Some(token.network_type.clone()),
            network_format: Some(CRYPTOGRAM_3DS.into()),
            ..row
        };
        let network = NetworkProof { eci: token.eci.clone(), cryptogram: token.cryptogram.clone() };
        ValidatedCard { row, credentials: CardCredentials { number, cvc: None, network: Some(network) } }
    }))
}

/// Does the same as [`validate`] for a wallet's payload, which cannot be corrected: `None` if the card cannot pay.
pub async fn validate_wallet_card(
    ctx: &Context,
    account: &Account,
    wallet: SourceType,
    card: WalletCard,
) -> Result<Option<ValidatedCard>, Error> {
    let mut faults = FieldErrors::default();
    let expiry = (card.expiry_month, card.expiry_year);
    let numbered = validate_number(ctx, account, (&card.number, expiry), "", &mut faults).await?;
    let usable = numbered.filter(|(row, _)| faults.is_empty() && (1..=12).contains(&row.expiry_month));
    Ok(usable.map(|(row, number)| {
        let row = card::Model {
            source: Some(wallet),
            network_type: Some(wallet.to_value()),
            network_format: Some(CRYPTOGRAM_3DS.into()),
            ..row
        };
        let network = card.cryptogram.map(|cryptogram| NetworkProof { eci: card.eci, cryptogram });
        ValidatedCard { row, credentials: CardCredentials { number, cvc: None, network } }
    }))
}

/// Checks number, month and year of a card, and makes its row with the details of the number. Returns the row and the
/// number's digits if the acquirer accepts the number.
async fn validate_number(
    ctx: &Context,
    account: &Account,
    (number, expiry): (&Secret, (i64, i64)),
    at: &str,
    faults: &mut FieldErrors,
) -> Result<Option<(card::Model, Secret)>, Error> {
    let known = find_number(ctx, number, at, faults).await?;
    let expiry = validate_expiry(account, expiry, at, faults);
    Ok(known
        .map(|(info, number)| (numbered_row(ctx, account, info, &number, expiry), number.digits().clone())))
}

/// Returns the card number and its details if the acquirer accepts it.
async fn find_number(
    ctx: &Context,
    number: &Secret,
    at: &str,
    faults: &mut FieldErrors,
) -> Result<Option<(CardInfo, CardNumber)>, Error> {
    let known = match CardNumber::parse(number) {
        Some(possible) => acquirer_lookup::card(ctx, &possible).await?.map(|info| (info, possible)),
        None => None,
    };
    if known.is_none() && !number.expose().trim().is_empty() {
        faults.add(&format!("{at}number"), INVALID);
    }
    Ok(known)
}

/// Returns year and month in calendar order, for comparison; two-digit years are 20xx (`docs/decisions.md`, 99).
fn validate_expiry(
    account: &Account,
    (month, year): (i64, i64),
    at: &str,
    faults: &mut FieldErrors,
) -> (i32, u32) {
    let year = if year < 100 { year + 2000 } else { year };
    let expiry = (i32::try_from(year).unwrap_or(0), u32::try_from(month).unwrap_or(0));
    let params = ["expiry_month", "expiry_year"].map(|param| format!("{at}{param}"));
    // Month 0 is a fault already, or stands for that of a value which is no card, and which is one fault.
    let readable = month != 0 && !params.iter().any(|param| faults.has(param));
    if readable && super::has_expired(expiry, account.now) {
        for param in &params {
            faults.add(param, "is expired");
        }
    }
    expiry
}

/// Returns a card's row with the details of its number.
fn numbered_row(
    ctx: &Context,
    account: &Account,
    info: CardInfo,
    number: &CardNumber,
    (expiry_year, month): (i32, u32),
) -> card::Model {
    card::Model {
        account_id: account.id(),
        id: ctx.ids.token(),
        state: CardState::Unused,
        scheme: info.scheme,
        display_number: number.masked(),
        issuing_country: info.issuing_country,
        // An invalid month is a fault already.
        expiry_month: i32::try_from(month).unwrap_or_default(),
        expiry_year,
        name: None,
        address_line1: None,
        address_line2: None,
        address_city: None,
        address_postcode: None,
        address_state: None,
        address_country: None,
        source: None,
        network_type: None,
        network_format: None,
        customer_id: None,
        number_sealed: None,
        cvc_sealed: None,
        network_sealed: None,
        sealed_by: None,
        expires_at: None,
        created_at: account.now,
    }
}
