//! The query of a search.

use std::collections::BTreeSet;

use bytes::Bytes;
use card_payments::api::extract::body::tree;
use card_payments::params::{FieldErrors, Paging, Search, read_instant};
use futures::executor::block_on;
use http::Method;
use serde_json::Value;
use url::form_urlencoded::Serializer;

use super::{Target, inputs};

const SORTS: &[&str] = &["created_at", "amount"];
const FIELDS: [&str; 7] = ["query", "start_date", "end_date", "sort", "direction", "page", "per_page"];

pub const TARGET: Target = Target {
    name: "searches",
    hold,
    samples,
    words: &[
        "query=",
        "start_date=",
        "end_date=",
        "sort=amount",
        "direction=-1",
        "page=",
        "per_page=",
        "at=",
        "Mar 25, 2011",
        "2011/03/25",
        "T10:11:12.5+10:00",
        "9007199254740991",
    ],
};

fn samples() -> Vec<Vec<u8>> {
    inputs([
        "query=Zo%C3%AB+%26+co&start_date=2011-03-25T10:11:12.5%2B10:00&end_date=Mar+25,+2011&sort=amount&direction=-1&page=2&per_page=100",
        "query=a&start_date=2011/03/25&end_date=+002020-01-01T00:00:00.000000000Z&sort=created_at&direction=1&page=0",
        "query[a]=1&start_date=x&end_date=2011-02-30&sort=id&direction=up&page=x&per_page=501",
        "at=2011-03-25T10:11&page=9007199254740991&per_page=500",
    ])
}

fn read(query: &str) -> Option<Value> {
    block_on(tree(&Method::GET, Some(query), None, Bytes::new())).ok()
}

fn hold(input: &[u8]) {
    let Some(tree) = std::str::from_utf8(input).ok().and_then(read) else { return };
    match read_instant(&tree).valid() {
        Ok(_) => {}
        Err(faults) => name_fields(&faults, &["at"]),
    }
    let search = match Search::read(&tree, SORTS, "created_at").valid() {
        Ok(search) => search,
        Err(faults) => return name_fields(&faults, &FIELDS),
    };
    let Paging { page, per_page } = search.paging;
    assert!(page >= 1 && (1..=500).contains(&per_page), "{page} {per_page}");
    assert!(i64::try_from(search.paging.offset()).is_ok(), "a database can count so far");
    assert!(Paging::records_max(&tree) >= per_page, "no list is longer than was thought");
    if let Some(query) = &search.query {
        assert!(!query.is_empty() && query == query.trim(), "{query:?}");
    }
    let mut printed = Serializer::new(String::new());
    let time = |time: &Option<chrono::DateTime<chrono::Utc>>| time.map(|time| time.to_rfc3339());
    for (name, text) in [
        ("query", search.query.clone()),
        ("start_date", time(&search.from)),
        ("end_date", time(&search.to)),
        ("sort", search.sort.map(str::to_owned)),
        ("direction", Some(if search.ascending { "1" } else { "-1" }.to_owned())),
        ("page", Some(page.to_string())),
        ("per_page", Some(per_page.to_string())),
    ] {
        printed.extend_pairs(text.map(|text| (name, text)));
    }
    let printed = printed.finish();
    let again = read(&printed).map(|tree| Search::read(&tree, SORTS, None).valid().ok());
    assert_eq!(again, Some(Some(search)), "a search is read as it is written: {printed}");
}

/// Holds that each fault names one of these fields, and no field is told the same twice.
fn name_fields(faults: &FieldErrors, fields: &[&str]) {
    let told: Vec<_> = faults.iter().collect();
    assert!(
        !told.is_empty() && told.iter().all(|(field, why)| fields.contains(field) && !why.is_empty()),
        "{told:?}"
    );
    assert_eq!(told.iter().collect::<BTreeSet<_>>().len(), told.len(), "{told:?}");
}
