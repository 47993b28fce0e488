//! The page of a report: one file, without scripts, in the style of the dashboard.

use maud::{Markup, html};
use serde_json::Value;

use super::RecordReport;
use crate::html_page;

/// A column: its heading, and the pointer to its value.
type Column = (&'static str, &'static str);

const REQUESTS: [Column; 6] = [
    ("Time", "/created_at"),
    ("Method", "/method"),
    ("Path", "/path"),
    ("Status", "/status"),
    ("Error", "/error/error"),
    ("Request", "/request_id"),
];
const EVENTS: [Column; 4] =
    [("Time", "/created_at"), ("Type", "/type"), ("Event", "/token"), ("Record", "/data/token")];
const WEBHOOKS: [Column; 5] = [
    ("Time", "/created_at"),
    ("Webhook", "/token"),
    ("Event", "/event_token"),
    ("Status", "/status"),
    ("Retries", "/retries"),
];
const REFUNDS: [Column; 4] =
    [("Time", "/created_at"), ("Refund", "/token"), ("Amount", "/amount"), ("Status", "/status_message")];
const DISPUTES: [Column; 4] =
    [("Time", "/received_at"), ("Dispute", "/token"), ("Amount", "/amount"), ("Status", "/status")];
const POSTINGS: [Column; 7] = [
    ("Time", "/created_at"),
    ("Kind", "/kind"),
    ("Record", "/source"),
    ("Book", "/book"),
    ("AUD cents", "/amount"),
    ("Available on", "/available_on"),
    ("Journal entry", "/entry"),
];

pub fn page(report: &RecordReport) -> Markup {
    let title = format!("Report of {}", report.token);
    html_page::page(
        &title,
        &html! {
            h1 { (title) }
            dl {
                @if let Some(seed) = &report.seed { (fact("Seed", seed)) }
                (fact("The account's clock", report.now.as_str().unwrap_or_default()))
                (fact("card-payments", report.version))
                @for (name, value) in report.record.as_object().into_iter().flatten() {
                    @let text = word(value);
                    @if !text.is_empty() { (fact(name, &text)) }
                }
            }
            (whole("The record", &report.record))
            @if !report.refunds.is_empty() { (section("Refunds", &REFUNDS, &report.refunds)) }
            @if !report.disputes.is_empty() { (section("Disputes", &DISPUTES, &report.disputes)) }
            (section("Requests", &REQUESTS, &report.requests))
            (section("Events", &EVENTS, &report.events))
            (section("Webhooks", &WEBHOOKS, &report.webhooks))
            h2 { "Ledger" }
            @match &report.ledger {
                Some(postings) => (table("Postings", &POSTINGS, postings)),
                None => p.nothing { "Left out: the server's database was not at hand." },
            }
        },
    )
}

fn fact(name: &str, text: &str) -> Markup {
    html! { div { dt { (name) } dd { (text) } } }
}

/// Returns a scalar as text.
fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => String::new(),
    }
}

fn whole(summary: &str, value: &Value) -> Markup {
    html! {
        details {
            summary { (summary) " as JSON" }
            pre tabindex="0" { code { (format!("{value:#}")) } }
        }
    }
}

/// Renders records as a table, and each of them whole below it.
fn section(title: &str, columns: &[Column], records: &[Value]) -> Markup {
    html! {
        h2 { (title) }
        (table(title, columns, records))
        @for record in records {
            (whole(&columns[..3].iter().map(|(_, at)| cell(record, at)).collect::<Vec<_>>().join(" "), record))
        }
    }
}

fn cell(record: &Value, at: &str) -> String {
    record.pointer(at).map(word).unwrap_or_default()
}

fn table(caption: &str, columns: &[Column], records: &[Value]) -> Markup {
    html! {
        div.scroll role="region" aria-label=(caption) tabindex="0" {
            table {
                caption { (caption) ", in the order of time" }
                thead { tr { @for (heading, _) in columns { th scope="col" { (heading) } } } }
                tbody {
                    @for record in records { tr { @for (_, at) in columns { td { (cell(record, at)) } } } }
                }
            }
        }
        @if records.is_empty() { p.nothing { "There are none." } }
    }
}
