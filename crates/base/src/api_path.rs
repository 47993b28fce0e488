//! Path spellings of existing clients: every path of the API accepts a trailing slash, doubled slashes and a `.json` suffix
//! (`docs/decisions.md`, 11).

/// The suffix that paths may end in.
pub const SUFFIX: &str = ".json";

/// Returns the plain spelling of a path of the API; nothing for other paths.
pub fn normalise_path(path: &str) -> Option<String> {
    let segments: Vec<_> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    (segments.first() == Some(&"1")).then(|| {
        let path = segments.join("/");
        format!("/{}", path.strip_suffix(SUFFIX).unwrap_or(&path))
    })
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
            assert_eq!(normalise_path(spelled).as_deref(), Some("/1/charges"), "{spelled}");
        }
    }

    #[test]
    fn paths_beside_the_api_stay_as_they_are() {
        for path in ["/", "/docs/", "/openapi.json", "/healthz/"] {
            assert_eq!(normalise_path(path), None, "{path}");
        }
    }
}
