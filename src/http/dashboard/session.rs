//! Sessions: the browser keeps one in place of a key, sealed in a cookie, so that every copy of the server can open it,
//! and no client can.

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

/// The associated data of the sealed bytes.
const CONTEXT: &[u8] = b"session of the dashboard";

/// A session that a key has opened.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Session {
    /// The stored hash of the key: a session ends with its key.
    pub key: [u8; 32],
    /// The account that an operator views, or in test one that the key's account has made.
    pub chosen: Option<AccountToken>,
    /// The CSRF token of its forms, which nobody else knows.
    pub form: String,
    /// When it ends: milliseconds, by the wall clock.
    until: i64,
}

impl Session {
    /// Begins a session for a key.
    pub fn begin(app: &AppState, key: [u8; 32]) -> Self {
        let until = app.clock.now() + lifetime();
        Self { key, chosen: None, form: URL_SAFE_NO_PAD.encode(random::<16>()), until: until.millis() }
    }

    /// Returns the same session, viewing this account, or that of its key.
    #[must_use]
    pub fn with_account(self, account: Option<AccountToken>) -> Self {
        Self { chosen: account, ..self }
    }

    /// Returns the session of a request, unless it has expired. An unknown data key is not looked up: anybody can make
    /// up its id, and a server reloads the table of keys every few seconds.
    pub fn of(app: &AppState, headers: &HeaderMap) -> Option<Self> {
        let sealed = URL_SAFE_NO_PAD.decode(cookie(&app.vault, headers)?).ok()?;
        let (key, bytes) = sealed.split_first_chunk::<16>()?;
        let plain = app.vault.data_keys().open(CONTEXT, Uuid::from_bytes(*key), bytes).ok()?;
        let session: Self = serde_json::from_slice(&plain).ok()?;
        (app.clock.now() < Timestamp::from_millis(session.until)).then_some(session)
    }

    /// Whether a request brings a session, expired or not.
    pub fn is_brought(app: &AppState, headers: &HeaderMap) -> bool {
        cookie(&app.vault, headers).is_some()
    }

    /// Returns the Set-Cookie header that stores the session.
    pub fn kept(&self, app: &AppState) -> Option<HeaderValue> {
        let sealed = app.vault.seal(CONTEXT, &serde_json::to_vec(self).ok()?);
        let value = URL_SAFE_NO_PAD.encode([&sealed.key.as_bytes()[..], &sealed.bytes].concat());
        let seconds = (Timestamp::from_millis(self.until) - app.clock.now()).whole_seconds();
        set_cookie(app, &value, seconds)
    }

    /// Returns the Set-Cookie header that deletes the session.
    pub fn forgotten(app: &AppState) -> Option<HeaderValue> {
        set_cookie(app, "", 0)
    }

    /// Returns what a page's forms carry: the CSRF token, and which account the page shows. The session may view another account by
    /// the time that the form is sent.
    pub fn form_value(&self) -> String {
        let shown = self.chosen.map(|account| account.to_string()).unwrap_or_default();
        format!("{}{shown}", self.form)
    }

    /// Whether a form was made for this session and the account that it views.
    pub fn sent(&self, form: &Secret) -> bool {
        *form == Secret::from(self.form_value().as_str())
    }
}

fn lifetime() -> TimeSpan {
    TimeSpan::from_millis(i64::try_from(DASHBOARD_SESSION.as_millis()).unwrap_or(i64::MAX))
}

/// Builds the cookie. Scripts cannot read it, and requests of other sites do not carry it. With HTTPS it is sent only
/// over HTTPS.
fn set_cookie(app: &AppState, value: &str, seconds: i64) -> Option<HeaderValue> {
    let secure = if app.info.base_url.starts_with("https://") { "; Secure" } else { "" };
    let name = name(&app.vault);
    let cookie =
        format!("{name}={value}; Path=/dashboard; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::from_str(&cookie).ok()
}

/// Returns the name of the cookie, which depends on the database. Browsers do not separate cookies by port, so servers
/// of two databases on one machine would overwrite each other's cookie.
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
