//! What is left by a process that dies right before or after each commit and each call of the acquirer.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{a_minute_passes, dies_at};
use crate::harness::process::{PAYMENT, Process, RawResponse, repeatable_request, request, try_to_ask};
use crate::harness::{Installed, eventually, operated, remote_acquirer};

/// Of each payment: its intent, its call, its outcome.
pub const MOMENTS: [&str; 6] =
    ["intent.before", "intent.after", "call.before", "call.after", "outcome.before", "outcome.after"];
/// Of a refund: the request's own commit, and then those of the worker that submits it.
const REFUND_MOMENTS: [&str; 8] = [
    "intent.before",
    "intent.after",
    "claim.before",
    "claim.after",
    "call.before",
    "call.after",
    "outcome.before",
    "outcome.after",
];

/// A payment that dies at a point, and its request.
struct DyingPayment {
    /// The call, as the points name it.
    what: &'static str,
    moment: &'static str,
    of: PaymentKind,
    /// The charge that is captured, voided or refunded, the authorisation that is captured, or the page of a challenge.
    subject: String,
}

/// The kind of payment that makes the call.
#[derive(Clone, Copy, PartialEq)]
enum PaymentKind {
    Charge,
    Authorisation,
    /// A charge whose cardholder approves.
    Challenge,
}

impl DyingPayment {
    fn request(&self, secret: &str) -> String {
        let key = format!("{}.{}", self.what, self.moment);
        let subject = &self.subject;
        let (method, path, form) = match (self.of, self.what) {
            (PaymentKind::Challenge, _) => return request("POST", subject, None, "decision=approve"),
            (PaymentKind::Authorisation, _) => {
                let key = format!("authorisation.{key}");
                let path = format!("/1/authorisations/{subject}/charges");
                return repeatable_request("POST", &path, Some(secret), Some(&key), "amount=300");
            }
            (PaymentKind::Charge, "charge") => ("POST", "/1/charges".to_owned(), PAYMENT),
            (PaymentKind::Charge, "refund") => ("POST", format!("/1/charges/{subject}/refunds"), ""),
            (PaymentKind::Charge, verb) => ("PUT", format!("/1/charges/{subject}/{verb}"), ""),
        };
        repeatable_request(method, &path, Some(secret), Some(&key), form)
    }

    /// Returns whether the dead process had done the work, as far as the next one can know.
    fn was_done(&self, acquirer: Acquirer) -> bool {
        let is_remembered = match (self.of, self.what, acquirer) {
            // The simulator dies with the server; or the payment is reversed, because the client got no answer.
            (_, _, Acquirer::InTheProcess) | (PaymentKind::Charge, "charge", Acquirer::Elsewhere) => false,
            (_, _, Acquirer::Elsewhere) => matches!(self.moment, "call.after" | "outcome.before"),
        };
        match self.what {
            "refund" => self.moment != "intent.before",
            _ => is_remembered || self.moment == "outcome.after",
        }
    }

    /// Of a challenge: whether it is approved in the end.
    fn is_approved(&self, acquirer: Acquirer) -> bool {
        // Nothing was recorded, so that the cardholder presses the button again.
        self.was_done(acquirer) || self.moment == "intent.before"
    }
}

/// Where the acquirer is, and so whether it remembers the calls of a server that has died.
#[derive(Clone, Copy, PartialEq)]
enum Acquirer {
    InTheProcess,
    Elsewhere,
}

/// A server whose acquirer is elsewhere, at the points around its calls; at all of them where every acquirer is to be elsewhere.
pub async fn dies_around_calls(installed: &Installed) {
    let around = ["call.before", "call.after", "outcome.before"];
    let points = if remote_acquirer::is_everywhere() {
        (&MOMENTS[..], &REFUND_MOMENTS[..])
    } else {
        (&around[..], &around[..])
    };
    dies_everywhere(installed, Acquirer::Elsewhere, points).await;
}

operated! {
    async fn every_point_leaves_what_the_next_process_can_settle(installed) {
        dies_everywhere(installed, Acquirer::InTheProcess, (&MOMENTS[..], &REFUND_MOMENTS[..])).await;
    }
}

