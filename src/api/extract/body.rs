//! Decodes the query and a body of any kind into one tree of parameters.

use axum::{
    body::Body,
    extract::{DefaultBodyLimit, FromRequest, Multipart, Request},
};
use bytes::Bytes;
use http::{Method, header::CONTENT_TYPE};
use serde_json::{Map, Value};

use super::form::{self, Form};
use super::json;
use super::part::file_name;
use super::query;
use super::unreadable::{LEVELS_MAX, PAIRS_MAX, TOO_DEEP, TOO_MANY, Unreadable};

pub(super) const NO_MULTIPART: Unreadable =
    Unreadable::Malformed("The body is not valid multipart/form-data");

/// Reads query and body into one tree, an object.
///
/// A body without a type is a form; an empty body of any type is empty. If both have a parameter, the query wins on
/// GET, HEAD and DELETE, and the body on all other methods; objects are merged field by field. Files in a multipart
/// body are left out.
pub async fn tree(
    method: &Method,
    query: Option<&str>,
    content_type: Option<&str>,
    body: Bytes,
) -> Result<Value, Unreadable> {
    let sent = if body.trim_ascii().is_empty() {
        Map::new()
    } else {
        parameters(content_type.unwrap_or_default(), body).await?
    };
    with_query(method, query, sent)
}

/// Merges the parameters of the body with those of the query.
pub(super) fn with_query(
    method: &Method,
    query: Option<&str>,
    sent: Map<String, Value>,
) -> Result<Value, Unreadable> {
    let queried = query::read(query.unwrap_or_default())?;
    let (winner, mut tree) = match *method {
        Method::GET | Method::HEAD | Method::DELETE => (queried, sent),
        _ => (sent, queried),
    };
    merge(winner, &mut tree);
    let tree = Value::Object(tree);
    if pairs(&tree, LEVELS_MAX)? > PAIRS_MAX { Err(TOO_MANY) } else { Ok(tree) }
}

async fn parameters(content_type: &str, body: Bytes) -> Result<Map<String, Value>, Unreadable> {
    match essence(content_type).as_str() {
        "" | "application/x-www-form-urlencoded" if json::is_empty(&body) => Ok(Map::new()),
        "" | "application/x-www-form-urlencoded" if json::is_meant(&body) || json::is_mangled(&body) => {
            Err(json::NO_TYPE)
        }
        "" | "application/x-www-form-urlencoded" => form::read(&body),
        "application/json" => json::read(&body),
        "multipart/form-data" => multipart(content_type, body).await,
        _ => Err(Unreadable::MediaType),
    }
}

/// Returns a content type without its parameters.
pub fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

async fn multipart(content_type: &str, body: Bytes) -> Result<Map<String, Value>, Unreadable> {
    let mut request = Request::builder()
        .header(CONTENT_TYPE, content_type)
        .body(Body::from(body))
        .map_err(|_| NO_MULTIPART)?;
    // The body is in memory already; its reader has limited it.
    DefaultBodyLimit::disable().apply(&mut request);
    let mut parts = Multipart::from_request(request, &()).await.map_err(|_| NO_MULTIPART)?;
    let mut form = Form::default();
    while let Some(part) = parts.next_field().await.map_err(|_| NO_MULTIPART)? {
        if file_name(&part).is_some() {
            continue;
        }
        let name = part.name().unwrap_or_default().to_owned();
        // Not `text()`, which repairs invalid UTF-8.
        let bytes = part.bytes().await.map_err(|_| NO_MULTIPART)?;
        form.insert(&name, String::from_utf8(bytes.into()).map_err(|_| NO_MULTIPART)?)?;
    }
    Ok(form.tree)
}

fn merge(winner: Map<String, Value>, tree: &mut Map<String, Value>) {
    for (name, value) in winner {
        match (tree.get_mut(&name), value) {
            (Some(Value::Object(fields)), Value::Object(value)) => merge(value, fields),
            // JSON null counts as absent, so it does not win.
            (Some(_), Value::Null) => {}
            (Some(slot), value) => *slot = value,
            (None, value) => {
                tree.insert(name, value);
            }
        }
    }
}

/// Counts the fields and items; an error if they are nested too deeply.
fn pairs(value: &Value, levels: usize) -> Result<usize, Unreadable> {
    let below =
        |count: usize, value: &Value| Ok(count + 1 + pairs(value, levels.checked_sub(1).ok_or(TOO_DEEP)?)?);
    match value {
        Value::Array(_) | Value::Object(_) if levels == 0 => Err(TOO_DEEP),
        Value::Array(items) => items.iter().try_fold(0, below),
        Value::Object(fields) => fields.values().try_fold(0, below),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(0),
    }
}

