//! A customer's cards: exactly one is primary (specification, Customers; `docs/decisions.md`, 160 to 165).

use serde_json::{Value, json};

use crate::customers::{charge_by, created, customer, path, stored_card};
use crate::harness::{App, Client, card, fields, rules, token, with};

/// A customer, its path, and a second card of its.
async fn with_two_cards(client: &Client) -> (Value, String, String) {
    let customer = created(client).await;
    let path = path(&customer);
    let second = client.post(&format!("{path}/cards"), &card("4200000190000000")).await.ok(201);
    (customer, path, token(&second).to_owned())
}

/// The tokens of a customer's cards, newest first, and the one that is primary.
pub async fn cards_of(client: &Client, customer: &str) -> (Vec<String>, String) {
    let cards = client.get(&format!("{customer}/cards?per_page=500")).await.ok(200);
    let cards = cards.as_array().unwrap();
    let primary: Vec<_> = cards.iter().filter(|card| card["primary"] == true).map(token).collect();
    assert_eq!(primary.len(), 1, "exactly one is primary: {cards:?}");
    let shown = client.get(customer).await.ok(200);
    assert_eq!(token(&shown["card"]), primary[0]);
    (cards.iter().map(|card| token(card).to_owned()).collect(), primary[0].to_owned())
}

async fn gone(client: &Client, card: &str) {
    client.get(&format!("/1/cards/{card}")).await.not_found();
}

/// Tokens that cannot be attached, each with its message.
async fn unusable(app: &App, client: &Client) -> Vec<(String, &'static str)> {
    let used = stored_card(client).await;
    client.post("/1/charges", &charge_by("card_token", &used)).await.ok(201);
    let expired = stored_card(client).await;
    app.clock.advance(entity::TimeSpan::days(31));
    let foreign = stored_card(&app.stranger().await).await;
    vec![
        (used, "has already been used"),
        (expired, "is not valid"),
        (foreign, "is not valid"),
        ("card_AZqYv3rVcBKUQ1mHn7tKRw".into(), "is not valid"),
        ("nonsense".into(), "is not valid"),
    ]
}

