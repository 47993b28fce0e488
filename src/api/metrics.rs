//! The metrics of /metrics, in Prometheus' text format.

use std::time::Duration;

use entity::card_attack::CardTestingRule;
use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use outbound::trace_export::LOST;
use tokio::time::{Instant, timeout_at};

use crate::error::Error;
use crate::services::due_work_registry;
use crate::services::{Context, audit, card_testing, data_keys, erasures};

#[derive(Clone)]
pub struct Metrics(PrometheusHandle);

const REQUESTS: &str = "card_payments_requests_total";
const REQUEST_SECONDS: &str = "card_payments_request_duration_seconds";
const DUE: &str = "card_payments_due_work";
const POOL: &str = "card_payments_database_connections";
const QUEUE: &str = "card_payments_database_queue";
const SHED: &str = "card_payments_shed_total";
const RATE_LIMITED: &str = "card_payments_rate_limited_total";
const PLACES: &str = "card_payments_places";
const CONNECTIONS: &str = "card_payments_connections";
const SEALS: &str = "card_payments_data_key_seals";
const ACQUIRER_CALLS: &str = "card_payments_acquirer_calls_total";
const ACQUIRER_SILENT: &str = "card_payments_acquirer_silent_total";
const CLOCK_DOUBTED: &str = "card_payments_clock_doubted_seconds";
const BREAK_GLASS: &str = "card_payments_break_glass_total";
/// The time that the database has for what is counted in it: a scrape of Prometheus ends after ten seconds.
const COUNT_TIMEOUT: Duration = Duration::from_secs(8);
/// The time after which durations are summed up again.
const UPKEEP: Duration = Duration::from_secs(5);
const BUCKETS_SECONDS: &[f64] =
    &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

impl Metrics {
    /// Installs the recorder, once per process.
    pub fn install() -> Self {
        let builder = PrometheusBuilder::new().set_buckets(BUCKETS_SECONDS);
        let recorder = builder.unwrap_or_default().build_recorder();
        let handle = recorder.handle();
        // Whether or not anybody asks: until then it keeps each duration.
        let kept = handle.clone();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(UPKEEP).await;
                kept.run_upkeep();
            }
        });
        // A second server in the same process (a test) keeps its metrics to itself.
        let _ = metrics::set_global_recorder(recorder);
        describe_counter!(REQUESTS, "Requests by method, route template and status");
        describe_histogram!(REQUEST_SECONDS, Unit::Seconds, "How long requests took, by route template");
        describe_counter!(ACQUIRER_CALLS, "Calls made to the acquirer");
        describe_counter!(LOST, "Spans that the collector of traces did not get");
        describe_counter!(
            ACQUIRER_SILENT,
            "What was refused with 503 because the acquirer did not say what it knows of a card or a currency"
        );
        describe_counter!(
            card_testing::METRIC,
            "Attacks by card testers that began, and their payments that were refused or reported, by rule"
        );
        describe_counter!(
            BREAK_GLASS,
            "Sign-ins with the operator's key although people sign in by a provider"
        );
        describe_counter!(
            audit::TAMPERING,
            "How often the server met an audit trail that somebody else has changed, and left it as it is"
        );
        describe_gauge!(
            erasures::MARKS_REFUSED,
            "Marks of erased customers without a signature, which the last start did not obey"
        );
        describe_gauge!(
            CLOCK_DOUBTED,
            Unit::Seconds,
            "How far the wall clock is from the time that was expected, while it is doubted; otherwise 0"
        );
        describe_gauge!(DUE, "Due work that waits, by kind");
        describe_counter!(
            due_work_registry::FAILURES,
            "Items of due work that failed, by kind; each is tried again"
        );
        describe_gauge!(POOL, "Database connections of the read pool, by state");
        describe_gauge!(SEALS, "How often the present data key has encrypted; the limit is 4294967296");
        describe_gauge!(QUEUE, "Units of work that wait for SQLite's writer");
        describe_gauge!(PLACES, "Places of requests that are worked on: taken, and all");
        describe_gauge!(CONNECTIONS, "Client connections: open, and the limit");
        describe_counter!(
            SHED,
            "What was refused with 503 because the server had enough to do, by what it was"
        );
        describe_counter!(RATE_LIMITED, "Requests refused with 429");
        // A rate over a counter that starts with its first event misses that event.
        for refused in ShedKind::ALL {
            metrics::counter!(SHED, "what" => refused.name()).increment(0);
        }
        for rule in CardTestingRule::ALL {
            for action in card_testing::ACTIONS {
                metrics::counter!(card_testing::METRIC, "rule" => rule.code(), "action" => action)
                    .increment(0);
            }
        }
        for kind in due_work_registry::KINDS {
            metrics::counter!(due_work_registry::FAILURES, "kind" => kind.name).increment(0);
        }
        metrics::counter!(RATE_LIMITED).increment(0);
        metrics::counter!(ACQUIRER_CALLS).increment(0);
        metrics::counter!(LOST).increment(0);
        metrics::counter!(ACQUIRER_SILENT).increment(0);
        metrics::counter!(BREAK_GLASS).increment(0);
        metrics::counter!(audit::TAMPERING).increment(0);
        Self(handle)
    }

    /// Renders the text, with the current gauges: of requests and connections the number taken and the number of all. Without the
    /// database what is counted in it is NaN: an alert about its absence needs all others.
    pub async fn render(
        &self,
        ctx: &Context,
        requests: (usize, usize),
        connections: (usize, usize),
    ) -> String {
        for (gauge, taken, (some, all)) in [(PLACES, "taken", requests), (CONNECTIONS, "open", connections)] {
            metrics::gauge!(gauge, "state" => taken).set(number(some));
            metrics::gauge!(gauge, "state" => "all").set(number(all));
        }
        metrics::gauge!(QUEUE).set(number(ctx.store.queue()));
        let jump = ctx.trusted.doubt().map_or(0, |doubt| doubt.jump().whole_seconds());
        metrics::gauge!(CLOCK_DOUBTED).set(as_float(jump.unsigned_abs()));
        let deadline = Instant::now() + COUNT_TIMEOUT;
        for kind in due_work_registry::KINDS {
            metrics::gauge!(DUE, "kind" => kind.name)
                .set(counted(deadline, kind.name, kind.backlog(ctx)).await);
        }
        let seals = data_keys::seals::by_current_key(ctx);
        metrics::gauge!(SEALS).set(counted(deadline, "seals", seals).await);
        let (open, idle) = ctx.store.pool();
        metrics::gauge!(POOL, "state" => "open").set(number(open));
        metrics::gauge!(POOL, "state" => "idle").set(number(idle));
        self.0.run_upkeep();
        self.0.render()
    }
}

