//! The log of a server on a terminal: a request is a short line, everything else what `tracing` writes.

use std::fmt::{self, Debug};

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{Format, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::terminal::{BAD, GOOD};

/// The format of a log that a person reads.
#[derive(Default)]
pub struct TerminalFormat(Format);

impl<S, N> FormatEvent<S, N> for TerminalFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, ctx: &FmtContext<'_, S, N>, writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut line = RequestLine::default();
        event.record(&mut line);
        if line.method.is_empty() { self.0.format_event(ctx, writer, event) } else { line.write_to(writer) }
    }
}

#[derive(Default)]
struct RequestLine {
    method: String,
    route: String,
    status: u64,
    error: String,
    record: String,
    duration_ms: u64,
}

impl RequestLine {
    fn write_to(&self, mut writer: Writer<'_>) -> fmt::Result {
        let Self { method, route, status, error, record, duration_ms } = self;
        write!(writer, "{method} {route} ")?;
        let style = if *status < 400 { GOOD } else { BAD };
        if writer.has_ansi_escapes() {
            write!(writer, "{style}{status}{style:#}")?;
        } else {
            write!(writer, "{status}")?;
        }
        for word in [error, record] {
            if !word.is_empty() {
                write!(writer, " {word}")?;
            }
        }
        writeln!(writer, " {duration_ms} ms")
    }
}

impl Visit for RequestLine {
    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "status" => self.status = value,
            "duration_ms" => self.duration_ms = value,
            _ => {}
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "method" => value.clone_into(&mut self.method),
            "route" => value.clone_into(&mut self.route),
            "error" => value.clone_into(&mut self.error),
            "record" => value.clone_into(&mut self.record),
            _ => {}
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_what_there_is_to_say_of_a_request() {
        let shown = |line: RequestLine| {
            let mut text = String::new();
            line.write_to(Writer::new(&mut text)).unwrap();
            text
        };
        let refused = RequestLine {
            method: "POST".into(),
            route: "/1/charges".into(),
            status: 400,
            error: "card_declined".into(),
            record: "ch_AZqYv3rVcBKUQ1mHn7tKRw".into(),
            duration_ms: 3,
        };
        assert_eq!(shown(refused), "POST /1/charges 400 card_declined ch_AZqYv3rVcBKUQ1mHn7tKRw 3 ms\n");
        let page = RequestLine {
            method: "GET".into(),
            route: "/docs/".into(),
            status: 200,
            ..RequestLine::default()
        };
        assert_eq!(shown(page), "GET /docs/ 200 0 ms\n");
    }
}
