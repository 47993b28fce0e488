//! The lines that a server prints once it listens.

use std::fmt;
use std::net::SocketAddr;

use card_payments::api::ServerInfo;
use card_payments::app::App;
use card_payments::services::accounts::ApiKeyPair;
use serde::Serialize;
use tools::terminal::HEAD;

/// The banner: text for people, and with `--json` an object for programs.
#[derive(Serialize)]
pub struct Banner<'a> {
    /// The address on which the server listens.
    pub listening: String,
    version: &'static str,
    environment: &'static str,
    api: String,
    swagger: String,
    dashboard: Option<String>,
    /// Why the server refuses writes, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    refuses_writes: Option<String>,
    /// The first account's secret key, in test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publishable_key: Option<&'a str>,
}

impl<'a> Banner<'a> {
    /// Makes the banner of a server that listens on this address.
    pub fn new(address: SocketAddr, info: &ServerInfo, app: &'a App) -> Self {
        let base_url = &info.base_url;
        let keys = app.keys.as_ref();
        Self {
            listening: format!("http://{address}"),
            version: env!("CARGO_PKG_VERSION"),
            environment: info.environment.name(),
            api: format!("{base_url}/1"),
            swagger: format!("{base_url}/docs/"),
            dashboard: app.has_dashboard().then(|| format!("{base_url}/dashboard")),
            refuses_writes: app.ctx.store.refuses_writes(),
            secret_key: keys.map(|ApiKeyPair { secret, .. }| secret.expose()),
            publishable_key: keys.map(|ApiKeyPair { publishable, .. }| publishable.expose()),
        }
    }
}

impl fmt::Display for Banner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { listening, version, environment, api, swagger, .. } = self;
        writeln!(f, "{HEAD}card-payments {version} ({environment}){HEAD:#}")?;
        writeln!(f, "  {HEAD}API{HEAD:#}        {api}")?;
        writeln!(f, "  {HEAD}Swagger{HEAD:#}    {swagger}")?;
        if let Some(dashboard) = &self.dashboard {
            writeln!(f, "  {HEAD}Dashboard{HEAD:#}  {dashboard}")?;
        }
        if let Some(why) = &self.refuses_writes {
            writeln!(f, "  {HEAD}Writes{HEAD:#}     refused until there is room: {why}")?;
        }
        if let (Some(secret), Some(publishable)) = (self.secret_key, self.publishable_key) {
            writeln!(f, "  {HEAD}Keys{HEAD:#}       {secret} (secret), {publishable} (publishable)")?;
            writeln!(
                f,
                "  {HEAD}Try{HEAD:#}        curl {api}/charges -u {secret}: -d email=roland@example.com -d description=Test -d amount=400 \
                 -d ip_address=203.192.1.172 -d 'card[number]=4200000000000000' -d 'card[expiry_month]=5' \
                 -d 'card[expiry_year]=2030' -d 'card[cvc]=123' -d 'card[name]=Roland Robot' \
                 -d 'card[address_line1]=42 Sevenoaks St' -d 'card[address_city]=Lathlain' -d 'card[address_country]=AU'",
            )?;
        }
        write!(f, "Listening on {listening}")
    }
}