/// Returns a count of the database; NaN if there is none by the deadline.
async fn counted(deadline: Instant, what: &str, count: impl Future<Output = Result<u64, Error>>) -> f64 {
    match timeout_at(deadline, count).await {
        Ok(Ok(count)) => as_float(count),
        Ok(Err(error)) => {
            tracing::warn!(%error, what, "a metric is not counted");
            f64::NAN
        }
        Err(_) => f64::NAN,
    }
}

/// Converts to a gauge's float; counts of due work are far below where that loses a unit.
#[expect(clippy::cast_precision_loss, reason = "a gauge needs no more than 53 bits")]
fn as_float(n: u64) -> f64 {
    n as f64
}

fn number(n: usize) -> f64 {
    as_float(u64::try_from(n).unwrap_or(u64::MAX))
}

/// The kind of work that the server sheds.
#[derive(Debug, Clone, Copy)]
pub enum ShedKind {
    Request,
    /// The body of an admitted request.
    LargeBody,
    /// A body that comes slowly, where its connection is wanted.
    SlowBody,
    /// A file.
    Upload,
    /// Work that would outlive its connection; counted where it starts.
    Task,
    /// A password's hash, a snapshot, or a search of the guides; counted where it waits.
    LongWork,
    /// The response to an admitted request.
    Answer,
}

impl ShedKind {
    const ALL: [Self; 7] = [
        Self::Request,
        Self::LargeBody,
        Self::SlowBody,
        Self::Upload,
        Self::Task,
        Self::LongWork,
        Self::Answer,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::LargeBody => "large_body",
            Self::SlowBody => "slow_body",
            Self::Upload => "upload",
            Self::Task => "task",
            Self::LongWork => "long_work",
            Self::Answer => "answer",
        }
    }
}

/// Counts what was shed because of overload.
pub fn count_shed(what: ShedKind) {
    metrics::counter!(SHED, "what" => what.name()).increment(1);
}

/// Counts a request over an account's rate limit.
pub fn count_rate_limited() {
    metrics::counter!(RATE_LIMITED).increment(1);
}

/// Counts a sign-in with the operator's key where people sign in by a provider.
pub fn count_break_glass() {
    metrics::counter!(BREAK_GLASS).increment(1);
}

/// Counts a request. The words are few: each is a series for ever.
pub fn count_request(method: &str, route: &str, status: u16, took: Duration) {
    let (method, route) = (method.to_owned(), route.to_owned());
    metrics::counter!(REQUESTS, "method" => method, "route" => route.clone(), "status" => status.to_string())
        .increment(1);
    metrics::histogram!(REQUEST_SECONDS, "route" => route).record(took.as_secs_f64());
}
