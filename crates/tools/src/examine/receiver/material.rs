//! The material of deliveries: real events, the receiver's key, and draws that depend only on the seed and the case.

use std::error::Error;
use std::io::Write;
use std::time::Duration;

use base::secret::Secret;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use entity::Timestamp;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use outbound::signature;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::cases::Expected;
use crate::events::Event;

/// The material of a case.
pub struct Material<'a> {
    /// The events that happened in the account; at least one.
    pub happened: &'a [Event],
    pub key: &'a Secret,
    /// The seed, on which draws depend.
    pub seed: u64,
    pub case: &'static str,
    /// The time, by the machine's clock.
    pub now: Timestamp,
}

impl Material<'_> {
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.happened.iter()
    }

    pub fn event(&self) -> &Event {
        let count = u64::try_from(self.happened.len()).unwrap_or(1);
        let at = usize::try_from(self.number() % count).unwrap_or_default();
        &self.happened[at]
    }

    /// Returns an event as it happened.
    pub fn original(&self, event: &Event) -> Draft {
        let body = event.body.get().as_bytes().to_vec();
        Draft { id: event.head.token.to_string(), body, at: self.now, attempt: 1, key: self.key.clone() }
    }

    /// Returns a copy of an event under a token that no receiver has seen.
    pub fn fresh(&self) -> Draft {
        self.changed(|_| {})
    }

    /// Returns a fresh copy with another number.
    pub fn numbered(&self, number: u64) -> Draft {
        let mut draft = self.changed(|event| {
            let sequence = event["sequence"].as_u64().unwrap_or_default();
            event["sequence"] = (sequence + number).into();
        });
        let token = self.token(&number.to_string());
        draft.body = String::from_utf8_lossy(&draft.body).replace(&draft.id, &token).into_bytes();
        draft.id = token;
        draft
    }

    /// Returns a fresh copy with a change.
    pub fn changed(&self, change: impl FnOnce(&mut Value)) -> Draft {
        let original = self.original(self.event());
        let token = self.drawn_token();
        let mut event: Value = serde_json::from_slice(&original.body).unwrap_or_default();
        event["token"] = token.as_str().into();
        change(&mut event);
        Draft { id: token, body: event.to_string().into_bytes(), ..original }
    }

    /// Returns a key that is not the receiver's.
    pub fn other_key(&self) -> Secret {
        format!("whsec_{}", STANDARD.encode(&self.draw("key")[..24])).into()
    }

    /// Returns the token of no event.
    pub fn drawn_token(&self) -> String {
        self.token("token")
    }

    /// Returns the token of another event than that of [`Self::drawn_token`].
    pub fn other_token(&self) -> String {
        self.token("other token")
    }

    pub fn number(&self) -> u64 {
        self.draw("number").iter().take(8).fold(0, |number, byte| (number << 8) | u64::from(*byte))
    }

    fn token(&self, what: &str) -> String {
        format!("evt_{}", URL_SAFE_NO_PAD.encode(&self.draw(what)[..16]))
    }

    fn draw(&self, what: &str) -> [u8; 32] {
        Sha256::digest(format!("{} {} {what}", self.seed, self.case)).into()
    }
}

/// An event that is not signed yet.
#[derive(Clone)]
pub struct Draft {
    pub id: String,
    pub body: Vec<u8>,
    /// The time stamp.
    pub at: Timestamp,
    pub attempt: u32,
    pub key: Secret,
}

impl Draft {
    /// Signs it with the receiver's key.
    pub fn signed(self) -> Result<Delivery, Box<dyn Error>> {
        let key = self.key.clone();
        self.signed_by(&[&key])
    }

    pub fn signed_by(self, keys: &[&Secret]) -> Result<Delivery, Box<dyn Error>> {
        let mut headers = signature::headers(keys.iter().copied(), &self.id, self.at, &self.body)?;
        headers.insert("webhook-attempt", self.attempt.into());
        Ok(Delivery { headers, body: self.body.into(), manner: Manner::Whole, expected: None })
    }
}

/// The manner in which a body is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// At once.
    Whole,
    /// In four pieces, within this time.
    Slow(Duration),
    /// Half of it, and then the connection ends.
    Cut,
}

#[derive(Clone)]
pub struct Delivery {
    pub headers: HeaderMap,
    pub body: Bytes,
    /// The manner in which the body is sent.
    pub manner: Manner,
    /// The answer of a good receiver, if it is not that of the case.
    pub expected: Option<Expected>,
}

impl Delivery {
    /// Returns a POST of nothing.
    pub fn empty() -> Self {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        Self { headers, body: Bytes::new(), manner: Manner::Whole, expected: None }
    }

    pub fn sent(self, manner: Manner) -> Self {
        Self { manner, ..self }
    }

    /// Leaves out a header.
    pub fn without(mut self, name: &'static str) -> Self {
        self.headers.remove(name);
        self
    }

    /// Sets a header.
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(HeaderName::from_static(name), value);
        }
        self
    }

    pub fn with_signature(self, change: impl FnOnce(&str) -> String) -> Self {
        let good = self.headers.get("webhook-signature").and_then(|value| value.to_str().ok());
        let changed = change(good.unwrap_or_default());
        self.with("webhook-signature", &changed)
    }

    /// Changes a letter of the event's token, so that the body stays JSON.
    pub fn with_changed_byte(mut self, number: u64) -> Self {
        const TOKEN: &[u8] = b"evt_";
        let mut body = self.body.to_vec();
        let start =
            body.windows(TOKEN.len()).position(|part| part == TOKEN).unwrap_or_default() + TOKEN.len();
        let at = start + usize::try_from(number % 22).unwrap_or_default();
        if let Some(byte) = body.get_mut(at) {
            *byte = if *byte == b'x' { b'y' } else { b'x' };
        }
        self.body = body.into();
        self
    }

    /// Adds a space behind the first bracket.
    pub fn with_space(mut self) -> Self {
        let mut body = self.body.to_vec();
        body.insert(1.min(body.len()), b' ');
        self.body = body.into();
        self
    }

    /// Compresses the body, whose signature stays.
    pub fn compressed(mut self) -> Result<Self, Box<dyn Error>> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let compressed = encoder.write_all(&self.body).and_then(|()| encoder.finish());
        self.body = compressed?.into();
        self.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        Ok(self)
    }
}