#[cfg(test)]
mod tests {
    use super::super::json::{NO_JSON, NO_OBJECT, NO_TYPE};
    use super::*;
    use futures::executor::block_on;
    use proptest::prelude::*;
    use serde_json::json;

    const FORM: Option<&str> = Some("application/x-www-form-urlencoded");
    const JSON: Option<&str> = Some("application/json");
    const MULTIPART: Option<&str> = Some("multipart/form-data; boundary=x");

    fn read(
        method: &Method,
        query: Option<&str>,
        content_type: Option<&str>,
        body: &str,
    ) -> Result<Value, Unreadable> {
        block_on(tree(method, query, content_type, Bytes::copy_from_slice(body.as_bytes())))
    }

    fn part(header: &str, text: &str) -> String {
        format!("--x\r\nContent-Disposition: form-data; {header}\r\n\r\n{text}\r\n")
    }

    #[test]
    fn json_without_its_quotes_or_encoded_as_a_form_is_no_form() {
        for body in [
            "{amount:100}",
            "'{amount:100}'",
            "{'amount': 100}",
            "{description:a=b&c,amount:100}",
            "%7B%22amount%22%3A100%7D",
            "%7B%22amount%22%3A100%7D=",
        ] {
            for content_type in [None, FORM] {
                assert_eq!(read(&Method::POST, None, content_type, body), Err(NO_TYPE), "{body}");
            }
        }
        for body in ["{}", "%7B%7D", "{a}=1"] {
            assert!(read(&Method::POST, Some("{}"), FORM, body).is_ok(), "{body}");
        }
    }

    #[test]
    fn form_json_and_multipart_make_the_same_tree() {
        let wanted = json!({ "amount": "400", "card": { "name": "Zoë" } });
        let parts = part("name=\"amount\"", "400")
            + &part("name=\"file\"; filename=\"a.pdf\"", "...")
            + &part("name=\"card[name]\"", "Zoë")
            + "--x--\r\n";
        for (content_type, body) in [
            (None, "amount=400&card[name]=Zo%C3%AB"),
            (FORM, "amount=400&card%5Bname%5D=Zo%C3%AB"),
            (Some("Application/X-WWW-Form-Urlencoded; charset=UTF-8"), "amount=400&card[name]=Zo%C3%AB"),
            (
                Some("application/json; charset=utf-8"),
                r#"{"amount":"1","amount":"400","card":{"name":"Zoë"}}"#,
            ),
            (JSON, "\u{feff}{\"amount\":\"400\",\"card\":{\"name\":\"Zoë\"}}"),
            (MULTIPART, parts.as_str()),
        ] {
            assert_eq!(read(&Method::POST, None, content_type, body), Ok(wanted.clone()), "{content_type:?}");
        }
    }

    #[test]
    fn an_empty_body_of_any_type_is_an_empty_form() {
        for content_type in
            [None, FORM, JSON, MULTIPART, Some("application/octet-stream"), Some("multipart/form-data")]
        {
            assert_eq!(read(&Method::PUT, None, content_type, ""), Ok(json!({})), "{content_type:?}");
        }
    }

    #[test]
    fn json_that_says_it_is_a_form_is_not_read_as_one() {
        for content_type in [None, FORM] {
            for body in ["{\"a\":1}", " {\n\"a\"", "\u{feff}{\"a\":1}", "[1]", "[{\"a\":1}]"] {
                assert_eq!(read(&Method::POST, None, content_type, body), Err(NO_TYPE), "{body}");
            }
            for body in ["{}", " { } ", "[]", "{a}=1", "[a]=1", "a={\"b\":1}", "null"] {
                assert!(read(&Method::POST, None, content_type, body).is_ok(), "{body}");
            }
        }
    }

    #[test]
    fn a_body_of_another_type_is_not_read() {
        for content_type in ["application/octet-stream", "text/plain", "application/xml", "nonsense"] {
            assert_eq!(read(&Method::POST, None, Some(content_type), "a=1"), Err(Unreadable::MediaType));
        }
    }

