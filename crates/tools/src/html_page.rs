//! The frame of a page in one file: without scripts, in the style of the dashboard, and it loads nothing.

use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = concat!(include_str!("../colours.css"), include_str!("../dashboard.css"));
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

pub fn page(title: &str, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " · card-payments" }
                style { (PreEscaped(STYLE)) }
            }
            body { main { (content) } }
        }
    }
}
