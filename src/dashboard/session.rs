//! Sessions: the browser keeps one in place of a key, sealed in a cookie, so that every copy of the server can open it,
//! and no client can.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, header};
use base::random::random;
use base::secret::Secret;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use entity::{AccountToken, TimeSpan, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use uuid::Uuid;
use vault::{Purpose, Vault};

use super::state::DashboardState;
use crate::app::is_https;
use crate::limits::DASHBOARD_SESSION;
use crate::services::audit;
use crate::services::people::Person;

/// The cookie of a session. Requests of other sites do not carry it.
const SESSION: SealedCookie = SealedCookie {
    context: b"session of the dashboard",
    name: "card_payments_dashboard",
    path: "/dashboard",
    same_site: "Strict",
};

/// The time for which a browser keeps the cookie of a session that has ended.
const KEPT_AFTER_END: TimeSpan = TimeSpan::days(30);

/// A session that a key or a person has opened.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Session {
    /// The stored hash of the key: a session ends with its key. The secret of a person's session.
    pub key: [u8; 32],
    /// The account that an operator views, or in test one that the key's account has made.
    pub chosen: Option<AccountToken>,
    /// The CSRF token of its forms, which nobody else knows.
    pub form: String,
    /// The time at which it ends: milliseconds, by the wall clock.
    until: i64,
    /// The person who opened it, read again with each request.
    #[serde(skip)]
    pub person: Option<Arc<Person>>,
    /// The address of the page that is shown, which its forms carry.
    #[serde(skip)]
    pub page: String,
}

impl Session {
    /// Begins a session for a key, or by the secret of a person's.
    pub fn begin(app: &DashboardState, key: [u8; 32]) -> Self {
        let until = (app.clock.now() + DASHBOARD_SESSION).millis();
        let form = URL_SAFE_NO_PAD.encode(random::<16>());
        Self { key, chosen: None, form, until, person: None, page: String::new() }
    }

    /// Returns the same session, viewing this account, or that of its key.
    #[must_use]
    pub fn with_account(self, account: Option<AccountToken>) -> Self {
        Self { chosen: account, ..self }
    }

    /// Returns the same session, with the person who opened it.
    #[must_use]
    pub fn of_person(self, person: Arc<Person>) -> Self {
        Self { person: Some(person), ..self }
    }

    /// Returns the session of a request, unless it has expired.
    pub fn from_headers(app: &DashboardState, headers: &HeaderMap) -> Option<Self> {
        let session: Self = SESSION.open(app, headers)?;
        (app.clock.now() < session.expires()).then_some(session)
    }

    /// Returns when it ends by itself.
    pub fn expires(&self) -> Timestamp {
        Timestamp::from_millis(self.until)
    }

    /// Returns whether a request brings a session, expired or not.
    pub fn is_brought(app: &DashboardState, headers: &HeaderMap) -> bool {
        SESSION.value(&app.vault, headers).is_some()
    }

    /// Returns the Set-Cookie header that stores the session. The browser keeps it longer than the session lasts: without it the
    /// server's own machine would take an ended session for a first visit, and show another account at the same address.
    pub fn cookie(&self, app: &DashboardState) -> Option<HeaderValue> {
        let kept = self.expires() + KEPT_AFTER_END - app.clock.now();
        SESSION.set(app, self, kept.whole_seconds())
    }

    /// Returns the Set-Cookie header that deletes the session.
    pub fn expired_cookie(app: &DashboardState) -> Option<HeaderValue> {
        SESSION.forget(app)
    }

    /// Returns the operator's name in the audit trail.
    pub fn operator(&self) -> String {
        self.person.as_ref().map_or_else(|| audit::KEY_HOLDER.to_owned(), |person| person.name())
    }

    /// Returns what a page's forms carry: the CSRF token, and which account the page shows. The session may view another account by
    /// the time that the form is sent.
    pub fn form_value(&self) -> String {
        let shown = self.chosen.map(|account| account.to_string()).unwrap_or_default();
        format!("{}{shown}", self.form)
    }

    /// Returns whether a form was made for this session and the account that it views.
    pub fn sent(&self, form: &Secret) -> bool {
        *form == Secret::from(self.form_value().as_str())
    }
}

/// A cookie whose value the servers of this database seal and open. Scripts cannot read it; with HTTPS it is sent only over
/// HTTPS.
pub struct SealedCookie {
    /// The associated data of the sealed bytes.
    pub context: &'static [u8],
    /// The beginning of its name.
    pub name: &'static str,
    /// The pages that get it.
    pub path: &'static str,
    /// The attribute `SameSite`: whether requests that come from other sites carry it. `Strict`, or `Lax` for links.
    pub same_site: &'static str,
}

impl SealedCookie {
    /// Returns the value of a request's cookie. An unknown data key is not looked up: anybody can make up its id, and a server
    /// reloads the table of keys every few seconds.
    pub fn open<T: DeserializeOwned>(&self, app: &DashboardState, headers: &HeaderMap) -> Option<T> {
        let sealed = URL_SAFE_NO_PAD.decode(self.value(&app.vault, headers)?).ok()?;
        let (key, bytes) = sealed.split_first_chunk::<16>()?;
        let plain = app.vault.data_keys().open(self.context, Uuid::from_bytes(*key), bytes).ok()?;
        serde_json::from_slice(&plain).ok()
    }

    /// Returns the Set-Cookie header that stores a value for some seconds.
    pub fn set(&self, app: &DashboardState, value: &impl Serialize, seconds: i64) -> Option<HeaderValue> {
        let sealed = app.vault.seal(self.context, &serde_json::to_vec(value).ok()?);
        self.header(
            app,
            &URL_SAFE_NO_PAD.encode([&sealed.key.as_bytes()[..], &sealed.bytes].concat()),
            seconds,
        )
    }

    /// Returns the Set-Cookie header that deletes the cookie.
    pub fn forget(&self, app: &DashboardState) -> Option<HeaderValue> {
        self.header(app, "", 0)
    }

    fn header(&self, app: &DashboardState, value: &str, seconds: i64) -> Option<HeaderValue> {
        let Self { path, same_site, .. } = self;
        let secure = if is_https(&app.info.base_url) { "; Secure" } else { "" };
        let (name, base) = (self.full_name(&app.vault), app.info.base_path());
        let cookie = format!(
            "{name}={value}; Path={base}{path}; Max-Age={seconds}; HttpOnly; SameSite={same_site}{secure}"
        );
        HeaderValue::from_str(&cookie).ok()
    }

    /// Returns the name, which depends on the database. Browsers do not separate cookies by port, so servers of two databases
    /// on one machine would overwrite each other's cookie.
    fn full_name(&self, vault: &Vault) -> String {
        let hash = vault.keyed_hash(Purpose::Link, &[b"cookie of the dashboard"]);
        format!("{}_{}", self.name, URL_SAFE_NO_PAD.encode(&hash[..6]))
    }

    fn value<'a>(&self, vault: &Vault, headers: &'a HeaderMap) -> Option<&'a str> {
        let name = self.full_name(vault);
        let pairs = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        pairs
            .flat_map(|pairs| pairs.split(';'))
            .find_map(|pair| pair.trim().strip_prefix(name.as_str())?.strip_prefix('='))
    }
}
