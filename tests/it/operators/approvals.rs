//! What takes two persons at the dashboard: one asks, and another one approves, once (`docs/decisions.md`, 386).

use base::clock::Clock;
use card_payments::limits::APPROVAL_OPEN;
use card_payments::services::disputes::operator;
use entity::TimeSpan;
use entity::dispute::{DisputeCategory, DisputeStatus};
use futures::join;
use serde_json::json;

use crate::harness::browser::{Browser, led, refused};
use crate::harness::identity_provider::{Signing, StubProvider};
use crate::harness::{Answer, App, Database, on_both, rounds, token_of};
use crate::operators::people::{live, sign_in_with, signed_in, trail, view};

/// A person who is signed in and views the first account.
struct Someone {
    browser: Browser,
    form: String,
}

impl Someone {
    async fn with(app: &App, provider: &StubProvider, subject: &str, role: &str) -> Self {
        let email = format!("{subject}@example.com");
        let changed = json!({ "sub": subject, "email": email, "roles": [role] });
        let mut browser = signed_in(app, provider, changed).await;
        let form = view(app, &mut browser).await;
        Self { browser, form }
    }

    async fn send(&mut self, path: &str, pairs: &[(&str, &str)]) -> Answer {
        let path = format!("/dashboard/approvals{path}");
        self.browser.post(&path, &[&[("form", self.form.as_str())], pairs].concat()).await
    }

    async fn asks(&mut self, kind: &str, pairs: &[(&str, &str)]) {
        led(&self.send(&format!("/{kind}"), pairs).await, "/dashboard/approvals");
    }
}

/// The id of the latest request.
async fn latest(someone: &mut Someone) -> String {
    let page = someone.browser.page("/approvals").await;
    let (_, rest) = page.split_once("/dashboard/approvals/").expect("an open request");
    rest.split('/').next().unwrap().to_owned()
}

const KEYS: &str = "SELECT COUNT(*) FROM api_keys WHERE kind = 'restricted'";
const PAYOUT: [(&str, &str); 3] = [("amount", "100"), ("description", "Rent"), ("recipient", "self")];

async fn a_request_of_one_person_is_approved_once_by_another_one(database: Database) {
    let Some((app, provider)) = live(database, false).await else { return };
    let mut ada = Someone::with(&app, &provider, "ada", "administrator").await;
    let mut grace = Someone::with(&app, &provider, "grace", "administrator").await;
    ada.asks("key", &[("name", "Accounting"), ("rights", "charges: read")]).await;
    let id = latest(&mut ada).await;
    assert_eq!(app.number(KEYS).await, 0);
    let page = grace.browser.page("/approvals").await;
    assert!(
        page.contains("ada@example.com (ada)") && page.contains("Approve") && !page.contains("Withdraw"),
        "{page}"
    );
    let mut viewer = Someone::with(&app, &provider, "linus", "viewer").await;
    assert!(!viewer.browser.page("/approvals").await.contains("Accounting"), "keys are not theirs to read");
    let approved = grace.send(&format!("/{id}/approve"), &[]).await;
    assert!(approved.status == 200 && approved.text.contains("rk_"), "{}", approved.text);
    let (_, key) = approved.text.split_once("<code>rk_").unwrap();
    let key = format!("rk_{}", key.split('<').next().unwrap());
    app.with_key(&key).get("/1/charges").await.ok(200);
    for someone in [&mut ada, &mut grace] {
        for action in ["approve", "decline"] {
            let again = someone.send(&format!("/{id}/{action}"), &[]).await;
            assert!([400, 403].contains(&again.status), "{}", again.text);
        }
    }
    assert_eq!(app.number(KEYS).await, 1);
    let trail = trail(&app).await;
    for part in [
        "approval.requested",
        "approval.approved",
        "key.created",
        "ada@example.com (ada)",
        "grace@example.com (grace)",
    ] {
        assert!(trail.contains(part), "{part}: {trail}");
    }
    assert!(!app.everything().await.windows(key.len()).any(|window| window == key.as_bytes()));
}

