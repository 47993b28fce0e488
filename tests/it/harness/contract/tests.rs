//! What is true passes, and each lie is found.

use super::*;

fn contract() -> Contract {
    let card = json!({
        "type": "object",
        "required": ["number"],
        "properties": {
            "number": { "type": "string" },
            "issuer": { "oneOf": [{ "type": "null" }, { "$ref": "#/components/schemas/Issuer" }] },
        },
    });
    let charge = json!({
        "type": "object",
        "required": ["token", "amount"],
        "properties": {
            "token": { "type": "string" },
            "amount": { "type": "integer" },
            "state": { "enum": ["authorised", "captured"] },
            "created_at": { "type": "string", "format": "date-time" },
            "card": { "$ref": "#/components/schemas/Card" },
            "fees": { "type": "array", "items": { "type": "object", "properties": { "cents": {} } } },
            "metadata": { "type": "object", "additionalProperties": { "type": "string" } },
            "anything": { "type": "object", "additionalProperties": {} },
            "secret": { "type": "object" },
        },
    });
    let dispute = json!({
        "allOf": [
            { "$ref": "#/components/schemas/Charge" },
            { "type": "object", "properties": { "reason": { "type": "string" } } },
        ],
    });
    let party = json!({
        "oneOf": [
            {
                "type": "object",
                "required": ["kind", "name"],
                "properties": { "kind": { "const": "person" }, "name": { "type": "string" } },
            },
            {
                "type": "object",
                "required": ["kind", "number", "seat"],
                "properties": {
                    "kind": { "const": "company" },
                    "number": { "type": "integer" },
                    "seat": { "type": "object", "properties": { "city": { "type": "string" } } },
                },
            },
        ],
    });
    let content = |name: &str| json!({ "application/json": { "schema": { "$ref": format!("#/components/schemas/{name}") } } });
    let total = json!({ "required": true, "schema": { "type": "integer" } });
    Contract::new(json!({
        "openapi": "3.1.0",
        "info": { "title": "small", "version": "1" },
        "paths": {
            "/1/charges": {
                "summary": "not an operation",
                "parameters": [{ "name": "page", "in": "query" }],
                "get": { "responses": { "200": { "headers": { "X-Total": total }, "content": {
                    "application/json": { "schema": { "type": "array", "items": { "$ref": "#/components/schemas/Charge" } } },
                } } } },
                "head": { "responses": { "200": { "headers": { "X-Total": total } } } },
            },
            "/1/charges/{token}": {
                "get": { "responses": {
                    "200": { "content": content("Charge") },
                    "404": { "$ref": "#/components/responses/NotFound" },
                    "4XX": { "description": "promises nothing" },
                } },
                "delete": { "responses": { "204": { "description": "gone" } } },
            },
            "/1/charges/search": { "get": { "responses": { "200": { "content": content("Party") } } } },
            "/1/disputes/{token}": { "get": { "responses": { "200": { "content": content("Dispute") } } } },
            "/files/{name}": { "get": { "responses": { "200": { "content": { "image/*": {} } } } } },
        },
        "webhooks": { "charge.created": { "post": { "requestBody": { "content": content("Charge") } } } },
        "components": {
            "responses": { "NotFound": { "content": { "application/json": {
                "schema": { "$ref": "#/components/schemas/Error" }, "examples": { "not_found": {}, "gone": {} },
            } } } },
            "schemas": {
                "Card": card,
                "Charge": charge,
                "Dispute": dispute,
                "Party": party,
                "Issuer": { "type": "object", "properties": { "name": { "type": "string" } } },
                "Error": { "type": "object", "required": ["error"], "properties": { "error": { "type": "string" } } },
            },
        },
    }))
}

fn headers(list: &[(&'static str, &'static str)]) -> HeaderMap {
    list.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
}

fn get(path: &str, status: u16, body: &Value) -> Result<(), String> {
    let headers = headers(&[("content-type", "application/json; charset=utf-8"), ("x-total", "1")]);
    let status = StatusCode::from_u16(status).unwrap();
    contract().check(&Method::GET, path, status, &headers, body.to_string().as_bytes())
}

/// The lie about a charge must be found, and said in these words.
fn lie(body: &Value, words: &str) {
    let mut charge = json!({ "token": "ch_1", "amount": 400 });
    charge.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    let fault = get("/1/charges/ch_1", 200, &charge).unwrap_err();
    assert_eq!(fault, format!("GET /1/charges/{{token}} -> 200: {words}"));
}

