//! Traces: exported by OTLP, and passed on by W3C's Trace Context (docs/operating/monitor.md, Traces).

use std::collections::{BTreeMap, BTreeSet};

use axum::body::Body;
use base::trace::TraceContext;
use entity::TimeSpan;
use http::{Method, header};
use serde_json::Value;

use crate::harness::collector::{Collector, ExportedSpan};
use crate::harness::process::{PAYMENT, Process, RawResponse, output, request, try_to_ask};
use crate::harness::{
    App, Behaviour, Client, Database, Receiver, charge, eventually, operated, rules, token,
};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

fn traceparent(flags: &str) -> String {
    format!("00-{TRACE}-{CALLER}-{flags}")
}

/// A request with further headers.
fn send(server: &Process, request: &str, headers: &[(&str, &str)]) -> RawResponse {
    let lines: Vec<_> = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    try_to_ask(server.address, &request.replacen("Host:", &format!("{}Host:", lines.concat()), 1)).unwrap()
}

/// A payment with further headers.
fn pay(server: &Process, headers: &[(&str, &str)]) -> RawResponse {
    send(server, &request("POST", "/1/charges", Some(&server.keys().0), PAYMENT), headers)
}

/// Registers a receiver for all events.
fn register_receiver(server: &Process, receiver: &Receiver) {
    let form = format!("url={}", receiver.url());
    server.ask("POST", "/1/webhook_endpoints", Some(&server.keys().0), &form).ok(201);
}

/// The trace and the span that a webhook names.
fn named(headers: &http::HeaderMap) -> (String, String, String) {
    let parts: Vec<_> = headers["traceparent"].to_str().unwrap().split('-').map(str::to_owned).collect();
    (parts[1].clone(), parts[2].clone(), parts[3].clone())
}

#[track_caller]
fn one<'a>(spans: &'a [ExportedSpan], name: &str) -> &'a ExportedSpan {
    let found: Vec<_> = spans.iter().filter(|span| span.name == name).collect();
    let [one] = found[..] else { panic!("one {name} among {spans:#?}") };
    one
}

fn attributes<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