operated! {
    async fn a_payment_of_one_commit_is_there_whole_or_not_at_all(installed) {
        if remote_acquirer::is_everywhere() {
            return;
        }
        let server = installed.serve();
        let (secret, _) = server.keys();
        server.stopped();
        for (n, moment) in ["call.before", "call.after", "outcome.before", "outcome.after"].into_iter().enumerate() {
            let request = repeatable_request("POST", "/1/charges", Some(&secret), Some(moment), PAYMENT);
            assert!(dies_at(installed, &format!("charge.{moment}"), &request).is_err(), "{moment}");
            let in_flight = "SELECT COUNT(*) FROM charges WHERE settle_after IS NOT NULL";
            assert_eq!(installed.number(in_flight).await, 0, "{moment}");
            let server = installed.serve();
            let was_done = moment == "outcome.after";
            assert_eq!(listed(&server, &secret), n + usize::from(was_done), "{moment}");
            let again = try_to_ask(server.address, &request).unwrap();
            assert_eq!((again.status, is_replay(&again)), (201, was_done), "{moment}: {}", again.body);
            assert_eq!(listed(&server, &secret), n + 1, "{moment}");
            server.stopped();
        }
        let server = installed.serve();
        let captured = BTreeMap::from([("charge.captured".to_owned(), 4)]);
        assert_eq!(events(&server, &secret), captured);
        server.stopped();
        super::books_are_right(installed);
    }
}

/// Waits until workers have recovered the calls of dead servers, and have submitted every refund.
async fn recovered(installed: &Installed) {
    let in_flight = "(SELECT COUNT(*) FROM charges WHERE settle_after IS NOT NULL) \
                     + (SELECT COUNT(*) FROM refunds WHERE state = 'submitting')";
    eventually(async || installed.number(in_flight).await == 0).await;
}

/// Lets refunds come to their ends: ten seconds after the acquirer has accepted them.
async fn refunded(installed: &Installed) {
    recovered(installed).await;
    installed.execute("UPDATE refunds SET settles_at = settles_at - 10000").await;
    let accepted = "SELECT COUNT(*) FROM refunds WHERE state = 'accepted'";
    eventually(async || installed.number(accepted).await == 0).await;
}

/// At moments of payments, and at others of refunds.
async fn dies_everywhere(
    installed: &Installed,
    acquirer: Acquirer,
    (moments, refund_moments): (&[&'static str], &[&'static str]),
) {
    let server = installed.serve();
    let (secret, _) = server.keys();
    if acquirer == Acquirer::InTheProcess {
        // An answer that comes later makes a payment take its three steps.
        server.ask("PUT", "/1/sandbox/acquirer", Some(&secret), "latency_ms=1").ok(200);
    }
    let payments = [
        (PaymentKind::Charge, "charge"),
        (PaymentKind::Charge, "capture"),
        (PaymentKind::Charge, "void"),
        (PaymentKind::Authorisation, "capture"),
        (PaymentKind::Challenge, "charge"),
    ];
    let points =
        payments.into_iter().flat_map(|(of, what)| moments.iter().map(move |moment| (of, what, *moment)));
    let points = points.chain(refund_moments.iter().map(|moment| (PaymentKind::Charge, "refund", *moment)));
    let dying: Vec<_> = points
        .map(|(of, what, moment)| DyingPayment {
            what,
            moment,
            of,
            subject: made(&server, of, what, &secret),
        })
        .collect();
    let prepared = listed(&server, &secret);
    server.stopped();
    for dying in &dying {
        dies(installed, dying, &secret);
        // The next one must not die of what this one has left.
        a_minute_passes(installed).await;
        let server = installed.serve();
        recovered(installed).await;
        server.stopped();
    }
    let server = installed.serve();
    for dying in &dying {
        stands(&server, dying, acquirer, &secret);
    }
    refunded(installed).await;
    let approved =
        dying.iter().filter(|it| it.of == PaymentKind::Challenge && it.is_approved(acquirer)).count();
    // Of charges, of authorisations, and of challenges.
    let made = moments.len() + moments.len() + approved;
    assert_eq!(listed(&server, &secret), prepared + made, "each payment was made once");
    let events = events(&server, &secret);
    let reversed =
        moments.iter().filter(|moment| !["intent.before", "outcome.after"].contains(moment)).count();
    let expected = |kind: &str| match kind {
        // Those to be refunded, those that were captured, those that were charged, and those that were approved.
        "charge.captured" => refund_moments.len() + 3 * moments.len() + approved,
        "charge.voided" => moments.len(),
        // Reversed, or not approved: the intent was there, and no outcome.
        "charge.failed" => reversed + moments.len() - approved,
        _ => refund_moments.len(),
    };
    for kind in ["charge.captured", "charge.voided", "charge.failed", "refund.created", "refund.succeeded"] {
        assert_eq!(events.get(kind).copied().unwrap_or_default(), expected(kind), "{kind}: {events:?}");
    }
    server.stopped();
}

