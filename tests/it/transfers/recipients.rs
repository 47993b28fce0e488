//! Recipients (specification, Recipient and Recipients).

use futures::future::join_all;
use serde_json::{Value, json};

use crate::harness::{App, as_of, bank_account, fields, rounds, rules, token, token_of, with};

const PATH: &str = "/1/recipients";

fn payee() -> Value {
    json!({ "email": "payee@example.com", "name": "Pay Ee", "bank_account": bank_account("987654321") })
}

async fn stored(app: &App, number: &str) -> String {
    token_of(&app.client().post("/1/bank_accounts", &bank_account(number)).await.ok(201))
}

fn path(recipient: &Value) -> String {
    format!("{PATH}/{}", token(recipient))
}

rules! {
    async fn a_recipient_has_the_fields_of_the_specification_in_their_order(app) {
        let client = app.client();
        let answer = client.post(PATH, &payee()).await;
        let made = answer.ok(201);
        assert_eq!(fields(&made), ["token", "name", "email", "created_at", "bank_account"]);
        assert!(token(&made).starts_with("rp_"));
        assert_eq!((&made["name"], &made["email"], &made["created_at"]), (&json!("Pay Ee"), &json!("payee@example.com"), &json!(as_of())));
        assert_eq!(fields(&made["bank_account"]), ["token", "name", "bsb", "number", "bank_name", "branch"]);
        assert_eq!(made["bank_account"]["number"], "XXXXXX321");
        assert_eq!(client.get(&path(&made)).await.record(), answer.record());
        let event = client.get("/1/events").await.ok(200)[0].clone();
        assert_eq!((&event["type"], &event["data"]), (&json!("recipient.created"), &made));
    }

    async fn a_name_is_optional_and_forms_nest(app) {
        let body = json!({ "email": "payee@example.com", "bank_account": bank_account("987654321") });
        for made in [app.client().post(PATH, &body).await, app.client().post_form(PATH, &body).await] {
            assert_eq!(made.ok(201)["name"], Value::Null);
        }
    }

    async fn exactly_one_bank_account_is_required(app) {
        let blank = [("bank_account", "Bank account can't be blank")];
        for nothing in [json!(null), json!({}), json!("")] {
            app.invalid(PATH, &with(payee(), &json!({ "bank_account": nothing, "bank_account_token": " " })), &blank).await;
        }
        let token = stored(app, "1").await;
        app.invalid(PATH, &with(payee(), &json!({ "bank_account_token": token })),
            &[("bank_account", "Exactly one of bank_account or bank_account_token is required")]).await;
        app.invalid(PATH, &with(payee(), &json!({ "bank_account": "ba" })), &[("bank_account", "Bank account is not valid")]).await;
        app.invalid(PATH, &json!({ "name": "x".repeat(256) }), &[
            ("email", "Email can't be blank"), ("email", "Email is not formatted properly"),
            ("bank_account", "Bank account can't be blank"), ("name", "Name is too long (maximum is 255 characters)"),
        ]).await;
    }

    async fn unknown_foreign_and_malformed_tokens_are_refused(app) {
        let foreign = app.stranger().await.post("/1/bank_accounts", &bank_account("1")).await.ok(201);
        let own = app.number("SELECT COUNT(*) FROM bank_accounts WHERE state = 'unused'").await;
        assert_eq!(own, 1);
        for token in [token(&foreign), "ba_AZqYv3rVcBKUQ1mHn7tKRw", "card_AZqYv3rVcBKUQ1mHn7tKRw", "ba_", "x"] {
            let body = with(payee(), &json!({ "bank_account": null, "bank_account_token": token }));
            app.invalid(PATH, &body, &[("bank_account_token", "Bank account token is not valid")]).await;
        }
        let recipient = app.stranger().await.recipient("1").await;
        for path in [path(&recipient), format!("{PATH}/rp_AZqYv3rVcBKUQ1mHn7tKRw"), format!("{PATH}/x")] {
            app.client().get(&path).await.not_found();
            app.unchanged(app.client().put(&path, &json!({ "name": "x" }))).await.not_found();
            app.client().get(&format!("{path}/transfers")).await.not_found();
        }
    }

    async fn sent_fields_change_and_the_rest_stays(app) {
        let client = app.client();
        let made = client.post(PATH, &payee()).await.ok(201);
        for (sent, changed) in [
            (json!({ "email": "new@example.com" }), json!({ "email": "new@example.com" })),
            (json!({ "name": "" }), json!({ "name": "", "email": "new@example.com" })),
            (json!({}), json!({ "name": "", "email": "new@example.com" })),
            (json!({ "email": null, "name": "Again" }), json!({ "name": "Again", "email": "new@example.com" })),
        ] {
            let answer = client.put(&path(&made), &sent).await;
            assert_eq!(answer.ok(200), with(made.clone(), &changed), "{sent}");
            assert_eq!(client.get(&path(&made)).await.record(), answer.record());
        }
        app.unchanged(client.put(&path(&made), &json!({ "email": " " }))).await
            .faulty(&[("email", "Email can't be blank"), ("email", "Email is not formatted properly")]);
        assert_eq!(app.events().await.iter().filter(|event| **event == "recipient.updated").count(), 4);
    }

    async fn another_bank_account_replaces_the_old_one_and_transfers_keep_theirs(app) {
        let client = app.client();
        let made = client.post(PATH, &payee()).await.ok(201);
        let before = client.transfer(100, token(&made)).await.ok(201);
        let by_token = stored(app, "555").await;
        let changed = client.put(&path(&made), &json!({ "bank_account_token": by_token })).await.ok(200);
        assert_eq!((&changed["bank_account"]["token"], &changed["bank_account"]["number"]), (&json!(by_token), &json!("555")));
        let after = client.transfer(100, token(&made)).await.ok(201);
        let changed = client.put(&path(&made), &json!({ "bank_account": bank_account("777") })).await.ok(200);
        assert_eq!(changed["bank_account"]["number"], "777");
        // The one that went cannot be used again.
        let gone = with(payee(), &json!({ "bank_account": null, "bank_account_token": by_token }));
        app.invalid(PATH, &gone, &[("bank_account_token", "Bank account token is not valid")]).await;
        assert_eq!(app.number("SELECT COUNT(*) FROM bank_accounts").await, 2, "the account's own, and the recipient's");
        for (transfer, number) in [(&before, "XXXXXX321"), (&after, "555")] {
            let shown = client.get(&format!("/1/transfers/{}", token(transfer))).await.ok(200);
            assert_eq!((&shown, &shown["bank_account"]["number"]), (transfer, &json!(number)));
        }
        app.unchanged(client.put(&path(&made), &json!({ "bank_account_token": by_token, "bank_account": bank_account("1") }))).await
            .faulty(&[("bank_account", "Exactly one of bank_account or bank_account_token is required")]);
    }

    async fn its_own_bank_accounts_token_changes_nothing_and_that_of_another_is_used(app) {
        let client = app.client();
        let made = client.post(PATH, &payee()).await.ok(201);
        let own = made["bank_account"]["token"].clone();
        let renamed = client.put(&path(&made), &json!({ "bank_account_token": own, "name": "Again" })).await.ok(200);
        assert_eq!(renamed, with(made.clone(), &json!({ "name": "Again" })));
        assert_eq!(app.events().await.last().unwrap(), &"recipient.updated");
        let padded = json!({ "bank_account_token": format!(" {} ", own.as_str().unwrap()) });
        assert_eq!(client.put(&path(&made), &padded).await.ok(200), renamed);
        assert_eq!(app.number("SELECT COUNT(*) FROM bank_accounts").await, 2, "the account's own, and the recipient's");
        client.transfer(100, token(&made)).await.ok(201);
        let other = client.post(PATH, &payee()).await.ok(201);
        let used = [("bank_account_token", "Bank account token has already been used")];
        for (recipient, sent) in [(&other, &made), (&made, &other)] {
            let sent = json!({ "bank_account_token": sent["bank_account"]["token"] });
            app.unchanged(client.put(&path(recipient), &sent)).await.faulty(&used);
        }
        app.invalid(PATH, &with(payee(), &json!({ "bank_account": null, "bank_account_token": own })), &used).await;
        // Once it has another one, its former token is unknown.
        client.put(&path(&made), &json!({ "bank_account": bank_account("777") })).await.ok(200);
        let gone = json!({ "bank_account_token": own });
        app.unchanged(client.put(&path(&made), &gone)).await
            .faulty(&[("bank_account_token", "Bank account token is not valid")]);
    }

    async fn of_many_uses_of_one_token_one_wins(app) {
        let client = app.client();
        for _ in 0..rounds() {
            let mut made = Vec::new();
            for _ in 0..16 {
                made.push(client.post(PATH, &payee()).await.ok(201));
            }
            let token = stored(app, "1").await;
            let uses = (0..16).map(|n| {
                let (client, path) = (client.clone(), path(&made[n]));
                let body = with(payee(), &json!({ "bank_account": null, "bank_account_token": token }));
                tokio::spawn(async move {
                    if n % 2 == 0 { client.post(PATH, &body).await } else { client.put(&path, &body).await }
                })
            });
            let answers: Vec<_> = join_all(uses).await.into_iter().map(Result::unwrap).collect();
            assert_eq!(answers.iter().filter(|answer| answer.status < 300).count(), 1);
            for answer in answers.iter().filter(|answer| answer.status >= 300) {
                answer.faulty(&[("bank_account_token", "Bank account token has already been used")]);
            }
        }
    }

    async fn recipients_are_listed_newest_first(app) {
        let client = app.client();
        let mut all = Vec::new();
        for _ in 0..3 {
            all.insert(0, client.post(PATH, &payee()).await.ok(201));
        }
        app.stranger().await.recipient("1").await;
        let listed = client.get(PATH).await;
        assert_eq!(listed.ok(200), json!(all));
        assert_eq!(listed.json()["pagination"]["count"], 3);
        assert_eq!(client.get(&format!("{PATH}?per_page=1&page=2")).await.ok(200), json!([all[1]]));
        client.get(&format!("{PATH}?page=x")).await.faults();
    }
}
