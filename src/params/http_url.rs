//! Addresses that clients send. Some contain a password.

use std::ops::Deref;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;
use validator::ValidateLength;

use super::{rules, values};

/// The name by which the collector recognises a type whose value decides whether it may be shown.
pub(super) const NAME: &str = "$card_payments::HttpUrl";

/// An http or https URL, after [`rules::http_url`] has checked it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename = "$card_payments::HttpUrl")]
pub struct HttpUrl(pub String);

impl Deref for HttpUrl {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl ValidateLength<u64> for HttpUrl {
    fn length(&self) -> Option<u64> {
        self.0.length()
    }
}

/// Returns an address without a user's name and password, if it has any.
pub fn without_credentials(address: &str) -> Option<String> {
    let mut url = Url::parse(address).ok().filter(names_somebody)?;
    // Only an address without a host refuses it.
    (url.set_username("").is_ok() && url.set_password(None).is_ok()).then(|| url.into())
}

fn names_somebody(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// Returns whether a value may be shown: a URL without credentials. Anything else may be a secret.
pub(super) fn is_open(value: &Value) -> bool {
    let is_address = |text: String| {
        rules::http_url(&text).is_ok() && Url::parse(&text).is_ok_and(|url| !names_somebody(&url))
    };
    values::is_blank(value) || values::text(value).is_ok_and(is_address)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_address_may_be_shown_unless_it_names_somebody() {
        for open in [json!("https://example.com/hooks?a=b@c#d"), json!("http://127.0.0.1:9/"), json!(" ")] {
            assert!(is_open(&open), "{open}");
        }
        for closed in [
            json!("https://user:password@example.com/"),
            json!("https://user@example.com"),
            json!("http://:password@example.com"),
            json!("user:password@example.com"),
            json!("https://user:pass word@example.com"),
            json!(4_200_000_000_000_000_u64),
            json!({ "a": "https://example.com" }),
        ] {
            assert!(!is_open(&closed), "{closed}");
        }
    }
}
