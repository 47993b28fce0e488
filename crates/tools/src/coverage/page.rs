//! The page of a coverage.

use maud::{Markup, html};

use super::goals::Goal;
use super::{PartSummary, Summary};
use crate::html_page;

pub fn page(summary: &Summary) -> Markup {
    let title = format!("Coverage: {} %", summary.percent);
    html_page::page(
        &title,
        &html! {
            h1 { (title) }
            (table("Goals", &["Part", "Met", "Of"], summary.parts.iter().map(|PartSummary { part, met, total }| {
                vec![part.title().to_owned(), met.to_string(), total.to_string()]
            })))
            h2 { "Never met" }
            (table("Gaps", &["Part", "Name", "The line that makes it happen"], summary.gaps().map(|Goal { part, name, line }| {
                vec![part.title().to_owned(), name.clone(), line.clone()]
            })))
            @if summary.gaps().next().is_none() { p.nothing { "All of it was met." } }
        },
    )
}

fn table(caption: &str, headings: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Markup {
    html! {
        div.scroll role="region" aria-label=(caption) tabindex="0" {
            table {
                caption { (caption) }
                thead { tr { @for heading in headings { th scope="col" { (heading) } } } }
                tbody { @for row in rows { tr { @for cell in row { td { (cell) } } } } }
            }
        }
    }
}
