//! GET /charges/search (specification, Charges; `docs/decisions.md`, 20 and 21).

use card_payments::services::search_text::folded;
use entity::TimeSpan;
use migration::{Migrator, MigratorTrait};
use serde_json::{Value, json};
use url::form_urlencoded::byte_serialize;

use crate::harness::steps::sql_of;
use crate::harness::{Answer, App, Client, Database, card, charge_with, rules, token_of};

/// What a search with these parameters answers.
async fn search(client: &Client, parameters: &[(&str, &str)]) -> Answer {
    let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let query: Vec<_> = parameters.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    client.get(&format!("/1/charges/search?{}", query.join("&"))).await
}

fn tokens(answer: &Answer) -> Vec<String> {
    answer.ok(200).as_array().unwrap().iter().map(token_of).collect()
}

/// The tokens that a query finds.
async fn found(app: &App, query: &str) -> Vec<String> {
    tokens(&search(&app.client(), &[("query", query)]).await)
}

async fn made(client: &Client, amount: i64, changes: Value) -> String {
    token_of(&client.post("/1/charges", &charge_with(amount, changes)).await.ok(201))
}

/// A charge whose description is a text.
async fn described(app: &App, description: &str) -> String {
    made(&app.client(), 400, json!({ "description": description })).await
}

