//! POST /bank_accounts, and what is asked of a bank account wherever one is given (`docs/decisions.md`, 200 and 201).

use entity::TimeSpan;
use http::Method;
use serde_json::{Value, json};

use crate::harness::sending::{form, request};
use crate::harness::{App, bank_account, fields, rules, token, with};

const PATH: &str = "/1/bank_accounts";
const RECIPIENTS: &str = "/1/recipients";

/// What is refused when the parameters of an acceptable bank account are changed like this, by itself and in a recipient.
async fn refuses(app: &App, changes: Value, param: &str, message: &str) {
    let body = with(bank_account("987654321"), &changes);
    let sentence = |subject: &str| {
        if message.starts_with("Bank") { message.to_owned() } else { format!("{subject} {message}") }
    };
    let humanised = if param == "bsb" { "BSB".to_owned() } else { param[..1].to_uppercase() + &param[1..] };
    app.invalid(PATH, &body, &[(param, &sentence(&humanised))]).await;
    let (inside, humanised) = match param {
        "bank_account" => (param.to_owned(), String::new()),
        "bsb" => ("bank_account.bsb".to_owned(), "Bank account BSB".to_owned()),
        other => (format!("bank_account.{other}"), format!("Bank account {other}")),
    };
    let recipient = json!({ "email": "payee@example.com", "bank_account": body });
    app.invalid(RECIPIENTS, &recipient, &[(&inside, &sentence(&humanised))]).await;
}

async fn accepts(app: &App, changes: Value) -> Value {
    app.client().post(PATH, &with(bank_account("987654321"), &changes)).await.ok(201)
}

