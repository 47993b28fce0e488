//! Customers (specification, Customers; `docs/decisions.md`, 160 to 166 and 178). Their further cards: `customer_cards`.

pub mod cards;
pub mod erasures;

use serde_json::{Value, json};

use crate::harness::{Client, as_of, card, charge, fields, rules, token, with};

const UNKNOWN: &str = "cus_AZqYv3rVcBKUQ1mHn7tKRw";

/// Parameters of a customer.
pub fn customer() -> Value {
    json!({ "email": "roland@example.com", "card": card("5520000000000000") })
}

/// A customer with its own card.
pub async fn created(client: &Client) -> Value {
    client.post("/1/customers", &customer()).await.ok(201)
}

/// The path of a customer.
pub fn path(customer: &Value) -> String {
    format!("/1/customers/{}", token(customer))
}

/// An unused card token.
pub async fn stored_card(client: &Client) -> String {
    let stored = client.post("/1/cards", &card("4200000000000000")).await.ok(201);
    token(&stored).to_owned()
}

/// A charge paid in another way than by a card given inline.
pub fn charge_by(payer: &str, token: &str) -> Value {
    with(charge(400), &json!({ "card": null, payer: token }))
}

rules! {
    async fn a_customer_has_the_fields_of_the_specification_in_their_order(app) {
        let made = app.client().post("/1/customers", &customer()).await;
        let customer = made.ok(201);
        assert_eq!(
            fields(&customer),
            [
                "token",
                "email",
                "first_name",
                "last_name",
                "phone_number",
                "company",
                "notes",
                "created_at",
                "card",
            ]
        );
        assert!(token(&customer).starts_with("cus_"));
        assert_eq!(customer["email"], "roland@example.com");
        assert_eq!(customer["created_at"], json!(as_of()));
        let card = &customer["card"];
        assert_eq!(card["display_number"], "XXXX-XXXX-XXXX-0000");
        assert_eq!((&card["primary"], &card["customer_token"]), (&json!(true), &customer["token"]));
        assert_eq!(app.client().get(&path(&customer)).await.text, made.text);
        let shown = app.client().get(&format!("/1/cards/{}", token(card))).await.ok(200);
        assert_eq!(&shown, card);
    }

    async fn optional_texts_are_null_where_absent_and_kept_where_blank(app) {
        let absent = created(&app.client()).await;
        let optional = ["first_name", "last_name", "phone_number", "company", "notes"];
        let blank = with(
            customer(),
            &json!({ "first_name": "", "last_name": " ", "phone_number": "", "company": "", "notes": "" }),
        );
        let blank = app.client().post("/1/customers", &blank).await.ok(201);
        let full = json!({ "first_name": "Roland", "last_name": "Robot", "phone_number": "1300 364 800", "company": "Ünï", "notes": "n" });
        let filled = app.client().post_form("/1/customers", &with(customer(), &full)).await.ok(201);
        for field in optional {
            assert_eq!(
                (&absent[field], &blank[field], &filled[field]),
                (&Value::Null, &json!(""), &full[field]),
                "{field}"
            );
        }
    }

    async fn a_customer_takes_an_unused_card_token(app) {
        let client = app.client();
        let card = stored_card(&client).await;
        let customer = client
            .post("/1/customers", &json!({ "email": "a@example.com", "card_token": card }))
            .await
            .ok(201);
        assert_eq!(token(&customer["card"]), card);
        assert_eq!(
            (&customer["card"]["primary"], &customer["card"]["customer_token"]),
            (&json!(true), &customer["token"])
        );
        assert_eq!(app.number("SELECT COUNT(*) FROM cards").await, 1);
        // What is not used up cannot expire either.
        app.clock.advance(entity::TimeSpan::days(400));
        app.do_due_work().await;
        client.get(&path(&customer)).await.ok(200);
    }

    async fn every_required_parameter_is_told_where_it_is_missing(app) {
        let client = app.client();
        let email = [("email", "Email can't be blank"), ("email", "Email is not formatted properly")];
        app.unchanged(client.post("/1/customers", &json!({}))).await.faulty(&[
            email[0],
            email[1],
            ("card", "Card can't be blank"),
        ]);
        let blank = with(customer(), &json!({ "email": " " }));
        app.unchanged(client.post("/1/customers", &blank)).await.faulty(&email);
        for nothing in [json!({ "card": {} }), json!({ "card": "" }), json!({ "card_token": " " })] {
            let body = with(json!({ "email": "a@example.com" }), &nothing);
            app.unchanged(client.post("/1/customers", &body))
                .await
                .faulty(&[("card", "Card can't be blank")]);
        }
        for email in ["roland", "roland@", "@example.com", "a b@example.com"] {
            let body = with(customer(), &json!({ "email": email }));
            app.unchanged(client.post("/1/customers", &body))
                .await
                .faulty(&[("email", "Email is not formatted properly")]);
        }
    }

    async fn faults_of_the_card_are_named_after_it(app) {
        let body = json!({ "email": "x", "card": { "number": "1", "expiry_month": 1, "expiry_year": 2020, "cvc": "12" }, "first_name": "x".repeat(256) });
        app.unchanged(app.client().post("/1/customers", &body)).await.faulty(&[
            ("email", "Email is not formatted properly"),
            ("card.number", "Card number is not valid"),
            ("card.expiry_month", "Card expiry month is expired"),
            ("card.expiry_year", "Card expiry year is expired"),
            ("card.cvc", "Card cvc is not valid"),
            ("card.name", "Card name can't be blank"),
            ("card.address_line1", "Card address line1 can't be blank"),
            ("card.address_city", "Card address city can't be blank"),
            ("card.address_country", "Card address country can't be blank"),
            ("first_name", "First name is too long (maximum is 255 characters)"),
        ]);
    }

    async fn a_card_and_a_card_token_exclude_each_other(app) {
        let client = app.client();
        let both = with(customer(), &json!({ "card_token": stored_card(&client).await }));
        let answer = app.unchanged(client.post("/1/customers", &both)).await;
        answer.faulty(&[("card", "Exactly one of card or card_token is required")]);
    }

    async fn texts_have_a_greatest_length(app) {
        for (param, most, name) in [
            ("email", 255, "Email"),
            ("first_name", 255, "First name"),
            ("last_name", 255, "Last name"),
            ("phone_number", 1000, "Phone number"),
            ("company", 255, "Company"),
            ("notes", 10_000, "Notes"),
        ] {
            let of = |length: usize| match param {
                "email" => format!("{}@example.com", "a".repeat(length - "@example.com".len())),
                _ => "é".repeat(length),
            };
            let longest = with(customer(), &json!({ param: of(most) }));
            app.client().post("/1/customers", &longest).await.ok(201);
            let long = with(customer(), &json!({ param: of(most + 1) }));
            let message = format!("{name} is too long (maximum is {most} characters)");
            app.unchanged(app.client().post("/1/customers", &long)).await.faulty(&[(param, &message)]);
        }
    }

    async fn a_card_token_that_is_no_unused_one_is_refused(app) {
        let client = app.client();
        let used = stored_card(&client).await;
        client.post("/1/charges", &charge_by("card_token", &used)).await.ok(201);
        let attached = created(&client).await["card"]["token"].as_str().unwrap().to_owned();
        let foreign = stored_card(&app.stranger().await).await;
        let (used_up, unknown) = ("Card token has already been used", "Card token is not valid");
        for (card, message) in [
            (used.as_str(), used_up),
            (&attached, used_up),
            (&foreign, unknown),
            ("card_AZqYv3rVcBKUQ1mHn7tKRw", unknown),
            ("nonsense", unknown),
        ] {
            let body = json!({ "email": "a@example.com", "card_token": card });
            app.unchanged(client.post("/1/customers", &body)).await.faulty(&[("card_token", message)]);
        }
    }

    async fn a_card_token_that_is_no_text_is_the_only_fault(app) {
        let client = app.client();
        let path = path(&created(&client).await);
        for token in [json!({ "a": 1 }), json!(["a", "b"]), json!("a\0")] {
            let fault = [("card_token", "Card token is not valid")];
            let body = json!({ "email": "a@example.com", "card_token": token });
            app.unchanged(client.post("/1/customers", &body)).await.faulty(&fault);
            app.unchanged(client.put(&path, &body)).await.faulty(&fault);
            app.unchanged(client.post(&format!("{path}/cards"), &body)).await.faulty(&fault);
        }
    }

    async fn emails_need_not_be_unique(app) {
        let (one, other) = (created(&app.client()).await, created(&app.client()).await);
        assert_ne!(one["token"], other["token"]);
        assert_eq!(one["email"], other["email"]);
    }

    async fn customers_are_listed_newest_first_a_page_at_a_time(app) {
        let client = app.client();
        let empty = client.get("/1/customers").await;
        let pagination =
            r#""pagination":{"current":1,"previous":null,"next":null,"per_page":25,"pages":0,"count":0}"#;
        assert_eq!(empty.text, format!("{{\"response\":[],\"count\":0,{pagination}}}"));
        let mut made = Vec::new();
        for _ in 0..5 {
            made.insert(0, created(&client).await);
        }
        let stranger = app.stranger().await;
        created(&stranger).await;
        assert_eq!(client.get("/1/customers").await.ok(200), json!(made));
        let page = client.get("/1/customers?page=2&per_page=2").await.json();
        assert_eq!(page["response"], json!(made[2..4]));
        assert_eq!(page["count"], 2);
        assert_eq!(
            page["pagination"],
            json!({ "current": 2, "previous": 1, "next": 3, "per_page": 2, "pages": 3, "count": 5 })
        );
        let past = client.get("/1/customers?page=9&per_page=2").await.json();
        assert_eq!(past["response"], json!([]));
        assert_eq!(
            past["pagination"],
            json!({ "current": 9, "previous": 8, "next": null, "per_page": 2, "pages": 3, "count": 5 })
        );
        client
            .get("/1/customers?page=x&per_page=501")
            .await
            .faulty(&[("page", "Page is not a number"), ("per_page", "Per page must be at most 500")]);
        assert_eq!(stranger.get("/1/customers").await.json()["pagination"]["count"], 1);
    }

    async fn an_unknown_customer_is_not_found_whatever_is_asked_of_it(app) {
        let client = app.client();
        let known = created(&client).await;
        let deleted = created(&client).await;
        client.delete(&path(&deleted)).await.ok(204);
        let stranger = app.stranger().await;
        let wrong_kind = token(&known).replace("cus_", "card_");
        for (caller, unknown) in [
            (&client, UNKNOWN),
            (&client, "nonsense"),
            (&client, &wrong_kind),
            (&client, token(&deleted)),
            (&stranger, token(&known)),
        ] {
            let path = format!("/1/customers/{unknown}");
            caller.get(&path).await.not_found();
            for list in ["charges", "cards", "subscriptions"] {
                caller.get(&format!("{path}/{list}")).await.not_found();
                // The record in the path is looked for before the shape of the request.
                caller.get(&format!("{path}/{list}?page=x")).await.not_found();
            }
            // The same order: only the owner of the customer gets the faults.
            app.unchanged(caller.put(&path, &json!({ "email": "" }))).await.not_found();
            app.unchanged(caller.delete(&path)).await.not_found();
            app.unchanged(caller.post(&format!("{path}/cards"), &card("4200000000000000"))).await.not_found();
            app.unchanged(caller.post(&format!("{path}/cards"), &json!({}))).await.not_found();
            app.unchanged(caller.delete(&format!("{path}/cards/{}", token(&known["card"]))))
                .await
                .not_found();
        }
    }

    async fn a_sent_value_replaces_the_former_one_and_a_blank_clears(app) {
        let client = app.client();
        let full = json!({ "first_name": "Roland", "last_name": "Robot", "phone_number": "1", "company": "C", "notes": "n" });
        let before = client.post("/1/customers", &with(customer(), &full)).await.ok(201);
        let (path, mut expected) = (path(&before), before.clone());
        for (field, value) in [
            ("email", "new@example.com"),
            ("first_name", "Rolanda"),
            ("last_name", ""),
            ("phone_number", "2"),
            ("company", ""),
            ("notes", "m"),
        ] {
            expected[field] = value.into();
            let answer = client.put(&path, &json!({ field: value, "unknown": "ignored", "company": if field == "company" { json!("") } else { Value::Null } })).await;
            assert_eq!(answer.ok(200), expected, "{field}");
            assert_eq!(client.get(&path).await.text, answer.text);
        }
        assert_eq!(client.put(&path, &json!({})).await.ok(200), expected, "nothing sent, nothing changed");
        assert_eq!(app.number("SELECT COUNT(*) FROM cards").await, 1, "cards are unchanged");
    }

    async fn the_email_stays_required(app) {
        let client = app.client();
        let customer = created(&client).await;
        for blank in ["", "  "] {
            app.unchanged(client.put(&path(&customer), &json!({ "email": blank, "first_name": "x" })))
                .await
                .faulty(&[("email", "Email can't be blank"), ("email", "Email is not formatted properly")]);
        }
        app.unchanged(client.put(&path(&customer), &json!({ "email": "x", "notes": "x".repeat(10_001) })))
            .await
            .faulty(&[
                ("email", "Email is not formatted properly"),
                ("notes", "Notes is too long (maximum is 10000 characters)"),
            ]);
        client.put(&path(&customer), &json!({ "email": null })).await.ok(200);
    }

    async fn deleting_a_customer_deletes_its_cards_and_keeps_its_charges(app) {
        let client = app.client();
        let customer = created(&client).await;
        let other = created(&client).await;
        let further = stored_card(&client).await;
        client.post(&format!("{}/cards", path(&customer)), &json!({ "card_token": further })).await.ok(201);
        let paid = client.post("/1/charges", &charge_by("customer_token", token(&customer))).await;
        let charged = format!("/1/charges/{}", token(&paid.ok(201)));
        let gone = client.delete(&path(&customer)).await;
        assert_eq!((gone.status, gone.text.as_str()), (204, ""));
        client.get(&path(&customer)).await.not_found();
        for card in [token(&customer["card"]), &further] {
            client.get(&format!("/1/cards/{card}")).await.not_found();
            app.unchanged(client.post("/1/charges", &charge_by("card_token", card)))
                .await
                .faulty(&[("card_token", "Card token is not valid")]);
        }
        let by_customer =
            app.unchanged(client.post("/1/charges", &charge_by("customer_token", token(&customer)))).await;
        by_customer.faulty(&[("customer_token", "Customer token is not valid")]);
        assert_eq!(client.get(&charged).await.text, paid.text, "the card as it was");
        assert_eq!(client.get("/1/customers").await.ok(200), json!([other]));
        assert_eq!(app.number("SELECT COUNT(*) FROM cards").await, 1);
        app.unchanged(client.delete(&path(&customer))).await.not_found();
    }

    async fn a_customers_charges_are_listed_newest_first_a_page_at_a_time(app) {
        let client = app.client();
        let customer = created(&client).await;
        let list = format!("{}/charges", path(&customer));
        assert_eq!(client.get(&list).await.json()["pagination"]["count"], 0);
        let mut made = Vec::new();
        for (payer, token) in [
            ("customer_token", token(&customer)),
            ("card_token", token(&customer["card"])),
            ("customer_token", token(&customer)),
        ] {
            made.insert(0, client.post("/1/charges", &charge_by(payer, token)).await.ok(201));
        }
        client.post("/1/charges", &charge(400)).await.ok(201);
        let declining =
            with(json!({ "email": "d@example.com" }), &json!({ "card": card("4100000000000001") }));
        let declining = client.post("/1/customers", &declining).await.ok(201);
        client
            .post("/1/charges", &charge_by("customer_token", token(&declining)))
            .await
            .refused(400, "card_declined");
        assert_eq!(client.get(&format!("{}/charges", path(&declining))).await.ok(200), json!([]));
        assert_eq!(client.get(&list).await.ok(200), json!(made));
        let page = client.get(&format!("{list}?per_page=2&page=2")).await.json();
        assert_eq!(page["response"], json!(made[2..]));
        assert_eq!(page["count"], 1);
        assert_eq!(
            page["pagination"],
            json!({ "current": 2, "previous": 1, "next": null, "per_page": 2, "pages": 2, "count": 3 })
        );
        client
            .get(&format!("{list}?per_page=0"))
            .await
            .faulty(&[("per_page", "Per page must be greater than or equal to 1")]);
    }

    async fn a_customers_subscriptions_are_a_list_with_short_pagination(app) {
        let customer = created(&app.client()).await;
        let list = app.client().get(&format!("{}/subscriptions", path(&customer))).await;
        assert_eq!(list.text, r#"{"response":[],"pagination":{"count":0,"per_page":25,"current":1}}"#);
    }
}