async fn nobody_approves_what_they_ask_for_in_whichever_session(database: Database) {
    let Some((app, provider)) = live(database, false).await else { return };
    let mut ada = Someone::with(&app, &provider, "ada", "administrator").await;
    let mut herself = Someone::with(&app, &provider, "ada", "administrator").await;
    ada.asks("transfer", &PAYOUT).await;
    let id = latest(&mut ada).await;
    for session in [&mut ada, &mut herself] {
        let own = app.unchanged(session.send(&format!("/{id}/approve"), &[])).await;
        refused(&own, 403, "another person must approve it");
    }
    assert!(ada.browser.page("/approvals").await.contains("Withdraw"));
    led(&herself.send(&format!("/{id}/decline"), &[]).await, "/dashboard/approvals");
    assert_eq!(app.number("SELECT COUNT(*) FROM approvals WHERE state = 'withdrawn'").await, 1);
}

async fn each_person_needs_the_right_of_what_is_asked_for(database: Database) {
    let Some((app, provider)) = live(database, false).await else { return };
    let mut finance = Someone::with(&app, &provider, "ada", "accounting").await;
    for role in ["viewer", "support"] {
        let mut someone = Someone::with(&app, &provider, role, role).await;
        someone.browser.page("/approvals").await;
        let answer = app.unchanged(someone.send("/transfer", &PAYOUT)).await;
        refused(&answer, 403, "Your roles may not write transfers.");
    }
    for kind in ["key", "merchant"] {
        let answer = finance
            .send(&format!("/{kind}"), &[("name", "A"), ("rights", "charges: read"), ("subject", "mrch_x")])
            .await;
        refused(&answer, 403, "Your roles may not write");
    }
    finance.asks("transfer", &PAYOUT).await;
    let id = latest(&mut finance).await;
    let mut viewer = Someone::with(&app, &provider, "linus", "viewer").await;
    for action in ["approve", "decline"] {
        let answer = app.unchanged(viewer.send(&format!("/{id}/{action}"), &[])).await;
        refused(&answer, 403, "Your roles may not write transfers.");
    }
    refused(&finance.send("/nothing", &[]).await, 404, "could not be found");
    refused(&finance.send("/x/approve", &[]).await, 404, "could not be found");
    let foreign = viewer.browser.post("/dashboard/approvals/transfer", &PAYOUT).await;
    refused(&foreign, 403, "was not sent by a page of your session");
}

async fn a_request_that_cannot_be_carried_out_stays_open_and_changes_nothing(database: Database) {
    let Some((app, provider)) = live(database, false).await else { return };
    let mut ada = Someone::with(&app, &provider, "ada", "accounting").await;
    let mut grace = Someone::with(&app, &provider, "grace", "accounting").await;
    ada.browser.page("/approvals").await;
    for bad in [
        [("amount", "-1"), ("description", "Rent"), ("recipient", "self")],
        [("amount", "x"), ("description", ""), ("recipient", "")],
    ] {
        let answer = app.unchanged(ada.send("/transfer", &bad)).await;
        assert_eq!(answer.status, 422, "{}", answer.text);
    }
    refused(
        &ada.send("/dispute", &[("subject", "dp_x"), ("status", "won")]).await,
        404,
        "could not be found",
    );
    let unknown =
        [("amount", "100"), ("description", "Rent"), ("recipient", "rp_x"), ("subject", "Approved by Linus")];
    ada.asks("transfer", &unknown).await;
    assert!(!grace.browser.page("/approvals").await.contains("Linus"), "a payout is about no record");
    let id = latest(&mut ada).await;
    let answer = app.unchanged(grace.send(&format!("/{id}/approve"), &[])).await;
    refused(&answer, 422, "Recipient is not valid");
    assert_eq!(app.number("SELECT COUNT(*) FROM approvals WHERE state = 'pending'").await, 1);
    led(&grace.send(&format!("/{id}/decline"), &[]).await, "/dashboard/approvals");
    assert_eq!(grace.send(&format!("/{id}/approve"), &[]).await.status, 400);
    ada.asks("transfer", &PAYOUT).await;
    let approve = format!("/{}/approve", latest(&mut ada).await);
    app.execute("UPDATE accounts SET status = 'on_hold'").await;
    refused(&app.unchanged(grace.send(&approve, &[])).await, 400, "");
    refused(&app.unchanged(ada.send("/transfer", &PAYOUT)).await, 400, "");
    app.execute("UPDATE accounts SET status = 'active'").await;
    assert_eq!(grace.send(&approve, &[]).await.status, 200);
    assert_eq!(app.number("SELECT COUNT(*) FROM transfers WHERE amount = 100").await, 1);
    app.check_books().await;
}

