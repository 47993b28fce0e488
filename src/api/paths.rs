//! Rewrites the paths of requests (`base::api_path`).

use axum::extract::Request;
use axum::http::Uri;
use base::api_path;

/// Rewrites the path to the spelling that the router knows.
pub fn normalise(mut request: Request) -> Request {
    if let Some(uri) = normalised(request.uri()) {
        *request.uri_mut() = uri;
    }
    request
}

fn normalised(uri: &Uri) -> Option<Uri> {
    let path = api_path::normalise_path(uri.path())?;
    let path = match uri.query() {
        Some(query) => format!("{path}?{query}"),
        None => path,
    };
    path.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_stays() {
        assert_eq!(normalised(&"/1/charges.json?page=2".parse().unwrap()).unwrap(), "/1/charges?page=2");
        assert_eq!(normalised(&"/docs/?q=1".parse().unwrap()), None);
    }
}