    #[test]
    fn the_query_wins_where_a_request_only_reads_and_the_body_elsewhere() {
        let (query, body) =
            (Some("a=q&card[name]=q"), r#"{"a":"b","card":{"name":"b","number":1},"c":null}"#);
        for method in [Method::GET, Method::HEAD, Method::DELETE] {
            assert_eq!(
                read(&method, query, JSON, body),
                Ok(json!({ "a": "q", "card": { "name": "q", "number": 1 }, "c": null }))
            );
        }
        for method in [Method::POST, Method::PUT] {
            assert_eq!(
                read(&method, query, JSON, body),
                Ok(json!({ "a": "b", "card": { "name": "b", "number": 1 }, "c": null }))
            );
        }
        assert_eq!(read(&Method::POST, Some("a=q"), JSON, r#"{"a":null}"#), Ok(json!({ "a": "q" })));
    }

    #[test]
    fn json_must_be_an_object() {
        for (body, why) in [
            ("[]", NO_OBJECT),
            ("\"null\"", NO_OBJECT),
            ("false", NO_OBJECT),
            ("nul", NO_JSON),
            ("{", NO_JSON),
            ("{\"a\":01}", NO_JSON),
            ("{\"a\":\"\\ud800\"}", NO_JSON),
            ("a=1", NO_JSON),
        ] {
            assert_eq!(read(&Method::POST, None, JSON, body), Err(why), "{body}");
        }
    }

    #[test]
    fn a_name_that_the_parser_reserves_is_a_name() {
        for name in ["$serde_json::private::RawValue", "$serde_json::private::Number"] {
            for text in ["{\"amount\":400}", "[1]", "1.50", "no JSON"] {
                let sent = json!({ "b": 1 }).as_object().unwrap().clone();
                let inner = json!({ name: text, "c": 2 });
                for tree in [inner.clone(), json!({ "a": inner, "d": sent })] {
                    let body = tree.to_string();
                    assert_eq!(read(&Method::POST, None, JSON, &body), Ok(tree), "{body}");
                }
            }
        }
    }

    #[test]
    fn json_null_is_an_empty_form() {
        for body in ["null", " null\n"] {
            assert_eq!(read(&Method::PUT, Some("a=q"), JSON, body), Ok(json!({ "a": "q" })), "{body}");
        }
        assert_eq!(
            read(&Method::PUT, None, FORM, "null"),
            Ok(json!({ "null": "" })),
            "only where JSON is sent"
        );
    }

    #[test]
    fn a_number_is_text_where_it_would_come_back_in_another_spelling() {
        let sent = r#"{"n":-1e999,"m":{"a":1e2,"b":100.0,"c":-0,"d":12345678901234567890123,"e":1.5,"f":7,"a":1E+2},"l":[1,2.50,[0.10]],"t":"1e2"}"#;
        let kept = json!({
            "n": "-1e999",
            "m": { "a": "1E+2", "b": 100.0, "c": "-0", "d": "12345678901234567890123", "e": 1.5, "f": 7 },
            "l": [1, "2.50", ["0.10"]],
            "t": "1e2",
        });
        assert_eq!(read(&Method::POST, None, JSON, sent), Ok(kept));
        assert_eq!(read(&Method::POST, None, JSON, "1.50"), Err(NO_OBJECT));
        let deep = "[".repeat(100) + "1.50" + &"]".repeat(100);
        assert_eq!(read(&Method::POST, None, JSON, &format!("{{\"a\":{deep}}}")), Err(TOO_DEEP));
    }

    #[test]
    fn json_is_limited_as_forms_are() {
        let deep = |levels: usize| "{\"a\":".repeat(levels) + "1" + &"}".repeat(levels);
        assert!(read(&Method::POST, None, JSON, &deep(6)).is_ok());
        assert_eq!(read(&Method::POST, None, JSON, &deep(7)), Err(TOO_DEEP));
        assert_eq!(read(&Method::POST, None, JSON, &deep(100_000)), Err(TOO_DEEP));
        let wide = |items: usize| json!({ "a": vec![1; items] }).to_string();
        assert!(read(&Method::POST, None, JSON, &wide(999)).is_ok());
        assert_eq!(read(&Method::POST, None, JSON, &wide(1000)), Err(TOO_MANY));
    }

    #[test]
    fn broken_multipart_is_refused() {
        for content_type in [MULTIPART, Some("multipart/form-data")] {
            assert_eq!(read(&Method::POST, None, content_type, "--x\r\nnothing"), Err(NO_MULTIPART));
        }
    }

    proptest! {
        #![proptest_config(crate::properties())]

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>, text in "[ab\\[\\]=&%+0-9{}\":,]{0,80}", query: String) {
            for content_type in [None, JSON, MULTIPART] {
                for body in [bytes.clone(), text.clone().into_bytes(), format!("--x\r\n{text}\r\n\r\n{text}\r\n--x--").into_bytes()] {
                    for query in [Some(query.as_str()), Some(text.as_str()), None] {
                        let _ = block_on(tree(&Method::POST, query, content_type, body.clone().into()));
                    }
                }
            }
        }
    }
}