async fn a_dispute_and_a_merchant_are_decided_by_two(database: Database) {
    let Some((app, provider)) = live(database, false).await else { return };
    app.execute("UPDATE accounts SET partner = TRUE, disputes = FALSE").await;
    let client = app.client();
    let (merchant, charge) = (client.merchant().await, token_of(&client.captured(400).await));
    let store = &app.ctx().store;
    let opened = operator::open(store, app.clock.now(), &charge, None, DisputeCategory::General).await;
    let dispute = token_of(&serde_json::to_value(opened.unwrap()).unwrap());
    let mut ada = Someone::with(&app, &provider, "ada", "administrator").await;
    let mut grace = Someone::with(&app, &provider, "grace", "administrator").await;
    for (kind, pairs) in [
        ("merchant", vec![("subject", merchant.as_str())]),
        ("dispute", vec![("subject", dispute.as_str()), ("status", "cancelled")]),
    ] {
        ada.asks(kind, &pairs).await;
        let id = latest(&mut ada).await;
        let approved = grace.send(&format!("/{id}/approve"), &[]).await;
        assert!(approved.text.contains("<h1>Approved</h1>"), "{}", approved.text);
    }
    assert_eq!(client.get(&format!("/1/merchants/{merchant}")).await.ok(200)["status"], "active");
    // The switch is about the merchant's API.
    client.get(&format!("/1/disputes/{dispute}")).await.refused(400, "api_unavailable");
    app.execute("UPDATE accounts SET disputes = TRUE").await;
    assert_eq!(client.get(&format!("/1/disputes/{dispute}")).await.ok(200)["status"], "cancelled");
    app.check_books().await;
}

async fn a_request_expires_after_seven_days_and_a_late_decision_changes_nothing(database: Database) {
    let Some((app, provider)) = live(database, false).await else { return };
    // A sign-in takes twelve seconds, so it is the last instant.
    let almost = TimeSpan::from_millis(APPROVAL_OPEN.millis() - 12_001);
    let mut ada = Someone::with(&app, &provider, "ada", "accounting").await;
    ada.asks("transfer", &PAYOUT).await;
    let id = latest(&mut ada).await;
    app.clock.advance(almost);
    let mut grace = Someone::with(&app, &provider, "grace", "accounting").await;
    assert_eq!(latest(&mut grace).await, id);
    app.clock.advance(TimeSpan::from_millis(1));
    let page = grace.browser.page("/approvals").await;
    assert!(page.contains("<dd>expired</dd>") && !page.contains(&format!("{id}/")), "{page}");
    let mut ada = Someone::with(&app, &provider, "ada", "accounting").await;
    for (someone, actions) in [(&mut grace, &["approve", "decline"][..]), (&mut ada, &["decline"])] {
        // The session notes when it was last seen.
        someone.browser.page("/approvals").await;
        for action in actions {
            let late = app.unchanged(someone.send(&format!("/{id}/{action}"), &[])).await;
            refused(&late, 400, "The request has expired");
        }
    }
    ada.asks("transfer", &PAYOUT).await;
    let id = latest(&mut ada).await;
    app.clock.advance(almost);
    let mut grace = Someone::with(&app, &provider, "grace", "accounting").await;
    assert_eq!(grace.send(&format!("/{id}/approve"), &[]).await.status, 200);
    assert_eq!(app.number("SELECT COUNT(*) FROM transfers WHERE amount = 100").await, 1);
    app.clock.advance(APPROVAL_OPEN);
    let mut grace = Someone::with(&app, &provider, "grace", "accounting").await;
    let page = grace.browser.page("/approvals").await;
    assert!(page.contains("<dd>approved</dd>") && page.matches("<dd>expired</dd>").count() == 1, "{page}");
}

