//! `Prefer: handling=strict` and `handling=lenient` (RFC 7240): whether a request with unknown parameters is refused
//! (`docs/decisions.md`, 466).

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use base::request_context::RequestContext;

const PREFER: HeaderName = HeaderName::from_static("prefer");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// Returns whether the client prefers strict handling; `None` if it does not say. The first preference counts.
pub fn preferred(headers: &HeaderMap) -> Option<bool> {
    let texts = headers.get_all(PREFER).iter().filter_map(|text| text.to_str().ok());
    texts.flat_map(|text| text.split(',')).find_map(|preference| {
        let preference = preference.split(';').next()?;
        let (name, value) = preference.split_once('=')?;
        let value = value.trim().trim_matches('"');
        match name.trim().eq_ignore_ascii_case("handling").then_some(value)? {
            word if word.eq_ignore_ascii_case("strict") => Some(true),
            word if word.eq_ignore_ascii_case("lenient") => Some(false),
            _ => None,
        }
    })
}

/// Says in the response of an operation which preference it followed.
pub fn acknowledge(headers: &mut HeaderMap, request: &RequestContext) {
    let Some(is_strict) = request.prefers_strict().filter(|_| request.route().starts_with("/1/")) else {
        return;
    };
    headers.insert(PREFERENCE_APPLIED, HeaderValue::from_static(preference(is_strict)));
}

/// Returns the preference as headers spell it.
pub fn preference(is_strict: bool) -> &'static str {
    if is_strict { "handling=strict" } else { "handling=lenient" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_preference_of_handling_counts_in_any_spelling() {
        let read = |texts: &[&str]| {
            let mut headers = HeaderMap::new();
            for text in texts {
                headers.append(PREFER, HeaderValue::from_str(text).expect("a header"));
            }
            preferred(&headers)
        };
        for strict in [
            "handling=strict",
            "Handling = \"strict\"; foo=bar",
            "respond-async, handling=strict, handling=lenient",
        ] {
            assert_eq!(read(&[strict]), Some(true), "{strict}");
        }
        assert_eq!(read(&["return=minimal", "handling=lenient", "handling=strict"]), Some(false));
        for none in ["", "strict", "handling", "handling=loose", "return=minimal"] {
            assert_eq!(read(&[none]), None, "{none}");
        }
    }
}