operated! {
    async fn one_trace_leads_from_a_callers_request_to_its_webhook(installed) {
        let (collector, receiver) = (Collector::start().await, Receiver::start().await);
        let mut program = installed.program();
        let server = Process::start(program.envs(collector.variables()).env("OTEL_SERVICE_NAME", "shop"));
        register_receiver(&server, &receiver);
        let headers = [("traceparent", &*traceparent("01")), ("TraceState", "shop=1"), ("X-Request-Id", "order-7")];
        pay(&server, &headers).ok(201);
        let webhook = receiver.receives(1).await[0].clone();
        let account = installed.account();
        let log = server.stopped();

        let spans = collector.spans();
        let spans: Vec<_> = spans.into_iter().filter(|span| span.trace == TRACE).collect();
        let request = one(&spans, "POST /1/charges");
        assert_eq!((request.kind, request.parent.as_deref(), request.failed), (2, Some(CALLER), false));
        assert_eq!(request.attributes, attributes([
            ("http.request.method", "POST"), ("http.route", "/1/charges"), ("http.response.status_code", "201"),
            ("card_payments.request_id", "order-7"), ("card_payments.account", &account),
        ]));
        let below = |span: &ExportedSpan| span.parent.as_ref() == Some(&request.span);
        let call = one(&spans, "acquirer call");
        assert_eq!((call.kind, below(call)), (3, true));
        assert_eq!(call.attributes, attributes([("card_payments.acquirer_call", "charge")]));
        let writes: Vec<_> = spans.iter().filter(|span| span.name == "database write").collect();
        assert_eq!(writes.len(), 1, "intent and outcome are one commit");
        let system = match installed.database { Database::Sqlite => "sqlite", Database::Postgres => "postgresql" };
        assert!(writes.iter().all(|span| below(span) && span.attributes == attributes([("db.system.name", system)])));
        let delivery = one(&spans, "webhook delivery");
        assert_eq!((delivery.kind, below(delivery)), (3, true));
        let event: Value = serde_json::from_slice(&webhook.body).unwrap();
        let attribute = |key: &str| delivery.attributes[key].as_str();
        assert_eq!(attribute("card_payments.event"), token(&event));
        assert_eq!((attribute("card_payments.account"), attribute("card_payments.attempt")), (&*account, "1"));
        assert_eq!(attribute("http.response.status_code"), "200");
        assert!(spans.iter().all(|span| span.ended >= span.began));

        assert_eq!(named(&webhook.headers), (TRACE.into(), delivery.span.clone(), "01".into()));
        assert!(!webhook.headers.contains_key("tracestate"));
        let line = log.lines().find(|line| line.contains("\"order-7\"")).unwrap();
        assert!(line.contains(&format!("\"trace_id\":\"{TRACE}\"")), "{line}");
        for (request, resource) in collector.receiver.received().iter().zip(collector.resources()) {
            assert_eq!((request.path.as_str(), &request.headers["content-type"]), ("/v1/traces", &"application/x-protobuf".parse().unwrap()));
            assert_eq!(resource, attributes([
                ("service.name", "shop"), ("service.version", env!("CARGO_PKG_VERSION")), ("deployment.environment.name", "test"),
            ]));
        }
    }

    async fn a_request_that_nobody_traced_before_has_a_trace_of_its_own(installed) {
        let (collector, receiver) = (Collector::start().await, Receiver::start().await);
        let server = Process::start(installed.program().envs(collector.variables()));
        register_receiver(&server, &receiver);
        let charge = pay(&server, &[]).ok(201);
        receiver.receives(1).await;
        let key = server.keys().0;
        server.ask("POST", &format!("/1/charges/{}/refunds", token(&charge)), Some(&key), "amount=1").ok(201);
        receiver.receives(2).await;
        // Who watches is of no trace.
        for path in ["/healthz", "/readyz", "/metrics"] {
            assert_eq!(server.ask("GET", path, None, "").status, 200);
        }
        assert_eq!(server.ask("GET", "/1/nothing/4200000000000000", Some(&key), "").status, 404);
        server.stopped();
        let spans = collector.spans();
        let (payment, refund) = (one(&spans, "POST /1/charges"), one(&spans, "POST /1/charges/{charge_token}/refunds"));
        assert_ne!(payment.trace, refund.trace);
        assert_eq!((&payment.parent, &refund.parent), (&None, &None));
        let stories: Vec<_> = receiver.received().iter().map(|webhook| named(&webhook.headers).0).collect();
        assert_eq!(stories, [payment.trace.clone(), refund.trace.clone()]);
        assert_eq!(one(&spans, "GET unmatched").attributes["http.response.status_code"], "404");
        let ids: BTreeSet<_> = spans.iter().map(|span| &span.span).collect();
        assert_eq!(ids.len(), spans.len());
        let roots: BTreeSet<_> = spans.iter().filter(|span| span.parent.is_none()).map(|span| span.name.as_str()).collect();
        assert!(!roots.contains("database read") && !roots.contains("database write"), "{roots:?}");
        assert!(!roots.iter().any(|name| ["/healthz", "/readyz", "/metrics"].iter().any(|path| name.ends_with(path))), "{roots:?}");
    }

    async fn a_trace_that_is_not_recorded_goes_on_unrecorded(installed) {
        let (collector, receiver) = (Collector::start().await, Receiver::start().await);
        let mut program = installed.program();
        let server = Process::start(program.envs(collector.variables()).env("OTEL_TRACES_SAMPLER", "parentbased_always_off"));
        register_receiver(&server, &receiver);
        pay(&server, &[]).ok(201);
        receiver.receives(1).await;
        pay(&server, &[("traceparent", &traceparent("00"))]).ok(201);
        let webhooks = receiver.receives(2).await;
        server.stopped();
        assert_eq!(collector.receiver.received().len(), 0);
        let contexts: Vec<_> = webhooks.iter().map(|webhook| named(&webhook.headers)).collect();
        assert!(contexts.iter().all(|(_, _, flags)| flags == "00"), "{contexts:?}");
        assert_eq!(contexts[1].0, TRACE);
    }

    async fn the_decision_of_a_caller_counts(installed) {
        let collector = Collector::start().await;
        let mut program = installed.program();
        let server = Process::start(program.envs(collector.variables()).env("OTEL_TRACES_SAMPLER", "parentbased_always_off"));
        pay(&server, &[("traceparent", &traceparent("01"))]).ok(201);
        pay(&server, &[]).ok(201);
        server.stopped();
        assert_eq!(one(&collector.spans(), "POST /1/charges").trace, TRACE);
    }

    async fn a_collector_that_hangs_harms_nobody(installed) {
        let collector = Collector::start().await;
        collector.receiver.behave(Behaviour::Hang);
        let server = Process::start(installed.program().envs(collector.variables()));
        for _ in 0..30 {
            pay(&server, &[]).ok(201);
        }
        collector.receiver.receives(1).await;
        assert!(server.stopped().contains("the last spans were not exported"));
    }

    async fn spans_that_a_collector_refuses_are_counted_and_told(installed) {
        let collector = Collector::start().await;
        collector.receiver.behave(Behaviour::Status(400));
        let server = Process::start(installed.program().envs(collector.variables()));
        pay(&server, &[]).ok(201);
        let lost = || {
            let page = server.ask("GET", "/metrics", None, "").body;
            let line = page.lines().find_map(|line| line.strip_prefix("card_payments_spans_lost_total "));
            line.unwrap().parse::<u64>().unwrap()
        };
        eventually(async || lost() > 0).await;
        assert!(server.stopped().contains("the collector refused spans"));
        let once: BTreeSet<_> = collector.spans().into_iter().map(|span| span.span).collect();
        assert_eq!(once.len(), collector.spans().len(), "what is refused is not sent again");
    }

    async fn a_collector_that_is_busy_is_asked_once_more(installed) {
        let collector = Collector::start().await;
        collector.receiver.behave(Behaviour::Status(503));
        let server = Process::start(installed.program().envs(collector.variables()));
        pay(&server, &[]).ok(201);
        let first = collector.receiver.receives(1).await[0].clone();
        collector.receiver.behave(Behaviour::Status(200));
        let again = collector.receiver.receives(2).await[1].clone();
        assert_eq!(first.body, again.body);
        server.stopped();
    }

    async fn nothing_that_is_secret_is_exported(installed) {
        let (collector, receiver) = (Collector::start().await, Receiver::start().await);
        let server = Process::start(installed.program().envs(collector.variables()));
        let (secret, publishable) = server.keys();
        let card = "number=372000000000000&expiry_month=5&expiry_year=2030&cvc=7391&name=Wilhelmina+Quux\
            &address_line1=42+Sevenoaks+St&address_city=Lathlain&address_country=AU";
        let inline = format!("&card[{}", card.replace('=', "]=").replace('&', "&card["));
        let hook = format!("url={}?pass=hunter2", receiver.url());
        let payment = format!("email=who@quux.example&description=Xylophone&amount=400&ip_address=203.192.1.172{inline}");
        let key = Some(&*secret);
        for (method, path, key, form) in [
            ("POST", "/1/webhook_endpoints", key, &*hook),
            ("POST", "/1/cards", key, card),
            ("POST", "/1/cards", None, &*format!("{card}&publishable_api_key={publishable}")),
            ("POST", "/1/charges", key, &*payment),
            ("POST", "/1/charges", key, "amount=372000000000000&card[number]=372000000000000"),
            ("POST", "/1/customers", key, &*payment),
            ("POST", "/1/bank_accounts", key, "name=Wilhelmina+Quux&bsb=736-032&number=987654321"),
            ("POST", "/1/merchants", key, "contact[password]=hunter2hunter2"),
            ("GET", "/1/charges/search?query=Xylophone", key, ""),
            ("GET", "/1/charges/372000000000000", key, ""),
            ("GET", "/372000000000000?key=hunter2", key, ""),
            ("GET", "/1/charges", Some("sk_hunter2"), ""),
            ("CARD372000000000000", "/1/charges", key, ""),
        ] {
            // An id of random may look like a code.
            let headers = [
                ("X-Request-Id", "watched"), ("X-Password", "hunter2"), ("User-Agent", "hunter2"),
                ("traceparent", &*traceparent("01")), ("tracestate", "shop=hunter2"),
            ];
            send(&server, &request(method, path, key, form), &headers);
        }
        receiver.receives(2).await;
        server.stopped();
        let exported = String::from_utf8_lossy(&collector.everything()).into_owned();
        assert!(exported.contains("POST /1/bank_accounts") && exported.contains("_OTHER"));
        let given = [
            &*secret, &publishable, "372000000000000", "7391", "Quux", "quux", "Sevenoaks", "Xylophone", "hunter2",
            "987654321", "203.192.1.172", &receiver.address().to_string(), "whsec_",
        ];
        let exported_secrets: Vec<_> = given.into_iter().filter(|text| exported.contains(text)).collect();
        assert_eq!(exported_secrets, [""; 0]);
    }
}

