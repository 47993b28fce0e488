//! Transfers (specification, Transfer and Transfers; `docs/decisions.md`, 202 to 205).

mod races;
mod recipients;

use entity::TimeSpan;
use serde_json::{Value, json};
use url::form_urlencoded::byte_serialize;

use crate::harness::{Answer, App, Client, as_of, fields, rules, token, token_of, with};

const PATH: &str = "/1/transfers";
const OPENING: i64 = 100_000_000;

fn order(recipient: &str) -> Value {
    json!({ "description": "Earnings for may", "amount": 400, "currency": "AUD", "recipient": recipient })
}

async fn books(app: &App) -> [i64; 3] {
    let mut sums = [0; 3];
    for (sum, book) in sums.iter_mut().zip(["merchant", "transfers", "fees"]) {
        *sum =
            app.number(&format!("SELECT COALESCE(SUM(amount), 0) FROM postings WHERE book = '{book}'")).await;
    }
    sums
}

/// The one error of transfers that is an array.
#[track_caller]
pub fn over_the_balance(answer: &Answer) {
    let body = r#"[{"error":"insufficient_service_balance","error_description":"There are not enough funds available to process this transfer"}]"#;
    assert_eq!((answer.status, answer.text.as_str()), (402, body));
}

async fn found(client: &Client, query: &str) -> Vec<String> {
    let query: String = byte_serialize(query.as_bytes()).collect();
    let answer = client.get(&format!("{PATH}/search?query={query}")).await;
    answer.ok(200).as_array().unwrap().iter().map(token_of).collect()
}

