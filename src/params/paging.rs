//! The requested page of a list.

use serde::Deserialize;
use serde_json::Value;
use validator::Validate;

use super::{ParameterTree, Params};
use crate::limits::{PER_PAGE_DEFAULT, PER_PAGE_MAX};

/// The requested page of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paging {
    /// Counted from 1.
    pub page: u64,
    /// 1 to 500.
    pub per_page: u64,
}

#[derive(Deserialize, Validate)]
struct PagingParams {
    // 0 means 1, so only negative numbers are refused.
    #[validate(range(min = 0, message = "must be greater than or equal to 1"))]
    page: Option<i64>,
    #[validate(range(min = 1, max = PER_PAGE_MAX))]
    per_page: Option<i64>,
}

impl Paging {
    /// Reads `page` and `per_page`.
    pub fn read(tree: &impl ParameterTree) -> Params<Self> {
        let Params { value, faults } = tree.params::<PagingParams>();
        let number = |value: Option<i64>| {
            value.and_then(|number| u64::try_from(number).ok()).filter(|number| *number > 0)
        };
        let paging = Self {
            page: number(value.page).unwrap_or(1),
            per_page: number(value.per_page).unwrap_or(PER_PAGE_DEFAULT),
        };
        Params { value: paging, faults }
    }

    /// Returns the largest number of records that the page may have, whatever faults its parameters have.
    pub fn records_max(tree: &Value) -> u64 {
        let most = PER_PAGE_MAX.unsigned_abs();
        let records = match &tree["per_page"] {
            Value::Null => PER_PAGE_DEFAULT,
            Value::String(text) if text.trim().is_empty() => PER_PAGE_DEFAULT,
            Value::String(text) => text.trim().parse().unwrap_or(most),
            Value::Number(number) => number.as_u64().unwrap_or(most),
            Value::Bool(_) | Value::Array(_) | Value::Object(_) => most,
        };
        records.min(most)
    }

    /// Returns the number of records before the page. It fits a signed 64-bit offset: integers have at most 53 bits, and 500
    /// has 9.
    pub fn offset(self) -> u64 {
        (self.page - 1).saturating_mul(self.per_page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn blank_and_zero_pages_are_the_first() {
        for sent in
            [json!({}), json!({ "page": "", "per_page": " " }), json!({ "page": 0 }), json!({ "page": null })]
        {
            assert_eq!(Paging::read(&sent).valid().unwrap(), Paging { page: 1, per_page: 25 }, "{sent}");
        }
    }

    #[test]
    fn a_page_is_a_positive_integer() {
        for (page, message) in [
            ("x", "Page is not a number"),
            ("1.5", "Page must be an integer"),
            ("-1", "Page must be greater than or equal to 1"),
        ] {
            let faults = Paging::read(&json!({ "page": page })).faults;
            assert_eq!(
                faults.messages().map(|message| (message.code, message.message)).collect::<Vec<_>>(),
                [(Some("page_invalid".to_owned()), message.to_owned())]
            );
        }
    }

    #[test]
    fn a_page_holds_one_to_five_hundred_records() {
        for (per_page, message) in [
            (0, "must be greater than or equal to 1"),
            (-5, "must be greater than or equal to 1"),
            (501, "must be at most 500"),
        ] {
            let faults = Paging::read(&json!({ "per_page": per_page })).faults;
            assert_eq!(faults.iter().collect::<Vec<_>>(), [("per_page", message)]);
        }
    }

    #[test]
    fn a_page_has_at_most_what_is_asked_for_and_500_where_that_cannot_be_told() {
        for (sent, records) in [
            (json!({}), 25),
            (json!({ "per_page": " " }), 25),
            (json!({ "per_page": "100" }), 100),
            (json!({ "per_page": 100 }), 100),
            (json!({ "per_page": "5e2" }), 500),
            (json!({ "per_page": 1_000_000 }), 500),
            (json!({ "per_page": [1] }), 500),
        ] {
            assert_eq!(Paging::records_max(&sent), records, "{sent}");
        }
    }

    #[test]
    fn the_offset_of_the_last_conceivable_page_fits_a_column() {
        let paging =
            Paging::read(&json!({ "page": 9_007_199_254_740_991_i64, "per_page": 500 })).valid().unwrap();
        assert!(i64::try_from(paging.offset()).is_ok());
        assert_eq!(Paging { page: 3, per_page: 25 }.offset(), 50);
    }
}
