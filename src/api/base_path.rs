//! The path of CARD_PAYMENTS_BASE_URL, below which clients see the server (`docs/decisions.md`, 400). Inside of the server no path has
//! it: requests lose it at the entry if a proxy has left it there, and links get it at the exit.

use axum::extract::Request;
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderValue, Uri, header};
use axum::response::Response;

/// The first segments of the server's own paths.
const OWN: [&str; 6] = ["1", "3d-secure", "dashboard", "docs", "files", "pay"];

/// Returns the path of a server's address.
pub fn path_of(base_url: &str) -> &str {
    base_url.match_indices('/').nth(2).map_or("", |(at, _)| &base_url[at..])
}

/// Takes the base path off a request.
pub fn strip(base: &str, mut request: Request) -> Request {
    let uri = request.uri();
    let inside = uri.path_and_query().map_or("", PathAndQuery::as_str);
    // A path that may be the server's own one has come without the base path.
    let is_own = base.split('/').nth(1).is_some_and(|first| OWN.contains(&first));
    let stripped = without(base, inside).filter(|_| !is_own).and_then(|inside| {
        let slash = if inside.starts_with('/') { "" } else { "/" };
        format!("{slash}{inside}").parse::<Uri>().ok()
    });
    if let Some(uri) = stripped {
        *request.uri_mut() = uri;
    }
    request
}

/// Returns what follows the base path; `None` where there is none, or the path is another one.
pub fn without<'a>(base: &str, path: &'a str) -> Option<&'a str> {
    let rest = path.strip_prefix(base).filter(|_| !base.is_empty())?;
    (rest.is_empty() || rest.starts_with(['/', '?'])).then_some(rest)
}

/// Puts the base path before the paths to which a page of this server links, or sends its forms.
pub fn link(base: &str, page: String) -> String {
    if base.is_empty() {
        return page;
    }
    // In the text of a page, and in its values, a quotation mark is escaped.
    ["href", "src", "action", "formaction"].into_iter().fold(page, |page, attribute| {
        page.replace(&format!(" {attribute}=\"/"), &format!(" {attribute}=\"{base}/"))
    })
}

/// Puts the base path before the path to which a response redirects.
pub fn redirect(base: &str, mut response: Response) -> Response {
    let location = response.headers().get(header::LOCATION).and_then(|to| to.to_str().ok());
    let below = location.filter(|to| to.starts_with('/') && !base.is_empty()).map(|to| format!("{base}{to}"));
    if let Some(below) = below.and_then(|below| HeaderValue::from_str(&below).ok()) {
        response.headers_mut().insert(header::LOCATION, below);
    }
    response
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn a_request_loses_the_base_path_and_no_other() {
        for (base, path, inside) in [
            ("", "/payments/1/charges", "/payments/1/charges"),
            ("/payments", "/payments/1/charges?page=2", "/1/charges?page=2"),
            ("/payments", "/payments", "/"),
            ("/payments", "/payments?a=1", "/?a=1"),
            ("/payments", "/payments/", "/"),
            ("/payments", "/paymentsx", "/paymentsx"),
            ("/payments", "/1/charges", "/1/charges"),
            ("/pay", "/pay/mer_x", "/pay/mer_x"),
        ] {
            let request = Request::builder().uri(path).body(Body::empty()).unwrap();
            assert_eq!(strip(base, request).uri(), inside, "{base} {path}");
        }
    }

    #[test]
    fn links_get_the_base_path_and_values_do_not() {
        let page = "<a href=\"/docs/\">/docs/</a> <a href=\"#main\"></a><input value=\"/dashboard\">";
        assert_eq!(link("/payments", page.into()), page.replace("href=\"/", "href=\"/payments/"));
        assert_eq!(link("", page.into()), page);
    }
}
