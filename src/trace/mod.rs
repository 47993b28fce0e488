//! Traces: the causes of work, across programs. Each request, what it waits for and the webhooks that it causes are
//! spans of one trace, exported by OTLP if the operator names a collector (docs/operating/monitor.md).
//!
//! A request's `traceparent` is always passed to the acquirer and to webhooks; without a collector unchanged, and
//! nothing
//! is measured. Spans name routes, tokens and codes, and of the client's data only the ids of the request and of its
//! trace: no path, no query, no body, no other header.

mod context;
mod export;
mod otlp;
mod sampler;
mod settings;

use std::borrow::Cow;
use std::fmt::Display;
use std::future::Future;
use std::time::Instant;

use http::HeaderMap;

pub use context::TraceContext;
pub use export::{ExporterHandle, LOST, install};
pub use settings::{Settings, SettingsError};

use base::clock::SystemClock;
use base::random::random;
use export::tracer;

tokio::task_local! {
    static CURRENT: Option<TraceContext>;
}

/// Returns the trace context of the present task.
pub fn current() -> Option<TraceContext> {
    CURRENT.try_with(|context| *context).ok().flatten()
}

/// Runs work in a trace context.
pub fn within<F: Future>(context: Option<TraceContext>, work: F) -> impl Future<Output = F::Output> {
    CURRENT.scope(context, work)
}

/// Returns the headers that continue the trace in an outbound call: `traceparent`, or none.
pub fn headers() -> HeaderMap {
    current().map(TraceContext::headers).unwrap_or_default()
}

/// The kind of a span, by its number in OTLP.
#[derive(Debug, Clone, Copy)]
pub enum SpanKind {
    /// Work of this process.
    Internal = 1,
    /// A request that is answered.
    Server = 2,
    /// A call that is made.
    Client = 3,
}

/// Work that takes time. The span begins when it is made and ends when it is dropped.
#[derive(Debug, Default)]
pub struct Span {
    context: Option<TraceContext>,
    /// The open span, if it is recorded.
    open: Option<Box<Open>>,
}

#[derive(Debug)]
struct Open {
    parent: Option<u64>,
    name: Cow<'static, str>,
    kind: SpanKind,
    began_at: u64,
    began: Instant,
    attributes: Vec<(&'static str, Attribute)>,
    failed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Attribute {
    Text(String),
    Number(i64),
}

/// A finished span. Times are nanoseconds since 1970.
#[derive(Debug)]
struct Ended {
    context: TraceContext,
    open: Box<Open>,
    at: u64,
}

impl Span {
    /// Begins the span of a request, in the trace of its headers or in a new one.
    pub fn of_request(headers: &HeaderMap) -> Self {
        let caller = TraceContext::of_headers(headers);
        let sampled = caller.map(TraceContext::is_sampled);
        Self::open("request", SpanKind::Server, caller, |trace| {
            tracer().is_some_and(|tracer| tracer.sampler.samples(trace, sampled))
        })
    }

    /// Begins a span in the present trace, or in a new one.
    pub fn begin(name: &'static str, kind: SpanKind) -> Self {
        Self::after(name, kind, current())
    }

    /// Begins a span in the present trace; without a trace, none.
    pub fn part(name: &'static str, kind: SpanKind) -> Self {
        current().map_or_else(Self::default, |current| Self::after(name, kind, Some(current)))
    }

    /// Begins a span below a cause that may be long over.
    pub fn after(name: &'static str, kind: SpanKind, cause: Option<TraceContext>) -> Self {
        let decided = cause.map(TraceContext::is_sampled);
        Self::open(name, kind, cause, |trace| {
            decided.unwrap_or_else(|| tracer().is_some_and(|tracer| tracer.sampler.samples(trace, None)))
        })
    }

    fn open(
        name: &'static str,
        kind: SpanKind,
        parent: Option<TraceContext>,
        decide: impl FnOnce(u128) -> bool,
    ) -> Self {
        // Without an exporter this server adds no span of its own.
        if tracer().is_none() {
            return Self { context: parent, open: None };
        }
        let trace = parent.map_or_else(|| u128::from_be_bytes(random()), TraceContext::trace);
        let sampled = decide(trace);
        let context = match parent {
            Some(parent) => parent.child(sampled),
            None => TraceContext::new(trace, sampled),
        };
        let open = sampled.then(|| {
            Box::new(Open {
                parent: parent.map(TraceContext::span),
                name: name.into(),
                kind,
                began_at: SystemClock::unix_nanos(),
                began: Instant::now(),
                attributes: Vec::new(),
                failed: false,
            })
        });
        Self { context: Some(context), open }
    }

    /// Returns the context of work inside the span.
    pub fn context(&self) -> Option<TraceContext> {
        self.context
    }

    /// Runs work inside the span.
    pub fn run<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
        within(self.context, work)
    }

    /// Renames the span.
    pub fn rename(&mut self, name: impl FnOnce() -> String) {
        if let Some(open) = &mut self.open {
            open.name = name().into();
        }
    }

    /// Sets a text attribute: never a text from a client.
    pub fn set_attribute(&mut self, key: &'static str, value: impl Display) {
        self.attribute(key, || Attribute::Text(value.to_string()));
    }

    /// Sets a number attribute.
    pub fn set_number(&mut self, key: &'static str, value: i64) {
        self.attribute(key, || Attribute::Number(value));
    }

    /// Marks the span as failed, with a reason from a small vocabulary.
    pub fn fail(&mut self, why: impl Display) {
        self.set_attribute("error.type", why);
        if let Some(open) = &mut self.open {
            open.failed = true;
        }
    }

    fn attribute(&mut self, key: &'static str, value: impl FnOnce() -> Attribute) {
        if let Some(open) = &mut self.open {
            open.attributes.push((key, value()));
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        let (Some(context), Some(open)) = (self.context.take(), self.open.take()) else { return };
        let took = u64::try_from(open.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let at = open.began_at.saturating_add(took);
        if let Some(tracer) = tracer() {
            tracer.offer(Ended { context, open, at });
        }
    }
}
