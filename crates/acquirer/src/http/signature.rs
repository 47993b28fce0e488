//! Signatures: HMAC-SHA256 under a shared secret, in base64 behind `v1,`.

use base::environment::Environment;
use base::secret::Secret;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The secrets of one side: the first signs its requests; either is accepted in requests from others.
#[derive(Clone, Debug)]
pub struct Secrets {
    first: Secret,
    second: Option<Secret>,
}

/// The text does not hold valid secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a secret of 32 to 255 visible characters, or two of them with a comma between")]
pub struct WrongSecrets;

/// The content that a request's signature covers.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The environment of the client, so that the acquirer of the other one refuses the request.
    pub environment: Environment,
    /// GET or POST.
    pub method: &'a str,
    /// The path below the acquirer's address: proxies may know it under another one.
    pub path: &'a str,
    /// Seconds since 1970.
    pub timestamp: &'a str,
    /// The Idempotency-Key; empty where there is none.
    pub key: &'a str,
    /// The body as it is sent.
    pub body: &'a [u8],
}

/// The content that an answer's signature covers. The request's signature includes the question and its time.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The environment of the acquirer.
    pub environment: Environment,
    /// The HTTP status.
    pub status: u16,
    /// The signature of the answered request.
    pub request: &'a str,
    /// The body as it is sent.
    pub body: &'a [u8],
}

/// A message that can be signed.
pub trait Signed {
    /// Returns the signature under a secret.
    fn signature(&self, secret: &Secret) -> Secret;

    /// Returns whether `signature` was made under `secret`. Compares in constant time.
    fn is_signed(&self, secret: &Secret, signature: &str) -> bool {
        self.signature(secret) == Secret::from(signature)
    }
}

impl Signed for Request<'_> {
    fn signature(&self, secret: &Secret) -> Secret {
        let head = ["request", self.environment.name(), self.method, self.path, self.timestamp, self.key];
        signature(secret, &head, self.body)
    }
}

impl Signed for Answer<'_> {
    fn signature(&self, secret: &Secret) -> Secret {
        let head = ["answer", self.environment.name(), &self.status.to_string(), self.request];
        signature(secret, &head, self.body)
    }
}

/// Signs one line for each part of the head, then the body. No part of the head can hold a line break.
fn signature(secret: &Secret, head: &[&str], body: &[u8]) -> Secret {
    let key = secret.expose().as_bytes();
    let mut hash = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    for line in head {
        hash.update(line.as_bytes());
        hash.update(b"\n");
    }
    hash.update(body);
    format!("v1,{}", STANDARD.encode(hash.finalize().into_bytes())).into()
}

impl Secrets {
    /// Parses one secret, or two separated by a comma, as in the configuration.
    pub fn parse(text: &Secret) -> Result<Self, WrongSecrets> {
        let mut parts = text.expose().split(',').map(str::trim);
        let (first, second, third) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
        if third.is_some() || !is_secret(first) || !second.is_none_or(is_secret) {
            return Err(WrongSecrets);
        }
        Ok(Self { first: first.into(), second: second.map(Secret::from) })
    }

    /// The secret that signs requests.
    pub const fn first(&self) -> &Secret {
        &self.first
    }

    /// Returns the secret that signed a request.
    pub fn that_signed(&self, request: &Request<'_>, signature: &str) -> Option<&Secret> {
        let known = [Some(&self.first), self.second.as_ref()];
        known.into_iter().flatten().find(|secret| request.is_signed(secret, signature))
    }
}

fn is_secret(text: &str) -> bool {
    (32..=255).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "0123456789abcdef0123456789abcdef";
    const NEW: &str = "fedcba9876543210fedcba9876543210";

    fn secrets(text: &str) -> Result<Secrets, WrongSecrets> {
        Secrets::parse(&Secret::from(text))
    }

    fn void() -> Request<'static> {
        Request {
            environment: Environment::Test,
            method: "POST",
            path: "/void",
            timestamp: "1772445600",
            key: "ch_1:void:2",
            body: b"{}",
        }
    }

    fn answer() -> Answer<'static> {
        Answer { environment: Environment::Test, status: 200, request: "v1,x", body: b"{}" }
    }

    /// Made by `printf 'request\ntest\nPOST\n/void\n1772445600\nch_1:void:2\n{}' | openssl dgst -sha256 -hmac KEY -binary | base64`.
    #[test]
    fn signatures_are_those_of_other_implementations() {
        let secret = Secret::from(OLD);
        assert_eq!(void().signature(&secret).expose(), "v1,xrLtxEYBjHgP1voGxhJcoqT4O1mun0q0PbdmQo3bKHo=");
        assert_eq!(answer().signature(&secret).expose(), "v1,s2yopXVaHqtiYMvDI+6XnrsO0ymhGdA/CJHfz1F4kHg=");
    }

    #[test]
    fn a_signature_depends_on_all_that_is_said() {
        let (void, answer) = (void(), answer());
        let mut signed: Vec<_> = [
            void,
            Request { environment: Environment::Live, ..void },
            Request { method: "GET", ..void },
            Request { path: "/refund", ..void },
            Request { timestamp: "1772445601", ..void },
            Request { key: "ch_1:void:3", ..void },
            Request { body: b"{ }", ..void },
        ]
        .iter()
        .map(|request| request.signature(&Secret::from(OLD)).expose().to_owned())
        .collect();
        signed.push(void.signature(&Secret::from(NEW)).expose().to_owned());
        let answers = [
            answer,
            Answer { environment: Environment::Live, ..answer },
            Answer { status: 201, ..answer },
            Answer { request: "v1,y", ..answer },
            Answer { body: b"[]", ..answer },
        ];
        signed.extend(answers.iter().map(|answer| answer.signature(&Secret::from(OLD)).expose().to_owned()));
        signed.sort_unstable();
        assert!(signed.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn of_two_secrets_the_first_signs_and_either_is_believed() {
        let both = secrets(&format!("{NEW}, {OLD}")).unwrap();
        assert_eq!(both.first(), &Secret::from(NEW));
        for secret in [OLD, NEW].map(Secret::from) {
            let signature = void().signature(&secret);
            assert_eq!(both.that_signed(&void(), signature.expose()), Some(&secret));
        }
        let stranger = void().signature(&Secret::from("another secret of nobody's at all"));
        for wrong in [stranger.expose(), "", "v1,"] {
            assert_eq!(both.that_signed(&void(), wrong), None);
        }
    }

    #[test]
    fn a_text_that_is_no_secret_is_refused_and_no_secret_is_printed() {
        let short = &OLD[1..];
        for wrong in
            ["", ",", short, &format!("{OLD},"), &format!("{OLD},{short}"), &format!("{OLD},{NEW},{OLD}")]
        {
            assert_eq!(secrets(wrong).err(), Some(WrongSecrets), "{wrong:?}");
        }
        assert_eq!(secrets(&format!("{OLD} {NEW}")).err(), Some(WrongSecrets));
        let printed = format!("{:?}", secrets(OLD));
        assert!(!printed.contains(OLD), "{printed}");
    }
}
