//! Reads OpenTelemetry's own environment variables.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use super::SERVICE;
use super::sampler::Sampler;

/// The collector, the sampler and the labels.
#[derive(Debug, Clone)]
pub struct Settings {
    pub(super) url: Url,
    /// The headers of every post; may hold keys.
    pub(super) headers: HeaderMap,
    /// The time-out of a post.
    pub(super) timeout: Duration,
    /// The time for which spans wait for a batch.
    pub(super) delay: Duration,
    pub(super) sampler: Sampler,
    /// The attributes of this server.
    pub(super) resource: Vec<(String, String)>,
}

/// An invalid variable, in one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {wrong}")]
pub struct SettingsError {
    name: &'static str,
    wrong: String,
}

const DISABLED: &str = "OTEL_SDK_DISABLED";
const EXPORTER: &str = "OTEL_TRACES_EXPORTER";
const PROTOCOL: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
const TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const HEADERS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];
const TIMEOUT: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"];
const DELAY: &str = "OTEL_BSP_SCHEDULE_DELAY";
const SAMPLER: &str = "OTEL_TRACES_SAMPLER";
const SHARE: &str = "OTEL_TRACES_SAMPLER_ARG";
const SERVICE_NAME: &str = "OTEL_SERVICE_NAME";
const RESOURCE: &str = "OTEL_RESOURCE_ATTRIBUTES";

const TIMEOUT_DEFAULT: Duration = Duration::from_secs(10);
const DELAY_DEFAULT: Duration = Duration::from_secs(5);

impl Settings {
    /// Reads the environment; `None` without a collector, or if export is off. `environment` is the
    /// server's own.
    pub fn from_environment(environment: &str) -> Result<Option<Self>, SettingsError> {
        Self::read(environment, |name| std::env::var(name).ok())
    }

