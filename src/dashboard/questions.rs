//! Questions before something is lost: a page of its own that says what will be gone, so that it asks without scripts, too. It
//! changes nothing: its form does.

use maud::{Markup, html};

use super::layout::{PageContent, hidden_fields};
use super::session::Session;

/// A question, and where its answers lead.
pub struct Question<'a> {
    /// The text of the question.
    pub title: String,
    /// The consequence: what will be gone, and what stays.
    pub consequence: Markup,
    /// The answer that goes on.
    pub yes: &'a str,
    /// The path to which the form of that answer is sent.
    pub action: &'a str,
    /// The fields that the form sends.
    pub fields: &'a [(&'a str, &'a str)],
    /// The page that the other answer leads back to.
    pub back: &'a str,
}

impl Question<'_> {
    pub fn page(self, session: &Session) -> PageContent {
        let content = html! {
            (self.consequence)
            section.actions aria-label="Your answer" {
                form method="post" action=(self.action) {
                    (hidden_fields(session))
                    @for (name, value) in self.fields { input type="hidden" name=(name) value=(value); }
                    button.grave { (self.yes) }
                    a.button href=(self.back) { "No, go back" }
                }
            }
        };
        PageContent::bare(self.title, content)
    }
}

/// Renders the link to a question.
pub fn asking(address: &str, words: &str) -> Markup {
    html! { a.button.grave href=(address) { (words) } }
}
