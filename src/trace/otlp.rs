//! Encodes spans as OTLP: an `ExportTraceServiceRequest`, in the binary encoding of Protocol Buffers.

use super::{Attribute, Ended, SpanKind};

/// Field numbers, as in `opentelemetry/proto`.
mod field {
    pub mod request {
        pub const RESOURCE_SPANS: u32 = 1;
    }
    pub mod resource_spans {
        pub const RESOURCE: u32 = 1;
        pub const SCOPE_SPANS: u32 = 2;
    }
    pub mod resource {
        pub const ATTRIBUTES: u32 = 1;
    }
    pub mod scope_spans {
        pub const SCOPE: u32 = 1;
        pub const SPANS: u32 = 2;
    }
    pub mod scope {
        pub const NAME: u32 = 1;
        pub const VERSION: u32 = 2;
    }
    pub mod span {
        pub const TRACE_ID: u32 = 1;
        pub const SPAN_ID: u32 = 2;
        pub const PARENT_SPAN_ID: u32 = 4;
        pub const NAME: u32 = 5;
        pub const KIND: u32 = 6;
        pub const START: u32 = 7;
        pub const END: u32 = 8;
        pub const ATTRIBUTES: u32 = 9;
        pub const STATUS: u32 = 15;
    }
    pub mod status {
        pub const CODE: u32 = 3;
    }
    pub mod pair {
        pub const KEY: u32 = 1;
        pub const VALUE: u32 = 2;
    }
    pub mod value {
        pub const TEXT: u32 = 1;
        pub const NUMBER: u32 = 3;
    }
}

const STATUS_ERROR: u64 = 2;

const fn kind_number(kind: SpanKind) -> u64 {
    match kind {
        SpanKind::Internal => 1,
        SpanKind::Server => 2,
        SpanKind::Client => 3,
    }
}

/// Returns the body of a post.
pub fn export_request(resource: &[(String, String)], spans: &[Ended]) -> Vec<u8> {
    let mut request = Message::default();
    request.message(field::request::RESOURCE_SPANS, |all| {
        all.message(field::resource_spans::RESOURCE, |message| {
            for (key, value) in resource {
                message.pair(field::resource::ATTRIBUTES, key, &Attribute::Text(value.clone()));
            }
        });
        all.message(field::resource_spans::SCOPE_SPANS, |scope_spans| {
            scope_spans.message(field::scope_spans::SCOPE, |scope| {
                scope.bytes(field::scope::NAME, env!("CARGO_PKG_NAME").as_bytes());
                scope.bytes(field::scope::VERSION, env!("CARGO_PKG_VERSION").as_bytes());
            });
            for span in spans {
                scope_spans.message(field::scope_spans::SPANS, |message| message.span(span));
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
    fn span(&mut self, ended: &Ended) {
        use field::span;

        let Ended { context, open, at } = ended;
        self.bytes(span::TRACE_ID, &context.trace().to_be_bytes());
        self.bytes(span::SPAN_ID, &context.span().to_be_bytes());
        if let Some(parent) = open.parent {
            self.bytes(span::PARENT_SPAN_ID, &parent.to_be_bytes());
        }
        self.bytes(span::NAME, open.name.as_bytes());
        self.number(span::KIND, kind_number(open.kind));
        self.fixed64(span::START, open.began_at);
        self.fixed64(span::END, *at);
        for (key, value) in &open.attributes {
            self.pair(span::ATTRIBUTES, key, value);
        }
        if open.failed {
            self.message(span::STATUS, |status| status.number(field::status::CODE, STATUS_ERROR));
        }
    }

    fn pair(&mut self, number: u32, key: &str, value: &Attribute) {
        self.message(number, |pair| {
            pair.bytes(field::pair::KEY, key.as_bytes());
            pair.message(field::pair::VALUE, |message| match value {
                Attribute::Text(text) => message.bytes(field::value::TEXT, text.as_bytes()),
                Attribute::Number(n) => message.number(field::value::NUMBER, n.cast_unsigned()),
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

    use super::super::{Open, TraceContext};
    use super::*;

    /// A span of a known trace.
    pub fn ended() -> Ended {
        let context: TraceContext =
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".parse().unwrap();
        let open = Open {
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
        Ended { context, open: Box::new(open), at: 1_795_287_642_000_000_129 }
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
