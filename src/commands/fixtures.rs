//! The fixtures that a server creates at its start.

use std::error::Error;

use card_payments::app::StartError;
use card_payments::config::{Environment, FixtureOptions};
use tools::known_api::KnownApi;
use tools::seed::Fixtures;

/// Reads the fixtures that a server is to create, if there are any.
pub fn of_server(
    options: &FixtureOptions,
    environment: Environment,
    api: &KnownApi,
) -> Result<Option<Fixtures>, Box<dyn Error>> {
    let option = match options {
        FixtureOptions { fixtures: None, sample: false, .. } => return Ok(None),
        FixtureOptions { sample: true, .. } => "CARD_PAYMENTS_SAMPLE",
        FixtureOptions { fixtures: Some(_), .. } => "CARD_PAYMENTS_FIXTURES",
    };
    if environment == Environment::Live {
        return Err(StartError::TestOnly(option).into());
    }
    Fixtures::read(options.fixtures.as_deref(), false, api).map(Some)
}
