//! Strict handling: unknown parameters are refused where the request or its account wants that (`docs/decisions.md`, 466 to 469).

use axum::body::Body;
use http::{Method, header};
use serde_json::{Value, json};

use super::operations;
use crate::harness::{Answer, Client, PDF, card, charge, charge_with, rules, token_of, with};

const ACCOUNT: &str = "/1/sandbox/account";

/// Sends JSON, or a query, under a preference.
async fn send(client: &Client, method: Method, path: &str, prefer: &str, body: Option<&Value>) -> Answer {
    let request = client.request(method, path).header("Prefer", prefer);
    let request = match body {
        Some(body) => {
            request.header(header::CONTENT_TYPE, "application/json").body(Body::from(body.to_string()))
        }
        None => request.body(Body::empty()),
    };
    client.send(request.unwrap()).await
}

async fn strictly(client: &Client, path: &str, body: &Value) -> Answer {
    send(client, Method::POST, path, "handling=strict", Some(body)).await
}

fn applied(answer: &Answer) -> Option<&str> {
    answer.headers.get("preference-applied").map(|applied| applied.to_str().unwrap())
}

/// The messages, as param, code and message.
#[track_caller]
fn messages(answer: &Answer) -> Value {
    answer.json()["messages"].clone()
}

rules! {
    async fn unknown_parameters_are_ignored_unless_strict_handling_is_preferred(app) {
        let client = app.client();
        let misspelt = charge_with(400, json!({ "crad": 1 }));
        let lenient = client.post("/1/charges", &misspelt).await;
        lenient.ok(201);
        assert_eq!(applied(&lenient), None);
        let refused = app.unchanged(strictly(&client, "/1/charges", &misspelt)).await;
        let body = refused.refused(422, "invalid_resource");
        assert_eq!(body["error_description"], "One or more parameters were missing or invalid");
        assert_eq!(applied(&refused), Some("handling=strict"));
        assert_eq!(body["messages"], json!([{
            "param": "crad", "code": "crad_unknown",
            "message": "Crad is not a parameter of this operation: did you mean `card`?",
        }]));
        let good = strictly(&client, "/1/charges", &charge(400)).await;
        good.ok(201);
        assert_eq!(applied(&good), Some("handling=strict"));
    }

    async fn an_empty_object_without_its_type_has_no_unknown_parameter(app) {
        let client = app.client();
        for body in ["{}", " { } ", "[]"] {
            let request = client.request(Method::POST, "/1/sandbox/snapshots").header("Prefer", "handling=strict");
            client.send(request.body(Body::from(body)).unwrap()).await.ok(201);
        }
    }

    async fn a_file_of_another_name_is_an_unknown_parameter(app) {
        let client = app.client();
        let part = |head: &str, text: &str| format!("--x\r\nContent-Disposition: form-data; {head}\r\n\r\n{text}\r\n");
        let pdf = std::str::from_utf8(PDF).unwrap();
        let body = [
            part("name=\"file\"; filename=\"a.pdf\"", pdf), part("name=\"purpose\"", "dispute_evidence"),
            part("name=\"attachment\"; filename=\"b.pdf\"", pdf), "--x--\r\n".into(),
        ].concat();
        let upload = async |prefer: &str| {
            let request = client.request(Method::POST, "/1/files").header("Prefer", prefer);
            let request = request.header(header::CONTENT_TYPE, "multipart/form-data; boundary=x");
            client.send(request.body(Body::from(body.clone())).unwrap()).await
        };
        let refused = app.unchanged(upload("handling=strict")).await;
        refused.refused(422, "invalid_resource");
        assert_eq!(messages(&refused)[0]["code"], "attachment_unknown");
        upload("handling=lenient").await.ok(200);
    }

    async fn unknown_parameters_are_told_with_every_other_fault(app) {
        let nested = json!({
            "amount": "ten", "email": "", "card": with(card("4200000000000000"), &json!({ "expirymonth": 5, "cvc": "" })), "colour": "red",
        });
        let refused = app.unchanged(strictly(&app.client(), "/1/charges", &charge_with(400, nested))).await;
        let codes: Vec<_> =
            messages(&refused).as_array().unwrap().iter().map(|fault| fault["code"].as_str().unwrap().to_owned()).collect();
        assert_eq!(codes, ["email_invalid", "email_invalid", "amount_invalid", "card_cvc_invalid", "card_expirymonth_unknown", "colour_unknown"]);
    }

    async fn entries_that_clients_name_are_known_and_null_is_absent(app) {
        let sent = json!({ "metadata": { "anything": "goes" }, "crad": null });
        strictly(&app.client(), "/1/charges", &charge_with(400, sent)).await.ok(201);
    }

    async fn forms_and_queries_are_handled_alike(app) {
        let client = app.client();
        let form = client.request(Method::POST, "/1/customers").header("Prefer", "handling=strict");
        let form = form.body(Body::from("email=a@example.com&card[holder]=x"));
        let refused = app.unchanged(client.send(form.unwrap())).await;
        assert!(messages(&refused).as_array().unwrap().iter().any(|fault| fault["code"] == "card_holder_unknown"), "{}", refused.text);
        for path in ["/1/charges?pgae=2", "/1/charges/search?querry=x", "/1/events?abuot=x", "/1/balance?curency=AUD"] {
            let refused = send(&client, Method::GET, path, "handling=strict", None).await;
            refused.refused(422, "invalid_resource");
            client.get(path).await.ok(200);
        }
        let meant = send(&client, Method::GET, "/1/charges?pgae=2", "handling=strict", None).await;
        assert_eq!(messages(&meant)[0]["message"], "Pgae is not a parameter of this operation: did you mean `page`?");
    }

    async fn plans_and_subscriptions_tell_it_as_their_other_faults(app) {
        let client = app.client();
        let plan = json!({ "name": "Coffee", "amount": 1000, "interval": 1, "interval_unit": "month", "amuont": 1 });
        let refused = app.unchanged(strictly(&client, "/1/plans", &plan)).await;
        refused.refused(422, "unprocessable_entity");
        assert_eq!(messages(&refused)[0]["code"], "amuont_unknown");
        let (plan, customer) = (client.plan(&json!({})).await, token_of(&client.customer("4200000000000000").await));
        let subscription = json!({ "plan_token": plan, "customer_token": customer, "card": "x" });
        let refused = app.unchanged(strictly(&client, "/1/subscriptions", &subscription)).await;
        refused.refused(400, "invalid_resource");
        assert_eq!(messages(&refused), json!([{
            "param": "card", "message": "is not a parameter of this operation: did you mean `card_token`?",
        }]));
    }

    async fn an_account_may_be_strict_and_a_request_may_prefer_otherwise(app) {
        let client = app.client();
        let misspelt = charge_with(400, json!({ "crad": 1 }));
        client.put(ACCOUNT, &json!({ "strict_parameters": true })).await.ok(200);
        let refused = app.unchanged(client.post("/1/charges", &misspelt)).await;
        refused.refused(422, "invalid_resource");
        assert_eq!(applied(&refused), None);
        let lenient = send(&client, Method::POST, "/1/charges", "handling=lenient", Some(&misspelt)).await;
        lenient.ok(201);
        assert_eq!(applied(&lenient), Some("handling=lenient"));
        app.stranger().await.post("/1/charges", &misspelt).await.ok(201);
        // A browser's request has the account's handling, too; the parameters of JSONP are known.
        let mut browser = with(card("4200000000000000"), &json!({ "publishable_api_key": app.publishable_key() }));
        app.anonymous().post("/1/cards", &browser).await.ok(201);
        browser["crad"] = json!(1);
        app.unchanged(app.anonymous().post("/1/cards", &browser)).await.refused(422, "invalid_resource");
        client.put(ACCOUNT, &json!({ "strict_parameters": false })).await.ok(200);
        client.post("/1/charges", &misspelt).await.ok(201);
    }

    async fn a_script_of_a_strict_account_may_post_by_jsonp(app) {
        app.client().put(ACCOUNT, &json!({ "strict_parameters": true })).await.ok(200);
        let query = format!(
            "publishable_api_key={}&number=4200000000000000&expiry_month=5&expiry_year=2039&cvc=123&name=R&address_line1=1&\
             address_city=P&address_country=AU",
            app.publishable_key()
        );
        let path = format!("/1/cards.json?callback=F&_method=POST&{query}");
        let client = app.anonymous();
        let answer = client.send_unchecked(client.request(Method::GET, &path).body(Body::empty()).unwrap()).await;
        assert!(answer.text.starts_with("/**/F({\"response\":"), "{}", answer.text);
    }

    async fn a_parameter_that_is_no_word_is_not_repeated(app) {
        let refused = strictly(&app.client(), "/1/charges", &charge_with(400, json!({ "4200000000000000": 1 }))).await;
        assert_eq!(messages(&refused)[0]["param"], "?");
        assert!(!refused.text.contains("4200000000000000"), "{}", refused.text);
    }

    async fn every_operation_refuses_an_unknown_parameter_and_changes_nothing(app) {
        let client = app.client();
        let mut unknown = 0;
        for operation in operations().into_iter().filter(|operation| operation.method != Method::HEAD) {
            let reads = operation.method == Method::GET;
            let mut body = client.body_of(&operation.described).await;
            body["unknown_to_it"] = json!("x");
            let path = app.path_of(&client, &operation.path).await;
            let of = format!("{} {}", operation.method, operation.path);
            let sent = format!("{path}?unknown_to_it=x");
            let (path, body) = if reads { (sent.as_str(), None) } else { (path.as_str(), Some(&body)) };
            let refused = app.unchanged(send(&client, operation.method.clone(), path, "handling=strict", body)).await;
            assert!([400, 422].contains(&refused.status), "{of}: {} {}", refused.status, refused.text);
            assert!(refused.text.contains("\"param\":\"unknown_to_it\""), "{of}: {}", refused.text);
            unknown += 1;
        }
        assert!(unknown > 100, "{unknown} operations");
    }

    async fn every_operation_knows_the_parameters_of_its_example(app) {
        let client = app.client();
        for operation in operations().into_iter().filter(|operation| operation.method != Method::HEAD && operation.method != Method::GET) {
            let body = client.body_of(&operation.described).await;
            let path = app.path_of(&client, &operation.path).await;
            let answer = send(&client, operation.method.clone(), &path, "handling=strict", Some(&body)).await;
            assert!(!answer.text.contains("is not a parameter"), "{} {}: {}", operation.method, operation.path, answer.text);
        }
    }
}
