//! Sessions: what a browser keeps in place of a key. A cookie holds one sealed, so that every copy of the server opens it, and
//! nobody else.

use axum::http::{HeaderMap, HeaderValue, header};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use entity::{AccountToken, TimeSpan, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::http::AppState;
use crate::limits::DASHBOARD_SESSION;
use crate::runtime::random::random;
use crate::sensitive::secret::Secret;
use crate::vault::{Purpose, Vault};

/// What the sealed bytes are bound to.
const CONTEXT: &[u8] = b"session of the dashboard";

/// A session that was opened by a key.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Session {
    /// What the key is stored as: a session ends with its key.
    pub key: [u8; 32],
    /// The account that an operator looks at.
    pub chosen: Option<AccountToken>,
    /// What each of its forms carries, and nobody else knows.
    pub form: String,
    /// Milliseconds, by the wall clock.
    until: i64,
}

impl Session {
    /// A session of whoever has this key.
    pub fn begin(site: &AppState, key: [u8; 32]) -> Self {
        let until = site.clock.now() + lifetime();
        Self { key, chosen: None, form: URL_SAFE_NO_PAD.encode(random::<16>()), until: until.millis() }
    }

    /// The same session of an operator who looks at this account.
    #[must_use]
    pub fn with_account(self, account: AccountToken) -> Self {
        Self { chosen: Some(account), ..self }
    }

    /// The session that a request brings, unless its time is over. A data key that is not known is not looked for: anybody may
    /// have made its id up, and a server reads the table of keys again every few seconds.
    pub fn of(site: &AppState, headers: &HeaderMap) -> Option<Self> {
        let sealed = URL_SAFE_NO_PAD.decode(cookie(&site.vault, headers)?).ok()?;
        let (key, bytes) = sealed.split_first_chunk::<16>()?;
        let plain = site.vault.data_keys().open(CONTEXT, Uuid::from_bytes(*key), bytes).ok()?;
        let session: Self = serde_json::from_slice(&plain).ok()?;
        (site.clock.now() < Timestamp::from_millis(session.until)).then_some(session)
    }

    /// Whether a request brings one, over or not.
    pub fn is_brought(site: &AppState, headers: &HeaderMap) -> bool {
        cookie(&site.vault, headers).is_some()
    }

    /// What the browser is told to keep.
    pub fn kept(&self, site: &AppState) -> Option<HeaderValue> {
        let sealed = site.vault.seal(CONTEXT, &serde_json::to_vec(self).ok()?);
        let value = URL_SAFE_NO_PAD.encode([&sealed.key.as_bytes()[..], &sealed.bytes].concat());
        let seconds = (Timestamp::from_millis(self.until) - site.clock.now()).whole_seconds();
        set_cookie(site, &value, seconds)
    }

    /// What it is told to forget.
    pub fn forgotten(site: &AppState) -> Option<HeaderValue> {
        set_cookie(site, "", 0)
    }

    /// Whether a form is one of this session's pages.
    pub fn sent(&self, form: &Secret) -> bool {
        *form == Secret::from(self.form.as_str())
    }
}

fn lifetime() -> TimeSpan {
    TimeSpan::from_millis(i64::try_from(DASHBOARD_SESSION.as_millis()).unwrap_or(i64::MAX))
}

/// For scripts it is not there, and no other site's request carries it. Over HTTPS it travels only so.
fn set_cookie(site: &AppState, value: &str, seconds: i64) -> Option<HeaderValue> {
    let secure = if site.index.base_url.starts_with("https://") { "; Secure" } else { "" };
    let name = name(&site.vault);
    let cookie =
        format!("{name}={value}; Path=/dashboard; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::from_str(&cookie).ok()
}

/// Browsers tell the ports of a machine not apart: servers of two databases beside each other would take each other's
/// cookie away, if it were called the same.
fn name(vault: &Vault) -> String {
    let hash = vault.keyed_hash(Purpose::Link, &[b"cookie of the dashboard"]);
    format!("card_payments_dashboard_{}", URL_SAFE_NO_PAD.encode(&hash[..6]))
}

fn cookie<'a>(vault: &Vault, headers: &'a HeaderMap) -> Option<&'a str> {
    let name = name(vault);
    let pairs = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    pairs
        .flat_map(|pairs| pairs.split(';'))
        .find_map(|pair| pair.trim().strip_prefix(name.as_str())?.strip_prefix('='))
}
