//! Refused forms are shown again, with each error beside its field and what was typed in it (`docs/decisions.md`, 456).

use serde_json::json;

use crate::harness::browser::{Browser, csrf_token, led, refused};
use crate::harness::{App, Database, charge_with, on_both, rules, token_of};

const CARD: &str = "4200000000000000";
const OPERATOR: &str = "operator-0123456789-0123456789-01";

/// Returns the tag of the form's only field with an error.
#[track_caller]
fn faulty(page: &str) -> &str {
    let (before, after) = page.split_once("aria-invalid=\"true\"").unwrap_or_else(|| panic!("{page}"));
    assert!(!after.contains("aria-invalid"), "one field: {page}");
    let start = before.rfind('<').unwrap();
    let end = before.len() + after.find('>').unwrap();
    &page[start..end + "aria-invalid=\"true\"".len()]
}

/// Returns the addresses of a page's forms that are posted, each with the names of its texts.
fn posted(page: &str) -> Vec<(String, Vec<String>)> {
    let value = |tag: &str, name: &str| {
        let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
        rest.split('"').next().map(str::to_owned)
    };
    let forms =
        page.split("<form").skip(1).filter_map(|form| form.split_once("</form>")).map(|(form, _)| form);
    let forms = forms.filter(|form| form.contains("method=\"post\""));
    forms
        .map(|form| {
            let fields =
                form.split("<input").skip(1).filter_map(|input| input.split_once('>')).map(|(tag, _)| tag);
            let is_text = |tag: &&str| {
                let kind = value(tag, "type");
                kind.is_none_or(|kind| ["text", "email", "url", "number"].contains(&kind.as_str()))
            };
            let names = fields.filter(is_text).filter_map(|tag| value(tag, "name"));
            (value(form, "action").unwrap(), names.collect())
        })
        .collect()
}