#[test]
fn a_true_answer_passes() {
    let charge = json!({
        "token": "ch_1", "amount": 400, "state": "captured", "created_at": "2026-11-21T10:00:00Z",
        "card": { "number": "x", "issuer": { "name": "y" } }, "fees": [{ "cents": 1 }],
        "metadata": { "any": "text" }, "anything": { "deep": { "down": 1 } }, "secret": {},
    });
    assert_eq!(get("/1/charges/ch_1?expand=card", 200, &charge), Ok(()));
    assert_eq!(get("/1/charges?page=2", 200, &json!([charge])), Ok(()));
    assert_eq!(get("/1/charges/ch_2", 404, &json!({ "error": "not_found" })), Ok(()));
    assert_eq!(get("/1/disputes/dp_1", 200, &json!({ "token": "t", "amount": 1, "reason": "r" })), Ok(()));
    assert_eq!(get("/1/charges/search", 200, &json!({ "kind": "person", "name": "n" })), Ok(()));
}

#[test]
fn undocumented_routes_methods_and_statuses_are_found() {
    let fault = |path, status| get(path, status, &json!({})).unwrap_err();
    assert_eq!(fault("/2/charges", 200), "GET /2/charges: the path is not documented");
    assert_eq!(fault("/1/charges/", 200), "GET /1/charges/: the path is not documented");
    assert_eq!(
        fault("/1/charges/ch_1", 403),
        "GET /1/charges/{token} -> 403 Forbidden: the status is not documented, only 200, 404, 4XX"
    );
    let put = contract().check(&Method::PUT, "/1/charges", StatusCode::OK, &HeaderMap::new(), b"");
    assert_eq!(put.unwrap_err(), "PUT /1/charges: the method is not documented");
}

#[test]
fn text_in_a_path_beats_a_parameter() {
    let contract = contract();
    assert_eq!(contract.template("/1/charges/search?q=1"), Some("/1/charges/search"));
    assert_eq!(contract.template("/1/charges/searches"), Some("/1/charges/{token}"));
}

#[test]
fn a_body_that_breaks_its_schema_is_found() {
    lie(&json!({ "amount": "400" }), "/amount: \"400\" is not of type \"integer\"");
    lie(&json!({ "state": "lost" }), "/state: \"lost\" is not one of \"authorised\" or \"captured\"");
    lie(&json!({ "created_at": "yesterday" }), "/created_at: \"yesterday\" is not a \"date-time\"");
    lie(&json!({ "card": {} }), "/card: \"number\" is a required property");
    lie(&json!({ "metadata": { "n": 1 } }), "/metadata/n: 1 is not of type \"string\"");
    let missing = get("/1/charges", 200, &json!([{ "token": "ch_1" }])).unwrap_err();
    assert_eq!(missing, "GET /1/charges -> 200: /0: \"amount\" is a required property");
    let error = get("/1/charges/ch_1", 404, &json!({ "error": 1 })).unwrap_err();
    assert_eq!(error, "GET /1/charges/{token} -> 404: /error: 1 is not of type \"string\"");
}

#[test]
fn a_code_that_the_operation_does_not_list_is_found() {
    let fault = |body: Value| get("/1/charges/ch_1", 404, &body).unwrap_err();
    let words = "GET /1/charges/{token} -> 404: the code lost is not documented, only not_found, gone";
    assert_eq!(fault(json!({ "error": "lost" })), words);
    assert!(fault(json!([{ "error": "lost" }])).starts_with(words));
}

#[test]
fn a_field_that_the_schema_does_not_name_is_found_at_any_depth() {
    let unnamed =
        |body: &Value, field: &str| lie(body, &format!("{field}: the schema does not name this field"));
    unnamed(&json!({ "colour": "red" }), "/colour");
    unnamed(&json!({ "card": { "number": "x", "cvc": "1" } }), "/card/cvc");
    unnamed(&json!({ "card": { "number": "x", "issuer": { "bin": "1" } } }), "/card/issuer/bin");
    unnamed(&json!({ "fees": [{ "cents": 1 }, { "euros": 1 }] }), "/fees/1/euros");
    unnamed(&json!({ "secret": { "key": 1 } }), "/secret/key");
    let all_of =
        get("/1/disputes/dp_1", 200, &json!({ "token": "t", "amount": 1, "verdict": "r" })).unwrap_err();
    assert_eq!(all_of, "GET /1/disputes/{token} -> 200: /verdict: the schema does not name this field");
    let within = json!({ "token": "t", "amount": 1, "reason": "r", "card": { "number": "x", "cvc": "1" } });
    let within = get("/1/disputes/dp_1", 200, &within).unwrap_err();
    assert_eq!(within, "GET /1/disputes/{token} -> 200: /card/cvc: the schema does not name this field");
}

