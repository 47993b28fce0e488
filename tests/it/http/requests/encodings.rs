//! Bodies of any type (`docs/decisions.md`, 1 to 3).

use http::Method;
use serde_json::{Value, json};

use crate::harness::sending::{FORM, JSON, MULTIPART, form, multipart, send};
use crate::harness::{card, charge, rules};

/// The charge without what is its own.
fn shape(mut charge: Value) -> Value {
    charge["token"].take();
    charge["card"]["token"].take();
    charge
}

rules! {
    async fn a_form_a_json_or_a_multipart_body_makes_the_same_charge(app) {
        let mut params = charge(400);
        params["description"] = json!("Zoë's café & bar + 100% [new]");
        params["metadata"] = json!({ "order number": "7", "é": "ü=1" });
        let expected = shape(app.client().post("/1/charges", &params).await.ok(201));
        assert_eq!(expected["description"], params["description"]);
        assert_eq!(expected["metadata"], params["metadata"]);
        for (content_type, body) in [
            (None, form(&params, false)),
            (None, form(&params, true)),
            (FORM, form(&params, true)),
            (FORM, form(&params, false)),
            (Some("application/x-www-form-urlencoded; charset=UTF-8"), form(&params, false)),
            (Some("application/x-www-form-urlencoded;charset=utf-8"), form(&params, false)),
            (Some("Application/X-WWW-Form-Urlencoded"), form(&params, false)),
            (JSON, params.to_string()),
            (Some("application/json; charset=UTF-8"), params.to_string()),
            (Some("application/json;charset=utf-8"), serde_json::to_string_pretty(&params).unwrap()),
            (MULTIPART, multipart(&params)),
        ] {
            let answer = send(&app.client(), Method::POST, "/1/charges", content_type, body.clone()).await;
            assert_eq!(answer.status, 201, "{content_type:?} {body}: {}", answer.text);
            assert_eq!(shape(answer.ok(201)), expected, "{content_type:?} {body}");
        }
    }

    async fn a_plus_in_a_form_is_a_space(app) {
        let body = form(&charge(400), false).replace("test%20charge", "test+charge");
        let answer = send(&app.client(), Method::POST, "/1/charges", FORM, body).await.ok(201);
        assert_eq!(answer["description"], "test charge");
    }

    async fn an_empty_body_of_any_type_is_an_empty_form(app) {
        let customer = json!({ "email": "a@example.com", "card": card("4200000000000000") });
        let customer = app.client().post("/1/customers", &customer).await.ok(201);
        let path = format!("/1/customers/{}", customer["token"].as_str().unwrap());
        for content_type in [
            None,
            FORM,
            JSON,
            MULTIPART,
            Some("multipart/form-data"),
            Some("application/json; charset=utf-8"),
            Some("application/octet-stream"),
            Some("text/plain"),
            Some("nonsense"),
        ] {
            let same = send(&app.client(), Method::PUT, &path, content_type, "").await.ok(200);
            assert_eq!(same, customer, "{content_type:?}");
            let before = app.rows().await;
            let missing = send(&app.client(), Method::POST, "/1/charges", content_type, "").await.faults();
            assert_eq!(missing.first().unwrap().1, "Email can't be blank", "{content_type:?}");
            let listed = send(&app.client(), Method::GET, "/1/customers", content_type, "").await.ok(200);
            assert_eq!(listed, json!([customer]), "{content_type:?}");
            assert_eq!(app.rows().await, before);
        }
    }

    async fn a_put_needs_no_body(app) {
        let mut authorised = charge(400);
        authorised["capture"] = json!(false);
        for action in ["capture", "void"] {
            let token = app.client().post("/1/charges", &authorised).await.ok(201)["token"].clone();
            let path = format!("/1/charges/{}/{action}", token.as_str().unwrap());
            send(&app.client(), Method::PUT, &path, None, "").await.ok(200);
        }
    }

    async fn a_delete_may_carry_an_empty_object(app) {
        let customer = json!({ "email": "a@example.com", "card": card("4200000000000000") });
        for (content_type, body) in [(JSON, "{}"), (FORM, ""), (None, ""), (JSON, "{\"any\":1}")] {
            let token = app.client().post("/1/customers", &customer).await.ok(201)["token"].clone();
            let path = format!("/1/customers/{}", token.as_str().unwrap());
            let second = app.client().post(&format!("{path}/cards"), &card("4200000000000000")).await.ok(201);
            let card = format!("{path}/cards/{}", second["token"].as_str().unwrap());
            for path in [card, path] {
                send(&app.client(), Method::DELETE, &path, content_type, body).await.ok(204);
                app.client().delete(&path).await.refused(404, "not_found");
            }
        }
    }

    async fn any_accept_header_gets_json(app) {
        for accept in ["*/*", "text/html", "application/xml;q=0.9", "image/png", "nonsense", ""] {
            let request = app.client().request(Method::GET, "/1/charges").header("accept", accept);
            let answer = app.client().send(request.body(axum::body::Body::empty()).unwrap()).await;
            answer.ok(200);
            assert_eq!(answer.headers["content-type"], "application/json; charset=utf-8", "{accept}");
        }
    }

    async fn a_body_that_cannot_be_parsed_is_a_bad_request(app) {
        let before = app.rows().await;
        let params = charge(400).to_string();
        for (content_type, body) in [
            (JSON, "{"),
            (JSON, "amount=400"),
            (JSON, &params[..params.len() - 1]),
            (JSON, &format!("{params}x")),
            (JSON, "{\"email\":\"\\ud800\"}"),
            (FORM, "email=%"),
            (FORM, "email=%zz"),
            (FORM, "email=%ff"),
            (None, "email=%C3"),
            (FORM, "card=x&card[number]=1"),
            (MULTIPART, "--parting\r\nnothing"),
            (MULTIPART, "email=a"),
            (Some("multipart/form-data"), "--parting--\r\n"),
        ] {
            for (method, path) in
                [(Method::POST, "/1/charges"), (Method::POST, "/1/customers"), (Method::POST, "/1/cards")]
            {
                let answer = send(&app.client(), method, path, content_type, body.to_owned()).await;
                assert_eq!(answer.status, 400, "{path} {content_type:?} {body}: {}", answer.text);
                answer.refused(400, "bad_request");
            }
        }
        for bytes in [b"email=\xff".as_slice(), b"{\"email\":\"\xff\"}"] {
            let content_type = if bytes.starts_with(b"{") { JSON } else { FORM };
            let answer = send(&app.client(), Method::POST, "/1/charges", content_type, bytes).await;
            answer.refused(400, "bad_request");
        }
        for query in ["page=%", "page=%zz", "page=%ff"] {
            app.client().get(&format!("/1/charges?{query}")).await.refused(400, "bad_request");
        }
        assert_eq!(app.rows().await, before);
    }

    async fn json_that_is_no_object_is_a_bad_request(app) {
        let before = app.rows().await;
        for body in ["[]", "[{}]", "\"null\"", "true", "1", "\"text\"", "\"\""] {
            let answer = send(&app.client(), Method::POST, "/1/charges", JSON, body).await;
            let body = answer.refused(400, "bad_request");
            assert_eq!(body["error_description"], "The body is not a JSON object");
        }
        assert_eq!(app.rows().await, before);
    }

    async fn json_may_follow_a_byte_order_mark(app) {
        let body = format!("\u{feff}{}", charge(400));
        send(&app.client(), Method::POST, "/1/charges", JSON, body).await.ok(201);
    }

    async fn json_null_is_an_empty_body(app) {
        let client = app.client();
        let charge = client.authorised(400).await;
        send(&client, Method::PUT, &format!("/1/charges/{charge}/capture"), JSON, "null").await.ok(200);
        let other = client.authorised(400).await;
        send(&client, Method::PUT, &format!("/1/charges/{other}/void"), Some("application/json; charset=utf-8"), " null ").await.ok(200);
        send(&client, Method::POST, &format!("/1/charges/{charge}/refunds"), JSON, "null").await.ok(201);
        send(&client, Method::GET, "/1/charges?per_page=1", JSON, "null").await.ok(200);
        // What is missing is still missing.
        let empty = client.post("/1/charges", &serde_json::json!({})).await;
        assert_eq!(send(&client, Method::POST, "/1/charges", JSON, "null").await.faults(), empty.faults());
        let before = app.rows().await;
        send(&app.anonymous(), Method::PUT, &format!("/1/charges/{other}/void"), JSON, "null").await.refused(401, "unauthorized");
        send(&client, Method::PUT, &format!("/1/charges/{other}/void"), JSON, "nul").await.refused(400, "bad_request");
        assert_eq!(app.rows().await, before);
    }

    async fn a_body_of_another_type_is_refused(app) {
        let before = app.rows().await;
        for content_type in [
            "text/plain",
            "application/xml",
            "application/octet-stream",
            "application/jsonp",
            "application/vnd.api+json",
            "multipart/mixed; boundary=parting",
            "nonsense",
        ] {
            for (method, path) in [
                (Method::POST, "/1/charges"),
                (Method::POST, "/1/cards"),
                (Method::POST, "/1/customers"),
                (Method::GET, "/1/charges"),
            ] {
                let body = charge(400).to_string();
                let answer = send(&app.client(), method, path, Some(content_type), body).await;
                assert_eq!(answer.status, 415, "{path} {content_type}: {}", answer.text);
                answer.refused(415, "unsupported_media_type");
            }
        }
        assert_eq!(app.rows().await, before);
    }
}