rules! {
    async fn a_transfer_has_the_fields_of_the_specification_in_their_order(app) {
        let client = app.client();
        let recipient = client.recipient("987654321").await;
        let answer = client.post(PATH, &order(token(&recipient))).await;
        let made = answer.ok(201);
        assert!(token(&made).starts_with("tfer_"));
        let expected = json!({
            "token": token(&made), "status": "succeeded", "currency": "AUD", "description": "Earnings for may",
            "amount": 400, "total_debits": 0, "total_credits": 400, "created_at": as_of(),
            "paid_at": as_of(), "reference": "First account", "line_items_count": 1,
            "bank_account": recipient["bank_account"], "recipient": token(&recipient),
        });
        assert_eq!((&made, fields(&made)), (&expected, fields(&expected)));
        assert_eq!(client.get(&format!("{PATH}/{}", token(&made))).await.record(), answer.record());
        let event = client.get("/1/events").await.ok(200)[0].clone();
        assert_eq!((&event["type"], &event["data"]), (&json!("transfer.created"), &made));
        let lines = client.get(&format!("{PATH}/{}/line_items", token(&made))).await;
        assert_eq!(lines.ok(200), json!([{ "type": "adjustment", "amount": 400, "currency": "AUD", "created_at": as_of() }]));
        assert_eq!(lines.json()["pagination"]["count"], 1);
        assert_eq!(client.get(&format!("{PATH}/{}/line_items?page=2", token(&made))).await.ok(200), json!([]));
    }

    async fn not_even_nothing_is_transferred_out_of_a_negative_balance(app) {
        let client = app.client();
        app.opens_with(0).await;
        client.transfer(0, "self").await.ok(201);
        client.disputed(400).await;
        over_the_balance(&app.unchanged(client.transfer(0, "self")).await);
    }

    async fn a_recipient_costs_thirty_cents_and_self_nothing(app) {
        let client = app.client();
        let recipient = client.recipient("987654321").await;
        client.transfer(1_000, token(&recipient)).await.ok(201);
        assert_eq!(client.balance().await, (OPENING - 1_030, 0));
        assert_eq!(books(app).await, [OPENING - 1_030, 1_000, 30]);
        let own = client.transfer(1_000, "self").await.ok(201);
        assert_eq!(client.balance().await, (OPENING - 2_030, 0));
        assert_eq!((&own["recipient"], &own["bank_account"]["bsb"], &own["bank_account"]["number"]), (&Value::Null, &json!("806015"), &json!("XXXXXX321")));
        assert_eq!(own["bank_account"]["name"], "First account");
        app.execute("UPDATE accounts SET third_party_transfer_fee = 0").await;
        client.transfer(1_000, token(&recipient)).await.ok(201);
        assert_eq!(client.balance().await, (OPENING - 3_030, 0));
    }

    async fn an_amount_of_zero_is_a_transfer(app) {
        let client = app.client();
        app.opens_with(30).await;
        let recipient = client.recipient("987654321").await;
        client.transfer(0, token(&recipient)).await.ok(201);
        assert_eq!(client.balance().await, (0, 0));
        let own = client.transfer(0, "self").await.ok(201);
        assert_eq!((&own["amount"], &own["line_items_count"]), (&json!(0), &json!(1)));
        over_the_balance(&app.unchanged(client.transfer(0, token(&recipient))).await);
    }

    async fn only_what_is_available_is_paid_out_with_its_fee(app) {
        let client = app.client();
        app.opens_with(1_000).await;
        let recipient = client.recipient("987654321").await;
        client.captured(10_000).await;
        over_the_balance(&app.unchanged(client.transfer(1_001, "self")).await);
        for over in [971, 1_000, 9_007_199_254_740_991] {
            over_the_balance(&app.unchanged(client.transfer(over, token(&recipient))).await);
        }
        client.transfer(970, token(&recipient)).await.ok(201);
        over_the_balance(&app.unchanged(client.transfer(1, "self")).await);
        assert_eq!(client.balance().await, (0, 9_795));
        app.clock.advance(TimeSpan::days(5));
        client.transfer(9_795, "self").await.ok(201);
        assert_eq!(client.balance().await, (0, 0));
    }

    async fn every_missing_or_wrong_parameter_is_told_at_once(app) {
        let client = app.client();
        let foreign = app.stranger().await.recipient("1").await;
        app.invalid(PATH, &json!({}), &[
            ("description", "Description can't be blank"), ("amount", "Amount can't be blank"),
            ("currency", "Currency can't be blank"), ("recipient", "Recipient can't be blank"),
        ]).await;
        for (changes, param, message) in [
            (json!({ "amount": -1 }), "amount", "Amount must be greater than or equal to 0"),
            (json!({ "amount": "ten" }), "amount", "Amount is not a number"),
            (json!({ "amount": 1.5 }), "amount", "Amount must be an integer"),
            (json!({ "amount": 9_007_199_254_740_992_i64 }), "amount", "Amount must be at most 9007199254740991"),
            (json!({ "currency": "USD" }), "currency", "Currency is not a supported currency"),
            (json!({ "currency": "AUDX" }), "currency", "Currency is not a supported currency"),
            (json!({ "description": "x".repeat(1_001) }), "description", "Description is too long (maximum is 1000 characters)"),
            (json!({ "recipient": token(&foreign) }), "recipient", "Recipient is not valid"),
            (json!({ "recipient": "rp_AZqYv3rVcBKUQ1mHn7tKRw" }), "recipient", "Recipient is not valid"),
            (json!({ "recipient": "Self" }), "recipient", "Recipient is not valid"),
            (json!({ "recipient": ["self"] }), "recipient", "Recipient is not valid"),
        ] {
            app.invalid(PATH, &with(order("self"), &changes), &[(param, message)]).await;
        }
        for spelled in [json!({ "currency": "aud", "amount": "7" }), json!({ "recipient": " self " })] {
            client.post_form(PATH, &with(order("self"), &spelled)).await.ok(201);
        }
    }

    async fn transfers_may_be_off_and_self_needs_a_bank_account(app) {
        let client = app.client();
        let recipient = token_of(&client.recipient("987654321").await);
        client.set(json!({ "transfers_enabled": false })).await;
        for to in ["self", recipient.as_str()] {
            app.invalid(PATH, &order(to), &[("recipient", "Transfers are not enabled for this account")]).await;
        }
        client.set(json!({ "transfers_enabled": true })).await;
        app.execute("UPDATE accounts SET bank_account_id = NULL").await;
        app.invalid(PATH, &order("self"), &[("recipient", "Recipient has no bank account")]).await;
        client.transfer(1, &recipient).await.ok(201);
    }

    async fn a_number_ending_in_999_sends_amount_and_fee_back_a_day_later(app) {
        let client = app.client();
        let recipient = client.recipient("1999").await;
        let made = client.transfer(500, token(&recipient)).await.ok(201);
        let zero = client.transfer(0, token(&recipient)).await.ok(201);
        assert_eq!(made["status"], "succeeded");
        assert_eq!(client.balance().await, (OPENING - 560, 0));
        app.clock.advance(TimeSpan::from_millis(86_399_999));
        app.do_due_work().await;
        assert_eq!(client.balance().await, (OPENING - 560, 0));
        app.clock.advance(TimeSpan::from_millis(1));
        app.do_due_work().await;
        assert_eq!(client.balance().await, (OPENING, 0));
        assert_eq!(books(app).await, [OPENING, 0, 0]);
        for transfer in [&made, &zero] {
            let shown = client.get(&format!("{PATH}/{}", token(transfer))).await.ok(200);
            assert_eq!(shown, with(transfer.clone(), &json!({ "status": "failed" })));
        }
        let events = app.events().await;
        assert_eq!(events[3..], ["transfer.failed", "transfer.failed"]);
        app.do_due_work().await;
        assert_eq!(app.events().await, events);
    }

    #[dated]
    async fn a_moved_clock_sends_it_back_at_its_instant(app) {
        let client = app.client();
        let recipient = client.recipient("999").await;
        let made = client.transfer(500, token(&recipient)).await.ok(201);
        let moved = client.move_clock("1month").await;
        assert_eq!(moved["ran"], json!([{ "at": "2026-03-03T10:00:00Z", "what": "transfer.failed", "token": token(&made) }]));
        assert_eq!(client.get("/1/events").await.ok(200)[0]["created_at"], "2026-03-03T10:00:00Z");
    }

    async fn transfers_are_listed_newest_first_for_the_account_and_for_the_recipient(app) {
        let client = app.client();
        let recipient = token_of(&client.recipient("987654321").await);
        let mut all = Vec::new();
        for n in 0..4 {
            all.insert(0, client.transfer(n, if n % 2 == 0 { "self" } else { &recipient }).await.ok(201));
        }
        app.stranger().await.transfer(1, "self").await.ok(201);
        assert_eq!(client.get(PATH).await.ok(200), json!(all));
        assert_eq!(client.get(PATH).await.json()["pagination"]["count"], 4);
        let short = |transfer: &Value| {
            let mut short = transfer.clone();
            short.as_object_mut().unwrap().remove("line_items_count");
            short
        };
        let of_recipient = client.get(&format!("/1/recipients/{recipient}/transfers")).await;
        assert_eq!(of_recipient.ok(200), json!([short(&all[0]), short(&all[2])]));
        assert_eq!(of_recipient.json()["pagination"]["count"], 2);
        for path in [format!("{PATH}/{recipient}"), format!("{PATH}/tfer_AZqYv3rVcBKUQ1mHn7tKRw"), format!("{PATH}/x/line_items")] {
            client.get(&path).await.not_found();
        }
        app.stranger().await.get(&format!("{PATH}/{}", token(&all[0]))).await.not_found();
    }

    async fn a_search_finds_words_of_description_and_recipient_and_the_rest_exactly(app) {
        let client = app.client();
        let recipient = client.recipient("987654321").await;
        let to_recipient = client.post(PATH, &with(order(token(&recipient)), &json!({ "description": "Blue 100%_\\ bicycle", "amount": 777 }))).await.ok(201);
        let own = client.post(PATH, &with(order("self"), &json!({ "description": "something\nelse", "amount": 77 }))).await.ok(201);
        app.stranger().await.transfer(777, "self").await.ok(201);
        let (a, b) = (token_of(&to_recipient), token_of(&own));
        for (query, expected) in [
            ("bicycle", vec![&a]), ("BLUE", vec![&a]), ("pay ee", vec![&a]), ("payee@exam", vec![&a]), ("777", vec![&a]),
            ("77", vec![&b]), (token(&recipient), vec![&a]), (&a, vec![&a]), (&b, vec![&b]), ("%_\\", vec![&a]),
            ("thing else", vec![&b]), ("b", vec![&a]), ("xyz", vec![]), ("eepayee", vec![]), ("7777", vec![]),
        ] {
            assert_eq!(found(&client, query).await, expected.into_iter().cloned().collect::<Vec<_>>(), "{query}");
        }
        // As the recipient is called now.
        client.put(&format!("/1/recipients/{}", token(&recipient)), &json!({ "name": "Renamed" })).await.ok(200);
        assert_eq!((found(&client, "renamed").await, found(&client, "pay ee").await), (vec![a.clone()], vec![]));
        // Who may not read recipients learns no more of them than a transfer shows.
        let key = client.restricted_key(&json!({ "rights": { "transfers": "read" } })).await;
        let holder = app.with_key(key["secret_key"].as_str().unwrap());
        assert_eq!((found(&holder, "renamed").await, found(&holder, "payee@exam").await), (vec![], vec![]));
        assert_eq!((found(&holder, token(&recipient)).await, found(&holder, "bicycle").await), (vec![a.clone()], vec![a]));
    }

    #[dated]
    async fn a_search_goes_by_the_day_of_payment(app) {
        let client = app.client();
        let mut all = Vec::new();
        for _ in 0..3 {
            all.push(client.transfer(1, "self").await.ok(201));
            app.clock.advance(TimeSpan::days(1));
        }
        for (query, expected) in [
            ("", vec![0, 1, 2]), ("direction=-1", vec![2, 1, 0]), ("sort=paid_at&direction=1&per_page=2&page=2", vec![2]),
            ("start_date=2026/03/03", vec![1, 2]), ("end_date=2026/03/03", vec![0]),
            ("start_date=2026/03/03&end_date=2026/03/04", vec![1]),
        ] {
            let expected: Vec<_> = expected.into_iter().map(|n: usize| all[n].clone()).collect();
            assert_eq!(client.get(&format!("{PATH}/search?{query}")).await.ok(200), json!(expected), "{query}");
        }
        client.get(&format!("{PATH}/search?sort=amount&direction=0&start_date=x")).await.faulty(&[
            ("start_date", "Start date is not formatted properly"), ("sort", "Sort is not included in the list"),
            ("direction", "Direction is not included in the list"),
        ]);
    }
}
