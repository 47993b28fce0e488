//! Where something belongs, as W3C's Trace Context passes it on (<https://www.w3.org/TR/trace-context/>).

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::random::random;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");
/// What has to be passed on of `tracestate`; a longer one is left out.
const STATE_BYTES_MAX: usize = 512;
const STATE_MEMBERS_MAX: usize = 32;
const SAMPLED: u128 = 1;

/// A span of a trace. As text it is the `traceparent`, and behind a space the `tracestate` where there is any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    trace: u128,
    span: u64,
    sampled: bool,
    state: Option<Arc<str>>,
}

impl Context {
    /// The first span of a trace.
    pub(super) fn new(trace: u128, sampled: bool) -> Self {
        Self { trace, span: new_span(), sampled, state: None }
    }

    /// A span below this one.
    pub(super) fn child(&self, sampled: bool) -> Self {
        Self { span: new_span(), sampled, ..self.clone() }
    }

    /// What a caller's headers say; `None` where they say nothing, or nonsense.
    pub fn of_headers(headers: &HeaderMap) -> Option<Self> {
        let mut parents = headers.get_all(TRACEPARENT).iter();
        // Of two nobody knows which one is right.
        let (Some(parent), None) = (parents.next(), parents.next()) else { return None };
        let (trace, span, sampled) = parent.to_str().ok().and_then(parent_of)?;
        Some(Self { trace, span, sampled, state: state_of(headers) })
    }

    /// The headers that tell it to somebody else.
    pub fn headers(&self) -> HeaderMap {
        let parent = HeaderValue::from_str(&self.parent()).ok();
        let state = self.state.as_ref().and_then(|state| HeaderValue::from_str(state).ok());
        let named = [(TRACEPARENT, parent), (TRACESTATE, state)];
        named.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    fn parent(&self) -> String {
        format!("00-{}-{:016x}-{:02x}", self.trace_id(), self.span, u8::from(self.sampled))
    }

    /// The trace, as logs name it.
    pub fn trace_id(&self) -> String {
        format!("{:032x}", self.trace)
    }

    /// Whether the trace is recorded.
    pub fn is_sampled(&self) -> bool {
        self.sampled
    }

    pub(super) fn trace(&self) -> u128 {
        self.trace
    }

    pub(super) fn span(&self) -> u64 {
        self.span
    }

    pub(super) fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }
}

/// Zero is none.
fn new_span() -> u64 {
    u64::from_be_bytes(random()).max(1)
}

/// `VERSION-TRACE-SPAN-FLAGS`.
fn parent_of(text: &str) -> Option<(u128, u64, bool)> {
    let mut parts = text.splitn(5, '-');
    let mut number = |digits| hexadecimal(parts.next()?, digits);
    let (version, trace, span, flags) = (number(2)?, number(32)?, number(16)?, number(2)?);
    // A later version may say more behind another hyphen.
    let known = version < 0xff && (version > 0 || parts.next().is_none());
    let span = u64::try_from(span).ok()?;
    (known && trace != 0 && span != 0).then_some((trace, span, flags & SAMPLED != 0))
}

fn hexadecimal(text: &str, digits: usize) -> Option<u128> {
    let small = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (text.len() == digits && text.bytes().all(small)).then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

fn state_of(headers: &HeaderMap) -> Option<Arc<str>> {
    let lists: Vec<_> =
        headers.get_all(TRACESTATE).iter().map(HeaderValue::to_str).collect::<Result<_, _>>().ok()?;
    let members =
        lists.into_iter().flat_map(|list| list.split(',')).map(|member| member.trim_matches([' ', '\t']));
    let members: Vec<_> = members.filter(|member| !member.is_empty()).collect();
    let state = members.join(",");
    let fits = (1..=STATE_MEMBERS_MAX).contains(&members.len()) && state.len() <= STATE_BYTES_MAX;
    (fits && members.into_iter().all(is_member)).then(|| state.into())
}

/// `key=value`.
fn is_member(member: &str) -> bool {
    let Some((key, value)) = member.split_once('=') else { return false };
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_key = key.bytes().next().is_some_and(letter)
        && key.bytes().all(|byte| letter(byte) || b"_-*/@".contains(&byte));
    let is_value =
        !value.is_empty() && value.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'=');
    is_key && is_value && key.len() <= 256 && value.len() <= 256
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.parent())?;
        self.state.iter().try_for_each(|state| write!(f, " {state}"))
    }
}

/// The text is no context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no trace context")]
pub struct NoContext;

impl FromStr for Context {
    type Err = NoContext;

    fn from_str(text: &str) -> Result<Self, NoContext> {
        let (parent, state) =
            text.split_once(' ').map_or((text, None), |(parent, state)| (parent, Some(state)));
        let (trace, span, sampled) = parent_of(parent).ok_or(NoContext)?;
        Ok(Self { trace, span, sampled, state: state.map(Arc::from) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn given(lines: &[(&'static str, &str)]) -> Option<Context> {
        let lines = lines.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name, value);
        }
        Context::of_headers(&headers)
    }

    fn told(context: &Context) -> (String, Option<String>) {
        let headers = context.headers();
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        (text("traceparent").unwrap(), text("tracestate"))
    }

    #[test]
    fn what_came_goes_on_as_it_came() {
        let context = given(&[("traceparent", PARENT)]).unwrap();
        assert_eq!(told(&context), (PARENT.into(), None));
        assert!(context.is_sampled());
        let state = "congo=t61rcWkgMzE,rojo@v_1=00f067aa0ba902b7";
        let context = given(&[("traceparent", PARENT), ("tracestate", state)]).unwrap();
        assert_eq!(told(&context), (PARENT.into(), Some(state.into())));
        assert_eq!(context.to_string(), format!("{PARENT} {state}"));
        assert_eq!(context.to_string().parse(), Ok(context));
        assert_eq!(PARENT.parse::<Context>().unwrap().to_string(), PARENT);
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
            assert_eq!(told(&given(&[("traceparent", text)]).unwrap()).0, expected, "{text}");
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

    #[test]
    fn a_state_goes_on_whole_or_not_at_all() {
        let state = |lines: &[&str]| {
            let lines: Vec<_> = lines.iter().map(|line| ("tracestate", *line)).collect();
            told(&given(&[&[("traceparent", PARENT)], &lines[..]].concat()).unwrap()).1
        };
        assert_eq!(state(&["a=1, b=2 ,,\tc=3"]).as_deref(), Some("a=1,b=2,c=3"));
        assert_eq!(state(&["a=1", "b=2"]).as_deref(), Some("a=1,b=2"));
        let many = |count: usize| (0..count).map(|n| format!("k{n}=v")).collect::<Vec<_>>().join(",");
        assert!(state(&[&many(32)]).is_some());
        let long = format!("a={}", "1".repeat(256));
        let longer = format!("{long},b={}", "2".repeat(251));
        assert_eq!(state(&[&longer]).map(|state| state.len()), Some(STATE_BYTES_MAX));
        for wrong in
            ["a", "A=1", "=1", "a=", "a=1=2", "-a=1", &many(33), &format!("{longer}3"), &format!("{long}1")]
        {
            assert_eq!(state(&[wrong]), None, "{wrong}");
        }
    }
}
