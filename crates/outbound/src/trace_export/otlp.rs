//! Encodes spans as OTLP: an `ExportTraceServiceRequest`, in the binary encoding of Protocol Buffers.

use base::trace::{Attribute, EndedSpan};

use super::SERVICE;

// Field numbers, as in `opentelemetry/proto`.
const RESOURCE_SPANS: u32 = 1;
const RESOURCE: u32 = 1;
const SCOPE_SPANS: u32 = 2;
const RESOURCE_ATTRIBUTES: u32 = 1;
const SCOPE: u32 = 1;
const SPANS: u32 = 2;
const SCOPE_NAME: u32 = 1;
const SCOPE_VERSION: u32 = 2;
const TRACE_ID: u32 = 1;
const SPAN_ID: u32 = 2;
const PARENT_SPAN_ID: u32 = 4;
const NAME: u32 = 5;
const KIND: u32 = 6;
const START: u32 = 7;
const END: u32 = 8;
const ATTRIBUTES: u32 = 9;
const STATUS: u32 = 15;
const STATUS_CODE: u32 = 3;
const KEY: u32 = 1;
const VALUE: u32 = 2;
const TEXT: u32 = 1;
const NUMBER: u32 = 3;

const STATUS_ERROR: u64 = 2;

/// Returns the body of a post.
pub fn export_request(resource: &[(String, String)], spans: &[EndedSpan]) -> Vec<u8> {
    let mut request = Message::default();
    request.message(RESOURCE_SPANS, |all| {
        all.message(RESOURCE, |message| {
            for (key, value) in resource {
                message.pair(RESOURCE_ATTRIBUTES, key, &Attribute::Text(value.clone()));
            }
        });
        all.message(SCOPE_SPANS, |scope_spans| {
            scope_spans.message(SCOPE, |scope| {
                scope.bytes(SCOPE_NAME, SERVICE.as_bytes());
                scope.bytes(SCOPE_VERSION, env!("CARGO_PKG_VERSION").as_bytes());
            });
            for span in spans {
                scope_spans.message(SPANS, |message| message.span(span));
            }
        });
    });
    request.0
}

/// A message being encoded.
#[derive(Default)]
struct Message(Vec<u8>);

/// The encoding of a field.
#[derive(Clone, Copy)]
enum Wire {
    Varint = 0,
    Fixed64 = 1,
    Bytes = 2,
}

impl Message {
    fn span(&mut self, ended: &EndedSpan) {
        let EndedSpan { context, open, ended_at } = ended;
        self.bytes(TRACE_ID, &context.trace().to_be_bytes());
        self.bytes(SPAN_ID, &context.span().to_be_bytes());
        if let Some(parent) = open.parent {
            self.bytes(PARENT_SPAN_ID, &parent.to_be_bytes());
        }
        self.bytes(NAME, open.name.as_bytes());
        self.number(KIND, open.kind as u64);
        self.fixed64(START, open.began_at);
        self.fixed64(END, *ended_at);
        for (key, value) in &open.attributes {
            self.pair(ATTRIBUTES, key, value);
        }
        if open.failed {
            self.message(STATUS, |status| status.number(STATUS_CODE, STATUS_ERROR));
        }
    }

    fn pair(&mut self, number: u32, key: &str, value: &Attribute) {
        self.message(number, |pair| {
            pair.bytes(KEY, key.as_bytes());
            pair.message(VALUE, |message| match value {
                Attribute::Text(text) => message.bytes(TEXT, text.as_bytes()),
                Attribute::Number(n) => message.number(NUMBER, n.cast_unsigned()),
            });
        });
    }

    fn message(&mut self, number: u32, write: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        write(&mut inner);
        self.bytes(number, &inner.0);
    }

    fn bytes(&mut self, number: u32, bytes: &[u8]) {
        self.key(number, Wire::Bytes);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn number(&mut self, number: u32, n: u64) {
        self.key(number, Wire::Varint);
        self.varint(n);
    }

    fn fixed64(&mut self, number: u32, n: u64) {
        self.key(number, Wire::Fixed64);
        self.0.extend_from_slice(&n.to_le_bytes());
    }

    fn key(&mut self, number: u32, wire: Wire) {
        self.varint(u64::from((number << 3) | wire as u32));
    }

    /// Seven bits a byte, the lowest first; all but the last are marked.
    fn varint(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.0.push(n.to_le_bytes()[0] | 0x80);
            n >>= 7;
        }
        self.0.push(n.to_le_bytes()[0]);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Instant;

    use base::trace::{OpenSpan, SpanKind, TraceContext};

    use super::*;

    /// A span of a known trace.
    pub fn ended() -> EndedSpan {
        let context: TraceContext =
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".parse().unwrap();
        let open = OpenSpan {
            parent: Some(0x00f0_67aa_0ba9_02b7),
            name: "POST /1/charges".into(),
            kind: SpanKind::Server,
            began_at: 1_795_287_642_000_000_001,
            began: Instant::now(),
            attributes: vec![
                ("http.route", Attribute::Text("/1/charges".into())),
                ("http.response.status_code", Attribute::Number(500)),
                ("negative", Attribute::Number(-1)),
                ("long", Attribute::Text("x".repeat(130))),
            ],
            failed: true,
        };
        EndedSpan { context, open: Box::new(open), ended_at: 1_795_287_642_000_000_129 }
    }

    /// The same span, encoded by OpenTelemetry's own library for Python (opentelemetry-proto 1.45.2).
    const PUBLISHED: &str = "\
        0a100af7651916cd43dd8448eb211c80319c1208b7ad6b7169203331220800f067aa0ba902b72a0f504f\
        5354202f312f6368617267657330023901040f3b9924ea184181040f3b9924ea184a1a0a0a687474702e726f757465120c0a\
        0a2f312f636861726765734a200a19687474702e726573706f6e73652e7374617475735f636f6465120318f4034a170a086e\
        65676174697665120b18ffffffffffffffffff014a8e010a046c6f6e671285010a8201787878787878787878787878787878\
        7878787878787878787878787878787878787878787878787878787878787878787878787878787878787878787878787878\
        7878787878787878787878787878787878787878787878787878787878787878787878787878787878787878787878787878\
        7878787878787878787878787878787a021802";

    #[test]
    fn a_span_is_written_as_the_published_library_writes_it() {
        let mut message = Message::default();
        message.span(&ended());
        let bytes = (0..PUBLISHED.len()).step_by(2).map(|at| u8::from_str_radix(&PUBLISHED[at..at + 2], 16));
        assert_eq!(Ok(message.0), bytes.collect());
    }
}
