//! Checks the acquirer.

use super::configuration::Configuration;
use super::findings::{Area, Findings};
use crate::app::NamedAcquirer;

/// Checks that an acquirer is configured, and greets a remote one.
pub async fn check(configuration: &Configuration, findings: &mut Findings) {
    findings.begin_area(Area::Acquirer);
    let Configuration { serve, database, secrets, .. } = configuration;
    match NamedAcquirer::new(serve.acquirer.as_deref(), database.environment, secrets) {
        Err(error) => findings.wrong(error.to_string(), "name it in CARD_PAYMENTS_ACQUIRER"),
        Ok(NamedAcquirer::Simulator(_)) if configuration.is_live() => findings.warning(
            "the acquirer is a simulator: no money moves",
            "name a real one in CARD_PAYMENTS_ACQUIRER",
        ),
        Ok(NamedAcquirer::Simulator(_)) => findings.ok("a simulator"),
        Ok(NamedAcquirer::Elsewhere(address, remote)) => match remote.greet().await {
            Ok(()) => findings.ok(format!("the acquirer at {address} answers")),
            Err(error) if error.is_transient() => findings.warning(
                format!("the acquirer at {address}: {error}"),
                "until it answers, a server starts and is not ready",
            ),
            Err(error) => {
                findings.wrong(format!("the acquirer at {address}: {error}"), "see docs/acquirer.md");
            }
        },
    }
}
