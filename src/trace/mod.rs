//! Traces: which request caused what, also in other programs. Each request, what it waits for and the webhooks that
//! come of it are spans of one trace, exported by OTLP where the operator names a collector (docs/operating.md).
//!
//! A `traceparent` that comes with a request goes on to the acquirer and with webhooks in any case; without a collector
//! nothing is measured, and it goes on as it came. Spans name routes, tokens and codes, and of what callers have sent only
//! the ids of the request and of its trace: no path, no query, no body, no other header.

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

use crate::runtime::clock::SystemClock;
use crate::runtime::random::random;
use export::tracer;

tokio::task_local! {
    static CURRENT: Option<TraceContext>;
}

/// Where what is done now belongs.
pub fn current() -> Option<TraceContext> {
    CURRENT.try_with(|context| *context).ok().flatten()
}

/// Do something where it belongs.
pub fn within<F: Future>(context: Option<TraceContext>, work: F) -> impl Future<Output = F::Output> {
    CURRENT.scope(context, work)
}

/// The headers by which a call that is made now tells where it belongs: `traceparent`, or none.
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

/// Something that takes time. It begins when it is made and ends when it is dropped.
#[derive(Debug, Default)]
pub struct Span {
    context: Option<TraceContext>,
    /// Where somebody wants to hear of it.
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

/// A span that is over. Times are nanoseconds since 1970.
#[derive(Debug)]
struct Ended {
    context: TraceContext,
    open: Box<Open>,
    at: u64,
}

impl Span {
    /// A request, in the trace that its headers name, or in one of its own.
    pub fn of_request(headers: &HeaderMap) -> Self {
        let caller = TraceContext::of_headers(headers);
        let sampled = caller.map(TraceContext::is_sampled);
        Self::open("request", SpanKind::Server, caller, |trace| {
            tracer().is_some_and(|tracer| tracer.sampler.samples(trace, sampled))
        })
    }

    /// What is done by itself, or for what is under way.
    pub fn begin(name: &'static str, kind: SpanKind) -> Self {
        Self::after(name, kind, current())
    }

    /// What is done for what is under way; where that is nothing, nobody wants to hear of it.
    pub fn part(name: &'static str, kind: SpanKind) -> Self {
        current().map_or_else(Self::default, |current| Self::after(name, kind, Some(current)))
    }

    /// What is done because of something that may be long over.
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
        // Who exports nothing is no station on the way.
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

    /// Where what is done within it belongs.
    pub fn context(&self) -> Option<TraceContext> {
        self.context
    }

    /// Do something within it.
    pub fn run<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
        within(self.context, work)
    }

    /// It is called otherwise than it was thought to be.
    pub fn rename(&mut self, name: impl FnOnce() -> String) {
        if let Some(open) = &mut self.open {
            open.name = name().into();
        }
    }

    /// A text about it: never one that somebody has sent.
    pub fn set_attribute(&mut self, key: &'static str, value: impl Display) {
        self.attribute(key, || Attribute::Text(value.to_string()));
    }

    /// A number about it.
    pub fn set_number(&mut self, key: &'static str, value: i64) {
        self.attribute(key, || Attribute::Number(value));
    }

    /// It has come to nothing; why, as a word of a small vocabulary.
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
