//! Search parameters.

use base::time_text::parse_time;
use chrono::{DateTime, Utc};
use entity::Timestamp;
use serde::Deserialize;
use validator::Validate;

use super::{Paging, ParameterTree, Params, non_blank, rules, values::UNLISTED};
use crate::limits::QUERY_CHARACTERS_MIN;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// The query, trimmed; `None` if blank.
    pub query: Option<String>,
    /// Only records from this moment on.
    pub from: Option<DateTime<Utc>>,
    /// Only records before this moment.
    pub to: Option<DateTime<Utc>>,
    /// One of the names that the endpoint lists, never the client's own text.
    pub sort: Option<&'static str>,
    /// Smallest or oldest first.
    pub ascending: bool,
    pub paging: Paging,
}

#[derive(Deserialize, Validate)]
struct SearchParams {
    #[validate(length(max = 1000))]
    query: Option<String>,
    #[validate(custom(function = "rules::time"))]
    start_date: Option<String>,
    #[validate(custom(function = "rules::time"))]
    end_date: Option<String>,
}

/// The order and page of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sorting {
    /// One of the names that the endpoint lists, never the client's own text.
    pub sort: Option<&'static str>,
    /// Smallest or oldest first.
    pub ascending: bool,
    pub paging: Paging,
}

#[derive(Deserialize, Validate)]
struct SortingParams {
    sort: Option<String>,
    direction: Option<String>,
}

impl Sorting {
    /// Reads order and page of an endpoint that sorts by one of `sorts`.
    pub fn read(
        tree: &impl ParameterTree,
        sorts: &'static [&'static str],
        default_sort: impl Into<Option<&'static str>>,
    ) -> Params<Self> {
        let Params { value: params, mut faults } = tree.params::<SortingParams>();
        let paging = Paging::read(tree);
        faults.append(paging.faults);
        let sort = match non_blank(params.sort.as_deref()) {
            None => default_sort.into(),
            Some(name) => sorts.iter().copied().find(|sort| *sort == name).or_else(|| {
                faults.add("sort", UNLISTED);
                None
            }),
        };
        let direction = non_blank(params.direction.as_deref()).unwrap_or("1");
        if !matches!(direction, "1" | "-1") {
            faults.add("direction", UNLISTED);
        }
        Params { value: Self { sort, ascending: direction != "-1", paging: paging.value }, faults }
    }
}

impl Search {
    /// Returns whether the query is long enough for disputes and merchants.
    pub fn is_searchable(&self) -> bool {
        self.query.as_ref().is_none_or(|query| query.chars().count() >= QUERY_CHARACTERS_MIN)
    }

    /// Reads the search parameters of an endpoint that sorts by one of `sorts`.
    pub fn read(
        tree: &impl ParameterTree,
        sorts: &'static [&'static str],
        default_sort: impl Into<Option<&'static str>>,
    ) -> Params<Self> {
        let Params { value: params, mut faults } = tree.params::<SearchParams>();
        let sorting = Sorting::read(tree, sorts, default_sort);
        faults.append(sorting.faults);

        let date = |text: &Option<String>| non_blank(text.as_deref()).and_then(parse_time);
        let (from, to) = (date(&params.start_date), date(&params.end_date));
        let query = non_blank(params.query.as_deref()).map(str::to_owned);
        let Sorting { sort, ascending, paging } = sorting.value;
        Params { value: Self { query, from, to, sort, ascending, paging }, faults }
    }
}

#[derive(Deserialize, Validate)]
struct InstantParams {
    #[validate(custom(function = "rules::time"))]
    at: Option<String>,
}

