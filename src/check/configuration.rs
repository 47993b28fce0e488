//! Checks variables: reports every one that cannot be parsed, and those that nothing reads.

use std::ffi::OsString;

use base::variables::set_variable;
use clap::{Arg, FromArgMatches};
use outbound::trace_export::Settings;

use super::findings::{Area, Findings};
use crate::app::{self, StartError};
use crate::config::{
    self, DatabaseOptions, Environment, Secrets, ServeOptions, reason, serve_options, unknown_variables,
    variable,
};

/// The configuration as far as it can be parsed; an option that cannot has its default.
pub struct Configuration {
    pub serve: ServeOptions,
    pub database: DatabaseOptions,
    pub secrets: Secrets,
}

impl Configuration {
    /// Returns whether the environment is live.
    pub fn is_live(&self) -> bool {
        self.database.environment == Environment::Live
    }
}

/// Reads the configuration; `None` where it contradicts itself.
pub fn read(given: &[(&'static str, OsString)], findings: &mut Findings) -> Option<Configuration> {
    findings.begin_area(Area::Configuration);
    let options = serve_options();
    for unknown in unknown_variables() {
        findings.warning(unknown.to_string(), unknown.remedy());
    }
    // The values of variables are passed as arguments.
    let reader = options.clone().mut_args(|option| option.env(None::<&'static str>));
    let mut arguments = vec![OsString::from("serve")];
    for option in options.get_arguments() {
        let Some(argument) = argument(option, given) else { continue };
        // Each option alone, so that one error does not hide the others.
        match reader.clone().try_get_matches_from([OsString::from("serve"), argument.clone()]) {
            Ok(_) => arguments.push(argument),
            Err(error) => {
                let help = option.get_help().map(ToString::to_string).unwrap_or_default();
                findings.wrong(format!("{}: {}", variable(option), reason(&error)), help);
            }
        }
    }
    let (secrets, faults) = Secrets::gathered();
    for fault in faults {
        findings.wrong(fault.to_string(), "give each secret once, as a variable or as a readable file");
    }
    let read = reader.try_get_matches_from(arguments).and_then(|matches| {
        let (serve, database) =
            (ServeOptions::from_arg_matches(&matches)?, DatabaseOptions::from_arg_matches(&matches)?);
        Ok(Configuration { serve, database, secrets })
    });
    match read {
        Ok(configuration) => {
            check(&configuration, findings);
            Some(configuration)
        }
        Err(error) => {
            findings.wrong(reason(&error), "see card-payments serve --help");
            None
        }
    }
}

/// Checks options against each other.
fn check(configuration: &Configuration, findings: &mut Findings) {
    let Configuration { serve, database, secrets } = configuration;
    for name in app::test_only(database.environment, secrets) {
        findings.wrong(
            StartError::TestOnly(name).to_string(),
            "remove it: card-payments account create makes accounts",
        );
    }
    if let Err(error) = app::clock_and_random(database) {
        findings.wrong(error.to_string(), "remove it: everything that a seed decides can be guessed");
    }
    if let Err(error) = config::log_filter(&serve.log) {
        findings.wrong(error.to_string(), "write it as info, or as info,card_payments=debug");
    }
    if let Err(error) = Settings::from_environment(database.environment.name()) {
        findings.wrong(error.to_string(), "see Traces in docs/operating/monitor.md");
    }
    if app::has_insecure_links(database.environment, serve) {
        findings.warning(app::INSECURE_LINKS, "use the address of the proxy: https://api.example.com");
    }
    if findings.is_silent() {
        findings.ok(format!("every variable is valid; the {} environment", database.environment.name()));
    }
}

/// Returns an option as a command-line argument, if it is set.
fn argument(option: &Arg, given: &[(&'static str, OsString)]) -> Option<OsString> {
    let given = given.iter().find(|(name, _)| option.get_id() == name).map(|(_, value)| value.clone());
    let value = given.or_else(|| set_variable(option.get_env()?))?;
    let flag = format!("--{}", option.get_long()?);
    // A switch takes no value where it is an argument.
    match value.to_str() {
        Some("true") if !option.get_action().takes_values() => return Some(flag.into()),
        Some("false") if !option.get_action().takes_values() => return None,
        Some(_) | None => {}
    }
    let mut argument = OsString::from(flag + "=");
    argument.push(value);
    Some(argument)
}
