//! Reads the query of a request: parameters by `serde_qs`, and by the reader of forms what `serde_qs` 1.1 reads differently.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};
use serde_qs::Config;

use super::form::{self, ENCODING};
use super::unreadable::Unreadable;
use crate::params::LISTS;

/// Brackets are part of a name: those of a query with objects or lists are read as in a form.
const FLAT: Config = Config::new().max_depth(0);
/// The number of parameters that `serde_qs` reads: each that it takes out of its map moves all the others.
const FLAT_PAIRS_MAX: usize = 100;

pub(super) fn read(query: &str) -> Result<Map<String, Value>, Unreadable> {
    if query.is_empty() {
        return Ok(Map::new());
    }
    if query
        .split('&')
        .take(FLAT_PAIRS_MAX + 1)
        .enumerate()
        .all(|(at, pair)| at < FLAT_PAIRS_MAX && is_flat(pair))
    {
        // Of flat pairs only the texts can be wrong, if they are not UTF-8.
        FLAT.deserialize_str(query).map(|FlatQuery(parameters)| parameters).map_err(|_| ENCODING)
    } else {
        form::read(query.as_bytes())
    }
}

/// Returns whether a pair has a plain name, as all parameters of reads have, and no broken percent sign, which `serde_qs` keeps.
/// Brackets are not plain: `serde_qs` takes `a[]=1` for `a=1`, and refuses `a[][b]=1` and `a=&a[b]=1`.
fn is_flat(pair: &str) -> bool {
    let (name, text) = pair.split_once('=').unwrap_or((pair, ""));
    let is_code = |code: &str| code.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && text.split('%').skip(1).all(is_code)
}

/// Flat parameters, in the order in which they were sent. If a name comes twice, its texts are the items of a list, and of any
/// other parameter the last text counts.
struct FlatQuery(Map<String, Value>);

impl<'de> Deserialize<'de> for FlatQuery {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FlatQueryVisitor)
    }
}

struct FlatQueryVisitor;

impl<'de> Visitor<'de> for FlatQueryVisitor {
    type Value = FlatQuery;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("parameters")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<FlatQuery, A::Error> {
        let mut parameters = Map::new();
        // A name without a text has none.
        while let Some((name, mut texts)) = pairs.next_entry::<String, Vec<String>>()? {
            let value = if texts.len() > 1 && LISTS.contains(&&[name.as_str()][..]) {
                texts.into()
            } else {
                texts.pop().unwrap_or_default().into()
            };
            parameters.insert(name, value);
        }
        Ok(FlatQuery(parameters))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_read_as_a_form(query: &str) {
        let (read, form) = (read(query), form::read(query.as_bytes()));
        assert_eq!(read, form, "{query}");
        // Maps are equal in any order.
        if let (Ok(read), Ok(form)) = (read, form) {
            assert!(read.keys().eq(form.keys()), "{query}");
        }
    }

    #[test]
    fn a_query_is_read_as_a_form_is() {
        for query in [
            "",
            "page=2&per_page=100",
            "query=Zo%C3%AB+%26+co&start_date=2026-01-01",
            "sort=&direction&page=1&page=&page=3",
            "networks=a&networks=&networks=b",
            "networks=&page=1",
            "b=1&a=2&b=3",
            "query=[x]&a=b=c",
            "a=%&b=1",
            "a=%ff",
            "a=%4",
            "a=%+1",
            "=x&&a[b]=1&a%5bc%5d=2&05=1",
            "a[]=1&a[0]=2",
            "a[b][c][d][e][f][g]=1",
        ] {
            is_read_as_a_form(query);
        }
        for pairs in [FLAT_PAIRS_MAX, FLAT_PAIRS_MAX + 1, 1000, 1001] {
            is_read_as_a_form(&vec!["a=1"; pairs].join("&"));
        }
    }

    proptest! {
        #![proptest_config(crate::properties())]

        #[test]
        fn any_query_is_read_as_a_form_is(
            flat in "([ab]{0,2}=(x|[+=]|%[0-9a-fC]{2}|é){0,3}&){0,5}",
            odd in "[ab\\[\\]=&%+0-9CDd]{0,40}",
            any: String,
        ) {
            for query in [&flat, &odd, &any, &format!("{flat}{odd}"), &format!("{}networks=1", flat.repeat(3))] {
                is_read_as_a_form(query);
            }
        }
    }
}
