//! What holds however many requests come at the same moment: one card token, one use; one customer, one
//! primary card (`docs/decisions.md`, 102, 160 and 162).

use serde_json::{Value, json};

use crate::customers::cards::cards_of;
use crate::customers::{charge_by, created, path, stored_card};
use crate::harness::{Answer, App, Client, at_once, card, rounds, rules, token, with};

/// The description of a request of a race.
enum RaceRequest {
    Get(String),
    Post(String, Value),
    Put(String, Value),
    Delete(String),
}

async fn race(client: &Client, requests: impl IntoIterator<Item = RaceRequest>) -> Vec<Answer> {
    let client = client.clone().patient();
    at_once(requests.into_iter().map(|kind| {
        let client = client.clone();
        async move {
            match kind {
                RaceRequest::Get(path) => client.get(&path).await,
                RaceRequest::Post(path, body) => client.post(&path, &body).await,
                RaceRequest::Put(path, body) => client.put(&path, &body).await,
                RaceRequest::Delete(path) => client.delete(&path).await,
            }
        }
    }))
    .await
}

fn with_status(answers: &[Answer], status: u16) -> Vec<&Answer> {
    answers.iter().filter(|answer| answer.status == status).collect()
}

/// Every answer has one of these statuses; none is a fault of ours.
#[track_caller]
fn only(answers: &[Answer], statuses: &[u16]) {
    for answer in answers {
        assert!(statuses.contains(&answer.status), "{}: {}", answer.status, answer.text);
    }
}

/// No customer is without its primary card, and no card without its customer.
async fn no_orphans(app: &App) {
    let of_nobody = "SELECT COUNT(*) FROM cards WHERE customer_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM customers WHERE customers.account_id = cards.account_id AND customers.id = cards.customer_id)";
    assert_eq!(app.number(of_nobody).await, 0, "cards of deleted customers");
    let without = "SELECT COUNT(*) FROM customers WHERE NOT EXISTS (SELECT 1 FROM cards WHERE cards.account_id = customers.account_id AND cards.id = customers.primary_card_id AND cards.customer_id = customers.id)";
    assert_eq!(app.number(without).await, 0, "customers without their primary card");
}

/// A customer and further cards of its.
async fn with_cards(client: &Client, further: usize) -> (Value, Vec<String>) {
    let customer = created(client).await;
    let mut cards = vec![token(&customer["card"]).to_owned()];
    for _ in 0..further {
        let added =
            client.post(&format!("{}/cards", path(&customer)), &card("4200000000000000")).await.ok(201);
        cards.push(token(&added).to_owned());
    }
    (customer, cards)
}

