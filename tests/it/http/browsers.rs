//! Endpoints that browsers may call (specification, Authentication 2; `docs/decisions.md`, 57 to 61): any origin, and JSONP.

use http::Method;
use serde_json::{Value, json};

use crate::answers::operations;
use crate::harness::sending::{form, request};
use crate::harness::{Answer, App, card, rules};

const ORIGIN: (&str, &str) = ("origin", "https://shop.example");

async fn a_customer(app: &App) -> String {
    let customer = json!({ "email": "a@example.com", "card": card("4200000000000000") });
    app.client().post("/1/customers", &customer).await.ok(201)["token"].as_str().unwrap().into()
}

/// The query of a script tag that stores this card.
fn script(app: &App, callback: &str, card: &Value) -> String {
    format!(
        "callback={callback}&_method=POST&publishable_api_key={}&{}",
        app.publishable_key(),
        form(card, true)
    )
}

/// The JSON inside of a script that calls the function.
#[track_caller]
fn called(answer: &Answer, callback: &str) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.headers["content-type"], "application/javascript");
    assert_eq!(answer.headers["x-content-type-options"], "nosniff");
    assert!(answer.headers.get("www-authenticate").is_none());
    let json = answer.text.strip_prefix(&format!("/**/{callback}(")).and_then(|rest| rest.strip_suffix(");"));
    serde_json::from_str(json.unwrap_or_else(|| panic!("no call of {callback}: {}", answer.text))).unwrap()
}

fn allows(answer: &Answer) -> Option<&str> {
    answer.headers.get("access-control-allow-origin").map(|value| value.to_str().unwrap())
}

