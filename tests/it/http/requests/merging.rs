//! Where parameters may stand: in the query, in the body, in both (`docs/decisions.md`, 4).

use http::Method;
use serde_json::{Value, json};

use crate::harness::sending::{FORM, JSON, MULTIPART, form, multipart, send};
use crate::harness::{App, card, charge, rules};

async fn three_charges(app: &App) {
    for amount in [400, 500, 600] {
        app.client().post("/1/charges", &charge(amount)).await.ok(201);
    }
}

fn amounts(list: &Value) -> Vec<i64> {
    list["response"].as_array().unwrap().iter().map(|charge| charge["amount"].as_i64().unwrap()).collect()
}

rules! {
    async fn a_get_reads_its_parameters_from_the_query_or_a_body_of_any_kind(app) {
        three_charges(app).await;
        let params = json!({ "page": 2, "per_page": 1 });
        for (query, content_type, body) in [
            ("?page=2&per_page=1", None, String::new()),
            ("", None, form(&params, true)),
            ("", FORM, form(&params, true)),
            ("", JSON, params.to_string()),
            ("", MULTIPART, multipart(&params)),
            ("?page=2", JSON, json!({ "per_page": "1" }).to_string()),
        ] {
            let path = format!("/1/charges{query}");
            let list = send(&app.client(), Method::GET, &path, content_type, body.clone()).await;
            list.ok(200);
            assert_eq!(amounts(&list.json()), [500], "{path} {content_type:?} {body}");
        }
        let search = json!({ "query": "test", "sort": "amount", "direction": -1, "per_page": 2 });
        for (content_type, body) in [(FORM, form(&search, true)), (JSON, search.to_string())] {
            let found =
                send(&app.client(), Method::GET, "/1/charges/search", content_type, body).await.json();
            assert_eq!(amounts(&found), [600, 500]);
        }
    }

    async fn on_a_get_the_query_wins(app) {
        three_charges(app).await;
        for (content_type, body) in [(FORM, "page=1&per_page=1"), (JSON, "{\"page\":1,\"per_page\":1}")] {
            let list = send(&app.client(), Method::GET, "/1/charges?page=3", content_type, body).await.json();
            assert_eq!(amounts(&list), [400]);
            let list = send(&app.client(), Method::GET, "/1/charges?page=3", content_type, "page").await;
            assert_eq!(list.status, if content_type == FORM { 200 } else { 400 });
        }
    }

    async fn a_post_may_have_all_its_parameters_in_the_query(app) {
        for raw_brackets in [true, false] {
            let path = format!("/1/charges?{}", form(&charge(400), raw_brackets));
            for content_type in [None, FORM, JSON] {
                let made = send(&app.client(), Method::POST, &path, content_type, "").await.ok(201);
                assert_eq!(made["amount"], 400);
                assert_eq!(made["card"]["display_number"], "XXXX-XXXX-XXXX-0000");
            }
        }
    }

    async fn on_a_post_and_a_put_the_body_wins(app) {
        let path = "/1/charges?amount=500&reference=shop&card[name]=Query&metadata[q]=1&metadata[both]=q";
        let mut params = charge(400);
        params["metadata"] = json!({ "both": "b" });
        for (content_type, body) in
            [(JSON, params.to_string()), (FORM, form(&params, true)), (MULTIPART, multipart(&params))]
        {
            let made = send(&app.client(), Method::POST, path, content_type, body).await.ok(201);
            assert_eq!(made["amount"], 400);
            assert_eq!(made["card"]["name"], "Roland Robot");
            // Objects are merged field by field.
            assert_eq!(made["metadata"]["q"], "1");
            assert_eq!(made["metadata"]["both"], "b");
        }
        let customer = json!({ "email": "a@example.com", "card": card("4200000000000000") });
        let token = app.client().post("/1/customers", &customer).await.ok(201)["token"].clone();
        let path = format!("/1/customers/{}?first_name=Query&last_name=Query", token.as_str().unwrap());
        let changed = app.client().put(&path, &json!({ "first_name": "Body" })).await.ok(200);
        assert_eq!((&changed["first_name"], &changed["last_name"]), (&json!("Body"), &json!("Query")));
        // JSON null is absent, so it wins over nothing.
        let changed = app.client().put(&path, &json!({ "first_name": null })).await.ok(200);
        assert_eq!(changed["first_name"], "Query");
    }

    async fn parameters_that_nobody_knows_are_ignored(app) {
        let mut params = charge(400);
        params["colour"] = json!({ "deep": ["red"] });
        params["card"]["colour"] = json!("red");
        params["utf8"] = json!("✓");
        app.client().post("/1/charges?_=1", &params).await.ok(201);
        app.client().post_form("/1/charges", &params).await.ok(201);
        app.client().get("/1/charges?colour[]=red&colour[]=blue").await.ok(200);
    }

    async fn of_two_values_of_one_name_the_last_stays(app) {
        let body = form(&charge(400), true) + "&amount=500";
        assert_eq!(send(&app.client(), Method::POST, "/1/charges", FORM, body).await.ok(201)["amount"], 500);
        let body = charge(400).to_string().replacen('{', "{\"amount\":500,", 1);
        assert_eq!(send(&app.client(), Method::POST, "/1/charges", JSON, body).await.ok(201)["amount"], 400);
    }

    async fn values_of_a_lists_name_are_its_items(app) {
        for networks in [
            "networks=192.0.2.0%2F24&networks=198.51.100.0%2F24",
            "networks[]=192.0.2.0%2F24&networks[]=198.51.100.0%2F24",
            "networks[0]=192.0.2.0%2F24&networks[1]=198.51.100.0%2F24",
        ] {
            let body = format!("name=Till&rights[charges]=read&{networks}");
            let made = send(&app.client(), Method::POST, "/1/sandbox/keys", FORM, body).await.ok(201);
            assert_eq!(made["networks"], json!(["192.0.2.0/24", "198.51.100.0/24"]), "{networks}");
        }
        let before = app.rows().await;
        let body = "name=Till&rights[charges]=read&networks=somewhere&networks=192.0.2.0%2F24";
        send(&app.client(), Method::POST, "/1/sandbox/keys", FORM, body).await.refused(422, "invalid_resource");
        assert_eq!(app.rows().await, before);
    }

    async fn a_blank_beside_an_object_of_the_same_name_says_nothing(app) {
        for body in [form(&charge(400), true) + "&card=", "card=&".to_owned() + &form(&charge(400), true)] {
            send(&app.client(), Method::POST, "/1/charges", FORM, body).await.ok(201);
        }
        let before = app.rows().await;
        let body = form(&charge(400), true) + "&card=x";
        send(&app.client(), Method::POST, "/1/charges", FORM, body).await.refused(400, "bad_request");
        assert_eq!(app.rows().await, before);
    }
}