rules! {
    async fn each_error_is_beside_its_field_and_what_was_typed_is_kept(app) {
        let mut browser = Browser::with(app, app.secret_key()).await;
        let typed = [
            ("amount", "a lot"), ("currency", "EUR"), ("description", "Tea <\"&\">"), ("email", "nobody"),
            ("capture", "false"), ("outcome", "expired_card"),
        ];
        let answer = app.unchanged(browser.submit("/charges/new", "/charges/new", &typed)).await;
        refused(&answer, 422, "Amount is not a number");
        let page = &answer.text;
        for part in [
            "<h1>Make a charge</h1>",
            "<a href=\"#amount\">Amount is not a number</a>",
            "<a href=\"#email\">Email is not formatted properly</a>",
            "value=\"a lot\" autocomplete=\"off\" aria-invalid=\"true\" aria-describedby=\"error-amount\" autofocus>",
            "<p class=\"fault\" id=\"error-amount\">Amount is not a number</p>",
            "<option value=\"EUR\" selected>",
            "value=\"Tea &lt;&quot;&amp;&quot;&gt;\"",
            "value=\"nobody\" aria-invalid=\"true\" aria-describedby=\"error-email\">",
            "<option value=\"false\" selected>",
            "<option value=\"expired_card\" selected>",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert_eq!(page.matches("autofocus").count(), 1, "the first one has the focus");
        assert!(!page.contains("<option value=\"AUD\" selected>") && !page.contains("<option value=\"true\" selected>"));

        // The page is the form's own, so it can be sent again, mended, or with another error.
        let again = [("form", csrf_token(page)), ("back", "/dashboard/charges/new".to_owned())];
        assert!(page.contains("name=\"back\" value=\"/dashboard/charges/new\""), "{page}");
        let again: Vec<_> = again.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let mended = [("amount", "500"), ("email", "roland@example.com"), ("outcome", "")];
        let mended = [&again[..], &typed[1..3], &typed[4..5], &mended].concat();
        let made = browser.post("/dashboard/charges/new", &mended).await;
        let charge = app.client().get("/1/charges").await.ok(200)[0].clone();
        led(&made, &format!("/dashboard/charges/{}", token_of(&charge)));
        assert_eq!(charge["description"], "Tea <\"&\">");
    }

    async fn of_several_forms_only_the_one_that_was_sent_is_filled_in(app) {
        let client = app.client();
        let mut browser = Browser::with(app, app.secret_key()).await;
        let charge = token_of(&client.captured(400).await);
        let (page, refund) = (format!("/charges/{charge}"), format!("/charges/{charge}/refund"));
        let answer = app.unchanged(browser.submit(&page, &refund, &[("amount", "many")])).await;
        refused(&answer, 422, "Amount is not a number");
        assert!(faulty(&answer.text).contains("value=\"many\""), "{}", answer.text);
        assert!(answer.text.find("aria-invalid").unwrap() < answer.text.find("Dispute it").unwrap());

        // What is not about a field is said at the top of the page, as it is now.
        let capture = app.unchanged(browser.submit(&page, &format!("/charges/{charge}/capture"), &[])).await;
        refused(&capture, 400, "The authorisation has already been captured");
        assert!(capture.text.contains(&format!("<h1>Charge {charge}</h1>")) && !capture.text.contains("aria-invalid"));

        // Three forms move the clock.
        let clock = app.unchanged(browser.submit("/clock", "/clock", &[("to", "2020-01-01")])).await;
        refused(&clock, 422, "must not be before the clock of the account");
        assert!(faulty(&clock.text).contains("value=\"2020-01-01\""), "{}", clock.text);

        let key = [("name", "Till"), ("rights[charges]", "all"), ("networks", "192.0.2.0/24, here"), ("expires_at", "")];
        let keys = app.unchanged(browser.submit("/keys", "/keys", &key)).await;
        refused(&keys, 422, "Networks is not");
        assert!(keys.text.contains("value=\"192.0.2.0/24, here\"") && keys.text.contains("value=\"Till\""), "{}", keys.text);
        assert_eq!(keys.text.matches("aria-invalid").count(), 2, "{}", keys.text);
    }

    async fn a_secret_that_was_typed_is_not_shown_again(app) {
        let mut browser = Browser::with(app, app.secret_key()).await;
        for number in [CARD, "4200 0000 0000 0000", "my card 4200-0000-0000-0000, please"] {
            let typed = [("amount", "x"), ("description", number), ("email", "roland@example.com")];
            let answer = browser.submit("/charges/new", "/charges/new", &typed).await;
            refused(&answer, 422, "Amount is not a number");
            // The page's call of the API always shows the test card.
            let (form, _) = answer.text.split_once("The same from the API").unwrap();
            assert!(!form.contains(number), "{}", answer.text);
        }
        let answer = browser.sign_in("sk_wrong_0123456789").await;
        refused(&answer, 422, "Not authorised. (Check API Key)");
        assert!(!answer.text.contains("sk_wrong") && faulty(&answer.text).contains("type=\"password\""), "{}", answer.text);
        assert!(faulty(&answer.text).contains("aria-describedby=\"hint error-key\""), "{}", answer.text);
    }

    async fn the_filters_of_a_list_are_shown_again_as_well(app) {
        let mut browser = Browser::with(app, app.secret_key()).await;
        for (list, title, bad) in [
            ("/charges?query=tea&state=declined&start_date=soon", "Charges", "value=\"soon\""),
            ("/customers?query=tea&end_date=soon", "Customers", "value=\"soon\""),
            ("/transfers?query=tea&end_date=soon", "Transfers", "value=\"soon\""),
        ] {
            let answer = browser.get(&format!("/dashboard{list}")).await;
            refused(&answer, 422, "date is not formatted properly");
            assert!(answer.text.contains(&format!("<h1>{title}</h1>")), "{}", answer.text);
            assert!(faulty(&answer.text).contains(bad) && answer.text.contains("value=\"tea\""), "{}", answer.text);
            assert!(answer.text.contains("<details class=\"filters\" open>"), "the field is in sight: {}", answer.text);
        }
        let states = browser.get("/dashboard/charges?state=lost").await;
        refused(&states, 422, "State is not included in the list");
    }

    async fn a_form_that_names_no_page_of_the_dashboard_gets_the_page_of_its_error(app) {
        let mut browser = Browser::with(app, app.secret_key()).await;
        let csrf_token = csrf_token(&browser.page("").await);
        for back in ["", "https://evil.example/", "//evil.example", "/dashboard/charges.csv", "/dashboard/nothing", "/dashboard/charges/ch_x"] {
            let sent = [("form", csrf_token.as_str()), ("back", back), ("amount", "x")];
            let answer = app.unchanged(browser.post("/dashboard/charges/new", &sent)).await;
            refused(&answer, 422, "Amount is not a number");
            assert!(answer.text.contains("<h1>That did not work</h1>") && !answer.text.contains("evil"), "{back}: {}", answer.text);
        }
    }

    async fn no_form_of_any_page_loses_what_was_typed(app) {
        let client = app.client();
        let charge = token_of(&client.captured(500).await);
        client.post("/1/sandbox/keys", &json!({ "name": "Till", "rights": { "charges": "read" } })).await.ok(201);
        client.post("/1/charges", &charge_with(400, json!({}))).await.ok(201);
        let mut browser = Browser::with(app, app.secret_key()).await;
        let mut kept = Vec::new();
        for page in ["/charges/new".to_owned(), format!("/charges/{charge}"), "/webhooks".into(), "/keys".into(), "/clock".into(), "/sandbox".into()] {
            let html = browser.page(&page).await;
            for (action, names) in posted(&html).into_iter().filter(|(_, names)| !names.is_empty()) {
                const TYPED: &str = "?!";
                let sent: Vec<_> = names.iter().map(|name| (name.as_str(), TYPED)).collect();
                let answer = browser.submit(&page, action.trim_start_matches("/dashboard"), &sent).await;
                if answer.status == 422 {
                    assert!(!answer.text.contains("That did not work"), "{page} {action}: {}", answer.text);
                    assert!(answer.text.contains("aria-invalid=\"true\"") && answer.text.contains(&format!("value=\"{TYPED}\"")), "{page} {action}: {}", answer.text);
                    kept.push(action);
                }
            }
        }
        assert!(kept.len() >= 7, "{kept:?}");
    }
}

async fn the_operators_forms_keep_what_was_typed(database: Database) {
    let Some(mut app) = App::live(database).await else { return };
    app.operator_has(Some(OPERATOR)).await;
    let mut browser = Browser::new(&app);
    led(&browser.sign_in(OPERATOR).await, "/dashboard");
    let form = csrf_token(&browser.page("/accounts").await);
    for unknown in ["acct_x", "acct_AZqYv3rVcBKUQ1mHn7tKRw"] {
        let sent = [("form", form.as_str()), ("account", unknown)];
        let answer = app.unchanged(browser.post("/dashboard/accounts", &sent)).await;
        refused(&answer, 404, "could not be found");
        assert!(faulty(&answer.text).contains(&format!("value=\"{unknown}\"")), "{}", answer.text);
        assert!(
            answer.text.contains("<h1>Accounts</h1>") && answer.text.contains("Stranger"),
            "{}",
            answer.text
        );
    }
}

on_both!(the_operators_forms_keep_what_was_typed);
