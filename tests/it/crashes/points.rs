//! What is left by a process that dies right before or after each commit and each call of the acquirer.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::harness::postgres::Template;
use crate::harness::process::{Heard, PAYMENT, Process, pause, program, repeatable_request, try_to_ask};

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
/// Decisions 5: on PostgreSQL another copy might be making the payment, so a worker waits.
const SETTLE_AFTER: Duration = Duration::from_secs(31);

/// A payment that dies at a point, and its request.
struct Dying {
    what: &'static str,
    moment: &'static str,
    /// The charge that is captured, voided or refunded.
    charge: String,
}

impl Dying {
    fn request(&self, secret: &str) -> String {
        let key = format!("{}.{}", self.what, self.moment);
        let (method, path, form) = match self.what {
            "charge" => ("POST", "/1/charges".to_owned(), PAYMENT),
            "refund" => ("POST", format!("/1/charges/{}/refunds", self.charge), ""),
            verb => ("PUT", format!("/1/charges/{}/{verb}", self.charge), ""),
        };
        repeatable_request(method, &path, Some(secret), Some(&key), form)
    }

    /// Whether the dead process had done what it was asked for, as far as anybody can know.
    fn was_done(&self) -> bool {
        match self.what {
            "refund" => self.moment != "intent.before",
            _ => self.moment == "outcome.after",
        }
    }
}

#[test]
fn on_sqlite_every_point_leaves_what_the_next_process_can_settle() {
    let data = tempfile::tempdir().unwrap();
    dies_everywhere(|| program(data.path()), Duration::ZERO);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgresql_every_point_leaves_what_the_next_process_can_settle() {
    static EMPTY: Template = Template::new("crash_points");
    let Some(database) = EMPTY.database(async |_| {}).await else { return };
    let data = tempfile::tempdir().unwrap();
    let url = database.url().to_owned();
    let died = tokio::task::spawn_blocking(move || {
        let command = || {
            let mut command = program(data.path());
            command.env("CARD_PAYMENTS_DATABASE_URL", &url);
            command
        };
        dies_everywhere(command, SETTLE_AFTER);
    });
    died.await.unwrap();
}

fn dies_everywhere(command: impl Fn() -> Command, settle_after: Duration) {
    let server = Process::start(&mut command());
    let (secret, _) = server.keys();
    let payments = ["charge", "capture", "void"].into_iter();
    let points = payments.flat_map(|what| MOMENTS.map(|moment| (what, moment)));
    let points = points.chain(REFUND_MOMENTS.map(|moment| ("refund", moment)));
    let dying: Vec<_> =
        points.map(|(what, moment)| Dying { what, moment, charge: made(&server, what, &secret) }).collect();
    let prepared = listed(&server, &secret);
    server.stopped();
    for dying in &dying {
        dies(&command, dying, &secret);
        // What is due at once is done before the next one dies, and not by it.
        let server = Process::start(&mut command());
        pause(Duration::from_millis(700));
        server.stopped();
    }
    let server = Process::start(&mut command());
    // A worker looks every second.
    pause(settle_after + Duration::from_secs(3));
    for dying in &dying {
        stands(&server, dying, &secret);
    }
    // A refund is settled ten seconds after it was made.
    pause(Duration::from_secs(12));
    assert_eq!(listed(&server, &secret), prepared + MOMENTS.len(), "each payment was made once");
    let events = events(&server, &secret);
    let expected = |kind: &str| match kind {
        // Those to be refunded, those that were captured, and those that were charged.
        "charge.captured" => REFUND_MOMENTS.len() + 2 * MOMENTS.len(),
        "charge.voided" => MOMENTS.len(),
        // Reversed: the intent was there, and no outcome.
        "charge.failed" => 4,
        _ => REFUND_MOMENTS.len(),
    };
    for kind in ["charge.captured", "charge.voided", "charge.failed", "refund.created", "refund.succeeded"] {
        assert_eq!(events.get(kind).copied().unwrap_or_default(), expected(kind), "{kind}: {events:?}");
    }
    server.stopped();
}

/// The charge that a payment is about.
fn made(server: &Process, what: &str, secret: &str) -> String {
    let form = match what {
        "charge" => return String::new(),
        "refund" => PAYMENT.to_owned(),
        _ => format!("{PAYMENT}&capture=false"),
    };
    let charge = server.ask("POST", "/1/charges", Some(secret), &form).ok(201);
    charge["token"].as_str().unwrap().to_owned()
}

fn dies(command: &impl Fn() -> Command, dying: &Dying, secret: &str) {
    let point = format!("{}.{}", dying.what, dying.moment);
    let server = Process::start(command().env("CARD_PAYMENTS_CRASH_AT", &point));
    let answer = try_to_ask(server.address, &dying.request(secret));
    let is_promised = dying.what == "refund" && !dying.moment.starts_with("intent");
    if is_promised {
        // The worker may be faster than the answer.
        assert!(answer.map_or(true, |heard| heard.status == 201), "{point}");
    } else {
        assert!(answer.is_err(), "{point}: {answer:?}");
    }
    let (code, stderr) = server.ended();
    assert_eq!(code, None, "{point}: it did not die: {stderr}");
}

/// The dead process's request, asked for again: its answer where it was done, else done now. Either way once.
fn stands(server: &Process, dying: &Dying, secret: &str) {
    let point = format!("{}.{}", dying.what, dying.moment);
    if matches!(dying.what, "capture" | "void") {
        let charge = server.ask("GET", &format!("/1/charges/{}", dying.charge), Some(secret), "").ok(200);
        let done = charge["captured"] == true || charge["authorisation_voided"] == true;
        assert_eq!(done, dying.was_done(), "{point}: {charge}");
    }
    let ask = || try_to_ask(server.address, &dying.request(secret)).unwrap();
    let first = ask();
    assert!(matches!(first.status, 200 | 201), "{point}: {} {}", first.status, first.body);
    assert_eq!(is_replay(&first), dying.was_done(), "{point}");
    let again = ask();
    assert!(is_replay(&again) && again.body == first.body, "{point}: {} {}", again.body, first.body);
}

fn is_replay(heard: &Heard) -> bool {
    heard.headers.get("idempotent-replayed").is_some_and(|replayed| replayed == "true")
}

fn listed(server: &Process, secret: &str) -> usize {
    let list = server.ask("GET", "/1/charges?per_page=1", Some(secret), "").json();
    usize::try_from(list["pagination"]["count"].as_u64().unwrap()).unwrap()
}

/// How often each thing has happened.
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