/// The recipient's bank account, the merchant's data and the state of a dispute are another one's to change.
async fn a_request_changed_since_it_was_shown_is_not_approved_and_is_asked_for_anew(database: Database) {
    let Some((app, provider)) = live(database, false).await else { return };
    app.execute("UPDATE accounts SET partner = TRUE, disputes = TRUE").await;
    let client = app.client();
    let recipient = token_of(&client.recipient("987654321").await);
    let (merchant, charge) = (client.merchant().await, token_of(&client.captured(400).await));
    let store = &app.ctx().store;
    let opened = operator::open(store, app.clock.now(), &charge, None, DisputeCategory::General).await;
    let dispute = token_of(&serde_json::to_value(opened.unwrap()).unwrap());
    let returned = token_of(&client.captured(400).await);
    let opened = operator::open(store, app.clock.now(), &returned, None, DisputeCategory::General).await;
    let won = token_of(&serde_json::to_value(opened.unwrap()).unwrap());
    for status in [DisputeStatus::EvidenceUnderReview, DisputeStatus::Won] {
        operator::resolve(store, app.clock.now(), &won, status).await.unwrap();
    }
    let to_arbitration = [("subject", won.as_str()), ("status", "arbitration_under_review")];
    let mut ada = Someone::with(&app, &provider, "ada", "administrator").await;
    let mut grace = Someone::with(&app, &provider, "grace", "administrator").await;
    let to_recipient = [("amount", "100"), ("description", "Rent"), ("recipient", recipient.as_str())];
    for (kind, pairs, shown) in [
        ("transfer", &to_recipient[..], "number: XXXXXX321"),
        ("transfer", &to_recipient, "fee: "),
        ("merchant", &[("subject", merchant.as_str())], "email: roland@example.com"),
        ("merchant", &[("subject", merchant.as_str())], "number: XXXXXX321"),
        ("dispute", &[("subject", dispute.as_str()), ("status", "cancelled")], "status: evidence_required"),
        ("dispute", &to_arbitration, "left_of_charge: 400"),
    ] {
        ada.asks(kind, pairs).await;
        let id = latest(&mut ada).await;
        let approve = format!("/{id}/approve");
        let page = grace.browser.page("/approvals").await;
        assert!(
            page.contains(shown) && page.contains(&approve) && !page.contains("has changed"),
            "{shown}: {page}"
        );
        match (kind, shown) {
            ("transfer", "fee: ") => app.execute("UPDATE accounts SET third_party_transfer_fee = 99").await,
            ("transfer", _) => {
                let other =
                    json!({ "bank_account": { "name": "Mallory", "bsb": "806015", "number": "444555666" } });
                client.put(&format!("/1/recipients/{recipient}"), &other).await.ok(200);
            }
            ("merchant", "number: XXXXXX321") => {
                app.execute("UPDATE bank_accounts SET number = 'XXXXXX666' WHERE account_id IN (SELECT id FROM merchants)").await;
            }
            ("dispute", "left_of_charge: 400") => drop(client.refund(&returned, 300).await.ok(201)),
            ("merchant", _) => app.execute("UPDATE merchants SET business_name = 'Rabbits'").await,
            _ => {
                let to = DisputeStatus::EvidenceUnderReview;
                operator::resolve(store, app.clock.now(), &dispute, to).await.unwrap();
            }
        }
        let late = app.unchanged(grace.send(&approve, &[])).await;
        refused(&late, 400, "What the request shows has changed since it was asked for.");
        let page = grace.browser.page("/approvals").await;
        assert!(page.contains("has changed") && !page.contains(&approve), "{page}");
        led(&grace.send(&format!("/{id}/decline"), &[]).await, "/dashboard/approvals");
    }
    for (kind, pairs) in [
        ("transfer", &to_recipient[..]),
        ("merchant", &[("subject", merchant.as_str())]),
        ("dispute", &[("subject", dispute.as_str()), ("status", "cancelled")]),
        ("dispute", &to_arbitration),
    ] {
        ada.asks(kind, pairs).await;
        let id = latest(&mut ada).await;
        let approved = grace.send(&format!("/{id}/approve"), &[]).await;
        assert!(approved.text.contains("<h1>Approved</h1>"), "{}", approved.text);
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM transfers WHERE bank_account LIKE '%666\"%'").await, 1);
    assert!(trail(&app).await.contains("digest"));
    assert_eq!(client.get(&format!("/1/disputes/{won}")).await.ok(200)["amount"], 100);
    // What a former release has recorded has shown nothing.
    ada.asks("key", &[("name", "Accounting"), ("rights", "charges: read")]).await;
    let id = latest(&mut ada).await;
    app.execute("UPDATE approvals SET facts = NULL WHERE state = 'pending'").await;
    refused(&app.unchanged(grace.send(&format!("/{id}/approve"), &[])).await, 400, "has changed");
    app.check_books().await;
}

/// One of them is first: money goes to the bank account that both persons have seen, or nowhere.
async fn a_payout_and_a_change_of_its_bank_account_at_once_agree(database: Database) {
    let Some((app, provider)) = live(database, false).await else { return };
    let client = app.client();
    let mut ada = Someone::with(&app, &provider, "ada", "accounting").await;
    let mut grace = Someone::with(&app, &provider, "grace", "accounting").await;
    let mut paid = 0;
    for _ in 0..rounds() {
        let recipient = token_of(&client.recipient("987654321").await);
        ada.asks("transfer", &[("amount", "1"), ("description", "Rent"), ("recipient", recipient.as_str())])
            .await;
        let approve = format!("/{}/approve", latest(&mut ada).await);
        let (path, other) = (
            format!("/1/recipients/{recipient}"),
            json!({ "bank_account": { "name": "Mallory", "bsb": "806015", "number": "444555666" } }),
        );
        let (approved, changed) = join!(grace.send(&approve, &[]), client.put(&path, &other));
        changed.ok(200);
        assert!([200, 400].contains(&approved.status), "{}", approved.text);
        paid += i64::from(approved.status == 200);
        let [all, wrong] = ["", " AND bank_account LIKE '%666\"%'"]
            .map(|and| format!("SELECT COUNT(*) FROM transfers WHERE amount = 1{and}"));
        assert_eq!((app.number(&all).await, app.number(&wrong).await), (paid, 0));
    }
    app.check_books().await;
}

/// Both find it open, and one of them decides.
async fn of_two_who_approve_at_once_one_does(database: Database) {
    let Some((app, provider)) = live(database, false).await else { return };
    let mut ada = Someone::with(&app, &provider, "ada", "administrator").await;
    let mut grace = Someone::with(&app, &provider, "grace", "administrator").await;
    let mut linus = Someone::with(&app, &provider, "linus", "administrator").await;
    for _ in 0..rounds() {
        let before = app.number(KEYS).await;
        ada.asks("key", &[("name", "Accounting"), ("rights", "charges: read")]).await;
        let approve = format!("/{}/approve", latest(&mut ada).await);
        let (one, other) = join!(grace.send(&approve, &[]), linus.send(&approve, &[]));
        let mut statuses = [one.status, other.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 400], "{} {}", one.text, other.text);
        assert_eq!(app.number(KEYS).await, before + 1);
    }
}