    /// Reads variables, of the environment or of elsewhere.
    pub fn read(
        environment: &str,
        read_variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, SettingsError> {
        // An empty variable counts as absent.
        let variable = |name: &'static str| {
            let text = read_variable(name).map(|text| text.trim().to_owned());
            text.filter(|text| !text.is_empty()).map(|text| (name, text))
        };
        let either = |names: [&'static str; 2]| names.into_iter().find_map(variable);
        if variable(DISABLED).is_some_and(|(_, text)| text.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        match variable(EXPORTER) {
            Some((_, text)) if text == "none" => return Ok(None),
            Some((name, text)) if text != "otlp" => return Err(wrong(name, "must be otlp or none")),
            Some(_) | None => {}
        }
        let url = match (variable(TRACES_ENDPOINT), variable(ENDPOINT)) {
            (Some((name, text)), _) => url(name, &text)?,
            (None, Some((name, text))) => below(url(name, &text)?),
            (None, None) => return Ok(None),
        };
        if let Some((name, text)) = either(PROTOCOL)
            && text != "http/protobuf"
        {
            return Err(wrong(name, format!("traces are exported by http/protobuf, not by {text}")));
        }
        let headers = either(HEADERS).map(|(name, text)| headers(name, &text)).transpose()?;
        let share = variable(SHARE).map(|(name, text)| parsed(name, &text)).transpose()?;
        let sampler = variable(SAMPLER)
            .map(|(name, text)| Sampler::named(&text, share).map_err(|why| wrong(name, why)));
        let mut resource = vec![
            ("service.name".to_owned(), SERVICE.to_owned()),
            ("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            ("deployment.environment.name".to_owned(), environment.to_owned()),
        ];
        let given =
            variable(RESOURCE).map(|(name, text)| pairs(name, &text)).transpose()?.unwrap_or_default();
        let service = variable(SERVICE_NAME).map(|(_, text)| ("service.name".to_owned(), text));
        for (key, value) in given.into_iter().chain(service) {
            resource.retain(|(known, _)| *known != key);
            resource.push((key, value));
        }
        Ok(Some(Self {
            url,
            headers: headers.unwrap_or_default(),
            timeout: either(TIMEOUT).map_or(Ok(TIMEOUT_DEFAULT), |(name, text)| millis(name, &text))?,
            delay: variable(DELAY).map_or(Ok(DELAY_DEFAULT), |(name, text)| millis(name, &text))?,
            sampler: sampler.transpose()?.unwrap_or_default(),
            resource,
        }))
    }
}

fn wrong(name: &'static str, why: impl Display) -> SettingsError {
    SettingsError { name, wrong: why.to_string() }
}

fn parsed<T: FromStr<Err: Display>>(name: &'static str, text: &str) -> Result<T, SettingsError> {
    text.parse().map_err(|why| wrong(name, why))
}

fn millis(name: &'static str, text: &str) -> Result<Duration, SettingsError> {
    let millis: u64 = text.parse().map_err(|_| wrong(name, "must be a number of milliseconds"))?;
    Ok(Duration::from_millis(millis))
}

fn url(name: &'static str, text: &str) -> Result<Url, SettingsError> {
    let url = Url::parse(text).ok().filter(|url| ["http", "https"].contains(&url.scheme()));
    url.ok_or_else(|| wrong(name, "must be an http or https address"))
}

/// Returns the URL for traces at an address for all signals.
fn below(mut url: Url) -> Url {
    let path = format!("{}/v1/traces", url.path().trim_end_matches('/'));
    url.set_path(&path);
    url
}

fn headers(name: &'static str, text: &str) -> Result<HeaderMap, SettingsError> {
    // The value may be a secret, so the error does not repeat it.
    let no_header = || wrong(name, "must be key=value,key=value");
    let mut headers = HeaderMap::new();
    for (key, value) in pairs(name, text)? {
        let key: HeaderName = key.parse().map_err(|_| no_header())?;
        let mut value = HeaderValue::from_str(&value).map_err(|_| no_header())?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(headers)
}

/// Parses `key=value,key=value`, percent-encoded.
fn pairs(name: &'static str, text: &str) -> Result<Vec<(String, String)>, SettingsError> {
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty()).map(|pair| {
        let (key, value) = pair.split_once('=').filter(|(key, _)| !key.trim().is_empty())?;
        Some((decoded(key.trim())?, decoded(value.trim())?))
    });
    pairs.collect::<Option<_>>().ok_or_else(|| wrong(name, "must be key=value,key=value"))
}

fn decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        let hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        bytes.push(u8::from_str_radix(digits, 16).ok().filter(|_| hexadecimal)?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Option<Settings>, String> {
        let read_variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
        };
        Settings::read("test", read_variable).map_err(|error| error.to_string())
    }

    fn with(variables: &[(&str, &str)]) -> Settings {
        read(&[&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318")], variables].concat())
            .unwrap()
            .unwrap()
    }

    #[test]
    fn nothing_is_exported_unless_a_collector_is_named() {
        for variables in [
            &[][..],
            &[(ENDPOINT, "")],
            &[(SERVICE_NAME, "shop"), (SAMPLER, "always_on")],
            &[(ENDPOINT, "http://collector:4318"), (DISABLED, "true")],
            &[(ENDPOINT, "http://collector:4318"), (EXPORTER, "none")],
        ] {
            assert!(read(variables).unwrap().is_none(), "{variables:?}");
        }
    }

    #[test]
    fn traces_have_a_path_of_their_own_below_the_address_of_all_signals() {
        for (variables, url) in [
            (&[(ENDPOINT, "http://collector:4318")][..], "http://collector:4318/v1/traces"),
            (&[(ENDPOINT, "https://collector/otlp/")], "https://collector/otlp/v1/traces"),
            (&[(TRACES_ENDPOINT, "http://collector/spans")], "http://collector/spans"),
            (&[(ENDPOINT, "http://other"), (TRACES_ENDPOINT, "http://collector/")], "http://collector/"),
        ] {
            assert_eq!(read(variables).unwrap().unwrap().url.as_str(), url);
        }
    }

    #[test]
    fn labels_are_the_operators_where_he_names_them() {
        let resource = |variables: &[(&str, &str)]| with(variables).resource;
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let (version, environment) =
            (pair("service.version", env!("CARGO_PKG_VERSION")), pair("deployment.environment.name", "test"));
        let name = |name| pair("service.name", name);
        assert_eq!(resource(&[]), [name("card-payments"), version.clone(), environment.clone()]);
        assert_eq!(resource(&[(SERVICE_NAME, "shop")]), [version.clone(), environment.clone(), name("shop")]);
        assert_eq!(
            resource(&[(RESOURCE, "service.name=other, host=a%2Cb%C3%A9"), (SERVICE_NAME, "shop")]),
            [version, environment, pair("host", "a,bé"), name("shop")]
        );
    }

    #[test]
    fn the_variables_of_traces_win_over_those_of_all_signals() {
        let settings = with(&[
            ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=all"),
            ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "api-key=Basic%20traces,x=2"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "1"),
            ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "2000"),
            (DELAY, "50"),
            (SAMPLER, "traceidratio"),
            (SHARE, "0.5"),
        ]);
        assert_eq!(
            (&settings.headers["api-key"], &settings.headers["x"]),
            (&"Basic traces".parse().unwrap(), &"2".parse().unwrap())
        );
        assert!(!format!("{settings:?}").contains("Basic"), "headers may hold keys");
        assert_eq!((settings.timeout, settings.delay), (Duration::from_secs(2), Duration::from_millis(50)));
        assert_ne!(settings.sampler, Sampler::default());
        let defaults = with(&[]);
        assert_eq!((defaults.timeout, defaults.delay), (TIMEOUT_DEFAULT, DELAY_DEFAULT));
        assert_eq!(defaults.sampler, Sampler::default());
    }

    #[test]
    fn a_wrong_setting_is_told_in_one_line_without_secrets() {
        let endpoint = (ENDPOINT, "http://collector:4318");
        for (variables, line) in [
            (
                &[(ENDPOINT, "collector:4318")][..],
                "OTEL_EXPORTER_OTLP_ENDPOINT: must be an http or https address",
            ),
            (
                &[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")],
                "OTEL_EXPORTER_OTLP_PROTOCOL: traces are exported by http/protobuf, not by grpc",
            ),
            (&[endpoint, (EXPORTER, "zipkin")], "OTEL_TRACES_EXPORTER: must be otlp or none"),
            (&[endpoint, (SAMPLER, "often")], "OTEL_TRACES_SAMPLER: there is no sampler named often"),
            (&[endpoint, (SHARE, "2")], "OTEL_TRACES_SAMPLER_ARG: must be a number from 0 to 1"),
            (&[endpoint, (DELAY, "soon")], "OTEL_BSP_SCHEDULE_DELAY: must be a number of milliseconds"),
            (
                &[endpoint, ("OTEL_EXPORTER_OTLP_HEADERS", "sk_secret")],
                "OTEL_EXPORTER_OTLP_HEADERS: must be key=value,key=value",
            ),
            (
                &[endpoint, ("OTEL_EXPORTER_OTLP_HEADERS", "key=sk_%zz")],
                "OTEL_EXPORTER_OTLP_HEADERS: must be key=value,key=value",
            ),
            (&[endpoint, (RESOURCE, "=1")], "OTEL_RESOURCE_ATTRIBUTES: must be key=value,key=value"),
        ] {
            assert_eq!(read(variables).map(drop), Err(line.to_owned()));
        }
    }
}
