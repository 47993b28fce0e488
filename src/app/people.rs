//! How the operator's people sign in: by the configured provider, or with the key that they share.

use base::list::List;
use base::secret::Secret;
use outbound::identity_provider::IdentityProvider;

use super::start_error::StartError;
use crate::config::{Environment, PeopleOptions, Secrets};
use crate::dashboard::OperatorAuth;

/// Returns how operators sign in. Beside a provider, the shared key opens nothing unless it may break the glass.
pub(super) fn operators(
    provider: Option<IdentityProvider>,
    break_glass: bool,
    key: Option<Secret>,
) -> OperatorAuth {
    if provider.is_some() && key.is_some() && !break_glass {
        tracing::warn!("CARD_PAYMENTS_OPERATOR_KEY opens nothing: people sign in by a provider");
    }
    OperatorAuth { key: key.filter(|_| break_glass || provider.is_none()), provider }
}

/// Returns the configured provider of people, without calling it. It is for live: in test, keys open the dashboard.
pub(crate) fn identity_provider(
    options: &PeopleOptions,
    environment: Environment,
    secrets: &Secrets,
) -> Result<Option<IdentityProvider>, StartError> {
    let secret = secrets.oidc_client_secret.clone();
    let (issuer, client_id) = match (&options.oidc_issuer, &options.oidc_client_id) {
        (None, None) if secret.is_none() => return Ok(None),
        (None, _) => {
            return Err(StartError::MissingPartner(
                "CARD_PAYMENTS_OIDC_ISSUER",
                "other CARD_PAYMENTS_OIDC_ variables",
            ));
        }
        (Some(_), None) => {
            return Err(StartError::MissingPartner(
                "CARD_PAYMENTS_OIDC_CLIENT_ID",
                "CARD_PAYMENTS_OIDC_ISSUER",
            ));
        }
        (Some(issuer), Some(client_id)) => (issuer, client_id),
    };
    if environment == Environment::Test {
        return Err(StartError::LiveOnly("CARD_PAYMENTS_OIDC_ISSUER"));
    }
    let names = List::all(&options.oidc_roles);
    Ok(IdentityProvider::new(issuer, (client_id, secret), &options.oidc_role_claim, names))
}
