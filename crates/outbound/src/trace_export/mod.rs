//! Exports spans to the operator's collector, by OTLP: a bounded queue, and a task that empties it. Nothing waits for it: spans
//! without room in the queue, or refused by the collector, are lost and counted.

mod otlp;
mod sampler;
mod settings;

use std::time::Duration;

use base::trace::{EndedSpan, Exporter, set_exporter};
use bytes::Bytes;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};

pub use self::settings::{Settings, SettingsError};

use self::sampler::Sampler;
use crate::limits::{OUTBOUND_ANSWER_BYTES_MAX, SPAN_FLUSH_TIMEOUT, SPANS_PER_POST_MAX, SPANS_WAITING_MAX};
use crate::{USER_AGENT, tls};

/// The name of the service, and of the scope of its spans.
const SERVICE: &str = "card-payments";

/// The counter of lost spans.
pub const LOST: &str = "card_payments_spans_lost_total";

/// The pauses before a busy or unreachable collector is tried again.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(2)];

/// The sampler, and the queue of finished spans.
struct SpanQueue {
    sampler: Sampler,
    queue: mpsc::Sender<EndedSpan>,
}

impl Exporter for SpanQueue {
    fn samples(&self, trace: u128, caller: Option<bool>) -> bool {
        self.sampler.samples(trace, caller)
    }

    fn export(&self, span: EndedSpan) {
        if self.queue.try_send(span).is_err() {
            lose(1);
        }
    }
}

fn lose(spans: usize) {
    metrics::counter!(LOST).increment(u64::try_from(spans).unwrap_or(u64::MAX));
}

/// A running export.
pub struct ExporterHandle {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl ExporterHandle {
    /// Sends the remaining spans, within a few seconds.
    pub async fn stop(self) {
        let _ = self.stop.send(());
        if timeout(SPAN_FLUSH_TIMEOUT, self.task).await.is_err() {
            tracing::warn!("the last spans were not exported");
        }
    }
}

/// Starts the export, once per process.
pub fn install(settings: Settings) -> ExporterHandle {
    let (queue, spans) = mpsc::channel(SPANS_WAITING_MAX);
    let (stop, stopped) = oneshot::channel();
    set_exporter(SpanQueue { sampler: settings.sampler, queue });
    tracing::info!(collector = settings.url.host_str(), "traces are exported");
    ExporterHandle { stop, task: tokio::spawn(export(Collector::new(settings), spans, stopped)) }
}

async fn export(
    collector: Collector,
    mut spans: mpsc::Receiver<EndedSpan>,
    mut stopped: oneshot::Receiver<()>,
) {
    let mut batch = Vec::with_capacity(SPANS_PER_POST_MAX);
    loop {
        tokio::select! {
            () = gather(&mut spans, &mut batch, collector.settings.delay) => {}
            _ = &mut stopped => break,
        }
        collector.take(&batch).await;
        batch.clear();
    }
    loop {
        while batch.len() < SPANS_PER_POST_MAX
            && let Ok(span) = spans.try_recv()
        {
            batch.push(span);
        }
        if batch.is_empty() {
            return;
        }
        collector.take(&batch).await;
        batch.clear();
    }
}

/// Collects a batch: what has come once its first span has waited for so long, or enough spans.
async fn gather(spans: &mut mpsc::Receiver<EndedSpan>, batch: &mut Vec<EndedSpan>, delay: Duration) {
    if batch.is_empty() {
        spans.recv_many(batch, SPANS_PER_POST_MAX).await;
    }
    let end = Instant::now() + delay;
    while batch.len() < SPANS_PER_POST_MAX {
        let room = SPANS_PER_POST_MAX - batch.len();
        if timeout_at(end, spans.recv_many(batch, room)).await.is_err() {
            return;
        }
    }
}

struct Collector {
    client: Client,
    settings: Settings,
}

/// The reason why a post failed.
enum Untaken {
    /// A later one may succeed.
    NotNow(String),
    /// No later one will succeed.
    Refused(StatusCode),
}

impl Collector {
    fn new(settings: Settings) -> Self {
        let client = Client::builder()
            .tls_backend_preconfigured(tls::platform_config())
            .redirect(Policy::none())
            .user_agent(USER_AGENT)
            .timeout(settings.timeout)
            .default_headers(settings.headers.clone())
            .build()
            .expect("a client of which nothing but its proxy is read from the machine");
        Self { client, settings }
    }

    async fn take(&self, spans: &[EndedSpan]) {
        let body = Bytes::from(otlp::export_request(&self.settings.resource, spans));
        let mut pauses = PAUSES.into_iter();
        let why = loop {
            match (self.post(body.clone()).await, pauses.next()) {
                (Ok(()), _) => return,
                (Err(Untaken::NotNow(_)), Some(pause)) => sleep(pause).await,
                (Err(Untaken::NotNow(why)), None) => break why,
                (Err(Untaken::Refused(status)), _) => break format!("it answered {status}"),
            }
        };
        lose(spans.len());
        tracing::warn!(spans = spans.len(), why, "the collector refused spans");
    }

    async fn post(&self, body: Bytes) -> Result<(), Untaken> {
        let call = self.client.post(self.settings.url.clone()).header(CONTENT_TYPE, "application/x-protobuf");
        // The library's message names the address, which may hold a key.
        let away = |error: reqwest::Error| Untaken::NotNow(error.without_url().to_string());
        let mut answer = call.body(body).send().await.map_err(away)?;
        let status = answer.status();
        finish(&mut answer).await;
        match status.as_u16() {
            200..=299 => Ok(()),
            429 | 502 | 503 | 504 => Err(Untaken::NotNow(format!("it answered {status}"))),
            _ => Err(Untaken::Refused(status)),
        }
    }
}

/// Reads a response to its end, which lets the connection carry the next post.
async fn finish(answer: &mut Response) {
    let mut left = OUTBOUND_ANSWER_BYTES_MAX;
    while let Ok(Some(chunk)) = answer.chunk().await {
        let Some(less) = left.checked_sub(chunk.len()) else { return };
        left = less;
    }
}

#[cfg(test)]
mod tests {
    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::otlp::tests::ended;
    use super::*;

    #[test]
    fn spans_beyond_the_room_are_lost_and_nobody_waits() {
        let (queue, _spans) = mpsc::channel(2);
        let spans = SpanQueue { sampler: Sampler::default(), queue };
        let recorder = PrometheusBuilder::new().build_recorder();
        metrics::with_local_recorder(&recorder, || (0..5).for_each(|_| spans.export(ended())));
        let text = recorder.handle().render();
        assert!(text.contains("card_payments_spans_lost_total 3"), "{text}");
    }
}
