//! Signs webhooks as the Standard Webhooks specification requires, so that every public verifier works.

use base::random::{RandomSource, RandomStream};
use base::secret::Secret;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use entity::Timestamp;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use sha2::Sha256;

use crate::limits::SIGNATURE_TOLERANCE;

/// The reason why a webhook cannot be signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotSignable(&'static str);

/// Generates a key: `whsec_` and the base64 of 24 bytes.
pub fn generate_key(random: &RandomSource) -> Secret {
    format!("whsec_{}", STANDARD.encode(random.bytes::<24>(RandomStream::EndpointKey))).into()
}

/// Returns the headers of one delivery, with a signature for each key in use: a receiver accepts the signature of any
/// of its keys.
pub fn headers<'a>(
    keys: impl Iterator<Item = &'a Secret>,
    id: &str,
    wall: Timestamp,
    body: &[u8],
) -> Result<HeaderMap, NotSignable> {
    let timestamp = wall.seconds();
    let signatures: Vec<_> = keys.map(|key| signature(key, id, timestamp, body)).collect::<Result<_, _>>()?;
    let value = |text: &str| HeaderValue::from_str(text).map_err(|_| NotSignable("a header is no text"));
    Ok(HeaderMap::from_iter([
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (HeaderName::from_static("webhook-id"), value(id)?),
        (HeaderName::from_static("webhook-timestamp"), timestamp.into()),
        (HeaderName::from_static("webhook-signature"), value(&signatures.join(" "))?),
    ]))
}

/// Verifies a delivery as a receiver does that has these keys. Returns a sentence about what is wrong.
pub fn verify<'a>(
    mut keys: impl Iterator<Item = &'a Secret>,
    headers: &HeaderMap,
    wall: Timestamp,
    body: &[u8],
) -> Result<(), &'static str> {
    let sent = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let id = sent("webhook-id").ok_or("There is no webhook-id")?;
    let timestamp = sent("webhook-timestamp").and_then(|text| text.parse().ok());
    let timestamp: i64 = timestamp.ok_or("There is no webhook-timestamp in seconds")?;
    if wall.seconds().abs_diff(timestamp) > SIGNATURE_TOLERANCE.as_secs() {
        return Err("The webhook-timestamp is more than five minutes from now");
    }
    let signatures = sent("webhook-signature").ok_or("There is no webhook-signature")?;
    let is_signed = |key: &Secret| {
        signature(key, id, timestamp, body).is_ok_and(|own| signatures.split(' ').any(|one| one == own))
    };
    if keys.any(is_signed) { Ok(()) } else { Err("No key of the endpoint has signed it") }
}

/// Returns `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`, keyed with the bytes that `whsec_...` encodes.
fn signature(key: &Secret, id: &str, timestamp: i64, body: &[u8]) -> Result<String, NotSignable> {
    let key = STANDARD
        .decode(key.expose().trim_start_matches("whsec_"))
        .map_err(|_| NotSignable("the key of a webhook endpoint is not base64"))?;
    let mut hash = Hmac::<Sha256>::new_from_slice(&key).expect("HMAC takes keys of any length");
    hash.update(format!("{id}.{timestamp}.").as_bytes());
    hash.update(body);
    Ok(format!("v1,{}", STANDARD.encode(hash.finalize().into_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vector of the specification's own libraries.
    #[test]
    fn the_signature_is_that_of_the_published_example() {
        let key = Secret::from("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let signed =
            signature(&key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signed.ok().as_deref(), Some("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
    }

    #[test]
    fn a_signature_depends_on_key_id_time_and_body() {
        let key = |letter: &str| Secret::from(format!("whsec_{}", letter.repeat(32)));
        let mut signatures = [
            signature(&key("A"), "evt_1", 1, b"{}"),
            signature(&key("B"), "evt_1", 1, b"{}"),
            signature(&key("A"), "evt_2", 1, b"{}"),
            signature(&key("A"), "evt_1", 2, b"{}"),
            signature(&key("A"), "evt_1", 1, b"{ }"),
        ]
        .map(Result::unwrap);
        signatures.sort_unstable();
        assert!(signatures.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(signature(&Secret::from("whsec_?"), "evt_1", 1, b"{}").is_err());
    }
}
