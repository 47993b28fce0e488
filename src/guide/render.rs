//! Markdown to HTML: headings with the anchors that links name, links to where the pages are in the program, code and tables that
//! scroll by themselves.

use std::borrow::Cow;

use maud::{Markup, PreEscaped};
use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, html::push_html};

use super::pages::{self, Page};
use super::{ERRORS, HOME};

pub fn html(page: &Page) -> Markup {
    let mut text = String::with_capacity(page.text.len() * 2);
    push_html(&mut text, events(page).into_iter());
    PreEscaped(text)
}

/// Returns a page's headings and the text below each: level, heading, anchor, text.
pub fn sections(page: &Page) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut in_heading = false;
    for event in Parser::new_ext(page.text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => {
                in_heading = true;
                sections.push(Section::default());
            }
            Event::End(TagEnd::Heading(_)) => {
                in_heading = false;
                if let Some(section) = sections.last_mut() {
                    section.anchor = anchor(&section.heading);
                }
            }
            Event::Text(text) | Event::Code(text) => {
                let Some(section) = sections.last_mut() else { continue };
                let part = if in_heading { &mut section.heading } else { &mut section.text };
                part.push_str(&text);
            }
            Event::SoftBreak | Event::HardBreak | Event::End(_) => {
                if let Some(section) = sections.last_mut().filter(|_| !in_heading) {
                    section.text.push(' ');
                }
            }
            Event::Start(_)
            | Event::Html(_)
            | Event::InlineHtml(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::Rule
            | Event::TaskListMarker(_) => {}
        }
    }
    sections
}

/// A part of a page below its heading.
#[derive(Debug, Default)]
pub struct Section {
    pub heading: String,
    /// The name of the heading in links.
    pub anchor: String,
    /// The text, without its marks.
    pub text: String,
}

/// Returns how links name a heading: small letters, digits, hyphens for spaces, nothing else.
pub fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[expect(clippy::wildcard_enum_match_arm, reason = "kinds of a library, which stay as they are unless named")]
fn events(page: &Page) -> Vec<Event<'static>> {
    let parsed: Vec<_> = Parser::new_ext(page.text, Options::ENABLE_TABLES).collect();
    let mut events: Vec<Event<'static>> = Vec::with_capacity(parsed.len());
    // Whether each open link leads somewhere here.
    let mut links = Vec::new();
    let mut in_image = false;
    for (at, event) in parsed.iter().enumerate() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                let id = Some(anchor(&heading(&parsed[at + 1..])).into());
                events.push(Event::Start(Tag::Heading {
                    level: *level,
                    id,
                    classes: Vec::new(),
                    attrs: Vec::new(),
                }));
            }
            Event::Start(Tag::CodeBlock(_)) => events.push(raw("<pre tabindex=\"0\"><code>")),
            Event::End(TagEnd::CodeBlock) => events.push(raw("</code></pre>\n")),
            Event::Start(Tag::Table(_)) => {
                events.push(raw("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\">"));
                events.push(event.clone().into_static());
            }
            Event::End(TagEnd::Table) => {
                events.push(event.clone().into_static());
                events.push(raw("</div>\n"));
            }
            // Pictures are not in the program.
            Event::Start(Tag::Image { .. }) => {
                in_image = true;
                events.push(raw("<em>"));
            }
            Event::End(TagEnd::Image) => {
                in_image = false;
                events.push(raw("</em>"));
            }
            Event::Start(Tag::Link { dest_url, .. }) if !in_image => {
                let target = target(page.name, dest_url);
                if let Some(target) = &target {
                    events.push(Event::Start(Tag::Link {
                        link_type: LinkType::Inline,
                        dest_url: CowStr::from(target.clone().into_owned()),
                        title: CowStr::from(""),
                        id: CowStr::from(""),
                    }));
                }
                links.push(target.is_some());
            }
            Event::End(TagEnd::Link) if !in_image => {
                if links.pop() == Some(true) {
                    events.push(event.clone().into_static());
                }
            }
            _ => events.push(event.clone().into_static()),
        }
    }
    events
}

fn raw(html: &'static str) -> Event<'static> {
    Event::Html(CowStr::Borrowed(html))
}

/// Returns the text of a heading whose events follow.
fn heading(following: &[Event<'_>]) -> String {
    let inside = following.iter().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
    let text = inside.filter_map(|event| {
        if let Event::Text(text) | Event::Code(text) = event { Some(text.as_ref()) } else { None }
    });
    text.collect()
}

/// Returns where a link of a page leads in the program; `None` for a file that only the sources have.
fn target<'a>(from: &str, link: &'a str) -> Option<Cow<'a, str>> {
    if link.contains("://") || link.starts_with(['#', '/']) {
        return Some(link.into());
    }
    let (file, fragment) =
        link.split_once('#').map_or((link, String::new()), |(file, fragment)| (file, format!("#{fragment}")));
    let mut path: Vec<&str> = ["docs"].into_iter().chain(from.split('/')).collect();
    path.pop();
    for part in file.split('/') {
        match part {
            ".." => {
                path.pop();
            }
            "." => {}
            part => path.push(part),
        }
    }
    let path = path.join("/");
    match path.as_str() {
        "docs/README.md" => Some(format!("{HOME}{fragment}").into()),
        "docs/errors.md" => Some(format!("{ERRORS}{fragment}").into()),
        "openapi.yaml" => Some("/openapi.yaml".into()),
        path => {
            let name = path.strip_prefix("docs/")?.strip_suffix(".md")?;
            pages::named(name).map(|page| format!("{HOME}{}{fragment}", page.name).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_the_pages_of_the_program() {
        for (from, link, leads) in [
            ("billing", "money.md#books", Some("/docs/guide/money#books")),
            ("billing", "README.md", Some("/docs/guide/")),
            ("operating/install", "../webhooks.md", Some("/docs/guide/webhooks")),
            ("operating/install", "configure.md#overload", Some("/docs/guide/operating/configure#overload")),
            ("testing", "errors.md", Some("/docs/errors")),
            ("README", "../openapi.yaml", Some("/openapi.yaml")),
            ("billing", "#an-interval", Some("#an-interval")),
            ("billing", "https://example.com/a.md", Some("https://example.com/a.md")),
            ("billing", "../CONTRIBUTING.md", None),
            ("billing", "nothing.md", None),
        ] {
            assert_eq!(target(from, link).as_deref(), leads, "{from} {link}");
        }
    }

    #[test]
    fn headings_have_anchors_and_code_is_escaped() {
        let page =
            Page { name: "billing", text: "# A `b` & c\n\n```sh\necho <x>\n```\n\n[d](../src/lib.rs)\n" };
        let shown = html(&page).into_string();
        assert_eq!(
            shown,
            "<h1 id=\"a-b--c\">A <code>b</code> &amp; c</h1>\n<pre tabindex=\"0\"><code>echo &lt;x&gt;\n</code></pre>\n<p>d</p>\n"
        );
    }
}
