//! Checks how people sign in at the dashboard.

use super::configuration::Configuration;
use super::findings::{Area, Findings};
use crate::app;

/// Checks the provider's settings, and reads its document and keys.
pub async fn check(configuration: &Configuration, findings: &mut Findings) {
    findings.begin_area(Area::People);
    let Configuration { serve, database, secrets, .. } = configuration;
    let provider = match app::identity_provider(&serve.people, database.environment, secrets) {
        Ok(provider) => provider,
        Err(error) => return findings.wrong(error.to_string(), "see docs/operating/people-and-audit.md"),
    };
    let Some(provider) = provider else {
        if configuration.is_live() && secrets.operator_key.is_some() {
            findings.warning(
                "all operators share one key of the dashboard",
                "name a provider in CARD_PAYMENTS_OIDC_ISSUER, so that each signs in",
            );
        }
        return;
    };
    match provider.discover().await {
        Ok(_) => findings.ok(format!("people sign in by {}", provider.issuer())),
        Err(error) => findings.warning(
            format!("{}: {error}", provider.issuer()),
            "until it answers, a server starts and nobody signs in",
        ),
    }
    if serve.people.break_glass {
        findings.warning(
            "CARD_PAYMENTS_OPERATOR_KEY opens the dashboard beside the provider",
            "unset CARD_PAYMENTS_BREAK_GLASS when the emergency is over",
        );
    }
}
