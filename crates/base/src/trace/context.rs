//! Trace contexts, as W3C's Trace Context passes them on (<https://www.w3.org/TR/trace-context/>).
//!
//! Numbers only: a client's `tracestate` may hold any text, even a card's number, so it is dropped.

use std::fmt;
use std::str::FromStr;

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::random::random;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const SAMPLED: u128 = 1;

/// A span of a trace. As text it is the `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    trace: u128,
    span: u64,
    sampled: bool,
}

impl TraceContext {
    /// Returns the first span of a trace.
    pub(super) fn new(trace: u128, sampled: bool) -> Self {
        Self { trace, span: new_span(), sampled }
    }

    /// Returns a span below this one.
    pub(super) fn child(self, sampled: bool) -> Self {
        Self { span: new_span(), sampled, ..self }
    }

    /// Parses a client's headers; `None` without a valid context.
    pub fn of_headers(headers: &HeaderMap) -> Option<Self> {
        let mut parents = headers.get_all(TRACEPARENT).iter();
        // Of two, neither can be trusted.
        let (Some(parent), None) = (parents.next(), parents.next()) else { return None };
        parent.to_str().ok().and_then(parent_of)
    }

    /// Returns the header that passes the context on.
    pub fn headers(self) -> HeaderMap {
        let parent = HeaderValue::from_str(&self.to_string());
        parent.into_iter().map(|parent| (TRACEPARENT, parent)).collect()
    }

    /// Returns the trace id as logs show it.
    pub fn trace_id(self) -> String {
        format!("{:032x}", self.trace)
    }

    /// Returns whether the trace is recorded.
    pub fn is_sampled(self) -> bool {
        self.sampled
    }

    /// Returns the trace id.
    pub fn trace(self) -> u128 {
        self.trace
    }

    /// Returns the span id.
    pub fn span(self) -> u64 {
        self.span
    }
}

/// Draws the id of a span, which is never zero.
fn new_span() -> u64 {
    u64::from_be_bytes(random()).max(1)
}

/// Parses `VERSION-TRACE-SPAN-FLAGS`.
fn parent_of(text: &str) -> Option<TraceContext> {
    let mut parts = text.splitn(5, '-');
    let mut number = |digits| hexadecimal(parts.next()?, digits);
    let (version, trace, span, flags) = (number(2)?, number(32)?, number(16)?, number(2)?);
    // A later version may add fields after another hyphen.
    let known = version < 0xff && (version > 0 || parts.next().is_none());
    let span = u64::try_from(span).ok()?;
    (known && trace != 0 && span != 0).then_some(TraceContext { trace, span, sampled: flags & SAMPLED != 0 })
}

fn hexadecimal(text: &str, digits: usize) -> Option<u128> {
    let small = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (text.len() == digits && text.bytes().all(small)).then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{:016x}-{:02x}", self.trace_id(), self.span, u8::from(self.sampled))
    }
}

/// The text is no trace context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no trace context")]
pub struct MalformedTraceContext;

impl FromStr for TraceContext {
    type Err = MalformedTraceContext;

    fn from_str(text: &str) -> Result<Self, MalformedTraceContext> {
        // Rows of former releases have a `tracestate` after a space.
        let parent = text.split_once(' ').map_or(text, |(parent, _)| parent);
        parent_of(parent).ok_or(MalformedTraceContext)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn given(lines: &[(&'static str, &str)]) -> Option<TraceContext> {
        let lines = lines.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name, value);
        }
        TraceContext::of_headers(&headers)
    }

    fn header(context: TraceContext) -> String {
        let headers = context.headers();
        assert_eq!(headers.len(), 1, "{headers:?}");
        headers["traceparent"].to_str().unwrap().to_owned()
    }

    #[test]
    fn a_received_context_is_passed_on_unchanged() {
        let context = given(&[("traceparent", PARENT)]).unwrap();
        assert!(context.is_sampled());
        assert_eq!((header(context), context.to_string()), (PARENT.into(), PARENT.into()));
        assert_eq!(PARENT.parse(), Ok(context));
    }

    #[test]
    fn a_state_goes_nowhere() {
        let context = given(&[("traceparent", PARENT)]);
        assert_eq!(given(&[("traceparent", PARENT), ("tracestate", "shop=4200000000000000")]), context);
        // A row of a former release.
        assert_eq!(format!("{PARENT} shop=4200000000000000").parse().ok(), context);
    }

    #[test]
    fn flags_of_later_times_are_left_out_and_their_versions_understood() {
        for (text, flags) in [
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", "00"),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03", "01"),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-fe", "00"),
            ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "01"),
            ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes", "01"),
        ] {
            let expected = format!("{}{flags}", &PARENT[..53]);
            assert_eq!(header(given(&[("traceparent", text)]).unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn nonsense_is_no_parent() {
        for text in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
        ] {
            assert_eq!(given(&[("traceparent", text)]), None, "{text}");
        }
        assert_eq!(given(&[("traceparent", PARENT), ("traceparent", PARENT)]), None);
        assert_eq!(given(&[("tracestate", "a=1")]), None);
    }
}
