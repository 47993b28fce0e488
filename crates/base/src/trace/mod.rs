//! Traces: the causes of work, across programs. Each request, what it waits for and the webhooks that it causes are
//! spans of one trace, which an [`Exporter`] gets if the operator names a collector (docs/operating/monitor.md).
//!
//! A request's `traceparent` is always passed to the acquirer and to webhooks; without an exporter unchanged, and nothing
//! is measured. Spans name routes, tokens and codes, and of the client's data only the ids of the request and of its
//! trace: no path, no query, no body, no other header.

mod context;

use std::borrow::Cow;
use std::fmt::Display;
use std::future::Future;
use std::sync::OnceLock;
use std::time::Instant;

use http::HeaderMap;

pub use context::{MalformedTraceContext, TraceContext};

use crate::clock::SystemClock;
use crate::random::random;

/// Decides which traces are recorded, and takes their spans.
pub trait Exporter: Send + Sync {
    /// Returns whether a trace is recorded that begins here, or that a caller has begun with this decision.
    fn samples(&self, trace: u128, caller: Option<bool>) -> bool;

    /// Takes a span that has ended. Never waits.
    fn export(&self, span: EndedSpan);
}

/// One per process, as metrics and the log.
static EXPORTER: OnceLock<Box<dyn Exporter>> = OnceLock::new();

/// Sets the exporter, once per process.
pub fn set_exporter(exporter: impl Exporter + 'static) {
    assert!(EXPORTER.set(Box::new(exporter)).is_ok(), "a process has one collector");
}

fn exporter() -> Option<&'static dyn Exporter> {
    EXPORTER.get().map(AsRef::as_ref)
}

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
    open: Option<Box<OpenSpan>>,
}

/// A recorded span.
#[derive(Debug)]
pub struct OpenSpan {
    /// The id of the span above it.
    pub parent: Option<u64>,
    /// The route of a request, or what the work is.
    pub name: Cow<'static, str>,
    /// The side of a call that it is, or neither.
    pub kind: SpanKind,
    /// Nanoseconds since 1970.
    pub began_at: u64,
    /// The same instant, by the clock that is never set.
    pub began: Instant,
    /// Names and values.
    pub attributes: Vec<(&'static str, Attribute)>,
    /// Whether the work failed.
    pub failed: bool,
}

/// The value of a span's attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attribute {
    /// Never a text from a client.
    Text(String),
    /// An integer.
    Number(i64),
}

/// A span that has ended.
#[derive(Debug)]
pub struct EndedSpan {
    /// Its trace and its id.
    pub context: TraceContext,
    /// The recorded data of the span.
    pub open: Box<OpenSpan>,
    /// Nanoseconds since 1970.
    pub ended_at: u64,
}

impl Span {
    /// Begins the span of a request, in the trace of its headers or in a new one.
    pub fn of_request(headers: &HeaderMap) -> Self {
        let caller = TraceContext::of_headers(headers);
        let sampled = caller.map(TraceContext::is_sampled);
        Self::open("request", SpanKind::Server, caller, |trace| {
            exporter().is_some_and(|exporter| exporter.samples(trace, sampled))
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
            decided.unwrap_or_else(|| exporter().is_some_and(|exporter| exporter.samples(trace, None)))
        })
    }

    fn open(
        name: &'static str,
        kind: SpanKind,
        parent: Option<TraceContext>,
        decide: impl FnOnce(u128) -> bool,
    ) -> Self {
        // Without an exporter this server adds no span of its own.
        if exporter().is_none() {
            return Self { context: parent, open: None };
        }
        let trace = parent.map_or_else(|| u128::from_be_bytes(random()), TraceContext::trace);
        let sampled = decide(trace);
        let context = match parent {
            Some(parent) => parent.child(sampled),
            None => TraceContext::new(trace, sampled),
        };
        let open = sampled.then(|| {
            Box::new(OpenSpan {
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
        let ended_at = open.began_at.saturating_add(took);
        if let Some(exporter) = exporter() {
            exporter.export(EndedSpan { context, open, ended_at });
        }
    }
}
