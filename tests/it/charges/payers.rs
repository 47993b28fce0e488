//! Which card pays a charge, and the one use of its token (specification, Charges, Card; `docs/decisions.md`, 102 to 105 and
//! 119).

use entity::TimeSpan;
use serde_json::{Value, json};

use crate::harness::{App, card, charge_with, rules, token_of};

const ACCEPTED: &str = "4200000000000000";
const EXACTLY_ONE: &str =
    "Exactly one of card, card_token, payment_source_token or customer_token is required";

fn paid_by(param: &str, value: &str) -> Value {
    charge_with(400, json!({ "card": null, param: value }))
}

/// The card's token is refused as used, and stays as it is.
async fn is_spent(app: &App, card: &str) {
    let body = app.unchanged_by(app.client().charge_by(card), 400, "token_already_used").await;
    let sentence = "Token already used. Card tokens can only be used once, to create a charge or assign a card to a customer";
    assert_eq!(body["error_description"], sentence);
}

rules! {
    async fn exactly_one_way_to_pay_is_wanted(app) {
        let client = app.client();
        let stored = client.card_token(ACCEPTED).await;
        let customer = token_of(&client.customer(ACCEPTED).await);
        for ways in [
            json!({ "card": null }),
            json!({ "card": {} }),
            json!({ "card": "", "card_token": " " }),
            json!({ "card_token": stored }),
            json!({ "customer_token": customer }),
            json!({ "payment_source_token": "ps_AZqYv3rVcBKUQ1mHn7tKRw" }),
            json!({ "card": null, "card_token": stored, "customer_token": customer }),
            json!({ "card": null, "card_token": stored, "payment_source_token": "ps_AZqYv3rVcBKUQ1mHn7tKRw" }),
        ] {
            app.invalid("/1/charges", &charge_with(400, ways), &[("card", EXACTLY_ONE)]).await;
        }
    }

    async fn a_token_that_names_nothing_is_wrong_on_its_own_parameter(app) {
        let (client, stranger) = (app.client(), app.stranger().await);
        let theirs = stranger.card_token(ACCEPTED).await;
        let their_customer = token_of(&stranger.customer(ACCEPTED).await);
        let customer = client.customer(ACCEPTED).await;
        client.delete(&format!("/1/customers/{}", token_of(&customer))).await.ok(204);
        let (gone, gone_card) = (token_of(&customer), token_of(&customer["card"]));
        let charge = token_of(&client.captured(400).await);
        for (param, value) in [
            ("card_token", "card_AZqYv3rVcBKUQ1mHn7tKRw"),
            ("card_token", "card_"),
            ("card_token", "nonsense"),
            ("card_token", &theirs),
            ("card_token", &gone_card),
            ("card_token", &charge),
            ("card_token", &gone),
            ("customer_token", "cus_AZqYv3rVcBKUQ1mHn7tKRw"),
            ("customer_token", &their_customer),
            ("customer_token", &gone),
            ("customer_token", &gone_card),
            ("payment_source_token", "ps_AZqYv3rVcBKUQ1mHn7tKRw"),
            ("payment_source_token", &theirs),
        ] {
            let message = match param {
                "card_token" => "Card token is not valid",
                "customer_token" => "Customer token is not valid",
                _ => "Payment source token is not valid",
            };
            app.invalid("/1/charges", &paid_by(param, value), &[(param, message)]).await;
        }
        stranger.charge_by(&theirs).await.ok(201);
    }

    #[dated]
    async fn an_unused_card_token_expires_on_the_same_day_of_the_next_month(app) {
        let client = app.client();
        let (one, other) = (client.card_token(ACCEPTED).await, client.card_token(ACCEPTED).await);
        // From 2 March, 10:00, to 2 April, 09:59:59.
        app.clock.advance(TimeSpan::days(31));
        app.clock.advance(TimeSpan::seconds(-1));
        client.charge_by(&one).await.ok(201);
        app.clock.advance(TimeSpan::seconds(1));
        app.invalid("/1/charges", &paid_by("card_token", &other), &[("card_token", "Card token is not valid")]).await;
        app.do_due_work().await;
        app.invalid("/1/charges", &paid_by("card_token", &other), &[("card_token", "Card token is not valid")]).await;
        is_spent(app, &one).await;
    }

    async fn a_card_token_pays_once(app) {
        let client = app.client();
        let card = client.card_token(ACCEPTED).await;
        let charged = client.charge_by(&card).await.ok(201);
        assert_eq!(charged["card"]["token"], card.as_str());
        assert_eq!((&charged["card"]["primary"], &charged["card"]["customer_token"]), (&Value::Null, &Value::Null));
        is_spent(app, &card).await;
        let erased = "SELECT COUNT(*) FROM cards WHERE number_sealed IS NOT NULL OR cvc_sealed IS NOT NULL";
        assert_eq!(app.number(erased).await, 0, "digits of spent cards are kept");
    }

    async fn of_two_uses_at_the_same_moment_one_wins(app) {
        let client = app.client();
        let card = client.card_token(ACCEPTED).await;
        let answers = futures::future::join_all((0..8).map(|_| client.charge_by(&card))).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
        for answer in answers.iter().filter(|answer| answer.status != 201) {
            answer.refused(400, "token_already_used");
        }
        assert_eq!(client.listed().await, 1);
        assert_eq!(app.events().await, ["charge.captured"]);
    }

    async fn a_refused_request_does_not_touch_the_token(app) {
        let client = app.client();
        let card = client.card_token(ACCEPTED).await;
        let wrong = charge_with(400, json!({ "card": null, "card_token": card, "email": "roland" }));
        app.invalid("/1/charges", &wrong, &[("email", "Email is not formatted properly")]).await;
        client.charge_by(&card).await.ok(201);
    }

    async fn a_used_token_is_refused_after_every_wrong_parameter(app) {
        let client = app.client();
        let card = client.card_token(ACCEPTED).await;
        client.charge_by(&card).await.ok(201);
        let wrong = charge_with(99, json!({ "card": null, "card_token": card }));
        app.invalid("/1/charges", &wrong, &[("amount", "Amount must be at least 100")]).await;
        is_spent(app, &card).await;
    }

    async fn a_card_of_a_customer_pays_again_and_again(app) {
        let client = app.client();
        let customer = client.customer(ACCEPTED).await;
        let primary = token_of(&customer["card"]);
        let path = format!("/1/customers/{}/cards", token_of(&customer));
        let other = token_of(&client.post(&path, &card("5520000000000000")).await.ok(201));
        for (card, is_primary) in [(&primary, true), (&primary, true), (&other, false), (&other, false)] {
            let charged = client.charge_by(card).await.ok(201);
            assert_eq!(charged["card"]["token"], card.as_str());
            assert_eq!(charged["card"]["customer_token"], customer["token"]);
            assert_eq!(charged["card"]["primary"], is_primary);
        }
        let charged = client.post("/1/charges", &paid_by("customer_token", &token_of(&customer))).await.ok(201);
        assert_eq!(charged["card"]["token"], primary.as_str(), "a customer pays with the primary card");
        assert_eq!(client.get(&format!("/1/customers/{}/charges", token_of(&customer))).await.ok(200).as_array().unwrap().len(), 5);
    }

    async fn a_decline_does_not_spend_a_customers_card(app) {
        let client = app.client();
        let customer = client.customer("4100000000000001").await;
        for _ in 0..2 {
            client.charge_by(&token_of(&customer["card"])).await.refused(400, "card_declined");
        }
    }

    async fn a_charge_shows_the_card_as_it_was_charged(app) {
        let client = app.client();
        let customer = client.customer(ACCEPTED).await;
        let charged = client.post("/1/charges", &paid_by("customer_token", &token_of(&customer))).await.ok(201);
        client.delete(&format!("/1/customers/{}", token_of(&customer))).await.ok(204);
        assert_eq!(client.charge(&token_of(&charged)).await, charged);
    }

    async fn a_card_token_needs_no_charge_to_be_spent(app) {
        let client = app.client();
        let card = client.card_token("4100000000000001").await;
        let body = client.charge_by(&card).await.refused(400, "card_declined");
        let failed = client.charge(body["charge_token"].as_str().unwrap()).await;
        assert_eq!(failed["card"]["token"], card.as_str());
        is_spent(app, &card).await;
    }
}
