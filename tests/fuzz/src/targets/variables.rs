//! What operators write into variables and options: the database, lists, addresses, secrets, and the variables of OpenTelemetry.

use acquirer::http::{Address, Secrets};
use base::client_network::parse_network;
use base::environment::Environment;
use base::http_address::parse_listen_address;
use base::list::List;
use base::secret::Secret;
use base::secret_shares::combine;
use base::trace::TraceContext;
use card_payments::config::{is_key, log_filter};
use ipnet::IpNet;
use outbound::Allowed;
use outbound::trace_export::Settings;
use store::Location;
use url::form_urlencoded::byte_serialize;

use super::{Target, inputs};

pub const TARGET: Target = Target {
    name: "variables",
    hold,
    samples,
    words: &[
        "postgres://",
        "postgresql://",
        "sqlite:",
        "sqlite://",
        "?options=",
        "&host=",
        "&sslmode=require",
        "@db.example/",
        "[::1]:8080",
        "localhost:",
        "https://bank.example.com",
        "10.1.0.0/16",
        "::ffff:10.0.0.0/104",
        "OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318",
        "OTEL_EXPORTER_OTLP_HEADERS=a=b%20c",
        "OTEL_RESOURCE_ATTRIBUTES=",
        "OTEL_TRACES_SAMPLER=parentbased_traceidratio",
        "OTEL_TRACES_SAMPLER_ARG=0.5",
        "OTEL_EXPORTER_OTLP_TIMEOUT=1",
        "card_payments=debug,info",
        "[span{field=1}]=warn",
    ],
};

fn samples() -> Vec<Vec<u8>> {
    inputs([
        "postgres://roland:pass%20word@db.example:5433/payments?sslmode=require&options=-c%20work_mem%3D1MB",
        "postgresql://%2Ftmp%2Fsocket/payments?host=/tmp&user=a&password=hunter22",
        "sqlite://data/card-payments.db",
        "10.1.0.0/16, 2001:db8::/32,::ffff:10.0.0.0/104, hooks.example.com.,127.0.0.1",
        "localhost:8080",
        "https://bank.example.com:8443/cards/v7/",
        "0123456789abcdef0123456789abcdef, 0123456789abcdef0123456789abcdee",
        "OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318\nOTEL_EXPORTER_OTLP_HEADERS=api-key=Basic%20a,x=2\n\
         OTEL_TRACES_SAMPLER=parentbased_traceidratio\nOTEL_TRACES_SAMPLER_ARG=0.5\nOTEL_BSP_SCHEDULE_DELAY=50\n\
         OTEL_RESOURCE_ATTRIBUTES=service.name=a%2Cb,host=c\nOTEL_SERVICE_NAME=shop",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 shop=1",
        "warn,card_payments::api=debug,[request{route=x}]=trace",
    ])
}

fn hold(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    hold_database(text);
    hold_lists(text);
    if let Ok(address) = parse_listen_address(text) {
        assert_eq!(
            parse_listen_address(&address.to_string()),
            Ok(address),
            "an address is read as it is written"
        );
    }
    for environment in [Environment::Test, Environment::Live] {
        if let Ok(address) = Address::parse(text, environment) {
            assert_eq!(Address::parse(&address.to_string(), environment), Ok(address.clone()));
            let operation = address.operation("/void");
            assert!(operation.path().ends_with("/void") && operation.query().is_none(), "{operation}");
        }
    }
    if let Ok(secrets) = Secrets::parse(&text.into()) {
        let first = secrets.first().expose();
        assert!((32..=255).contains(&first.len()) && first.bytes().all(|byte| byte.is_ascii_graphic()));
    }
    if is_key(text) {
        assert!(text.is_ascii() && (8..=100).contains(&text.len()));
    }
    if let Ok(trace) = text.parse::<TraceContext>() {
        assert_eq!(trace.to_string().parse(), Ok(trace), "a trace is read as it is written");
    }
    let shares: Vec<_> = text.lines().map(Secret::from).collect();
    if let Err(why) = combine(&shares) {
        hold_line(&why.to_string());
    }
    if let Err(why) = log_filter(text) {
        assert!(why.to_string().starts_with("CARD_PAYMENTS_LOG: "));
    }
    hold_tracing(text);
}

fn hold_database(text: &str) {
    if let Ok(Location::Sqlite { path }) = text.parse() {
        assert!(!path.as_os_str().is_empty());
    }
    let credentials: String = byte_serialize(text.as_bytes()).collect();
    let url = format!("postgres://roland:{credentials}@db.example/payments");
    let location: Location = url.parse().expect("a database");
    let shown = location.display();
    assert!(shown == "PostgreSQL" || shown == "postgres://db.example:5432/payments", "{shown}");
    // Whatever else the text is, it is a place that can be shown.
    let _ = text.parse::<Location>().map(|location| location.display());
}

fn hold_lists(text: &str) {
    let networks: Result<List<IpNet>, _> =
        List::parse_each(text, |item| parse_network(item).ok_or("is no network"));
    let allowed: Result<List<Allowed>, _> = text.parse();
    for why in [networks.as_ref().err(), allowed.as_ref().err()].into_iter().flatten() {
        let named = why.strip_prefix('\'').and_then(|why| why.rsplit_once("': "));
        assert!(why == "names nothing" || named.is_some_and(|(item, _)| text.contains(item)), "{why}");
    }
    for network in networks.iter().flat_map(|list| List::all(std::slice::from_ref(list))) {
        assert_eq!(parse_network(&network.to_string()), Some(network), "a network is read as it is written");
    }
    for entry in allowed.iter().flat_map(|list| List::all(std::slice::from_ref(list))) {
        let written = match &entry {
            Allowed::Network(network) => network.to_string(),
            Allowed::Host(name) => name.clone(),
        };
        assert_eq!(written.parse(), Ok(entry), "an entry is read as it is written");
    }
}

fn hold_tracing(text: &str) {
    let variable = |name: &str| {
        text.lines()
            .find_map(|line| line.split_once('=').filter(|(known, _)| *known == name))
            .map(|(_, value)| value.to_owned())
    };
    if let Err(why) = Settings::read("test", variable) {
        let why = why.to_string();
        hold_line(&why);
        assert!(why.split_once(": ").is_some_and(|(name, _)| text.contains(name)), "{why}");
    }
}

/// Holds that an operator is told in one line.
fn hold_line(why: &str) {
    assert!(!why.is_empty() && why.lines().count() == 1, "{why:?}");
}