#[test]
fn of_several_alternatives_the_one_that_was_meant_is_explained() {
    let fault = |body| {
        get("/1/charges/search", 200, &body).unwrap_err().replace("GET /1/charges/search -> 200: ", "")
    };
    assert_eq!(fault(json!({ "kind": "person", "name": 1 })), "/name: 1 is not of type \"string\"");
    let company = json!({ "kind": "company", "number": 1, "seat": { "city": "Perth", "street": "Hay" } });
    assert_eq!(fault(company), "/seat/street: the schema does not name this field");
    let mixed = json!({ "kind": "person", "name": "n", "number": 1 });
    assert_eq!(fault(mixed), "/number: the schema does not name this field");
    assert!(fault(json!({ "kind": "ghost" })).starts_with("body: "));
}

#[test]
fn content_that_the_document_does_not_promise_is_found() {
    let check = |method: &Method, path, status: u16, list: &[_], body: &[u8]| {
        let status = StatusCode::from_u16(status).unwrap();
        contract()
            .check(method, path, status, &headers(list), body)
            .map_err(|fault| fault.split_once(": ").map(|(_, fault)| fault.to_owned()).unwrap())
    };
    let html = [("content-type", "text/html")];
    let json = [("content-type", "application/json")];
    let (charge, file) = ("/1/charges/ch_1", "/files/a.png");
    let error_of = |answer: Result<(), String>| answer.unwrap_err();
    assert_eq!(
        error_of(check(&Method::GET, charge, 200, &html, b"<p>")),
        "content type: text/html is not documented, only application/json"
    );
    assert_eq!(
        error_of(check(&Method::GET, charge, 200, &[], b"{}")),
        "content type: no content type is not documented, only application/json"
    );
    assert_eq!(
        error_of(check(&Method::GET, charge, 200, &json, b"")),
        "no body, but application/json is documented"
    );
    assert!(error_of(check(&Method::GET, charge, 200, &json, b"{")).starts_with("the body is not JSON: "));
    assert_eq!(check(&Method::DELETE, charge, 204, &[], b""), Ok(()));
    assert_eq!(
        error_of(check(&Method::DELETE, charge, 204, &json, b"{}")),
        "a body of 2 bytes, but none is documented"
    );
    assert_eq!(check(&Method::GET, file, 200, &[("content-type", "image/png")], b"\x89"), Ok(()));
    assert!(error_of(check(&Method::GET, file, 200, &html, b"<p>")).starts_with("content type: text/html"));
    let total = [("x-total", "7")];
    assert_eq!(check(&Method::HEAD, "/1/charges", 200, &total, b""), Ok(()));
    assert_eq!(
        error_of(check(&Method::HEAD, "/1/charges", 200, &[], b"")),
        "header X-Total: required, but missing"
    );
    let many = [("x-total", "many")];
    assert_eq!(
        error_of(check(&Method::HEAD, "/1/charges", 200, &many, b"")),
        "header X-Total: \"many\" does not fit its schema"
    );
}

#[test]
fn an_unknown_route_is_a_404_and_an_unknown_method_a_405_with_allow() {
    let check = |method: &Method, path, status, list: &[_]| {
        contract().check_unknown_route(method, path, status, &headers(list)).is_ok()
    };
    let (missing, refused) = (StatusCode::NOT_FOUND, StatusCode::METHOD_NOT_ALLOWED);
    let allow = [("allow", "GET,HEAD")];
    assert!(check(&Method::GET, "/2/charges", missing, &[]));
    assert!(check(&Method::PUT, "/1/charges", refused, &allow));
    assert!(!check(&Method::PUT, "/1/charges", refused, &[]));
    assert!(!check(&Method::PUT, "/1/charges", missing, &allow));
    assert!(!check(&Method::GET, "/1/charges", missing, &[]));
    assert!(!check(&Method::GET, "/2/charges", StatusCode::FORBIDDEN, &[]));
}

#[test]
fn webhooks_are_held_against_their_own_section() {
    let check = |event, body: Value| contract().check_webhook(event, body.to_string().as_bytes());
    assert_eq!(check("charge.created", json!({ "token": "ch_1", "amount": 1 })), Ok(()));
    let more = check("charge.created", json!({ "token": "ch_1", "amount": 1, "more": 1 })).unwrap_err();
    assert_eq!(more, "webhook charge.created: /more: the schema does not name this field");
    assert_eq!(check("charge.lost", json!({})).unwrap_err(), "webhook charge.lost: not documented");
}

#[test]
fn seen_answers_are_remembered() {
    let contract = contract();
    let before = contract.unseen();
    let deleted = ("DELETE /1/charges/{token}".to_owned(), 204);
    assert!(before.contains(&deleted));
    contract
        .check(&Method::DELETE, "/1/charges/ch_1", StatusCode::NO_CONTENT, &HeaderMap::new(), b"")
        .unwrap();
    assert_eq!(contract.seen(), BTreeSet::from([deleted.clone()]));
    assert_eq!(contract.unseen().len(), before.len() - 1);
    assert!(!contract.unseen().contains(&deleted));
}
