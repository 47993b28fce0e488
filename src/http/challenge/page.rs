//! The HTML of the challenge page: for phones and for screen readers, in one column, in the order in which it is read.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::config::Environment;
use crate::services::three_d_secure::Question;

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{margin:0;font:1.125rem/1.5 system-ui,sans-serif;color:#1b1b1f;background:#f4f4f7}\
main{max-width:26rem;margin:0 auto;padding:1.5rem;overflow-wrap:anywhere}\
h1{font-size:1.5rem;line-height:1.25}\
dl{padding:1rem;border:1px solid #767680;border-radius:.5rem;background:#fff}\
dt{color:#4a4a52}dd{margin:0 0 .75rem;font-weight:600}dd:last-child{margin:0}\
button{display:block;width:100%;margin:0 0 .75rem;padding:.875rem;font:inherit;font-weight:600;border:2px solid #174ea6;border-radius:.5rem;color:#fff;background:#174ea6}\
button.other{color:#174ea6;background:#fff}\
button:focus-visible{outline:3px solid #b3541e;outline-offset:2px}\
.alert{padding:.75rem;border:2px solid #a61717;border-radius:.5rem;color:#7a0f0f;background:#fff}\
.note{color:#4a4a52}\
@media(prefers-color-scheme:dark){\
body{color:#f4f4f7;background:#1b1b1f}dl,.alert,button.other{background:#2a2a30}dt,.note{color:#c8c8d0}\
button{border-color:#a8c7fa;color:#0b1f44;background:#a8c7fa}button.other{color:#a8c7fa}.alert{color:#ffb4ab;border-color:#ffb4ab}}";

/// By this the browser knows the style as ours.
pub static STYLE_HASH: LazyLock<String> =
    LazyLock::new(|| format!("sha256-{}", STANDARD.encode(Sha256::digest(STYLE))));

/// The question, with the two answers that an issuer's challenge can have.
pub fn question(question: &Question, environment: Environment, undecided: bool) -> Markup {
    let content = html! {
        h1 { "Verify your payment" }
        @if undecided {
            p.alert role="alert" { "Choose one of the two buttons below." }
        }
        p { "Your card's issuer asks you to confirm this payment." }
        dl {
            dt { "Merchant" }
            dd { (question.merchant) }
            dt { "Amount" }
            dd { (question.amount) }
            dt { "Card" }
            dd { (question.card) }
        }
        form method="post" {
            button name="decision" value="approve" { "Approve" }
            button.other name="decision" value="fail" { "Fail" }
        }
        @if environment == Environment::Test {
            p.note {
                "This is a test: the page stands in for an issuer's, and no money moves. "
                "Approve sends the charge on, Fail ends it."
            }
        }
    };
    document("Verify your payment", &content)
}

/// What an unknown address shows, and an expired one.
pub fn not_found() -> Markup {
    notice(
        "Page not found",
        "This page does not exist, or it has expired. Please go back to the merchant and try again.",
    )
}

/// What is shown where we are at fault.
pub fn failed() -> Markup {
    notice("Something went wrong", "Your decision may not have been recorded. Please load this page again.")
}

fn notice(title: &str, text: &str) -> Markup {
    document(title, &html! { h1 { (title) } p role="alert" { (text) } })
}

fn document(title: &str, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { main { (content) } }
        }
    }
}
