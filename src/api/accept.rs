//! The media types that a client wants to read, by its Accept.

use axum::http::{HeaderMap, header};

/// Ranges that JSON is in.
pub const JSON: &[&str] = &["application/json", "application/*", "*/*"];

/// Returns how much the client wants what is in one of these ranges, in thousandths: the greatest weight of those that it names.
pub fn weight(headers: &HeaderMap, ranges: &[&str]) -> u16 {
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let named = values.flat_map(|value| value.split(',')).map(str::to_ascii_lowercase);
    let weights = named.filter_map(|range| {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next()?;
        let weight = parts.find_map(|part| part.strip_prefix("q=")).map_or(1000, thousandths);
        ranges.contains(&name).then_some(weight)
    });
    weights.max().unwrap_or(0)
}

/// Reads the weight of a range, of which three decimals count; one that is none, as one above 1, counts as 0.
fn thousandths(weight: &str) -> u16 {
    let (whole, part) = weight.split_once('.').unwrap_or((weight, ""));
    let digits = format!("{whole}{part:0<3.3}");
    digits.parse().ok().filter(|weight| *weight <= 1000).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn the_greatest_weight_of_a_named_range_counts() {
        for (accept, csv, json) in [
            ("text/csv", 1000, 0),
            ("TEXT/CSV, */*;q=0.9", 1000, 900),
            ("application/json;q=0.1, text/csv;header=present;q=0.25", 250, 100),
            ("*/*", 0, 1000),
            ("text/csv;q=0, */*", 0, 1000),
            ("*/*;q=0.8, application/json; q=0.75", 0, 800),
            ("text/csv;q=x", 0, 0),
            ("text/csv;q=0.2500, application/json;q=0.9", 250, 900),
            ("text/csv;q=9, application/json;q=1.001", 0, 0),
            ("text/*", 0, 0),
            ("", 0, 0),
        ] {
            let headers = HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
            assert_eq!((weight(&headers, &["text/csv"]), weight(&headers, JSON)), (csv, json), "{accept}");
        }
        assert_eq!(weight(&HeaderMap::new(), JSON), 0);
    }
}
