//! How people sign in at a live server's dashboard.

use base::list::List;
use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args};
use outbound::identity_provider::RoleName;
use url::{Host, Url};

/// The OpenID Connect provider that knows the operator's people.
#[derive(Debug, Clone, Default, Args)]
pub struct PeopleOptions {
    /// The OpenID Connect provider whose people sign in at a live dashboard: its issuer, an https address.
    #[arg(long, env = "CARD_PAYMENTS_OIDC_ISSUER", value_parser = parse_issuer)]
    pub oidc_issuer: Option<String>,
    /// This server's client id at the provider. CARD_PAYMENTS_OIDC_CLIENT_SECRET has its secret, if it has one.
    #[arg(long, env = "CARD_PAYMENTS_OIDC_CLIENT_ID")]
    pub oidc_client_id: Option<String>,
    /// The claim of the ID token that has a person's roles, or a path to it: realm_access.roles.
    #[arg(long, env = "CARD_PAYMENTS_OIDC_ROLE_CLAIM", default_value = "roles")]
    pub oidc_role_claim: String,
    /// The provider's names of roles, if they differ from viewer, support, finance and administrator: finance=accounting,
    /// separated by commas.
    #[arg(long, env = "CARD_PAYMENTS_OIDC_ROLES")]
    pub oidc_roles: Vec<List<RoleName>>,
    /// Whether CARD_PAYMENTS_OPERATOR_KEY opens the dashboard although a provider is configured. Each use is recorded and
    /// raises an alert.
    #[arg(long, env = "CARD_PAYMENTS_BREAK_GLASS", default_value = "false", action = ArgAction::Set,
        value_parser = BoolishValueParser::new())]
    pub break_glass: bool,
}

/// Parses an issuer. Plain HTTP is for a provider on this machine.
fn parse_issuer(text: &str) -> Result<String, &'static str> {
    let wrong = "must be the https address of an OpenID Connect issuer, without a query";
    let url = Url::parse(text).map_err(|_| wrong)?;
    let own = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    let is_safe = url.scheme() == "https" || (url.scheme() == "http" && own);
    let is_bare = url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
    if is_safe && is_bare { Ok(text.to_owned()) } else { Err(wrong) }
}
