//! A collector of traces: a receiver that decodes OTLP in the binary encoding of Protocol Buffers.

use std::collections::BTreeMap;

use base::hexadecimal;

use super::receiver::Receiver;

/// A collector on a socket of this machine.
pub struct Collector {
    pub receiver: Receiver,
}

/// A span as it was exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedSpan {
    pub trace: String,
    pub span: String,
    pub parent: Option<String>,
    pub name: String,
    /// 1 is internal, 2 a server's, 3 a client's.
    pub kind: u64,
    pub began: u64,
    pub ended: u64,
    /// Numbers as text.
    pub attributes: BTreeMap<String, String>,
    pub failed: bool,
}

impl Collector {
    pub async fn start() -> Self {
        Self { receiver: Receiver::start().await }
    }

    /// Returns the variables of a program that exports to it without delay.
    pub fn variables(&self) -> [(&'static str, String); 2] {
        let address = format!("http://{}", self.receiver.address());
        [("OTEL_EXPORTER_OTLP_ENDPOINT", address), ("OTEL_BSP_SCHEDULE_DELAY", "20".into())]
    }

    /// Returns the spans so far.
    pub fn spans(&self) -> Vec<ExportedSpan> {
        let mut spans = Vec::new();
        for request in self.receiver.received() {
            for group in parts(&request.body, 1) {
                for scope in parts(&group, 2) {
                    spans.extend(parts(&scope, 2).iter().map(|span| parse_span(span)));
                }
            }
        }
        spans
    }

    /// Returns the exporter's name in each request.
    pub fn resources(&self) -> Vec<BTreeMap<String, String>> {
        let requests = self.receiver.received();
        let resource = |body: &[u8]| attributes(&part(&part(body, 1), 1), 1);
        requests.iter().map(|request| resource(&request.body)).collect()
    }

    /// Returns everything that it was sent, as bytes.
    pub fn everything(&self) -> Vec<u8> {
        self.receiver.received().into_iter().flat_map(|request| request.body).collect()
    }
}

fn parse_span(span: &[u8]) -> ExportedSpan {
    let text = |field| parts(span, field).first().map(|text| String::from_utf8(text.clone()).unwrap());
    let id = |field| parts(span, field).first().map(|id| hexadecimal::encode(id));
    ExportedSpan {
        trace: id(1).unwrap(),
        span: id(2).unwrap(),
        parent: id(4),
        name: text(5).unwrap(),
        kind: number(span, 6).unwrap(),
        began: number(span, 7).unwrap(),
        ended: number(span, 8).unwrap(),
        attributes: attributes(span, 9),
        failed: parts(span, 15).iter().any(|status| number(status, 3) == Some(2)),
    }
}

fn attributes(message: &[u8], field: u64) -> BTreeMap<String, String> {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let value = |value: &[u8]| match number(value, 3) {
        Some(number) => number.cast_signed().to_string(),
        None => text(part(value, 1)),
    };
    let pairs = parts(message, field).into_iter();
    pairs.map(|pair| (text(part(&pair, 1)), value(&part(&pair, 2)))).collect()
}

enum Value {
    Number(u64),
    Bytes(Vec<u8>),
}

/// Returns the fields of a message, in their order.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Value)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = match key & 7 {
            0 => Value::Number(varint(&mut bytes)),
            1 => Value::Number(u64::from_le_bytes(take(&mut bytes, 8).try_into().unwrap())),
            2 => {
                let length = usize::try_from(varint(&mut bytes)).unwrap();
                Value::Bytes(take(&mut bytes, length).to_vec())
            }
            wire => panic!("no span has a field of kind {wire}"),
        };
        fields.push((key >> 3, value));
    }
    fields
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(length);
    *bytes = rest;
    taken
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(bytes, 1)[0];
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    number
}

fn parts(message: &[u8], field: u64) -> Vec<Vec<u8>> {
    let parts = fields(message).into_iter().filter(|(number, _)| *number == field);
    let bytes = |value| match value {
        Value::Bytes(bytes) => Some(bytes),
        Value::Number(_) => None,
    };
    parts.filter_map(|(_, value)| bytes(value)).collect()
}

fn part(message: &[u8], field: u64) -> Vec<u8> {
    parts(message, field).into_iter().next().unwrap_or_default()
}

fn number(message: &[u8], field: u64) -> Option<u64> {
    fields(message).into_iter().find_map(|(number, value)| match value {
        Value::Number(n) if number == field => Some(n),
        Value::Number(_) | Value::Bytes(_) => None,
    })
}