rules! {
    async fn a_page_of_any_origin_reads_what_it_posts(app) {
        let customer = a_customer(app).await;
        for path in ["/1/cards".to_owned(), format!("/1/customers/{customer}/cards")] {
            let query = format!(
                "publishable_api_key={}&{}",
                app.publishable_key(),
                form(&card("4200000000000000"), false)
            );
            let stored = request(&app.anonymous(), Method::POST, &format!("{path}?{query}"), &[ORIGIN]).await;
            stored.ok(201);
            assert_eq!(allows(&stored), Some("*"));
            // What is wrong, a page must be able to read as well.
            for (query, status) in [
                (String::new(), 401),
                (format!("publishable_api_key={}", app.publishable_key()), 422),
                ("a=%".into(), 400),
            ] {
                let refused =
                    request(&app.anonymous(), Method::POST, &format!("{path}?{query}"), &[ORIGIN]).await;
                assert_eq!((refused.status, allows(&refused)), (status, Some("*")), "{path}?{query}");
            }
            for spelled in [format!("{path}/"), format!("{path}.json")] {
                assert_eq!(
                    allows(&request(&app.anonymous(), Method::POST, &spelled, &[ORIGIN]).await),
                    Some("*"),
                    "{spelled}"
                );
            }
        }
    }

    async fn a_preflight_is_answered_without_credentials(app) {
        let customer = a_customer(app).await;
        let before = app.rows().await;
        for path in [
            "/1/cards".to_owned(),
            "/1/cards.json".to_owned(),
            "/1/cards/".to_owned(),
            "/1/payment_sources".to_owned(),
            format!("/1/customers/{customer}/cards"),
        ] {
            let preflight = [
                ORIGIN,
                ("access-control-request-method", "POST"),
                ("access-control-request-headers", "content-type"),
            ];
            let answer = request(&app.anonymous(), Method::OPTIONS, &path, &preflight).await;
            assert_eq!((answer.status, answer.text.as_str()), (204, ""), "{path}");
            assert_eq!(allows(&answer), Some("*"));
            let list = |name: &str| answer.headers[name].to_str().unwrap().to_lowercase();
            assert!(list("access-control-allow-methods").split(", ").any(|method| method == "post"));
            for header in ["content-type", "authorization", "x-request-id", "traceparent", "tracestate"] {
                assert!(
                    list("access-control-allow-headers").split(", ").any(|name| name == header),
                    "{header}"
                );
            }
            assert!(answer.headers.get("access-control-allow-credentials").is_none());
        }
        assert_eq!(app.rows().await, before);
    }

    async fn a_preflight_allows_every_header_that_the_browser_asks_for(app) {
        for asked in ["baggage,sentry-trace", "Baggage, X-Datadog-Trace-Id", "x"] {
            let preflight =
                [ORIGIN, ("access-control-request-method", "POST"), ("access-control-request-headers", asked)];
            let answer = request(&app.anonymous(), Method::OPTIONS, "/1/cards", &preflight).await;
            assert_eq!((answer.status, allows(&answer)), (204, Some("*")));
            let allowed = answer.headers["access-control-allow-headers"].to_str().unwrap().to_lowercase();
            let allowed: Vec<_> = allowed.split(',').map(str::trim).collect();
            for header in asked.to_lowercase().split(',').map(str::trim).chain(["authorization", "content-type"]) {
                assert!(allowed.contains(&header), "{header}: {allowed:?}");
            }
            assert_eq!(answer.headers["vary"], "Access-Control-Request-Headers");
        }
    }

    async fn options_without_a_preflights_headers_is_a_wrong_method(app) {
        request(&app.anonymous(), Method::OPTIONS, "/1/cards", &[ORIGIN])
            .await
            .refused(405, "method_not_allowed");
    }

    async fn no_other_endpoint_knows_of_origins(app) {
        let of_browsers =
            ["/1/cards", "/1/payment_sources", "/1/bank_accounts", "/1/customers/{customer_token}/cards"];
        for operation in operations() {
            let path = operation.at("x");
            if !of_browsers.contains(&operation.path.as_str()) {
                let preflight = [ORIGIN, ("access-control-request-method", operation.method.as_str())];
                let answer = request(&app.anonymous(), Method::OPTIONS, &path, &preflight).await;
                assert_eq!((answer.status, allows(&answer)), (405, None), "{path}");
            } else if operation.method == Method::POST {
                continue;
            }
            let answer = request(&app.client(), operation.method.clone(), &path, &[ORIGIN]).await;
            assert_eq!(allows(&answer), None, "{} {path}", operation.method);
        }
        assert_eq!(allows(&request(&app.client(), Method::POST, "/1/nothing", &[ORIGIN]).await), None);
        assert_eq!(allows(&request(&app.client(), Method::GET, "/1/cards/card_x", &[ORIGIN]).await), None);
    }

    async fn a_form_of_another_site_with_a_key_that_the_browser_has_kept_is_refused(app) {
        let form = ("content-type", "application/x-www-form-urlencoded");
        let host = ("host", "payments.example");
        let (site, mode) = (|site| ("sec-fetch-site", site), |mode| ("sec-fetch-mode", mode));
        let path = "/1/plans?name=Coffee&amount=1000&interval=30&interval_unit=day";
        let before = app.rows().await;
        for foreign in [
            vec![ORIGIN, form, site("cross-site"), mode("navigate")],
            vec![("origin", "null"), form, site("cross-site"), mode("no-cors")],
            vec![form, site("same-site"), mode("navigate")],
            // Browsers send no Sec-Fetch headers over plain HTTP from another machine.
            vec![ORIGIN, form, host],
            vec![("origin", "null"), ("content-type", "text/plain"), host],
            vec![ORIGIN, host],
            // A script whose request is as plain as a form.
            vec![ORIGIN, form, site("same-site"), mode("cors")],
        ] {
            let refused = request(&app.client(), Method::POST, path, &foreign).await;
            refused.refused(403, "forbidden");
            assert!(refused.text.contains("A page of another site sent this"), "{}", refused.text);
        }
        assert_eq!(app.rows().await, before);
        // Its own pages, and what no form can send.
        for own in [
            vec![("origin", "http://payments.example"), host, form],
            vec![("origin", "https://payments.example"), host, form, site("same-origin"), mode("cors")],
            vec![ORIGIN, host, ("x-forwarded-host", "shop.example"), form],
            vec![ORIGIN, host, ("x-forwarded-host", "edge.example, shop.example"), form],
            vec![ORIGIN, ("content-type", "application/json"), site("same-site"), mode("cors")],
            vec![ORIGIN, ("content-type", "application/json"), host],
        ] {
            let answer = request(&app.client(), Method::POST, "/1/plans", &own).await;
            assert_eq!(answer.status, 422, "{own:?}: {}", answer.text);
        }
        let read = [site("cross-site"), mode("navigate")];
        assert_eq!(request(&app.client(), Method::GET, "/1/plans", &read).await.status, 200);
        // A browser asks for leave before it sends this; a proxy in between has given it.
        let asked = [ORIGIN, host, site("same-site"), mode("cors")];
        let gone = "/1/customers/cus_AZqYv3rVcBKUQ1mHn7tKRw";
        request(&app.client(), Method::DELETE, gone, &asked).await.not_found();
    }

    async fn a_script_tag_stores_a_card(app) {
        let mut params = card("4200000000000000");
        params["name"] = json!("Zoë </script>\u{2028}\u{2029}");
        for path in ["/1/cards.json", "/1/cards", "/1/cards/"] {
            for callback in ["F", "_", "$", "jsonp1700000000", "app.cards.stored", "$jQuery_1"] {
                let answer = request(
                    &app.anonymous(),
                    Method::GET,
                    &format!("{path}?{}", script(app, callback, &params)),
                    &[],
                )
                .await;
                let body = called(&answer, callback);
                assert_eq!(body["ip_address"], "127.0.0.1");
                assert_eq!(body["response"]["name"], params["name"]);
                let shown = app
                    .client()
                    .get(&format!("/1/cards/{}", body["response"]["token"].as_str().unwrap()))
                    .await;
                assert_eq!(shown.ok(200), body["response"]);
            }
        }
    }

    async fn a_script_tag_adds_a_card_to_a_customer(app) {
        let customer = a_customer(app).await;
        let path =
            format!("/1/customers/{customer}/cards.json?{}", script(app, "F", &card("5520000000000000")));
        let body = called(&request(&app.anonymous(), Method::GET, &path, &[]).await, "F");
        assert_eq!(body["response"]["customer_token"], json!(customer));
        assert_eq!(
            app.client().get(&format!("/1/customers/{customer}/cards")).await.json()["pagination"]["count"],
            2
        );
    }

    async fn a_script_tag_is_told_of_errors_in_a_200(app) {
        let customer = a_customer(app).await;
        let before = app.rows().await;
        let key = app.publishable_key();
        for (path, error) in [
            ("/1/cards?callback=F&_method=POST".to_owned(), "unauthorized"),
            ("/1/cards?callback=F&_method=POST&publishable_api_key=pk_nobody".to_owned(), "unauthorized"),
            (format!("/1/cards?callback=F&_method=POST&publishable_api_key={key}"), "invalid_resource"),
            (format!("/1/cards?{}", script(app, "F", &card("4200000000000001"))), "invalid_resource"),
            (
                format!("/1/customers/cus_x/cards?{}", script(app, "F", &card("4200000000000000"))),
                "not_found",
            ),
            (format!("/1/customers/{customer}/cards?callback=F&_method=POST"), "unauthorized"),
        ] {
            let body = called(&request(&app.anonymous(), Method::GET, &path, &[]).await, "F");
            assert_eq!(body["error"], error, "{path}");
            assert!(body["error_description"].is_string());
        }
        assert_eq!(app.rows().await, before);
    }

    async fn a_script_tag_that_does_not_post_is_told_of_the_wrong_method(app) {
        let before = app.rows().await;
        for method in ["", "&_method=", "&_method=GET", "&_method=DELETE", "&method=POST"] {
            let query = script(app, "F", &card("4200000000000000")).replace("&_method=POST", method);
            let body = called(
                &request(&app.anonymous(), Method::GET, &format!("/1/cards.json?{query}"), &[]).await,
                "F",
            );
            assert_eq!(body["error"], "method_not_allowed", "{method}");
        }
        assert_eq!(app.rows().await, before);
    }

    async fn a_malformed_callback_is_refused(app) {
        let before = app.rows().await;
        let long = "a".repeat(65);
        for callback in [
            "",
            "1f",
            ".f",
            "f(",
            "f)%2F%2F",
            "alert(1)",
            "f%20g",
            "f%3Bg",
            "f-g",
            "%C3%A9",
            "f%00",
            "f[0]",
            "%3Cscript%3E",
            long.as_str(),
        ] {
            let query = script(app, callback, &card("4200000000000000"));
            let answer = request(&app.anonymous(), Method::GET, &format!("/1/cards.json?{query}"), &[]).await;
            let faults = answer.faults();
            assert_eq!((faults.len(), faults[0].0.as_str()), (1, "callback"), "{callback}");
            assert_eq!(answer.json()["messages"][0]["code"], "callback_invalid");
            assert_eq!(answer.headers["content-type"], "application/json; charset=utf-8");
            let query = query.replace("&_method=POST", "");
            let answer = request(&app.anonymous(), Method::GET, &format!("/1/cards.json?{query}"), &[]).await;
            answer.refused(405, "method_not_allowed");
            assert_eq!(answer.headers["allow"], "POST", "{callback}");
        }
        assert_eq!(app.rows().await, before);
        let longest = "a".repeat(64);
        called(
            &request(
                &app.anonymous(),
                Method::GET,
                &format!("/1/cards?{}", script(app, &longest, &card("4200000000000000"))),
                &[],
            )
            .await,
            &longest,
        );
    }

    async fn a_secret_key_is_of_no_use_in_a_script_tag(app) {
        let before = app.rows().await;
        let query = format!("callback=F&_method=POST&{}", form(&card("4200000000000000"), true));
        let body = called(&request(&app.client(), Method::GET, &format!("/1/cards?{query}"), &[]).await, "F");
        assert_eq!(body["error"], "unauthorized");
        assert_eq!(app.rows().await, before);
        // And a publishable key is enough, whatever the browser sends with it.
        let wrong = app.with_key("nobody-has-this");
        called(
            &request(
                &wrong,
                Method::GET,
                &format!("/1/cards?{}", script(app, "F", &card("4200000000000000"))),
                &[],
            )
            .await,
            "F",
        )["response"]["token"]
            .as_str()
            .unwrap();
    }

    async fn no_other_endpoint_speaks_jsonp(app) {
        let before = app.rows().await;
        let query = format!("callback=F&_method=POST&publishable_api_key={}", app.publishable_key());
        for path in ["/1/charges", "/1/customers", "/1/charges/search", "/1/events", "/1/cards/card_x"] {
            let answer = request(&app.anonymous(), Method::GET, &format!("{path}?{query}"), &[]).await;
            answer.refused(401, "unauthorized");
            assert_eq!(answer.headers["content-type"], "application/json; charset=utf-8");
        }
        let listed = request(&app.client(), Method::GET, &format!("/1/charges?{query}"), &[]).await;
        assert_eq!(listed.ok(200), json!([]));
        assert_eq!(app.rows().await, before);
    }

    async fn a_callback_means_nothing_to_a_post(app) {
        let mut params = card("4200000000000000");
        params["callback"] = json!("F(");
        let answer = app.client().post("/1/cards?callback=F&_method=POST", &params).await;
        answer.ok(201);
        assert_eq!(answer.headers["content-type"], "application/json; charset=utf-8");
    }

    async fn a_customers_cards_are_listed_whatever_the_callback(app) {
        let customer = a_customer(app).await;
        let path = format!("/1/customers/{customer}/cards");
        let plain = app.client().get(&path).await;
        let answer = request(&app.client(), Method::GET, &format!("{path}?callback=F"), &[]).await;
        assert_eq!((answer.status, &answer.text), (200, &plain.text));
    }

    async fn a_customers_cards_are_no_list_for_a_script_tag(app) {
        let customer = a_customer(app).await;
        let path = format!("/1/customers/{customer}/cards");
        let key = app.publishable_key();
        let before = app.rows().await;
        let answer = request(&app.anonymous(), Method::GET, &format!("{path}?callback=F&publishable_api_key={key}"), &[]).await;
        assert_eq!(called(&answer, "F")["error"], "method_not_allowed");
        let answer = request(&app.anonymous(), Method::GET, &format!("{path}?callback=F(&publishable_api_key={key}"), &[]).await;
        answer.refused(401, "unauthorized");
        assert_eq!(app.rows().await, before);
    }

    async fn a_query_that_cannot_be_read_is_told_to_the_script(app) {
        let before = app.rows().await;
        for broken in ["name=100%", "name=%FF", "number=1&number[a]=2"] {
            let query = format!("callback=F&_method=POST&publishable_api_key={}&{broken}", app.publishable_key());
            let answer = request(&app.anonymous(), Method::GET, &format!("/1/cards?{query}"), &[]).await;
            assert_eq!(called(&answer, "F")["error"], "bad_request", "{broken}");
        }
        assert_eq!(app.rows().await, before);
    }
}