/// Ends all sessions of somebody, in the name of a person who may.
async fn end_sessions(by: &mut Someone, provider: &StubProvider, subject: &str) -> Answer {
    let sent = [("form", by.form.as_str()), ("issuer", provider.issuer.as_str()), ("subject", subject)];
    by.browser.post("/dashboard/people", &sent).await
}

async fn in_state(app: &App, state: &str) -> i64 {
    app.number(&format!("SELECT COUNT(*) FROM approvals WHERE state = '{state}'")).await
}

async fn a_request_is_withdrawn_when_somebody_ends_the_sessions_of_its_asker(database: Database) {
    let Some((app, provider)) = live(database, false).await else { return };
    let mut grace = Someone::with(&app, &provider, "grace", "administrator").await;
    let mut linus = Someone::with(&app, &provider, "linus", "accounting").await;
    linus.asks("transfer", &PAYOUT).await;
    for is_signed_in in [true, false] {
        let mut ada = Someone::with(&app, &provider, "ada", "accounting").await;
        ada.asks("transfer", &PAYOUT).await;
        let id = latest(&mut ada).await;
        if !is_signed_in {
            led(
                &ada.browser.post("/dashboard/sign-out/everywhere", &[("form", &ada.form)]).await,
                "/dashboard/sign-in",
            );
            assert_eq!(in_state(&app, "pending").await, 2, "signing out takes no right away");
        }
        let end = format!("/people/end?issuer={}&subject=ada", provider.issuer);
        assert!(grace.browser.page("/people").await.contains("ada@example.com"));
        let question = grace.browser.page(&end).await;
        for part in [
            "<h1>End all sessions of this person?</h1>",
            "ada@example.com",
            "what they have asked for is withdrawn",
        ] {
            assert!(question.contains(part), "{part}: {question}");
        }
        led(&end_sessions(&mut grace, &provider, "ada").await, "/dashboard/people");
        assert!(!grace.browser.page("/people").await.contains("ada@example.com"));
        let late = app.unchanged(grace.send(&format!("/{id}/approve"), &[])).await;
        refused(&late, 400, "");
    }
    let none = app.unchanged(end_sessions(&mut grace, &provider, "ada")).await;
    refused(&none, 404, "could not be found");
    assert_eq!((in_state(&app, "withdrawn").await, in_state(&app, "pending").await), (2, 1), "hers alone");
    let by = "SELECT COUNT(*) FROM approvals WHERE state = 'withdrawn' AND decided_by = 'grace@example.com (grace)'";
    assert_eq!(app.number(by).await, 2);
    assert_eq!(trail(&app).await.matches("approval.withdrawn").count(), 2);
    let id = latest(&mut linus).await;
    assert_eq!(grace.send(&format!("/{id}/approve"), &[]).await.status, 200);
    assert_eq!(app.number("SELECT COUNT(*) FROM transfers WHERE amount = 100").await, 1);
    app.check_books().await;
}

