//! The page of keys: the account's own ones, and restricted ones whose rights are a grid that begins as a preset.

use serde_json::{Value, json};

use crate::harness::browser::{Browser, led, refused};
use crate::harness::{rules, token_of};

/// Returns the rights that a page's grid has chosen, by section.
fn chosen(page: &str) -> Vec<(String, String)> {
    let inputs = page.split("<input type=\"radio\"").skip(1).map(|rest| rest.split('>').next().unwrap());
    let value = |input: &str, name: &str| {
        let (_, rest) = input.split_once(&format!(" {name}=\"")).unwrap();
        rest.split('"').next().unwrap().to_owned()
    };
    let checked = inputs.filter(|input| input.contains(" checked"));
    checked.map(|input| (value(input, "name"), value(input, "value"))).collect()
}

rules! {
    async fn rights_begin_as_a_preset_and_are_given_as_they_are_chosen(app) {
        let mut browser = Browser::with(app, app.secret_key()).await;
        let none = chosen(&browser.page("/keys").await);
        assert!(none.len() == 22 && none.iter().all(|(_, right)| right == "none"), "{none:?}");
        let right = |rights: &[(String, String)], section: &str| {
            let name = format!("rights[{section}]");
            rights.iter().find(|(known, _)| *known == name).unwrap().1.clone()
        };
        for (preset, rights) in [
            ("read_only", [("charges", "read"), ("keys", "none"), ("transfers", "read")]),
            ("checkout", [("charges", "write"), ("refunds", "none"), ("transfers", "none")]),
            ("support", [("charges", "read"), ("refunds", "write"), ("transfers", "none")]),
            ("accounting", [("charges", "read"), ("customers", "none"), ("transfers", "read")]),
            ("everything", [("charges", "write"), ("keys", "none"), ("transfers", "write")]),
        ] {
            let page = browser.page(&format!("/keys?preset={preset}")).await;
            let grid = chosen(&page);
            for (section, wanted) in rights {
                assert_eq!(right(&grid, section), wanted, "{preset}: {section}");
            }
            let mut form: Vec<_> = grid.iter().map(|(name, right)| (name.as_str(), right.as_str())).collect();
            form.push(("name", preset));
            let made = browser.press("/keys", &form).await;
            assert!(made.status == 200 && made.text.contains("shown this once"), "{}", made.text);
            let key = app.client().get("/1/sandbox/keys").await.ok(200)[0].clone();
            let given: Vec<_> = grid.iter().filter(|(_, right)| right != "none").collect();
            assert_eq!(key["rights"].as_object().unwrap().len(), given.len(), "{key}");
            for (name, right) in given {
                let section = name.trim_start_matches("rights[").trim_end_matches(']');
                assert_eq!(key["rights"][section], Value::from(right.as_str()));
            }
        }
        assert_eq!(chosen(&browser.page("/keys?preset=all").await), none, "an unknown preset is none");
    }

    async fn a_key_without_rights_is_made_only_if_it_is_meant(app) {
        let client = app.client();
        let mut browser = Browser::with(app, app.secret_key()).await;
        let form = [("name", "Nothing <yet>"), ("rights[charges]", "none"), ("networks", "192.0.2.0/24"), ("expires_at", "")];
        let question = app.unchanged(browser.press("/keys", &form)).await;
        assert!(question.status == 200 && question.text.contains("<h1>Make a key without rights?</h1>"), "{}", question.text);
        assert!(question.text.contains("value=\"Nothing &lt;yet&gt;\"") && question.text.contains("value=\"192.0.2.0/24\""), "{}", question.text);
        assert_eq!(client.get("/1/sandbox/keys").await.ok(200), json!([]));
        let wrong = [("name", " "), ("rights[charges]", "none"), ("networks", "here")];
        refused(&app.unchanged(browser.press("/keys", &wrong)).await, 422, "Networks is not");
        browser.press("/keys", &[&form[..], &[("sure", "true")]].concat()).await;
        let key = client.get("/1/sandbox/keys").await.ok(200)[0].clone();
        assert_eq!((&key["rights"], &key["networks"]), (&json!({}), &json!(["192.0.2.0/24"])));
        assert!(browser.page("/keys").await.contains("<span class=\"state waiting\">no rights: it can do nothing</span>"));
        led(&browser.press(&format!("/keys/{}/revoke", token_of(&key)), &[]).await, "/dashboard/keys");
    }

    async fn the_accounts_own_keys_are_shown_when_somebody_asks(app) {
        let mut browser = Browser::with(app, app.secret_key()).await;
        let page = browser.page("/keys").await;
        for key in [app.secret_key(), app.publishable_key()] {
            assert!(page.contains(&format!("...{}<", &key[key.len() - 4..])) && !page.contains(key), "{page}");
        }
        let shown = browser.press("/keys/own", &[]).await;
        assert!(shown.status == 200 && shown.headers["cache-control"] == "no-store", "{}", shown.text);
        for key in [app.secret_key(), app.publishable_key()] {
            assert!(shown.text.contains(key), "{}", shown.text);
        }
        refused(&browser.post("/dashboard/keys/own", &[]).await, 403, "was not sent by a page of your session");
        // Of the account that is viewed.
        let made = app.client().post("/1/sandbox/accounts", &json!({})).await.ok(201);
        led(&browser.press("/accounts", &[("account", &token_of(&made))]).await, "/dashboard");
        let shown = browser.press("/keys/own", &[]).await.text;
        assert!(shown.contains(made["secret_key"].as_str().unwrap()) && !shown.contains(app.secret_key()), "{shown}");
    }
}