/// What a payment is about.
fn made(server: &Process, of: PaymentKind, what: &str, secret: &str) -> String {
    let (path, form) = match (of, what) {
        (PaymentKind::Authorisation, _) => ("/1/authorisations", PAYMENT.to_owned()),
        (PaymentKind::Challenge, _) => {
            let three_d_secure =
                "three_d_secure[enabled]=true&three_d_secure[callback_url]=https://shop.example.com/";
            ("/1/charges", format!("{PAYMENT}&{three_d_secure}"))
        }
        (PaymentKind::Charge, "charge") => return String::new(),
        (PaymentKind::Charge, "refund") => ("/1/charges", PAYMENT.to_owned()),
        (PaymentKind::Charge, _) => ("/1/charges", format!("{PAYMENT}&capture=false")),
    };
    let made = server.ask("POST", path, Some(secret), &form).ok(201);
    match made["redirect_url"].as_str() {
        // The next process listens elsewhere.
        Some(url) => url[url.find("/3d-secure/").unwrap()..].to_owned(),
        None => text(&made["token"]),
    }
}

fn dies(installed: &Installed, dying: &DyingPayment, secret: &str) {
    let point = format!("{}.{}", dying.what, dying.moment);
    let answer = dies_at(installed, &point, &dying.request(secret));
    let is_promised = dying.what == "refund" && !dying.moment.starts_with("intent");
    if is_promised {
        // The worker may be faster than the answer.
        assert!(answer.map_or(true, |response| response.status == 201), "{point}");
    } else {
        assert!(answer.is_err(), "{point}: {answer:?}");
    }
}

/// The dead process's request, asked for again: its answer where it was done, else done now. Either way once.
fn stands(server: &Process, dying: &DyingPayment, acquirer: Acquirer, secret: &str) {
    let point = format!("{}.{}", dying.what, dying.moment);
    let subject = &dying.subject;
    match (dying.of, dying.what) {
        (PaymentKind::Challenge, _) => return is_decided(server, dying, acquirer, secret),
        (PaymentKind::Authorisation, _) => {
            let path = format!("/1/authorisations/{subject}");
            let authorisation = server.ask("GET", &path, Some(secret), "").ok(200);
            let captured = if dying.was_done(acquirer) { 300 } else { 0 };
            assert_eq!(authorisation["amount_captured"], captured, "{point}: {authorisation}");
        }
        (PaymentKind::Charge, "capture" | "void") => {
            let charge = server.ask("GET", &format!("/1/charges/{subject}"), Some(secret), "").ok(200);
            let done = charge["captured"] == true || charge["authorisation_voided"] == true;
            assert_eq!(done, dying.was_done(acquirer), "{point}: {charge}");
        }
        (PaymentKind::Charge, _) => {}
    }
    let send = || try_to_ask(server.address, &dying.request(secret)).unwrap();
    let first = send();
    assert!(matches!(first.status, 200 | 201), "{point}: {} {}", first.status, first.body);
    assert_eq!(is_replay(&first), dying.was_done(acquirer), "{point}");
    let again = send();
    assert!(is_replay(&again) && again.body == first.body, "{point}: {} {}", again.body, first.body);
}

/// The cardholder presses the button again, and comes back. Once the approval is recorded it stands; a call of which the
/// acquirer knows nothing any more was declined.
fn is_decided(server: &Process, dying: &DyingPayment, acquirer: Acquirer, secret: &str) {
    let point = format!("challenge.{}", dying.moment);
    let back = try_to_ask(server.address, &dying.request(secret)).unwrap();
    assert_eq!(back.status, 303, "{point}: {}", back.body);
    let query = back.headers["location"].strip_prefix("https://shop.example.com/?").unwrap().to_owned();
    let verified = server.ask("GET", &format!("/1/charges/verify?{query}"), Some(secret), "").ok(200);
    assert_eq!(verified["success"], dying.is_approved(acquirer), "{point}: {verified}");
}

fn is_replay(response: &RawResponse) -> bool {
    response.headers.get("idempotent-replayed").is_some_and(|replayed| replayed == "true")
}

fn listed(server: &Process, secret: &str) -> usize {
    let list = server.ask("GET", "/1/charges?per_page=1", Some(secret), "").json();
    usize::try_from(list["pagination"]["count"].as_u64().unwrap()).unwrap()
}

/// Returns how often each thing has happened.
fn events(server: &Process, secret: &str) -> BTreeMap<String, usize> {
    let events = server.ask("GET", "/1/events?per_page=500", Some(secret), "").ok(200);
    let mut count = BTreeMap::new();
    for event in events.as_array().map(Vec::as_slice).unwrap_or_default() {
        *count.entry(text(&event["type"])).or_default() += 1;
    }
    count
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