/// A charge whose caller is of a trace, if any.
async fn charged(client: &Client, headers: &[(&str, &str)]) {
    let request = client.request(Method::POST, "/1/charges").header(header::CONTENT_TYPE, "application/json");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    client.send(request.body(Body::from(charge(400).to_string())).unwrap()).await.ok(201);
}

async fn deliver(app: &App, receiver: &Receiver) -> http::HeaderMap {
    app.do_due_work().await;
    receiver.received().last().unwrap().headers.clone()
}

rules! {
    async fn without_a_collector_a_callers_trace_goes_on_as_it_came(app) {
        let (client, receiver) = (app.client(), Receiver::start().await);
        client.endpoint(&receiver.url()).await;
        receiver.behave(Behaviour::Status(500));
        let given = traceparent("01");
        charged(&client, &[("traceparent", &given), ("tracestate", "shop=4200000000000000")]).await;
        let first = deliver(app, &receiver).await;
        let webhook = token(&client.newest_webhook().await).to_owned();
        app.clock.advance(TimeSpan::seconds(120));
        let retried = deliver(app, &receiver).await;
        client.put(&format!("/1/webhooks/{webhook}/replay"), &Value::Object(serde_json::Map::default())).await.ok(200);
        let replayed = deliver(app, &receiver).await;
        assert_eq!(receiver.received().len(), 3);
        for headers in [first, retried, replayed] {
            assert_eq!(headers["traceparent"], given);
            assert!(!headers.contains_key("tracestate"), "{headers:?}");
        }
        let everything = app.everything().await;
        assert!(!everything.windows(9).any(|window| window == b"shop=4200"), "a state is half a kilobyte of any text");
        assert_eq!(base::trace::current(), None);
    }

    async fn a_webhook_of_no_trace_names_none(app) {
        let (client, receiver) = (app.client(), Receiver::start().await);
        client.endpoint(&receiver.url()).await;
        let twice = traceparent("01");
        let nonsense = [
            &[][..],
            &[("traceparent", "00-nonsense")],
            &[("traceparent", &*twice), ("traceparent", &twice)],
            &[("tracestate", "shop=1")],
        ];
        for headers in nonsense {
            charged(&client, headers).await;
            let headers = deliver(app, &receiver).await;
            assert!(!headers.contains_key("traceparent"), "{headers:?}");
        }
    }
}