rules! {
    async fn a_bank_account_has_the_fields_of_the_specification_in_their_order(app) {
        let answer = app.client().post(PATH, &bank_account("987654321")).await;
        let stored = answer.ok(201);
        assert_eq!(fields(&stored), ["token", "name", "bsb", "number", "bank_name", "branch"]);
        assert!(token(&stored).starts_with("ba_"));
        assert_eq!(stored["name"], "Pay Ee");
        assert_eq!((&stored["bsb"], &stored["number"]), (&json!("736032"), &json!("XXXXXX321")));
        assert_eq!((&stored["bank_name"], &stored["branch"]), (&json!("Westpac Banking Corporation"), &json!("Perth")));
        assert_eq!(fields(&answer.json()), ["response", "ip_address"]);
        assert!(app.events().await.is_empty());
    }

    async fn a_number_has_up_to_twelve_digits_and_shows_its_last_three(app) {
        for (number, shown) in [
            (json!("123456789012"), "XXXXXXXXX012"), (json!(987_654_321), "XXXXXX321"), (json!("1234"), "X234"),
            (json!("999"), "999"), (json!(" 12 "), "12"), (json!("0"), "0"),
        ] {
            assert_eq!(accepts(app, json!({ "number": number })).await["number"], shown);
        }
    }

    async fn a_branch_that_is_not_known_has_no_name(app) {
        for (bsb, known) in [("806015", true), ("736032", true), ("012-984", true), ("342088", true), ("999999", false)] {
            let stored = accepts(app, json!({ "bsb": bsb })).await;
            for field in ["bank_name", "branch"] {
                assert_eq!(stored[field] != "", known, "{stored}");
            }
        }
        assert_eq!(accepts(app, json!({ "bsb": 806_015 })).await["bsb"], "806015");
    }

    async fn a_wrong_bsb_or_number_or_name_is_refused(app) {
        for bsb in [json!("80601"), json!("8060155"), json!("80601a"), json!("80-6015"), json!("806 015"), json!("806--15"),
            json!("-06015"), json!(12_984), json!("٨٠٦٠١٥"), json!(true)] {
            refuses(app, json!({ "bsb": bsb }), "bsb", "must be 6 numbers").await;
        }
        for number in [json!("1234567890123"), json!("98765432a"), json!("987-654"), json!("9 8"), json!(-1), json!(1.5),
            json!("٣٣"), json!("+61"), json!([1, 2]), json!({ "a": 1 })] {
            refuses(app, json!({ "number": number }), "number", "is not valid").await;
        }
        for (param, value) in [("number", json!("")), ("number", json!(null)), ("name", json!(" "))] {
            refuses(app, json!({ param: value }), param, "can't be blank").await;
        }
        refuses(app, json!({ "name": "x".repeat(256) }), "name", "is too long (maximum is 255 characters)").await;
        refuses(app, json!({ "name": "a\u{0}b" }), "name", "is not valid").await;
        for bsb in ["123456", "123-456"] {
            refuses(app, json!({ "bsb": bsb }), "bank_account", "Bank account is invalid").await;
        }
    }

    async fn all_faults_are_told_at_once_and_a_blank_bsb_has_two(app) {
        app.invalid(PATH, &json!({}), &[
            ("name", "Name can't be blank"), ("bsb", "BSB can't be blank"), ("bsb", "BSB must be 6 numbers"),
            ("number", "Number can't be blank"),
        ]).await;
        app.invalid(PATH, &json!({ "name": "N", "bsb": "123456", "number": "x" }),
            &[("number", "Number is not valid"), ("bank_account", "Bank account is invalid")]).await;
    }

    async fn a_browser_stores_one_by_its_publishable_key_alone(app) {
        let query = format!("publishable_api_key={}&{}", app.publishable_key(), form(&bank_account("987654321"), false));
        let stored = request(&app.anonymous(), Method::POST, &format!("{PATH}?{query}"), &[("origin", "https://shop.example")]).await;
        assert!(token(&stored.ok(201)).starts_with("ba_"));
        assert_eq!(stored.headers["access-control-allow-origin"], "*");
        let script = format!("{PATH}.json?callback=f&_method=POST&{query}");
        let called = request(&app.anonymous(), Method::GET, &script, &[]).await;
        assert!(called.status == 200 && called.text.starts_with("/**/f({\"response\":{\"token\":\"ba_"), "{}", called.text);
        app.unchanged(app.anonymous().post(PATH, &bank_account("1"))).await.refused(401, "unauthorized");
        // It opens nothing else of what is paid out.
        for path in [RECIPIENTS, "/1/transfers"] {
            let answer = request(&app.anonymous(), Method::POST, &format!("{path}?{query}"), &[]).await;
            answer.refused(401, "unauthorized");
        }
    }

    async fn a_token_is_used_once_and_expires_after_a_month(app) {
        let client = app.client();
        let recipient = |token: &str| json!({ "email": "payee@example.com", "bank_account_token": token });
        let once = accepts(app, json!({})).await;
        let made = client.post(RECIPIENTS, &recipient(token(&once))).await.ok(201);
        assert_eq!(made["bank_account"], once);
        let used = [("bank_account_token", "Bank account token has already been used")];
        app.invalid(RECIPIENTS, &recipient(token(&once)), &used).await;
        let late = accepts(app, json!({})).await;
        // From the second of March to the second of April.
        app.clock.advance(TimeSpan::days(31));
        let expired = [("bank_account_token", "Bank account token is not valid")];
        app.invalid(RECIPIENTS, &recipient(token(&late)), &expired).await;
        app.do_due_work().await;
        app.invalid(RECIPIENTS, &recipient(token(&late)), &expired).await;
        assert_eq!(app.number("SELECT COUNT(*) FROM bank_accounts").await, 2, "the account's own, and the recipient's");
    }

    async fn a_number_is_nowhere_in_the_database(app) {
        let client = app.client();
        let number = "731998264507";
        client.post(PATH, &bank_account(number)).await.ok(201);
        client.recipient(number).await;
        client.post(PATH, &with(bank_account(number), &json!({ "bsb": "123456" }))).await.faults();
        let stored = app.everything().await;
        for text in [number, "987654321"] {
            assert!(!stored.windows(text.len()).any(|bytes| bytes == text.as_bytes()), "{text} can be read");
        }
    }
}
