//! Reads the markup of a page, which is ours: attributes are in quotation marks, and what is in them is escaped.

use std::borrow::Cow;
use std::fmt;

/// A part of a page.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'p> {
    /// A text, as it stands in the page.
    Text(&'p str),
    /// The beginning of an element.
    Tag(Tag<'p>),
    /// The end of an element, by its name.
    End(&'p str),
}

impl<'p> Piece<'p> {
    pub fn tag(self) -> Option<Tag<'p>> {
        match self {
            Self::Tag(tag) => Some(tag),
            Self::Text(_) | Self::End(_) => None,
        }
    }
}

/// The beginning of an element, with its attributes in order. Those without a value are `None`.
#[derive(Debug, PartialEq, Eq)]
pub struct Tag<'p> {
    pub name: &'p str,
    attributes: Vec<(&'p str, Option<Cow<'p, str>>)>,
}

impl<'p> Tag<'p> {
    /// Parses what is between the angle brackets.
    fn parse(text: &'p str) -> Self {
        let (name, mut rest) = text.split_once(' ').unwrap_or((text, ""));
        let mut attributes = Vec::new();
        while !rest.is_empty() {
            let end = rest.find([' ', '=']).unwrap_or(rest.len());
            let (attribute, value) = (&rest[..end], &rest[end..]);
            let (value, after) = match value.strip_prefix("=\"").and_then(|value| value.split_once('"')) {
                Some((value, after)) => (Some(Cow::Borrowed(value)), after),
                None => (None, value.trim_start_matches('=')),
            };
            attributes.push((attribute, value));
            rest = after.trim_start();
        }
        Self { name, attributes }
    }

    /// Returns the value of an attribute, escaped.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| *known == name)?.1.as_deref()
    }

    /// Sets an attribute to a value, which is escaped.
    pub fn set(&mut self, name: &'p str, value: String) {
        self.put(name, Some(Cow::Owned(value)));
    }

    /// Adds an attribute without a value, or removes it.
    pub fn switch(&mut self, name: &'p str, is_on: bool) {
        if is_on {
            self.put(name, None);
        } else {
            self.attributes.retain(|(known, _)| *known != name);
        }
    }

    fn put(&mut self, name: &'p str, value: Option<Cow<'p, str>>) {
        match self.attributes.iter_mut().find(|(known, _)| *known == name) {
            Some((_, former)) => *former = value,
            None => self.attributes.push((name, value)),
        }
    }
}

impl fmt::Display for Tag<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}", self.name)?;
        for (name, value) in &self.attributes {
            match value {
                Some(value) => write!(f, " {name}=\"{value}\"")?,
                None => write!(f, " {name}")?,
            }
        }
        f.write_str(">")
    }
}

/// Returns the pieces of a page, in order.
pub fn pieces(page: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = page;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let tag = rest.strip_prefix('<').and_then(|tag| tag.split_once('>'));
        let (piece, after) = if let Some((tag, after)) = tag {
            let end = tag.strip_prefix('/').map(Piece::End);
            (end.unwrap_or_else(|| Piece::Tag(Tag::parse(tag))), after)
        } else {
            let end = rest.find('<').filter(|end| *end > 0).unwrap_or(rest.len());
            (Piece::Text(&rest[..end]), &rest[end..])
        };
        rest = after;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use maud::html;

    use super::*;

    #[test]
    fn the_pieces_of_a_page_make_it_again() {
        let text = "a \"b\" <c selected> & d=\"e\"";
        let page = html! {
            form method="post" action="/x" {
                label for="a" { (text) } input #a.b name="c[d]" value=(text) required;
                select name="s" { option value="" selected { "none" } option value=(text) { (text) } }
            }
        };
        let page = page.into_string();
        let again: String = pieces(&page)
            .map(|piece| match piece {
                Piece::Text(text) => text.to_owned(),
                Piece::Tag(tag) => tag.to_string(),
                Piece::End(name) => format!("</{name}>"),
            })
            .collect();
        assert_eq!(again, page);
        let names: Vec<_> = pieces(&page).filter_map(Piece::tag).map(|tag| tag.name).collect();
        assert_eq!(names, ["form", "label", "input", "select", "option", "option"]);
    }

    #[test]
    fn attributes_are_read_set_and_removed() {
        let page = html! { input name="a" value="b &amp; c" required; }.into_string();
        let mut tag = pieces(&page).find_map(Piece::tag).expect("a tag");
        assert_eq!((tag.text("name"), tag.text("required"), tag.text("id")), (Some("a"), None, None));
        tag.set("value", "d".to_owned());
        tag.set("id", "e".to_owned());
        tag.switch("required", false);
        tag.switch("autofocus", true);
        assert_eq!(tag.to_string(), r#"<input name="a" value="d" id="e" autofocus>"#);
    }
}
