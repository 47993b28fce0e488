//! Path spellings of existing clients: every path of the API accepts a trailing slash, doubled slashes and a `.json`
//! suffix (`docs/decisions.md`, 11).

use axum::extract::Request;
use axum::http::Uri;

/// The suffix that paths may end in.
pub const SUFFIX: &str = ".json";

/// Rewrites the path to the spelling that the router knows.
pub fn normalise(mut request: Request) -> Request {
    if let Some(uri) = normalised(request.uri()) {
        *request.uri_mut() = uri;
    }
    request
}

fn normalised(uri: &Uri) -> Option<Uri> {
    let segments: Vec<&str> = uri.path().split('/').filter(|segment| !segment.is_empty()).collect();
    if segments.first() != Some(&"1") {
        return None;
    }
    let path = segments.join("/");
    let path = path.strip_suffix(SUFFIX).unwrap_or(&path);
    let path = match uri.query() {
        Some(query) => format!("/{path}?{query}"),
        None => format!("/{path}"),
    };
    path.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_accepted_spelling_becomes_the_plain_one() {
        for spelled in [
            "/1/charges",
            "/1/charges/",
            "//1//charges",
            "/1/charges.json",
            "/1/charges.json/",
            "/1/charges//",
        ] {
            let uri = normalised(&format!("{spelled}?page=2").parse().unwrap()).unwrap();
            assert_eq!(uri, "/1/charges?page=2", "{spelled}");
        }
    }

    #[test]
    fn paths_beside_the_api_stay_as_they_are() {
        for path in ["/", "/docs/", "/openapi.json", "/healthz/"] {
            assert_eq!(normalised(&path.parse().unwrap()), None, "{path}");
        }
    }
}
