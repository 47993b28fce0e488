//! Pages of lists (specification, Conventions 4; `docs/decisions.md`, 16 to 19).

use serde_json::{Value, json};

use super::operations;
use crate::harness::{App, card, charge, rules, token_of};

/// Three customers, the newest of which has three cards and five charges; and a recipient that was paid.
async fn filled(app: &App) -> String {
    let client = app.client();
    let mut token = String::new();
    for email in ["a@example.com", "b@example.com", "c@example.com"] {
        let customer = json!({ "email": email, "card": card("4200000000000000") });
        token = client.post("/1/customers", &customer).await.ok(201)["token"].as_str().unwrap().into();
    }
    for _ in 0..2 {
        client.post(&format!("/1/customers/{token}/cards"), &card("4200000000000000")).await.ok(201);
    }
    for amount in [100, 200, 300, 400, 500] {
        let mut params = charge(amount);
        params["customer_token"] = json!(token);
        params["card"] = Value::Null;
        client.post("/1/charges", &params).await.ok(201);
    }
    let recipient = client.recipient("987654321").await;
    client.transfer(100, recipient["token"].as_str().unwrap()).await.ok(201);
    token
}

fn amounts(list: &Value) -> Vec<i64> {
    list["response"].as_array().unwrap().iter().map(|charge| charge["amount"].as_i64().unwrap()).collect()
}

fn long(list: &Value) -> [Value; 6] {
    ["current", "previous", "next", "per_page", "pages", "count"].map(|name| list["pagination"][name].clone())
}

/// Every list of the document, by the path of this customer's, or of a charge's.
async fn lists(app: &App, customer: &str) -> Vec<String> {
    let newest = async |path: &str| token_of(&app.client().get(path).await.ok(200)[0]);
    let (charge, recipient, transfer) =
        (newest("/1/charges").await, newest("/1/recipients").await, newest("/1/transfers").await);
    let plan = app.client().plan(&json!({})).await;
    let subscription = app.client().subscribed(&plan, customer).await;
    let inbox = token_of(&app.client().post("/1/sandbox/inboxes", &json!({})).await.ok(201));
    let lists = operations().into_iter().filter(super::Operation::is_list);
    let lists: Vec<_> = lists
        .map(|list| list.path.replace("{customer_token}", customer).replace("{charge_token}", &charge))
        .map(|path| path.replace("{recipient_token}", &recipient).replace("{transfer_token}", &transfer))
        .map(|path| path.replace("{inbox_token}", &inbox))
        .map(|path| path.replace("{plan_token}", &plan).replace("{sub_token}", &subscription))
        .collect();
    assert!(lists.len() >= 9 && lists.iter().all(|path| !path.contains('{')), "{lists:?}");
    lists
}