rules! {
    async fn words_are_found_in_description_email_metadata_values_and_cardholder_name(app) {
        let mut holder = card("4200000000000000");
        holder["name"] = json!("Wilhelmina Quark");
        let charge = made(&app.client(), 777, json!({
            "description": "Blue bicycle", "email": "fritz@zebra.example", "card": holder,
            "metadata": { "colour": "Magenta", "order": 90210 },
        })).await;
        described(app, "something else").await;
        for query in [
            "Blue bicycle", "blue BICYCLE", "cycl", "fritz@zebra", "ZEBRA", "magenta", "0210", "mina qua",
            "  bicycle  ", "c", "yc", "Q",
        ] {
            let hits = found(app, query).await;
            assert!(hits.contains(&charge), "{query}");
            assert!(query.len() < 3 || hits.len() == 1, "{query}");
        }
        for query in [
            "bicycle blue", "blue  bicycle", "colour", "203.192.1.172", "bicyclefritz", "examplemagenta",
            "Magenta 90210", "sevenoaks", "XXXX-XXXX", "visa",
        ] {
            assert!(!found(app, query).await.contains(&charge), "{query}");
        }
    }

    async fn amounts_currencies_and_tokens_are_found_exactly(app) {
        let client = app.client();
        let customer = client.customer("5520000000000000").await;
        let by_customer = made(&client, 4_321, json!({ "card": null, "customer_token": customer["token"] })).await;
        let foreign = made(&client, 43_210, json!({ "currency": "NZD" })).await;
        let cards = [client.charge(&by_customer).await, client.charge(&foreign).await].map(|charge| token_of(&charge["card"]));
        for (query, hits) in [
            ("4321", vec![&by_customer]),
            ("43210", vec![&foreign]),
            ("432", vec![]),
            ("NZD", vec![&foreign]),
            ("nzd", vec![&foreign]),
            ("AUD", vec![&by_customer]),
            (&by_customer, vec![&by_customer]),
            (&foreign[..20], vec![]),
            (&by_customer[3..], vec![]),
            (&cards[0], vec![&by_customer]),
            (&cards[1], vec![&foreign]),
            (&cards[1][..20], vec![]),
            (customer["token"].as_str().unwrap(), vec![&by_customer]),
            (" 4321 ", vec![&by_customer]),
        ] {
            assert_eq!(found(app, query).await.iter().collect::<Vec<_>>(), hits, "{query}");
        }
        assert!(found(app, &by_customer.to_uppercase()).await.is_empty(), "a token is exact, its case included");
    }

    async fn every_sign_is_a_letter(app) {
        let texts = [
            "100% cotton", "100 cotton", "snake_case", "snakeXcase", "it's \"quoted\"", "back\\slash", "back/slash",
            "two\nlines", "wild*card", "a AND b", "a OR b", "NOT (this)", "col:umn ^up -minus", "tab\there", "semi;colon--",
            "Ünïcödé Straße", "日本語テキスト", "🦀🦀🦀 crab",
        ];
        let mut charges = Vec::new();
        for text in texts {
            charges.push(described(app, text).await);
        }
        for (query, hit) in [
            ("100%", 0), ("0% c", 0), ("100 c", 1), ("snake_case", 2), ("snakeX", 3), ("e_c", 2), ("it's", 4), ("\"quo", 4), ("\"quoted\"", 4),
            ("back\\sl", 5), ("back/s", 6), ("two\nlines", 7), ("wild*c", 8), ("a AND b", 9), ("a or B", 10), ("NOT (t", 11),
            ("col:umn", 12), ("^up -m", 12), ("tab\th", 13), ("semi;colon--", 14), ("üNÏCÖDÉ", 15), ("straße", 15),
            ("日本語", 16), ("本語テ", 16), ("🦀🦀🦀", 17), ("%", 0), ("_", 2), ("\\", 5), ("*", 8), ("^", 12), ("🦀", 17), ("ß", 15), ("語", 16),
        ] {
            assert_eq!(found(app, query).await, [charges[hit].as_str()], "{query:?}");
        }
        for query in ["%%%", "___", "100_", "sn%ke", "wi*card", "\"\"\"", "''' OR 1=1", "b AND a", "unicode", "a b", "\\\\", "\u{e000}"] {
            assert_eq!(found(app, query).await, Vec::<String>::new(), "{query:?}");
        }
    }

    async fn a_letter_is_found_in_any_case_wherever_it_stands(app) {
        let texts = ["\u{3a0}\u{391}\u{3a1}\u{391}\u{394}\u{39f}\u{3a3}\u{397}", "\u{17f}tory", "5 \u{b5}mol", "KAPI"];
        let mut charges = Vec::new();
        for text in texts {
            charges.push(described(app, text).await);
        }
        for (query, hit) in [
            ("\u{3a0}\u{391}\u{3a1}\u{391}\u{394}\u{39f}\u{3a3}", 0), ("\u{39f}\u{3a3}", 0), ("\u{3bf}\u{3c2}", 0), ("\u{3b4}\u{3bf}\u{3c3}", 0),
            ("\u{3b4}\u{3bf}\u{3c2}", 0), ("\u{3a3}", 0), ("story", 1), ("\u{17f}TO", 1), ("\u{39c}MOL", 2), ("\u{3bc}m", 2), ("kap\u{131}", 3),
        ] {
            assert_eq!(found(app, query).await, [charges[hit].as_str()], "{query}");
        }
    }

    async fn a_word_that_is_in_most_charges_is_found_alike_in_any_case(app) {
        for _ in 0..27 {
            described(app, "\u{39f}\u{394}\u{39f}\u{3a3}").await;
        }
        for query in ["\u{39f}\u{394}\u{39f}\u{3a3}", "\u{3bf}\u{3b4}\u{3bf}\u{3c2}", "\u{3bf}\u{3b4}\u{3bf}\u{3c3}", "\u{3bf}\u{3c3}"] {
            assert_eq!(search(&app.client(), &[("query", query)]).await.json()["pagination"]["count"], 27, "{query}");
        }
    }

    async fn words_of_former_releases_are_found(app) {
        // Small letters that were stored as they are.
        let former: String = ('\0'..=char::MAX)
            .filter(|c| c.to_lowercase().eq([*c]) && folded(&c.to_string()) != c.to_string())
            .collect();
        let description = format!("one {former} two");
        let charge = described(app, &description).await;
        let other = described(app, "Stra\u{df}e \u{fc}ber").await;
        let words = folded(&description);
        for (table, column) in [("charges", "search_text"), ("charges_search", "text")] {
            if table == "charges" || app.database == Database::Sqlite {
                let sql = format!("UPDATE {table} SET {column} = replace({column}, '{words}', '{description}')");
                app.execute(sql.leak()).await;
            }
        }
        assert_eq!(found(app, &former).await, [""; 0]);
        let step = Migrator::migrations().into_iter().find(|step| step.name() == "m0012_words").unwrap();
        app.execute(sql_of(&*step, app.ctx().store.backend()).leak()).await;
        assert_eq!(found(app, &former).await, [charge.as_str()]);
        for c in former.chars() {
            let query = format!("{c}");
            assert!(found(app, &query).await.contains(&charge), "{query}: a step is missing");
        }
        assert_eq!(found(app, "stra\u{df}e \u{dc}").await, [other.as_str()]);
    }

    async fn a_blank_query_finds_everything_and_an_unknown_one_nothing(app) {
        let charge = described(app, "lonely").await;
        for query in ["", " ", "\t"] {
            assert_eq!(found(app, query).await, [charge.as_str()]);
        }
        let nothing = search(&app.client(), &[("query", "lonelier")]).await;
        assert_eq!(nothing.ok(200), json!([]));
        assert_eq!(nothing.json()["count"], 0);
        let expected = json!({ "current": 1, "previous": null, "next": null, "per_page": 25, "pages": 0, "count": 0 });
        assert_eq!(nothing.json()["pagination"], expected);
    }

    async fn failed_attempts_are_never_found(app) {
        let client = app.client();
        let declined = charge_with(400, json!({ "description": "declined", "card": card("4100000000000001") }));
        let body = client.post("/1/charges", &declined).await.refused(400, "card_declined");
        for query in ["declined", "de", "400", body["charge_token"].as_str().unwrap(), ""] {
            assert!(found(app, query).await.is_empty(), "{query}");
        }
        // One that is authorised, voided or captured later stays found.
        let charge = made(&client, 400, json!({ "description": "patient", "capture": false })).await;
        assert_eq!(found(app, "patient").await, [charge.as_str()]);
        client.put_charge(&charge, "void").await.ok(200);
        assert_eq!(found(app, "patient").await, [charge.as_str()]);
    }

    async fn nobody_finds_another_accounts_charges(app) {
        let (client, stranger) = (app.client(), app.stranger().await);
        let mine = described(app, "shared words").await;
        let theirs = made(&stranger, 400, json!({ "description": "shared words" })).await;
        let their_card = token_of(&stranger.charge(&theirs).await["card"]);
        for query in ["shared", "sh", "400", "AUD", ""] {
            assert_eq!(tokens(&search(&client, &[("query", query)]).await), [mine.as_str()], "{query}");
            assert_eq!(tokens(&search(&stranger, &[("query", query)]).await), [theirs.as_str()], "{query}");
        }
        for query in [&theirs, &their_card] {
            assert!(found(app, query).await.is_empty());
        }
    }

    #[dated]
    async fn dates_are_read_in_every_spelling_the_end_excluded(app) {
        let client = app.client();
        // Made on 2 March at 10:00, 3 March at 00:00 and 4 March at 00:00.
        let first = described(app, "one").await;
        app.clock.advance(TimeSpan::seconds(14 * 3_600));
        let second = described(app, "two").await;
        app.clock.advance(TimeSpan::days(1));
        let third = described(app, "three").await;
        for day in ["2026/03/03", "2026-03-03", "Mar 3, 2026", "Mar 03, 2026", "2026-03-03T00:00:00Z", "2026-03-03T11:00:00+11:00",
            "2026-03-03T00:00:00.000000000Z", "+002026-03-03T00:00:00.000000000Z", " 2026/03/03 "] {
            let from = search(&client, &[("start_date", day)]).await;
            assert_eq!(tokens(&from), [second.as_str(), &third], "{day}");
            let before = search(&client, &[("end_date", day)]).await;
            assert_eq!(tokens(&before), [first.as_str()], "{day}");
        }
        for (from, to, hits) in [
            ("2026/03/02", "2026/03/03", vec![&first]),
            ("2026/03/02", "2026/03/05", vec![&first, &second, &third]),
            ("2026-03-02T10:00:00Z", "2026-03-02T10:00:01Z", vec![&first]),
            ("2026-03-02T10:00:01Z", "2026-03-03T00:00:00Z", vec![]),
            ("2026/03/03", "2026/03/03", vec![]),
            ("2026/03/04", "2026/03/02", vec![]),
            ("", " ", vec![&first, &second, &third]),
            ("1970/01/01", "9999/12/31", vec![&first, &second, &third]),
        ] {
            let hit = search(&client, &[("start_date", from), ("end_date", to)]).await;
            assert_eq!(tokens(&hit).iter().collect::<Vec<_>>(), hits, "{from} {to}");
        }
        for other in ["2026/3/3", "2026-3-3", "2026/ 3/ 3", "26/03/03"] {
            search(&client, &[("start_date", other)]).await.refused(422, "invalid_resource");
        }
        let both = search(&client, &[("query", "test@"), ("start_date", "2026/03/03")]).await;
        assert_eq!(both.ok(200), json!([]), "words and dates are both wanted");
    }

    async fn results_are_sorted_as_asked_ties_by_id(app) {
        let client = app.client();
        let mut made_so_far = Vec::new();
        for amount in [500, 300, 500, 400] {
            made_so_far.push(made(&client, amount, json!({})).await);
            app.clock.advance(TimeSpan::seconds(1));
        }
        // Two of the same moment.
        made_so_far.push(made(&client, 300, json!({})).await);
        made_so_far.push(made(&client, 300, json!({})).await);
        for (parameters, order) in [
            (&[][..], [0, 1, 2, 3, 4, 5]),
            (&[("sort", "created_at")], [0, 1, 2, 3, 4, 5]),
            (&[("direction", "1")], [0, 1, 2, 3, 4, 5]),
            (&[("direction", "-1")], [5, 4, 3, 2, 1, 0]),
            (&[("sort", "amount")], [1, 4, 5, 3, 0, 2]),
            (&[("sort", "amount"), ("direction", "-1")], [2, 0, 3, 5, 4, 1]),
            (&[("sort", " "), ("direction", "")], [0, 1, 2, 3, 4, 5]),
        ] {
            let sorted = tokens(&search(&client, parameters).await);
            assert_eq!(sorted, order.map(|n| made_so_far[n].clone()), "{parameters:?}");
        }
    }

    async fn a_search_is_paged(app) {
        let client = app.client();
        let mut charges = Vec::new();
        for n in 0..7 {
            charges.push(described(app, if n == 3 { "other" } else { "wanted" }).await);
        }
        charges.remove(3);
        let mut pages = Vec::new();
        for page in ["1", "2", "3"] {
            let answer = search(&client, &[("query", "wanted"), ("page", page), ("per_page", "2")]).await;
            assert_eq!((&answer.json()["count"], &answer.json()["pagination"]["count"]), (&json!(2), &json!(6)));
            assert_eq!(answer.json()["pagination"]["pages"], 3);
            pages.extend(tokens(&answer));
        }
        assert_eq!(pages, charges);
        let past = search(&client, &[("query", "wanted"), ("page", "4"), ("per_page", "2")]).await;
        assert_eq!(past.ok(200), json!([]));
        let expected = json!({ "current": 4, "previous": 3, "next": null, "per_page": 2, "pages": 3, "count": 6 });
        assert_eq!(past.json()["pagination"], expected);
    }

    async fn a_search_sees_the_last_committed_write(app) {
        for n in 0..5 {
            let text = format!("needle number {n}");
            let charge = described(app, &text).await;
            assert_eq!(found(app, &text).await, [charge]);
        }
    }

    #[dated]
    async fn wrong_search_parameters_are_told_at_once(app) {
        let client = app.client();
        let wrong = [("direction", "up"), ("sort", "email"), ("start_date", "yesterday"), ("end_date", "2026-02-30"), ("page", "x"), ("per_page", "501")];
        let faults = search(&client, &wrong).await.faults();
        let faults: Vec<_> = faults.iter().map(|(param, message)| (param.as_str(), message.as_str())).collect();
        assert_eq!(faults, [
            ("start_date", "Start date is not formatted properly"),
            ("end_date", "End date is not formatted properly"),
            ("sort", "Sort is not included in the list"),
            ("direction", "Direction is not included in the list"),
            ("page", "Page is not a number"),
            ("per_page", "Per page must be at most 500"),
        ]);
        for (param, value) in [
            ("start_date", "25/03/2026"), ("end_date", "2026"), ("sort", "Amount"), ("direction", "0"), ("direction", "2"),
            ("page", "-1"), ("per_page", "0"), ("query", &"q".repeat(1_001)),
        ] {
            let faults = search(&client, &[(param, value)]).await.faults();
            assert_eq!(faults.iter().map(|(param, _)| param.as_str()).collect::<Vec<_>>(), [param], "{value}");
        }
        // A charge endpoint has no shortest query.
        assert_eq!(search(&client, &[("query", "x")]).await.ok(200), json!([]));
    }

    async fn parameters_may_come_in_a_body_too(app) {
        let charge = described(app, "embodied").await;
        described(app, "other").await;
        let client = app.client();
        let request = client.request(http::Method::GET, "/1/charges/search")
            .header(http::header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let answer = client.send(request.body(axum::body::Body::from("query=embodied")).unwrap()).await;
        assert_eq!(tokens(&answer), [charge]);
    }
}
