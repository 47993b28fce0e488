//! Who moves the money.

use super::configuration::Configuration;
use super::findings::{Area, Findings};
use crate::app;

/// See that it is named. Whoever answers over a network is greeted here.
pub fn look(configuration: &Configuration, findings: &mut Findings) {
    findings.turn_to(Area::Acquirer);
    let Configuration { serve, database, .. } = configuration;
    match app::acquirer(serve, database.environment) {
        Err(error) => findings.wrong(error.to_string(), "name it in CARD_PAYMENTS_ACQUIRER"),
        Ok(_) if configuration.is_live() => findings.warning(
            "the acquirer is a simulator: no money moves",
            "name the one that moves it in CARD_PAYMENTS_ACQUIRER",
        ),
        Ok(_) => findings.ok("a simulator"),
    }
}
