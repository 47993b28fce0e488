//! Bodies and queries: forms, JSON and multipart. An input is a line with method, content type and query, and then the body.

use bytes::Bytes;
use card_payments::api::extract::body::tree;
use futures::executor::block_on;
use http::Method;
use serde_json::Value;

use super::{Target, first_line, inputs};

const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json";
const LEVELS_MAX: usize = 6;
const PAIRS_MAX: usize = 1000;

pub const TARGET: Target = Target {
    name: "bodies",
    hold,
    samples,
    words: &[
        FORM,
        JSON,
        "multipart/form-data; boundary=x",
        "\r\n--x\r\nContent-Disposition: form-data; name=\"",
        "filename*=UTF-8''",
        "--x--\r\n",
        "customer_permissions",
        "networks[]=",
        "$serde_json::private::RawValue",
        "$serde_json::private::Number",
        "%C3%AB",
        "1e2",
        "-0",
        "\\ud800",
    ],
};

fn samples() -> Vec<Vec<u8>> {
    inputs([
        "POST\tapplication/x-www-form-urlencoded\t\namount=400&card%5Bname%5D=Zo%C3%AB+%26&networks=a&networks=b&a[][x]=1&a[][y]=2",
        "POST\tapplication/json\tpage=2\n{\"amount\":400,\"card\":{\"number\":\"4200000000000000\",\"m\":[1,2.50,1e2,-0,null]},\"a\":\"\\u00e9\"}",
        "POST\tmultipart/form-data; boundary=x\t\n--x\r\nContent-Disposition: form-data; name=\"amount\"\r\n\r\n400\r\n--x\r\n\
         Content-Disposition: form-data; name=\"file\"; filename*=UTF-8''a.pdf\r\nContent-Type: application/pdf\r\n\r\n...\r\n--x--\r\n",
        "GET\t\tquery=Zo%C3%AB+%26+co&start_date=2026-01-01&page=1&page=&networks=a&networks=b&card=&card[name]=x\n",
        "DELETE\t\ta[b][c]=1&a[0]=x\na=1",
    ])
}

fn hold(input: &[u8]) {
    let (head, body) = first_line(input);
    let head = String::from_utf8_lossy(head);
    let mut head = head.splitn(3, '\t');
    let method = head.next().and_then(|method| method.parse().ok()).unwrap_or(Method::POST);
    let (content_type, query) = (head.next().filter(|text| !text.is_empty()), head.next());
    let read = |method, query, content_type, body: &[u8]| {
        block_on(tree(method, query, content_type, Bytes::copy_from_slice(body)))
    };
    if let Ok(read_tree) = read(&method, query, content_type, body) {
        let (levels, pairs) = size(&read_tree);
        assert!(read_tree.is_object() && levels <= LEVELS_MAX && pairs <= PAIRS_MAX, "{levels} {pairs}");
        let again = read(&Method::POST, None, Some(JSON), read_tree.to_string().as_bytes());
        assert_eq!(again.as_ref(), Ok(&read_tree), "what was read is read again from its JSON");
    }
    let query = query.unwrap_or_default();
    let queried = read(&Method::GET, Some(query), None, b"");
    let sent = read(&Method::POST, None, Some(FORM), query.as_bytes());
    if let (Ok(queried), Ok(sent)) = (queried, sent)
        && !query.trim_ascii().is_empty()
    {
        // Maps are equal in any order.
        assert_eq!(queried.to_string(), sent.to_string(), "a query is read as a form is");
    }
}

/// Returns how deep a tree is, and how many fields and items it has.
fn size(value: &Value) -> (usize, usize) {
    let inner: Vec<_> = match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return (0, 0),
    };
    inner
        .into_iter()
        .map(size)
        .fold((1, 0), |(levels, pairs), (below, more)| (Ord::max(levels, below + 1), pairs + more + 1))
}