async fn a_session_that_ends_before_its_request_has_come_asks_for_and_decides_nothing(database: Database) {
    let Some((app, provider)) = live(database, false).await else { return };
    let mut grace = Someone::with(&app, &provider, "grace", "administrator").await;
    grace.asks("transfer", &PAYOUT).await;
    let id = latest(&mut grace).await;
    for path in ["/transfer".to_owned(), format!("/{id}/approve")] {
        let ada = Someone::with(&app, &provider, "ada", "accounting").await;
        let form = [&[("form", ada.form.as_str())], &PAYOUT[..]].concat();
        let (late, rest) = ada.browser.post_slowly(&format!("/dashboard/approvals{path}"), &form).await;
        led(&end_sessions(&mut grace, &provider, "ada").await, "/dashboard/people");
        let late = app.unchanged(async {
            rest();
            late.await.unwrap()
        });
        assert_eq!(late.await.status, 401, "{path}");
    }
    assert_eq!(in_state(&app, "pending").await, 1);
}

async fn a_request_is_withdrawn_when_its_asker_signs_in_without_the_right_to_it(database: Database) {
    let Some((app, provider)) = live(database, false).await else { return };
    let mut grace = Someone::with(&app, &provider, "grace", "administrator").await;
    let mut ada = Someone::with(&app, &provider, "ada", "administrator").await;
    ada.asks("key", &[("name", "Accounting"), ("rights", "charges: read")]).await;
    let key = latest(&mut ada).await;
    ada.asks("transfer", &PAYOUT).await;
    let transfer = latest(&mut ada).await;
    Someone::with(&app, &provider, "ada", "administrator").await;
    assert_eq!(in_state(&app, "pending").await, 2);
    Someone::with(&app, &provider, "ada", "accounting").await;
    grace.browser.page("/approvals").await;
    refused(&app.unchanged(grace.send(&format!("/{key}/approve"), &[])).await, 400, "");
    assert_eq!((in_state(&app, "withdrawn").await, in_state(&app, "pending").await), (1, 1));
    let none = json!({ "sub": "ada", "roles": [] });
    refused(
        &sign_in_with((&app, &provider), &mut Browser::new(&app), none, Signing::Right).await,
        403,
        "has given you none of the roles",
    );
    grace.browser.page("/approvals").await;
    refused(&app.unchanged(grace.send(&format!("/{transfer}/approve"), &[])).await, 400, "");
    assert_eq!((in_state(&app, "withdrawn").await, app.number(KEYS).await), (2, 0));
    assert_eq!(app.number("SELECT COUNT(*) FROM approvals WHERE decided_by = 'the server'").await, 2);
    assert_eq!(app.number("SELECT COUNT(*) FROM transfers WHERE amount = 100").await, 0);
}