rules! {
    async fn a_long_list_tells_where_its_page_lies(app) {
        let customer = filled(app).await;
        for path in ["/1/charges".to_owned(), format!("/1/customers/{customer}/charges")] {
            for (query, expected, pagination) in [
                ("", vec![500, 400, 300, 200, 100], json!([1, null, null, 25, 1, 5])),
                ("?per_page=2", vec![500, 400], json!([1, null, 2, 2, 3, 5])),
                ("?page=2&per_page=2", vec![300, 200], json!([2, 1, 3, 2, 3, 5])),
                ("?page=3&per_page=2", vec![100], json!([3, 2, null, 2, 3, 5])),
                ("?page=4&per_page=2", vec![], json!([4, 3, null, 2, 3, 5])),
                (
                    "?page=9007199254740991&per_page=500",
                    vec![],
                    json!([9_007_199_254_740_991_i64, 9_007_199_254_740_990_i64, null, 500, 1, 5]),
                ),
                ("?per_page=5", vec![500, 400, 300, 200, 100], json!([1, null, null, 5, 1, 5])),
                ("?page=02&per_page=+4", vec![100], json!([2, 1, null, 4, 2, 5])),
            ] {
                let answer = app.client().get(&format!("{path}{query}")).await;
                answer.ok(200);
                let list = answer.json();
                assert_eq!(amounts(&list), expected, "{path}{query}");
                assert_eq!(json!(long(&list)), pagination, "{path}{query}");
                // Of this page, not of all of them.
                assert_eq!(list["count"], expected.len(), "{path}{query}");
            }
        }
    }

    async fn a_short_list_tells_count_size_and_page(app) {
        filled(app).await;
        // Three customers, their changes or not, and five captured charges.
        let all = app.client().get("/1/events?per_page=500").await.ok(200);
        let count = all.as_array().unwrap().len();
        assert!(count >= 8);
        for (query, expected, per_page, current) in [
            ("", count, 25, 1),
            ("?per_page=3", 3, 3, 1),
            ("?page=2&per_page=5", (count - 5).min(5), 5, 2),
            ("?page=99", 0, 25, 99),
        ] {
            let list = app.client().get(&format!("/1/events{query}")).await.json();
            assert_eq!(list["response"].as_array().unwrap().len(), expected, "{query}");
            assert_eq!(
                list["pagination"],
                json!({ "count": count, "per_page": per_page, "current": current }),
                "{query}"
            );
            assert!(list.get("count").is_none(), "{query}");
        }
    }

    async fn a_customers_cards_and_subscriptions_have_pages_too(app) {
        let customer = filled(app).await;
        let cards =
            app.client().get(&format!("/1/customers/{customer}/cards?per_page=2&page=2")).await.json();
        assert_eq!(json!(long(&cards)), json!([2, 1, null, 2, 2, 3]));
        assert_eq!(cards["count"], 1);
        let subscriptions = app
            .client()
            .get(&format!("/1/customers/{customer}/subscriptions?page=2&per_page=2"))
            .await
            .json();
        assert_eq!(
            subscriptions,
            json!({ "response": [], "pagination": { "count": 0, "per_page": 2, "current": 2 } })
        );
    }

    async fn the_pages_of_a_list_hold_each_record_once(app) {
        filled(app).await;
        for path in ["/1/charges", "/1/customers", "/1/events", "/1/charges/search"] {
            let all = app.client().get(&format!("{path}?per_page=500")).await.ok(200);
            let mut pages = Vec::new();
            for page in 1..=all.as_array().unwrap().len() {
                let page = app.client().get(&format!("{path}?per_page=1&page={page}")).await.ok(200);
                pages.extend(page.as_array().unwrap().clone());
            }
            assert_eq!(Value::from(pages), all, "{path}");
        }
    }

    async fn a_blank_page_or_zero_is_the_first_on_every_list(app) {
        let customer = filled(app).await;
        for path in lists(app, &customer).await {
            let first = app.client().get(&path).await;
            first.ok(200);
            for query in [
                "page=",
                "page=0",
                "page=%20",
                "per_page=",
                "page=&per_page=",
                "page=1&per_page=25",
                "page=01",
                "page=00",
            ] {
                let answer = app.client().get(&format!("{path}?{query}")).await;
                assert_eq!(answer.text, first.text, "{path}?{query}");
            }
            let body = json!({ "page": null, "per_page": null });
            let answer = crate::harness::sending::send(
                &app.client(),
                http::Method::GET,
                &path,
                crate::harness::sending::JSON,
                body.to_string(),
            )
            .await;
            assert_eq!(answer.text, first.text, "{path}");
        }
    }

    async fn other_text_is_refused_on_every_list(app) {
        let customer = filled(app).await;
        let lists = lists(app, &customer).await;
        let before = app.rows().await;
        for path in lists {
            for (query, expected) in [
                ("page=x", vec!["Page is not a number"]),
                ("page=1.5", vec!["Page must be an integer"]),
                ("page=-1", vec!["Page must be greater than or equal to 1"]),
                ("page[]=1&page[]=2", vec!["Page is not a number"]),
                ("page=9007199254740992", vec!["Page must be at most 9007199254740991"]),
                ("per_page=all", vec!["Per page is not a number"]),
                ("per_page=501", vec!["Per page must be at most 500"]),
                ("per_page=0", vec!["Per page must be greater than or equal to 1"]),
                ("per_page=-25", vec!["Per page must be greater than or equal to 1"]),
                ("per_page=x&page=y", vec!["Page is not a number", "Per page is not a number"]),
            ] {
                let faults = app.client().get(&format!("{path}?{query}")).await.faults();
                let messages: Vec<_> = faults.iter().map(|(_, message)| message.as_str()).collect();
                assert_eq!(messages, expected, "{path}?{query}");
            }
            app.client().get(&format!("{path}?per_page=500")).await.ok(200);
        }
        assert_eq!(app.rows().await, before);
    }
}
