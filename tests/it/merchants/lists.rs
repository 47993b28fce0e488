//! Lists and searches of merchants (`docs/decisions.md`, 236).

use entity::TimeSpan;
use serde_json::json;

use super::{PATH, changed};
use crate::harness::{Client, rules, token_of};

/// Refer a merchant of this name.
async fn named(
    client: &Client,
    first_name: &str,
    last_name: &str,
    email: &str,
    trading_name: &str,
) -> String {
    let contact = json!({ "first_name": first_name, "last_name": last_name, "email": email });
    let mut params = changed("contact", &contact);
    params["business"]["trading_name"] = trading_name.into();
    token_of(&client.post(PATH, &params).await.ok(201))
}

/// The business names that a search finds, in their order.
async fn found(client: &Client, query: &str) -> Vec<String> {
    let found = client.get(&format!("{PATH}/search?{query}")).await.ok(200);
    found
        .as_array()
        .unwrap()
        .iter()
        .map(|found| found["business_name"].as_str().unwrap().to_owned())
        .collect()
}

rules! {
    async fn a_list_is_newest_first_and_pages(app) {
        let client = app.client();
        assert_eq!(client.get(PATH).await.json(), json!({
            "response": [], "count": 0, "pagination": { "current": 1, "previous": null, "next": null, "per_page": 25, "pages": 0, "count": 0 },
        }));
        let mut tokens = Vec::new();
        for _ in 0..3 {
            tokens.insert(0, client.merchant().await);
        }
        let page = client.get(&format!("{PATH}?per_page=2")).await.json();
        let listed: Vec<_> = page["response"].as_array().unwrap().iter().map(token_of).collect();
        assert_eq!((listed.as_slice(), &page["pagination"]["count"], &page["count"]), (&tokens[..2], &json!(3), &json!(2)));
        let rest = client.get(&format!("{PATH}?per_page=2&page=2")).await.ok(200);
        assert_eq!(token_of(&rest[0]), tokens[2]);
        client.get(&format!("{PATH}?page=x")).await.faulty(&[("page", "Page is not a number")]);
    }

    async fn a_search_finds_names_and_addresses_by_a_part_and_tokens_whole(app) {
        let client = app.client();
        let robot = named(&client, "Roland", "Zebra", "r@shop.example.com", "Alpha Robots").await;
        named(&client, "Ada", "Lovelace", "ada@example.com", "Beta 100%_\\ Engines").await;
        named(&client, "Émile", "Robotham", "e@example.com", "Gamma").await;
        for (query, names) in [
            ("query=robot", &["Alpha Robots", "Gamma"][..]),
            ("query=LOVE", &["Beta 100%_\\ Engines"]),
            ("query=ada%40", &["Beta 100%_\\ Engines"]),
            ("query=%C3%A9mi", &["Gamma"]),
            ("query=100%25_", &["Beta 100%_\\ Engines"]),
            ("query=shop.example", &["Alpha Robots"]),
            ("query=+zebra+", &["Alpha Robots"]),
            // Each word is on its own.
            ("query=Roland+Zebra", &[]),
            ("query=0491", &[]),
            ("query=", &["Alpha Robots", "Beta 100%_\\ Engines", "Gamma"]),
            ("", &["Alpha Robots", "Beta 100%_\\ Engines", "Gamma"]),
        ] {
            assert_eq!(found(&client, query).await, names, "{query}");
        }
        assert_eq!(found(&client, &format!("query={robot}")).await, ["Alpha Robots"]);
        assert_eq!(found(&client, &format!("query={}", &robot[..robot.len() - 1])).await, [""; 0]);
    }

    #[dated]
    async fn a_search_is_ordered_and_bounded_as_asked(app) {
        let client = app.client();
        for (n, (first, last, email, name)) in
            [("B", "Z", "2@example.com", "Yak"), ("A", "Y", "3@example.com", "Zoo"), ("C", "X", "1@example.com", "Xylo")].into_iter().enumerate()
        {
            named(&client, first, last, email, name).await;
            if n < 2 {
                app.clock.advance(TimeSpan::days(1));
            }
        }
        for (query, names) in [
            ("", ["Yak", "Zoo", "Xylo"]),
            ("sort=created_at&direction=-1", ["Xylo", "Zoo", "Yak"]),
            ("sort=email", ["Xylo", "Yak", "Zoo"]),
            ("sort=first_name", ["Zoo", "Yak", "Xylo"]),
            ("sort=last_name", ["Xylo", "Zoo", "Yak"]),
            ("sort=name", ["Xylo", "Yak", "Zoo"]),
            ("sort=name&direction=-1", ["Zoo", "Yak", "Xylo"]),
        ] {
            assert_eq!(found(&client, query).await, names, "{query}");
        }
        assert_eq!(found(&client, "start_date=2026/03/03").await, ["Zoo", "Xylo"]);
        assert_eq!(found(&client, "end_date=2026/03/04&start_date=2026/03/03").await, ["Zoo"]);
        let search = |query: &str| format!("{PATH}/search?{query}");
        client.get(&search("sort=status&direction=2&start_date=x&page=x")).await.faulty(&[
            ("start_date", "Start date is not formatted properly"),
            ("sort", "Sort is not included in the list"),
            ("direction", "Direction is not included in the list"),
            ("page", "Page is not a number"),
        ]);
        for short in ["query=ab", "query=+ab+", "query=%C3%A9e"] {
            client.get(&search(short)).await.refused(400, "invalid_search_query_param");
        }
        client.get(&search("query=ab&page=x")).await.faulty(&[("page", "Page is not a number")]);
    }

    async fn a_list_takes_as_many_statements_however_long_it_is(app) {
        let client = app.client();
        client.merchant().await;
        // A look-up of the key may come on top, now and then.
        let statements = async || {
            let mut fewest = u64::MAX;
            for _ in 0..3 {
                let before = app.ctx().store.statements().reads;
                client.get(PATH).await.ok(200);
                fewest = fewest.min(app.ctx().store.statements().reads - before);
            }
            fewest
        };
        let of_one = statements().await;
        for _ in 0..4 {
            client.merchant().await;
        }
        assert_eq!(statements().await, of_one);
    }
}