async fn a_request_and_the_end_of_its_askers_sessions_at_once_agree(database: Database) {
    let Some((app, provider)) = live(database, false).await else { return };
    let mut linus = Someone::with(&app, &provider, "linus", "administrator").await;
    for _ in 0..rounds() {
        let mut ada = Someone::with(&app, &provider, "ada", "administrator").await;
        let key = [("name", "Accounting"), ("rights", "charges: read")];
        let (_, ended) = join!(ada.send("/key", &key), end_sessions(&mut linus, &provider, "ada"));
        led(&ended, "/dashboard/people");
        assert_eq!(in_state(&app, "pending").await, 0);
    }
}

/// One of them is first: what was approved is done, and what was withdrawn is not.
async fn an_approval_and_the_end_of_its_askers_sessions_at_once_agree(database: Database) {
    let Some((app, provider)) = live(database, false).await else { return };
    let mut grace = Someone::with(&app, &provider, "grace", "administrator").await;
    let mut linus = Someone::with(&app, &provider, "linus", "administrator").await;
    for round in 1..=rounds() {
        let mut ada = Someone::with(&app, &provider, "ada", "administrator").await;
        ada.asks("key", &[("name", "Accounting"), ("rights", "charges: read")]).await;
        let approve = format!("/{}/approve", latest(&mut ada).await);
        let (approved, ended) = join!(grace.send(&approve, &[]), end_sessions(&mut linus, &provider, "ada"));
        led(&ended, "/dashboard/people");
        assert!([200, 400].contains(&approved.status), "{}", approved.text);
        let [done, withdrawn] = [in_state(&app, "approved").await, in_state(&app, "withdrawn").await];
        assert_eq!((done + withdrawn, app.number(KEYS).await), (i64::try_from(round).unwrap(), done));
    }
}

on_both!(a_request_is_withdrawn_when_somebody_ends_the_sessions_of_its_asker);
on_both!(a_session_that_ends_before_its_request_has_come_asks_for_and_decides_nothing);
on_both!(a_request_is_withdrawn_when_its_asker_signs_in_without_the_right_to_it);
on_both!(a_request_and_the_end_of_its_askers_sessions_at_once_agree);
on_both!(an_approval_and_the_end_of_its_askers_sessions_at_once_agree);
on_both!(a_request_of_one_person_is_approved_once_by_another_one);
on_both!(nobody_approves_what_they_ask_for_in_whichever_session);
on_both!(each_person_needs_the_right_of_what_is_asked_for);
on_both!(a_request_that_cannot_be_carried_out_stays_open_and_changes_nothing);
on_both!(a_dispute_and_a_merchant_are_decided_by_two);
on_both!(a_request_expires_after_seven_days_and_a_late_decision_changes_nothing);
on_both!(of_two_who_approve_at_once_one_does);
on_both!(a_request_changed_since_it_was_shown_is_not_approved_and_is_asked_for_anew);
on_both!(a_payout_and_a_change_of_its_bank_account_at_once_agree);
