//! Signs webhooks as the Standard Webhooks specification requires, so that every public verifier works.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use entity::Timestamp;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use sha2::Sha256;

use crate::error::Error;
use crate::sensitive::secret::Secret;

/// Returns the headers of one delivery, with a signature for each key in use: a receiver accepts the signature of any
/// of its keys.
pub fn headers<'a>(
    keys: impl Iterator<Item = &'a Secret>,
    id: &str,
    wall: Timestamp,
    body: &[u8],
) -> Result<HeaderMap, Error> {
    let timestamp = wall.seconds();
    let signatures: Vec<_> = keys.map(|key| signature(key, id, timestamp, body)).collect::<Result<_, _>>()?;
    let value = |text: &str| HeaderValue::from_str(text).map_err(|_| Error::internal("a header is no text"));
    Ok(HeaderMap::from_iter([
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (HeaderName::from_static("webhook-id"), value(id)?),
        (HeaderName::from_static("webhook-timestamp"), timestamp.into()),
        (HeaderName::from_static("webhook-signature"), value(&signatures.join(" "))?),
    ]))
}

/// Returns `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`, keyed with the bytes that `whsec_...` encodes.
fn signature(key: &Secret, id: &str, timestamp: i64, body: &[u8]) -> Result<String, Error> {
    let key = STANDARD
        .decode(key.expose().trim_start_matches("whsec_"))
        .map_err(|_| Error::internal("the key of a webhook endpoint is not base64"))?;
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
