//! The HTML of the challenge page.

use maud::{Markup, html};

use crate::api::pages;
use crate::config::Environment;
use crate::services::three_d_secure::ChallengeQuestion;

/// Renders the question, with the two answers of an issuer's challenge.
pub fn question(question: &ChallengeQuestion, environment: Environment, undecided: bool) -> Markup {
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
            @if question.challenge.is_some() {
                button { "Continue" }
            } @else {
                button name="decision" value="approve" { "Approve" }
                button.other name="decision" value="fail" { "Fail" }
            }
        }
        @if environment == Environment::Test {
            p.note {
                "This is a test: the page stands in for an issuer's, and no money moves. "
                @match question.challenge {
                    Some(challenge) => { "The test decides what follows: " (challenge.description()) "." }
                    None => { "Approve sends the charge on, Fail ends it." }
                }
            }
        }
    };
    pages::document("Verify your payment", &content)
}
