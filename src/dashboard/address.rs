//! Addresses with their queries.

use std::fmt;

use url::form_urlencoded;

use crate::params::Paging;

/// An address with its query.
#[derive(Clone)]
pub struct Address {
    path: String,
    query: Vec<(String, String)>,
}

impl Address {
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), query: Vec::new() }
    }

    /// Adds a parameter, unless it is blank.
    #[must_use]
    pub fn with(mut self, name: &str, text: &str) -> Self {
        if !text.is_empty() {
            self.query.push((name.to_owned(), text.to_owned()));
        }
        self
    }

    #[must_use]
    pub fn with_all(self, parameters: &[(&'static str, String)]) -> Self {
        parameters.iter().fold(self, |address, (name, text)| address.with(name, text))
    }

    /// Adds the page number, unless it is the first one.
    #[must_use]
    pub fn page(self, paging: Paging) -> Self {
        if paging.page > 1 { self.with("page", &paging.page.to_string()) } else { self }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        if self.query.is_empty() {
            return Ok(());
        }
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.query).finish();
        write!(f, "?{query}")
    }
}