/// Reads `at`, an instant.
pub fn read_instant(tree: &impl ParameterTree) -> Params<Option<Timestamp>> {
    let Params { value: params, mut faults } = tree.params::<InstantParams>();
    let text = non_blank(params.at.as_deref());
    let at = text.and_then(parse_time).map(Timestamp::from);
    if text.is_some() && at.is_none() {
        faults.add("at", "is not formatted properly");
    }
    Params { value: at, faults }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SORTS: &[&str] = &["created_at", "amount"];

    #[test]
    fn all_spellings_of_a_date_are_read() {
        for (text, moment_read) in [
            ("2011/03/25", "2011-03-25T00:00:00Z"),
            ("0001/01/01", "0001-01-01T00:00:00Z"),
            ("Mar 5, 0999", "0999-03-05T00:00:00Z"),
            ("2011-03-25", "2011-03-25T00:00:00Z"),
            ("Mar 25, 2011", "2011-03-25T00:00:00Z"),
            ("2011-03-25T10:11:12Z", "2011-03-25T10:11:12Z"),
            ("2011-03-25T10:11:12.123456789+10:00", "2011-03-25T00:11:12.123456789Z"),
            ("2011-03-25T10:11:12.5", "2011-03-25T10:11:12.5Z"),
            ("+002020-01-01T00:00:00.000000000Z", "2020-01-01T00:00:00Z"),
            // From a query that does not escape the plus sign.
            (" 002020-01-01T00:00:00.000000000Z", "2020-01-01T00:00:00Z"),
            ("2011-03-25T10:11:12 10:00", "2011-03-25T00:11:12Z"),
            ("2011-03-25T10:11Z", "2011-03-25T10:11:00Z"),
            ("2011-03-25T10:11+10", "2011-03-25T00:11:00Z"),
            ("2011-03-25T10:11:12.5+10", "2011-03-25T00:11:12.5Z"),
            ("2011-03-25T10:11", "2011-03-25T10:11:00Z"),
        ] {
            let search =
                Search::read(&json!({ "start_date": text, "end_date": format!(" {text} ") }), SORTS, None)
                    .valid()
                    .unwrap();
            let wanted = moment_read.parse::<DateTime<Utc>>().unwrap();
            assert_eq!((search.from, search.to), (Some(wanted), Some(wanted)), "{text}");
        }
    }

    #[test]
    fn other_dates_are_refused() {
        for text in [
            "25/03/2011",
            "2011-02-30",
            "yesterday",
            "2011",
            "+292277026596-12-04T15:30:08Z",
            "-0001-01-01",
            "99999-01-01",
            "20110325",
            "11/03/25",
            "1-2-3",
            "1-2-3T10:11Z",
            "1-2-3T10:11:12Z",
            "26-01-01T00:00:00Z",
            "26-01-01T00:00:00",
            "26-01-01T10:11+1000",
            "Mar 25, 11 ",
            "2011-03-25T10",
            "2011-03-25T10:11+",
            "Mar 25, 11",
            "2011-03-25T10:11:12.1234567890Z",
        ] {
            let faults = Search::read(&json!({ "start_date": text }), SORTS, None).faults;
            assert_eq!(
                faults.iter().collect::<Vec<_>>(),
                [("start_date", "is not formatted properly")],
                "{text}"
            );
        }
    }

    #[test]
    fn everything_is_optional_and_blank_is_absent() {
        for sent in [
            json!({}),
            json!({ "query": " ", "start_date": "", "end_date": " ", "sort": "", "direction": "", "page": "", "per_page": "" }),
        ] {
            let search = Search::read(&sent, SORTS, "created_at").valid().unwrap();
            let paging = Paging { page: 1, per_page: 25 };
            assert_eq!(
                search,
                Search {
                    query: None,
                    from: None,
                    to: None,
                    sort: Some("created_at"),
                    ascending: true,
                    paging
                }
            );
        }
    }

    #[test]
    fn the_query_is_trimmed_and_the_direction_may_be_a_number() {
        let search = Search::read(
            &json!({ "query": " a b ", "sort": "amount", "direction": -1 }),
            SORTS,
            "created_at",
        )
        .valid()
        .unwrap();
        assert_eq!(
            (search.query.as_deref(), search.sort, search.ascending),
            (Some("a b"), Some("amount"), false)
        );
    }

    #[test]
    fn all_faults_of_a_search_are_told_in_order() {
        let sent = json!({ "per_page": 0, "page": "x", "direction": "up", "sort": "id", "end_date": "x", "start_date": "x", "query": { "a": 1 } });
        let codes: Vec<_> =
            Search::read(&sent, SORTS, None).faults.messages().filter_map(|message| message.code).collect();
        let wanted = ["query", "start_date", "end_date", "sort", "direction", "page", "per_page"]
            .map(|param| format!("{param}_invalid"));
        assert_eq!(codes, wanted);
    }
}