rules! {
    async fn a_further_card_leaves_the_primary_one(app) {
        let client = app.client();
        let customer = created(&client).await;
        let path = path(&customer);
        let answer = client.post(&format!("{path}/cards"), &card("4200000190000000")).await;
        let second = answer.ok(201);
        assert_eq!(answer.json()["ip_address"], "127.0.0.1");
        assert_eq!(fields(&second), fields(&customer["card"]));
        assert_eq!((&second["primary"], &second["customer_token"]), (&json!(false), &customer["token"]));
        assert_eq!(second["issuing_country"], "NZ");
        let unused = stored_card(&client).await;
        let third = client.post(&format!("{path}/cards"), &json!({ "card_token": unused })).await;
        assert_eq!(token(&third.ok(201)), unused);
        assert_eq!(third.ok(201)["primary"], false);
        assert_eq!(client.get(&format!("/1/cards/{unused}")).await.record(), third.record());
        assert_eq!(client.get(&path).await.ok(200), customer, "unchanged");
        let (cards, primary) = cards_of(&client, &path).await;
        assert_eq!(cards, [unused.as_str(), token(&second), token(&customer["card"])], "newest first by id");
        assert_eq!(primary, token(&customer["card"]));
    }

    async fn a_publishable_key_adds_a_card_and_deletes_none(app) {
        let (_, path, second) = with_two_cards(&app.client()).await;
        let key = json!({ "publishable_api_key": app.publishable_key() });
        let added = app
            .anonymous()
            .post(&format!("{path}/cards"), &with(card("4200000000000000"), &key))
            .await
            .ok(201);
        assert_eq!(added["primary"], false);
        let browser = app.with_key(app.publishable_key());
        app.unchanged(browser.delete(&format!("{path}/cards/{second}"))).await.refused(401, "unauthorized");
        app.unchanged(app.anonymous().put(&path, &key)).await.refused(401, "unauthorized");
    }

    async fn cards_are_listed_a_page_at_a_time(app) {
        let client = app.client();
        let (customer, path, second) = with_two_cards(&client).await;
        let page = client.get(&format!("{path}/cards?per_page=1&page=2")).await.json();
        assert_eq!(page["response"], json!([customer["card"]]));
        assert_eq!(page["count"], 1);
        assert_eq!(
            page["pagination"],
            json!({ "current": 2, "previous": 1, "next": null, "per_page": 1, "pages": 2, "count": 2 })
        );
        let first = client.get(&format!("{path}/cards?per_page=1")).await.ok(200);
        assert_eq!(token(&first[0]), second);
        client.get(&format!("{path}/cards?page=-1")).await.faulty(&[("page", "Page must be greater than or equal to 1")]);
    }

    async fn a_card_that_cannot_be_added_is_refused(app) {
        let client = app.client();
        let (other, ..) = with_two_cards(&client).await;
        let (customer, path, _) = with_two_cards(&client).await;
        let cards = format!("{path}/cards");
        let bad = with(card("4200000000000001"), &json!({ "cvc": "", "name": "" }));
        app.unchanged(client.post(&cards, &bad)).await.faulty(&[
            ("number", "Number is not valid"),
            ("cvc", "Cvc can't be blank"),
            ("name", "Name can't be blank"),
        ]);
        for (token, message) in unusable(app, &client).await {
            let message = format!("Card token {message}");
            app.unchanged(client.post(&cards, &json!({ "card_token": token })))
                .await
                .faulty(&[("card_token", &message)]);
        }
        for attached in [&customer, &other] {
            let named = json!({ "card_token": attached["card"]["token"] });
            app.unchanged(client.post(&cards, &named))
                .await
                .faulty(&[("card_token", "Card token has already been used")]);
        }
    }

    async fn a_card_that_is_not_primary_can_be_deleted(app) {
        let client = app.client();
        let (customer, path, second) = with_two_cards(&client).await;
        let answer = client.delete(&format!("{path}/cards/{second}")).await;
        assert_eq!((answer.status, answer.text.as_str()), (204, ""));
        gone(&client, &second).await;
        assert_eq!(cards_of(&client, &path).await.0, [token(&customer["card"])]);
        app.unchanged(client.delete(&format!("{path}/cards/{second}"))).await.not_found();
    }

    async fn the_primary_card_cannot_be_deleted(app) {
        let client = app.client();
        let (customer, path, _) = with_two_cards(&client).await;
        let primary = format!("{path}/cards/{}", token(&customer["card"]));
        let body = app.unchanged(client.delete(&primary)).await.refused(400, "cannot_delete_primary_card");
        assert_eq!(body["error_description"], "You cannot delete a customer's primary card token");
    }

    async fn only_the_customers_own_cards_can_be_deleted(app) {
        let client = app.client();
        let (_, path, _) = with_two_cards(&client).await;
        let (other, _, second_of_other) = with_two_cards(&client).await;
        let unused = stored_card(&client).await;
        for card in
            [token(&other["card"]), &second_of_other, &unused, "card_AZqYv3rVcBKUQ1mHn7tKRw", "nonsense"]
        {
            app.unchanged(client.delete(&format!("{path}/cards/{card}"))).await.not_found();
        }
    }

    async fn a_new_card_replaces_the_primary_one_which_is_removed(app) {
        let client = app.client();
        let (customer, path, second) = with_two_cards(&client).await;
        let old = token(&customer["card"]);
        let change = json!({ "card": card("372000000000000"), "first_name": "Rolanda" });
        let answer = client.put(&path, &change).await;
        let changed = answer.ok(200);
        assert_eq!(
            (&changed["card"]["scheme"], &changed["first_name"]),
            (&json!("american_express"), &json!("Rolanda"))
        );
        assert_eq!(
            (&changed["card"]["primary"], &changed["card"]["customer_token"]),
            (&json!(true), &customer["token"])
        );
        assert_eq!(client.get(&path).await.text, answer.text);
        gone(&client, old).await;
        let (cards, primary) = cards_of(&client, &path).await;
        assert_eq!(cards, [token(&changed["card"]), &second]);
        assert_eq!(primary, token(&changed["card"]));
        app.unchanged(client.post("/1/charges", &charge_by("card_token", old)))
            .await
            .faulty(&[("card_token", "Card token is not valid")]);
    }

    async fn a_stored_card_replaces_the_primary_one_which_is_removed(app) {
        let client = app.client();
        let (customer, path, second) = with_two_cards(&client).await;
        let unused = stored_card(&client).await;
        let mut old = token(&customer["card"]).to_owned();
        // First a card of its own, then one of no customer.
        for (named, left) in [(&second, vec![second.as_str()]), (&unused, vec![unused.as_str()])] {
            let changed = client.put(&path, &json!({ "card_token": named })).await.ok(200);
            assert_eq!(token(&changed["card"]), named);
            assert_eq!(changed["card"]["primary"], true);
            gone(&client, &old).await;
            assert_eq!(
                cards_of(&client, &path).await,
                (left.iter().map(ToString::to_string).collect(), named.clone())
            );
            old.clone_from(named);
        }
    }

    async fn switching_keeps_the_old_primary_card(app) {
        let client = app.client();
        let (customer, path, second) = with_two_cards(&client).await;
        let first = token(&customer["card"]).to_owned();
        let unused = stored_card(&client).await;
        let mut old = first.clone();
        for named in [&second, &unused, &first] {
            let changed = client.put(&path, &json!({ "primary_card_token": named })).await.ok(200);
            assert_eq!(
                (token(&changed["card"]), &changed["card"]["primary"]),
                (named.as_str(), &json!(true))
            );
            let kept = client.get(&format!("/1/cards/{old}")).await.ok(200);
            assert_eq!((&kept["primary"], &kept["customer_token"]), (&json!(false), &customer["token"]));
            assert_eq!(&cards_of(&client, &path).await.1, named);
            old.clone_from(named);
        }
        assert_eq!(cards_of(&client, &path).await.0, [unused, second, first]);
    }

    async fn naming_the_present_primary_card_changes_nothing(app) {
        let client = app.client();
        let (customer, path, _) = with_two_cards(&client).await;
        let before = cards_of(&client, &path).await;
        for param in ["card_token", "primary_card_token"] {
            let answer = client.put(&path, &json!({ param: customer["card"]["token"] })).await;
            assert_eq!(answer.ok(200), customer, "{param}");
            // Above all, the only primary card is not the old one that goes.
            assert_eq!(cards_of(&client, &path).await, before, "{param}");
        }
        let alone = created(&client).await;
        client.put(&self::path(&alone), &json!({ "card_token": alone["card"]["token"] })).await.ok(200);
        assert_eq!(client.get(&self::path(&alone)).await.ok(200), alone);
        client.post("/1/charges", &charge_by("customer_token", token(&alone))).await.ok(201);
    }

    async fn only_one_of_the_card_parameters_may_be_given(app) {
        let client = app.client();
        let (customer, path, second) = with_two_cards(&client).await;
        let ways = [
            ("card", card("4200000000000000")),
            ("card_token", json!(second)),
            ("primary_card_token", json!(customer["card"]["token"])),
        ];
        for chosen in [vec![0, 1], vec![0, 2], vec![1, 2], vec![0, 1, 2]] {
            let several: serde_json::Map<_, _> =
                chosen.iter().map(|&way| (ways[way].0.to_owned(), ways[way].1.clone())).collect();
            let several = with(json!({ "first_name": "x" }), &Value::Object(several));
            let body =
                app.unchanged(client.put(&path, &several)).await.refused(422, "too_many_card_parameters");
            assert_eq!(
                body["error_description"],
                "Only one of card, card_token and primary_card_token can be given"
            );
            assert_eq!(fields(&body), ["error", "error_description"]);
        }
        // What is blank is absent.
        let blank = json!({ "card": {}, "card_token": "", "primary_card_token": second });
        assert_eq!(token(&client.put(&path, &blank).await.ok(200)["card"]), second);
        let none = json!({ "card": "", "card_token": " ", "primary_card_token": null });
        assert_eq!(token(&client.put(&path, &none).await.ok(200)["card"]), second);
    }

    async fn a_card_that_cannot_become_primary_is_refused_after_its_parameter(app) {
        let client = app.client();
        let (_, path, _) = with_two_cards(&client).await;
        let (other, _, second_of_other) = with_two_cards(&client).await;
        let mut tokens = unusable(app, &client).await;
        tokens.push((token(&other["card"]).to_owned(), "has already been used"));
        tokens.push((second_of_other, "has already been used"));
        for (token, message) in tokens {
            for (param, name) in [("card_token", "Card token"), ("primary_card_token", "Primary card token")]
            {
                let message = format!("{name} {message}");
                let change = json!({ param: token, "first_name": "x" });
                app.unchanged(client.put(&path, &change)).await.faulty(&[(param, &message)]);
            }
        }
    }

    async fn a_faulty_new_card_replaces_nothing(app) {
        let client = app.client();
        let (_, path, _) = with_two_cards(&client).await;
        let change = json!({ "email": "x", "card": with(card("4200000000000000"), &json!({ "expiry_year": 2020, "name": "" })) });
        app.unchanged(client.put(&path, &change)).await.faulty(&[
            ("email", "Email is not formatted properly"),
            ("card.expiry_month", "Card expiry month is expired"),
            ("card.expiry_year", "Card expiry year is expired"),
            ("card.name", "Card name can't be blank"),
        ]);
    }

    async fn a_card_of_a_customer_is_charged_again_and_again(app) {
        let client = app.client();
        let unused = stored_card(&client).await;
        let customer = client
            .post("/1/customers", &json!({ "email": "a@example.com", "card_token": unused }))
            .await
            .ok(201);
        let (path, second) = (
            path(&customer),
            client.post(&format!("{}/cards", path(&customer)), &card("5520000000000000")).await.ok(201),
        );
        for _ in 0..3 {
            for card in [unused.as_str(), token(&second)] {
                let paid = client.post("/1/charges", &charge_by("card_token", card)).await.ok(201);
                assert_eq!(token(&paid["card"]), card);
                assert_eq!(paid["card"]["primary"], card == unused);
            }
            let paid =
                client.post("/1/charges", &charge_by("customer_token", token(&customer))).await.ok(201);
            assert_eq!(token(&paid["card"]), unused);
        }
        client.put(&path, &json!({ "primary_card_token": second["token"] })).await.ok(200);
        let paid = client.post("/1/charges", &charge_by("customer_token", token(&customer))).await.ok(201);
        assert_eq!(paid["card"]["token"], second["token"], "the primary card pays");
        let charges = client.get(&format!("{path}/charges")).await.ok(200);
        assert_eq!(charges.as_array().unwrap().len(), 10);
        let first = &charges[9]["card"];
        assert_eq!(
            (token(first), &first["primary"]),
            (unused.as_str(), &json!(true)),
            "the card as it was charged"
        );
    }

    async fn a_customers_card_may_decline_and_stays(app) {
        let client = app.client();
        let declining = with(customer(), &json!({ "card": card("4100000000000001") }));
        let declining = client.post("/1/customers", &declining).await.ok(201);
        for _ in 0..2 {
            client
                .post("/1/charges", &charge_by("customer_token", token(&declining)))
                .await
                .refused(400, "card_declined");
            client
                .post("/1/charges", &charge_by("card_token", token(&declining["card"])))
                .await
                .refused(400, "card_declined");
        }
        assert_eq!(client.get(&path(&declining)).await.ok(200), declining);
    }
}