rules! {
    async fn a_card_token_pays_for_one_of_many_charges_at_once(app) {
        let client = app.client();
        for round in 1..=rounds() {
            let unused = stored_card(&client).await;
            let charges = (0..64).map(|_| RaceRequest::Post("/1/charges".into(), charge_by("card_token", &unused)));
            let answers = race(&client, charges).await;
            assert_eq!(with_status(&answers, 201).len(), 1);
            for refused in with_status(&answers, 400) {
                refused.refused(400, "token_already_used");
            }
            assert_eq!(with_status(&answers, 400).len(), 63);
            assert_eq!(client.get("/1/charges").await.json()["pagination"]["count"], round);
            assert_eq!(client.get("/1/events").await.json()["pagination"]["count"], round);
        }
    }

    async fn of_many_captures_at_once_one_takes_the_money(app) {
        let client = app.client();
        let (available, pending) = client.balance().await;
        for round in 1..=rounds() {
            let charge = client.authorised(400).await;
            let capture = || RaceRequest::Put(format!("/1/charges/{charge}/capture"), json!({}));
            let answers = race(&client, (0..64).map(|_| capture())).await;
            assert_eq!(with_status(&answers, 200).len(), 1);
            for refused in answers.iter().filter(|answer| answer.status != 200) {
                refused.refused(400, "already_captured");
            }
            assert_eq!(client.balance().await, (available, pending + 363 * i64::try_from(round).unwrap()));
        }
    }

    async fn of_many_captures_and_voids_at_once_one_wins(app) {
        let client = app.client();
        for _ in 0..rounds() {
            let charge = client.authorised(400).await;
            let verb = |n| if n % 2 == 0 { "capture" } else { "void" };
            let requests = (0..64).map(|n| RaceRequest::Put(format!("/1/charges/{charge}/{}", verb(n)), json!({})));
            let answers = race(&client, requests).await;
            let winner = answers.iter().position(|answer| answer.status == 200).expect("a winner");
            let code = if verb(winner) == "capture" { "already_captured" } else { "already_voided" };
            for (n, answer) in answers.iter().enumerate().filter(|(n, _)| *n != winner) {
                assert_eq!(answer.refused(400, code)["charge_token"], charge.as_str(), "{n}");
            }
            let stands = client.charge(&charge).await;
            assert_eq!(stands["captured"] == true, verb(winner) == "capture");
            assert_eq!(stands["authorisation_voided"] == true, verb(winner) == "void");
        }
    }

    async fn a_card_token_becomes_the_card_of_one_of_many_customers_at_once(app) {
        let client = app.client();
        for round in 1..=rounds() {
            let unused = stored_card(&client).await;
            let body = json!({ "email": "a@example.com", "card_token": unused });
            let answers =
                race(&client, (0..16).map(|_| RaceRequest::Post("/1/customers".into(), body.clone()))).await;
            assert_eq!(with_status(&answers, 201).len(), 1);
            for refused in with_status(&answers, 422) {
                refused.faulty(&[("card_token", "Card token has already been used")]);
            }
            assert_eq!(with_status(&answers, 422).len(), 15);
            let customers = client.get("/1/customers").await.json();
            assert_eq!(customers["pagination"]["count"], round);
            assert_eq!(token(&customers["response"][0]["card"]), unused);
            no_orphans(app).await;
        }
    }

    async fn a_card_token_is_charged_or_attached_but_never_both(app) {
        let client = app.client();
        for _ in 0..rounds() {
            let unused = stored_card(&client).await;
            let owner = path(&created(&client).await);
            let body = json!({ "email": "a@example.com", "card_token": unused });
            let requests = (0..24).map(|n| match n % 3 {
                0 => RaceRequest::Post("/1/charges".into(), charge_by("card_token", &unused)),
                1 => RaceRequest::Post("/1/customers".into(), body.clone()),
                _ => RaceRequest::Post(format!("{owner}/cards"), json!({ "card_token": unused })),
            });
            let answers = race(&client, requests).await;
            only(&answers, &[201, 400, 422]);
            let card = client.get(&format!("/1/cards/{unused}")).await.ok(200);
            let charges: usize = answers.iter().step_by(3).filter(|answer| answer.status == 201).count();
            let attached = with_status(&answers, 201).len() - charges;
            // A card that has become a customer's may be charged again and again.
            if card["customer_token"].is_null() {
                assert_eq!((charges, attached), (1, 0));
            } else {
                assert_eq!(attached, 1);
            }
            no_orphans(app).await;
        }
    }

    async fn many_switches_at_once_leave_one_primary_card(app) {
        let client = app.client();
        for _ in 0..rounds() {
            let (customer, cards) = with_cards(&client, 3).await;
            let path = path(&customer);
            let switches =
                (0..16).map(|n| RaceRequest::Put(path.clone(), json!({ "primary_card_token": cards[n % 4] })));
            let answers = race(&client, switches).await;
            for (n, answer) in answers.iter().enumerate() {
                assert_eq!(token(&answer.ok(200)["card"]), cards[n % 4], "each sees its own switch");
            }
            let (mut left, primary) = cards_of(&client, &path).await;
            left.reverse();
            assert_eq!(left, cards, "none was removed");
            assert!(cards.contains(&primary));
            no_orphans(app).await;
        }
    }

    async fn many_switches_to_one_unused_card_at_once_attach_it_once(app) {
        let client = app.client();
        for _ in 0..rounds() {
            let (customer, _) = with_cards(&client, 1).await;
            let unused = stored_card(&client).await;
            let switches =
                (0..16).map(|_| RaceRequest::Put(path(&customer), json!({ "primary_card_token": unused })));
            // For all but the first it is the customer's own card by then.
            only(&race(&client, switches).await, &[200]);
            let (left, primary) = cards_of(&client, &path(&customer)).await;
            assert_eq!((left.len(), primary), (3, unused));
            no_orphans(app).await;
        }
    }

    async fn each_replacement_removes_the_card_it_replaces(app) {
        let client = app.client();
        for _ in 0..rounds() {
            let (customer, _) = with_cards(&client, 0).await;
            let mut unused = Vec::new();
            for _ in 0..8 {
                unused.push(stored_card(&client).await);
            }
            let replacements = (0..16).map(|n| {
                let change = match n % 2 {
                    0 => json!({ "card": card("372000000000000") }),
                    _ => json!({ "card_token": unused[n / 2] }),
                };
                RaceRequest::Put(path(&customer), change)
            });
            let answers = race(&client, replacements).await;
            only(&answers, &[200]);
            let (left, primary) = cards_of(&client, &path(&customer)).await;
            assert_eq!(left, [primary.as_str()], "sixteen came, sixteen went");
            let mut found = 0;
            for answer in &answers {
                let card = format!("/1/cards/{}", token(&answer.ok(200)["card"]));
                found += usize::from(client.get(&card).await.status == 200);
            }
            assert_eq!(found, 1);
            no_orphans(app).await;
        }
    }

    async fn a_customer_whose_card_is_being_replaced_is_there_and_pays(app) {
        let client = app.client();
        for _ in 0..rounds() {
            let customer = created(&client).await;
            let path = path(&customer);
            let requests = (0..32).map(|n| match n % 4 {
                0 => RaceRequest::Put(path.clone(), json!({ "card": card("4200000000000000") })),
                1 if n % 8 == 1 => RaceRequest::Get(path.clone()),
                1 => RaceRequest::Get(format!("{path}/cards")),
                2 => RaceRequest::Post("/1/charges".into(), charge_by("customer_token", token(&customer))),
                _ => RaceRequest::Get("/1/customers?per_page=500".into()),
            });
            let answers = race(&client, requests).await;
            only(&answers, &[200, 201]);
            for cards in answers.iter().skip(5).step_by(8) {
                let cards = cards.ok(200);
                assert_eq!((cards[0]["primary"].as_bool(), cards.as_array().unwrap().len()), (Some(true), 1));
            }
            for listed in answers.iter().skip(3).step_by(4) {
                let listed = listed.ok(200);
                assert!(listed.as_array().unwrap().iter().any(|other| other["token"] == customer["token"]));
            }
            assert_eq!(cards_of(&client, &path).await.0.len(), 1);
            no_orphans(app).await;
        }
    }

    async fn a_deleted_customer_leaves_no_card_whatever_came_with_it(app) {
        let client = app.client();
        for _ in 0..rounds() {
            let (customer, cards) = with_cards(&client, 1).await;
            let path = path(&customer);
            let unused = stored_card(&client).await;
            let requests = (0..24).map(|n| match n % 6 {
                0 => RaceRequest::Post("/1/charges".into(), charge_by("customer_token", token(&customer))),
                1 => RaceRequest::Put(path.clone(), json!({ "primary_card_token": cards[n / 6 % 2] })),
                2 => RaceRequest::Put(path.clone(), json!({ "card": card("372000000000000") })),
                3 => RaceRequest::Post(format!("{path}/cards"), card("4200000000000000")),
                4 if n > 12 => RaceRequest::Delete(path.clone()),
                _ => RaceRequest::Put(path.clone(), json!({ "primary_card_token": unused })),
            });
            let answers = race(&client, requests).await;
            only(&answers, &[200, 201, 204, 404, 422]);
            assert_eq!(with_status(&answers, 204).len(), 1, "deleted once");
            client.get(&path).await.not_found();
            for card in cards {
                client.get(&format!("/1/cards/{card}")).await.not_found();
            }
            no_orphans(app).await;
            assert_eq!(app.number("SELECT COUNT(*) FROM cards WHERE customer_id IS NOT NULL").await, 0);
            // Every charge that was answered is there, with the card as it was charged.
            for paid in with_status(&answers, 201).into_iter().filter(|answer| answer.text.contains("\"ch_"))
            {
                let shown = client.get(&format!("/1/charges/{}", token(&paid.ok(201)))).await;
                assert_eq!(shown.text, paid.text);
            }
        }
    }

    async fn a_card_is_deleted_or_becomes_primary_but_not_both(app) {
        let client = app.client();
        for _ in 0..rounds() {
            let (customer, cards) = with_cards(&client, 1).await;
            let path = path(&customer);
            let requests = (0..16).map(|n| match n % 2 {
                0 => RaceRequest::Delete(format!("{path}/cards/{}", cards[1])),
                _ => RaceRequest::Put(path.clone(), json!({ "primary_card_token": cards[1] })),
            });
            let answers = race(&client, requests).await;
            let (left, primary) = cards_of(&client, &path).await;
            if primary == cards[1] {
                only(&answers, &[200, 400]);
                assert_eq!(left.len(), 2);
            } else {
                only(&answers, &[204, 404, 422]);
                assert_eq!((left, with_status(&answers, 204).len()), (vec![cards[0].clone()], 1));
            }
            no_orphans(app).await;
        }
    }

    async fn changes_of_different_fields_at_once_are_all_kept(app) {
        let client = app.client();
        for round in 0..rounds() {
            let customer = created(&client).await;
            let names = ["first_name", "last_name", "phone_number", "company", "notes"];
            let changes =
                names.map(|name| RaceRequest::Put(path(&customer), json!({ name: format!("{name} {round}") })));
            only(&race(&client, changes).await, &[200]);
            let kept = client.get(&path(&customer)).await.ok(200);
            let expected = names.iter().fold(customer, |customer, name| {
                with(customer, &json!({ *name: format!("{name} {round}") }))
            });
            assert_eq!(kept, expected);
        }
    }
}
