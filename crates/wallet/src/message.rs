//! The messages inside the two wallets' payloads.

use base::secret::Secret;
use entity::Timestamp;
use serde::{Deserialize, Serialize};

use super::{DecryptedPayload, Unreadable, WalletCard};

/// walletA's payment data. The amount that the holder saw is not compared: a payment source is made before its charge.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PaymentData {
    application_primary_account_number: Secret,
    /// YYMMDD.
    application_expiration_date: String,
    #[serde(rename = "paymentData")]
    proof: Proof,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Proof {
    online_payment_cryptogram: Secret,
    eci_indicator: Option<String>,
}

impl PaymentData {
    pub fn card(self) -> Result<WalletCard, Unreadable> {
        let date = self.application_expiration_date;
        let part = |at| date.get(at).ok_or(Unreadable);
        if date.len() != 6 || !date.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(Unreadable);
        }
        Ok(WalletCard {
            number: self.application_primary_account_number,
            expiry_month: part(2..4)?.parse()?,
            expiry_year: 2000 + part(0..2)?.parse::<i64>()?,
            cryptogram: Some(self.proof.online_payment_cryptogram),
            eci: self.proof.eci_indicator,
        })
    }
}

/// walletG's message, and its names in the older protocol.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Message {
    /// Milliseconds since the epoch.
    #[serde(rename = "messageExpiration")]
    until: String,
    #[serde(rename = "messageId")]
    id: String,
    payment_method_details: Details,
    gateway_merchant_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Details {
    #[serde(alias = "dpan")]
    pan: Secret,
    expiration_month: i64,
    expiration_year: i64,
    auth_method: Option<AuthMethod>,
    #[serde(alias = "3dsCryptogram")]
    cryptogram: Option<Secret>,
    #[serde(alias = "3dsEciIndicator")]
    eci_indicator: Option<String>,
}

/// The authentication of the holder.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum AuthMethod {
    #[serde(alias = "PAN")]
    PanOnly,
    #[serde(rename = "CRYPTOGRAM_3DS", alias = "3DS")]
    Cryptogram,
}

impl Message {
    pub fn opened(self, now: Timestamp) -> Result<DecryptedPayload, Unreadable> {
        let until = milliseconds(&self.until)?;
        if until <= now || self.id.is_empty() {
            return Err(Unreadable);
        }
        let details = self.payment_method_details;
        let cryptogram = match details.auth_method {
            Some(AuthMethod::Cryptogram) => Some(details.cryptogram.ok_or(Unreadable)?),
            Some(AuthMethod::PanOnly) | None => None,
        };
        let card = WalletCard {
            number: details.pan,
            expiry_month: details.expiration_month,
            expiry_year: details.expiration_year,
            eci: details.eci_indicator.filter(|_| cryptogram.is_some()),
            cryptogram,
        };
        let payment = self.id.into_bytes();
        Ok(DecryptedPayload { card, payment, until, merchant: self.gateway_merchant_id })
    }
}

/// Parses a time, which walletG writes as text.
pub(super) fn milliseconds(text: &str) -> Result<Timestamp, Unreadable> {
    Ok(Timestamp::from_millis(text.parse()?))
}