#[test]
fn a_wrong_variable_is_one_line_and_changes_nothing() {
    let data = tempfile::tempdir().unwrap();
    let mut program = crate::harness::process::program(data.path());
    program.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318").env("OTEL_TRACES_SAMPLER", "often");
    let line = "error: OTEL_TRACES_SAMPLER: there is no sampler named often\n";
    assert_eq!(output(&mut program), (Some(1), String::new(), line.into()));
    assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 0);
}

#[test]
fn every_variable_of_opentelemetry_is_in_the_operators_guide() {
    let variables = |name: &str| -> BTreeSet<String> {
        let text = std::fs::read_to_string(format!("{}/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        let found = text.match_indices("OTEL_").map(|(at, _)| {
            text[at..]
                .chars()
                .take_while(|letter| letter.is_ascii_uppercase() || *letter == '_')
                .collect::<String>()
        });
        found.filter(|found| found != "OTEL_").collect()
    };
    assert_eq!(
        variables("docs/operating/monitor.md"),
        variables("crates/outbound/src/trace_export/settings.rs")
    );
}

#[test]
fn a_call_names_what_it_is_made_for() {
    let context: TraceContext = traceparent("01").parse().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let inside = runtime.block_on(base::trace::within(Some(context), async { base::trace::headers() }));
    assert_eq!((&inside, inside.len()), (&context.headers(), 1));
    assert!(base::trace::headers().is_empty());
}
