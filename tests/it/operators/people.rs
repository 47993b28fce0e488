//! People sign in at a live dashboard by the operator's OpenID Connect provider (`docs/decisions.md`, 386).

mod exceptions;
mod sessions;

use std::io::{Seek, Write};
use std::process::Command;

use axum::body::Body;
use base::clock::{Clock, SystemClock};
use base::secret::Secret;
use card_payments::limits::{DASHBOARD_SESSION, PERSON_SESSION_IDLE, PERSON_SIGN_IN};
use card_payments::services::reconciliation::reconcile;
use entity::TimeSpan;
use futures::executor::block_on;
use http::{Method, header};
use outbound::identity_provider::IdentityProvider;
use outbound::limits::PROVIDER_BYTES_MAX;
use serde_json::{Value, json};
use url::Url;
use vault::OperatorKeys;

use crate::harness::browser::{Browser, assert_sign_in, csrf_token, guarded, led, refused};
use crate::harness::identity_provider::{CLIENT_ID, CLIENT_SECRET, Signing, StubProvider};
use crate::harness::process::{ask, free_address};
use crate::harness::{Answer, App, Client, Database, Installed, on_both, operated};
use crate::three_d_secure::challenge_page::driven;

/// At least as long as it must be.
const OPERATOR: &str = "operator-0123456789-0123456789-01";
const NOT_ACCEPTED: &str = "The sign-in was not accepted.";
/// How the tokens of providers begin: fewer letters stand in a signature by chance.
const JWT: &str = "eyJhbGciOi";

/// A live server and its provider. The operator's key is there as well.
pub async fn live(database: Database, break_glass: bool) -> Option<(App, StubProvider)> {
    let mut app = App::live(database).await?;
    let provider = StubProvider::start().await;
    let issuer = provider.issuer.clone();
    app.knows_people(move || known(&issuer), break_glass).await;
    app.operator_has(Some(OPERATOR)).await;
    Some((app, provider))
}

fn known(issuer: &str) -> Option<IdentityProvider> {
    let client = (CLIENT_ID, Some(Secret::from(CLIENT_SECRET)));
    IdentityProvider::new(issuer, client, "roles", vec!["finance=accounting".parse().unwrap()])
}

/// A sign-in that has begun: what the provider's page gets.
struct Begun {
    state: String,
    nonce: String,
    challenge: String,
}

async fn begin(browser: &mut Browser, to: &str) -> Begun {
    let answer = browser.get(&format!("/dashboard/sign-in/provider?to={to}")).await;
    assert_eq!(answer.status, 303, "{}", answer.text);
    let address = Url::parse(answer.headers[header::LOCATION].to_str().unwrap()).unwrap();
    let pairs: std::collections::HashMap<_, _> = address.query_pairs().into_owned().collect();
    assert_eq!(
        (
            address.path(),
            pairs["response_type"].as_str(),
            pairs["client_id"].as_str(),
            pairs["code_challenge_method"].as_str()
        ),
        ("/authorize", "code", CLIENT_ID, "S256")
    );
    assert!(pairs["scope"].split(' ').any(|scope| scope == "openid"));
    let part = |name: &str| pairs[name].clone();
    Begun { state: part("state"), nonce: part("nonce"), challenge: part("code_challenge") }
}

/// What a right token says.
fn claims(app: &App, provider: &StubProvider, nonce: &str) -> Value {
    let now = app.clock.now().seconds();
    json!({
        "iss": provider.issuer, "sub": "person-1", "aud": CLIENT_ID, "iat": now, "exp": now + 300, "nonce": nonce,
        "email": "ada@example.com", "roles": ["viewer"],
    })
}

async fn come_back(browser: &mut Browser, code: &str, state: &str) -> Answer {
    browser.get(&format!("/dashboard/sign-in/answer?code={code}&state={state}")).await
}

/// Signs in with other claims than the right ones.
pub async fn sign_in_with(
    (app, provider): (&App, &StubProvider),
    browser: &mut Browser,
    changed: Value,
    signing: Signing,
) -> Answer {
    let begun = begin(browser, "/dashboard").await;
    let mut claims = claims(app, provider, &begun.nonce);
    for (name, value) in changed.as_object().unwrap() {
        claims[name] = value.clone();
    }
    provider.grant("code", &begun.challenge, claims, signing);
    // One sign-in makes two attempts.
    app.clock.advance(TimeSpan::seconds(12));
    come_back(browser, "code", &begun.state).await
}

pub async fn signed_in(app: &App, provider: &StubProvider, changed: Value) -> Browser {
    let mut browser = Browser::new(app);
    let answer = sign_in_with((app, provider), &mut browser, changed, Signing::Right).await;
    assert!(answer.status == 200 && answer.text.contains("<h1>Signed in</h1>"), "{}", answer.text);
    browser
}

/// Makes the session view the first account. Returns the value of its forms.
pub async fn view(app: &App, browser: &mut Browser) -> String {
    let form = csrf_token(&browser.page("/accounts").await);
    let account = app.account().await.to_string();
    led(&browser.post("/dashboard/accounts", &[("form", &form), ("account", &account)]).await, "/dashboard");
    csrf_token(&browser.page("").await)
}

/// The rows of the trail.
pub async fn trail(app: &App) -> String {
    let rows = app.rows().await;
    rows.lines().filter(|row| row.starts_with("audit_entries")).collect::<Vec<_>>().join("\n")
}

async fn a_person_signs_in_by_the_provider_and_sees_what_their_role_may_read(database: Database) {
    let Some((app, provider)) = live(database, false).await else { return };
    let mut browser = Browser::new(&app);
    let door = browser.get("/dashboard/charges").await;
    assert_sign_in(&door);
    assert!(
        door.text.contains("/dashboard/sign-in/provider?to=%2Fdashboard%2Fcharges")
            && !door.text.contains("name=\"key\"")
    );
    let begun = begin(&mut browser, "/dashboard/charges").await;
    provider.grant("one", &begun.challenge, claims(&app, &provider, &begun.nonce), Signing::Right);
    let answer = come_back(&mut browser, "one", &begun.state).await;
    guarded(&answer);
    assert_eq!(
        (answer.status, answer.headers["refresh"].to_str().unwrap()),
        (200, "0; url=/dashboard/charges")
    );
    assert!(browser.attempt.is_none() && browser.cookie.is_some());
    led(&browser.get("/dashboard/charges").await, "/dashboard/accounts");
    view(&app, &mut browser).await;
    let page = browser.page("/charges").await;
    assert!(page.contains("ada@example.com") && page.contains("Sign out everywhere"), "{page}");
    for page in ["keys", "people"] {
        refused(&browser.get(&format!("/dashboard/{page}")).await, 403, "Your roles may not read keys");
        // A wrong page of a list is told on the page that its form names.
        for end in ["", "%23", "%3F", "/", "%23?a=b"] {
            let back = format!("/dashboard/charges?page=x&back=/dashboard/{page}{end}");
            let answer = browser.get(&back).await;
            refused(&answer, 422, "Page");
            assert!(answer.text.contains("<h1>That did not work</h1>"), "{back}: {}", answer.text);
        }
    }
    let trail = trail(&app).await;
    for part in ["person.signed_in", "account.viewed", "ada@example.com (person-1)"] {
        assert!(trail.contains(part), "{part}: {trail}");
    }
    let everything = app.everything().await;
    for secret in ["access-token-of-the-provider", CLIENT_SECRET, &begun.nonce, JWT] {
        assert!(!everything.windows(secret.len()).any(|window| window == secret.as_bytes()), "{secret}");
    }
}

async fn a_token_that_is_not_right_signs_nobody_in(database: Database) {
    let Some((app, provider)) = live(database, false).await else { return };
    let now = app.clock.now().seconds();
    for (changed, signing) in [
        (json!({ "iss": "https://elsewhere.example.com" }), Signing::Right),
        (json!({ "aud": "another" }), Signing::Right),
        (json!({ "aud": [CLIENT_ID, "another"] }), Signing::Right),
        (json!({ "nonce": "another" }), Signing::Right),
        (json!({ "nonce": null }), Signing::Right),
        (json!({ "exp": now - 1 }), Signing::Right),
        (json!({ "sub": "a".repeat(256) }), Signing::Right),
        (json!({ "sub": "ada\u{0430}" }), Signing::Right),
        (json!({}), Signing::Strange),
        (json!({}), Signing::None),
        (json!({}), Signing::Shared),
    ] {
        let mut browser = Browser::new(&app);
        let answer = sign_in_with((&app, &provider), &mut browser, changed.clone(), signing).await;
        refused(&answer, 422, NOT_ACCEPTED);
        assert!(browser.cookie.is_none(), "{changed} {signing:?}");
        led(&browser.get("/dashboard/accounts").await, "/dashboard/sign-in");
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM person_sessions").await, 0);
    assert_eq!(app.number("SELECT COUNT(*) FROM audit_entries").await, 0);
}

async fn an_answer_is_for_one_browser_once_and_soon(database: Database) {
    let Some((app, provider)) = live(database, false).await else { return };
    provider.repeats();
    let (mut browser, mut stranger) = (Browser::new(&app), Browser::new(&app));
    let begun = begin(&mut browser, "/dashboard").await;
    provider.grant("code", &begun.challenge, claims(&app, &provider, &begun.nonce), Signing::Right);
    refused(&come_back(&mut stranger, "code", &begun.state).await, 422, NOT_ACCEPTED);
    begin(&mut stranger, "/dashboard").await;
    refused(&come_back(&mut stranger, "code", &begun.state).await, 422, NOT_ACCEPTED);
    let attempt = browser.attempt.clone();
    for answer in ["code=code&state=another", "code=code", "state=x", "", "error=access_denied"] {
        let answer = browser.get(&format!("/dashboard/sign-in/answer?{answer}")).await;
        refused(&answer, 422, NOT_ACCEPTED);
        browser.attempt.clone_from(&attempt);
        app.clock.advance(TimeSpan::seconds(12));
    }
    let denied = format!("/dashboard/sign-in/answer?error=access_denied&state={}", begun.state);
    refused(&browser.get(&denied).await, 422, NOT_ACCEPTED);
    browser.attempt.clone_from(&attempt);
    assert_eq!(come_back(&mut browser, "code", &begun.state).await.status, 200);
    // A browser that kept the cookie, and a provider that gives the same token again.
    for _ in 0..2 {
        browser.attempt.clone_from(&attempt);
        app.clock.advance(TimeSpan::seconds(12));
        refused(&come_back(&mut browser, "code", &begun.state).await, 422, NOT_ACCEPTED);
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM person_sessions").await, 1);
    let begun = begin(&mut browser, "/dashboard").await;
    provider.grant("late", &begun.challenge, claims(&app, &provider, &begun.nonce), Signing::Right);
    app.clock.advance(PERSON_SIGN_IN);
    refused(&come_back(&mut browser, "late", &begun.state).await, 422, NOT_ACCEPTED);
}

async fn a_provider_that_is_down_is_said_to_be_and_open_sessions_go_on(database: Database) {
    let Some((app, provider)) = live(database, false).await else { return };
    let mut open = signed_in(&app, &provider, json!({})).await;
    let mut browser = Browser::new(&app);
    let begun = begin(&mut browser, "/dashboard").await;
    provider.stop();
    let down = "The provider that signs you in does not answer.";
    let answer = come_back(&mut browser, "code", &begun.state).await;
    refused(&answer, 503, down);
    refused(&browser.get("/dashboard/sign-in/provider").await, 503, down);
    assert!(browser.cookie.is_none());
    open.page("/accounts").await;
}

async fn pages_of_others_use_up_nobodys_sign_ins(database: Database) {
    let Some((app, provider)) = live(database, false).await else { return };
    let client = app.anonymous();
    for _ in 0..20 {
        for dest in ["image", "iframe", "empty"] {
            let picture =
                client.request(Method::GET, "/dashboard/sign-in/provider").header("sec-fetch-dest", dest);
            assert_eq!(
                client.send_unchecked(picture.body(Body::empty()).unwrap()).await.status,
                403,
                "{dest}"
            );
        }
        let strange =
            client.request(Method::GET, "/dashboard/sign-in/answer?code=1&state=2").body(Body::empty());
        assert_eq!(client.send_unchecked(strange.unwrap()).await.status, 422);
    }
    signed_in(&app, &provider, json!({})).await;
}

async fn a_large_set_of_keys_signs_people_in_and_of_one_that_is_too_large_the_log_says_so(
    database: Database,
) {
    let Some((app, provider)) = live(database, false).await else { return };
    provider.pads_keys(PROVIDER_BYTES_MAX / 2);
    signed_in(&app, &provider, json!({})).await;
    provider.pads_keys(PROVIDER_BYTES_MAX);
    let down = Browser::new(&app).get("/dashboard/sign-in/provider").await;
    refused(&down, 503, "The provider that signs you in does not answer.");
    // The log and `check` have this text.
    let why = known(&provider.issuer).unwrap().discover().await.unwrap_err().to_string();
    assert!(why.ends_with(": The answer broke off, or has more than 1048576 bytes"), "{why}");
}

async fn a_person_without_a_role_of_this_server_is_told_so(database: Database) {
    let Some((app, provider)) = live(database, false).await else { return };
    for roles in [json!([]), json!(null), json!(["finance", "owner"]), json!({ "viewer": true })] {
        let mut browser = Browser::new(&app);
        let answer =
            sign_in_with((&app, &provider), &mut browser, json!({ "roles": roles }), Signing::Right).await;
        refused(&answer, 403, "has given you none of the roles");
        assert!(browser.cookie.is_none());
    }
    signed_in(&app, &provider, json!({ "roles": "accounting" })).await;
}

async fn the_operators_key_opens_nothing_beside_a_provider_unless_it_may(database: Database) {
    let Some((app, _provider)) = live(database, false).await else { return };
    let mut browser = Browser::new(&app);
    refused(&browser.sign_in(OPERATOR).await, 422, "Not authorised. (Check API Key)");
    assert!(!browser.get("/dashboard/sign-in").await.text.contains("name=\"key\""));
    assert_eq!(app.number("SELECT COUNT(*) FROM audit_entries").await, 0);
    drop(app);
    let Some((app, provider)) = live(database, true).await else { return };
    provider.stop();
    let mut browser = Browser::new(&app);
    assert!(browser.get("/dashboard/sign-in").await.text.contains("name=\"key\""));
    led(&browser.sign_in(OPERATOR).await, "/dashboard");
    assert_eq!(app.number("SELECT COUNT(*) FROM audit_entries WHERE action = 'operator.signed_in'").await, 1);
    view(&app, &mut browser).await;
}

on_both!(a_person_signs_in_by_the_provider_and_sees_what_their_role_may_read);
on_both!(a_token_that_is_not_right_signs_nobody_in);
on_both!(an_answer_is_for_one_browser_once_and_soon);
on_both!(pages_of_others_use_up_nobodys_sign_ins);
on_both!(a_provider_that_is_down_is_said_to_be_and_open_sessions_go_on);
on_both!(a_large_set_of_keys_signs_people_in_and_of_one_that_is_too_large_the_log_says_so);
on_both!(a_person_without_a_role_of_this_server_is_told_so);
on_both!(the_operators_key_opens_nothing_beside_a_provider_unless_it_may);

/// Adds an open session, as a sign-in does.
pub async fn open_session(installed: &Installed, secret: u8, (subject, name): (&str, &str)) {
    let now = SystemClock.now().millis();
    let hash = match installed.database {
        Database::Sqlite => format!("x'{secret:02x}'"),
        Database::Postgres => format!("'\\x{secret:02x}'"),
    };
    let row = format!(
        "{hash}, 'https://id.example.com', '{subject}', '{name}', '[\"viewer\"]', {now}, {now}, {}, NULL",
        now + DASHBOARD_SESSION.millis()
    );
    installed.execute(&format!("INSERT INTO person_sessions VALUES ({row})")).await;
}

operated! {
    async fn a_command_ends_the_sessions_of_a_person_by_address_or_subject(installed) {
        installed.records(&["account", "create", "--business-name", "Shop", "--email", "shop@example.com"]);
        assert_eq!(installed.records(&["people", "list"]), [] as [Value; 0]);
        let rows = installed.rows().await;
        installed.refuses(&["people", "end", "ada"], "nobody is signed in as ada");
        assert_eq!(installed.rows().await, rows);
        for (secret, subject, name) in [(1, "1", "ada@example.com"), (2, "1", "ada@example.com"), (3, "2", "grace@example.com")] {
            open_session(installed, secret, (subject, name)).await;
        }
        let listed = installed.records(&["people", "list"]);
        let shown = |person: &Value| (person["subject"].clone(), person["sessions"].clone(), person["roles"].clone());
        let shown: Vec<_> = listed.iter().map(shown).collect();
        let roles = json!(["viewer"]);
        assert_eq!(shown, [(json!("1"), json!(2), roles.clone()), (json!("2"), json!(1), roles)]);
        assert_eq!(installed.records(&["people", "end", "Ada@Example.com"]), listed[..1]);
        installed.refuses(&["people", "end", "1"], "nobody is signed in as 1");
        let (code, text, _) = installed.run(&["people", "end", "2"]);
        assert!(code == Some(0) && text.starts_with("grace@example.com (2), viewer: 1 sessions since "), "{text}");
        assert_eq!(installed.records(&["people", "list"]), [] as [Value; 0]);
        // A request is listed without a session, and ends as sessions do.
        let (asked, now) = ("0190000000007000800000000000000", SystemClock.now().millis());
        let [id, account] = match installed.database {
            Database::Sqlite => [format!("x'{asked}1'"), format!("x'{asked}2'")],
            Database::Postgres => [format!("'{asked}1'"), format!("'{asked}2'")],
        };
        let row = format!("{id}, {account}, 'transfer', 'pending', '', '{{}}', 'https://id.example.com', '3', 'linus@example.com (3)', {now}");
        installed.execute(&format!("INSERT INTO approvals VALUES ({row}, NULL, NULL, NULL)")).await;
        let listed = installed.records(&["people", "list"]).remove(0);
        assert_eq!((&listed["name"], &listed["sessions"], &listed["requests"]), (&json!("linus@example.com"), &json!(0), &json!(1)));
        let (code, text, _) = installed.run(&["people", "end", "linus@example.com"]);
        assert!(code == Some(0) && text.contains("not signed in: 0 sessions") && text.contains("1 requests for approval"), "{text}");
        assert_eq!(installed.number("SELECT COUNT(*) FROM approvals WHERE state = 'withdrawn' AND decided_by LIKE '%(user %'").await, 1);
        installed.refuses(&["people", "end", "3"], "nobody is signed in as 3");
        for (action, acts) in [("person.sessions_ended", 3), ("approval.withdrawn", 1)] {
            let count = format!("SELECT COUNT(*) FROM audit_entries WHERE action = '{action}'");
            assert_eq!(installed.number(&count).await, acts, "{action}");
        }
    }
}

fn live_program(installed: &mut Installed, issuer: &str) {
    installed.with("ENVIRONMENT", "live");
    installed.with("ACQUIRER", "simulator");
    installed.with("VAULT_KEY", OperatorKeys::generate("live").to_text().expose());
    installed.with("OIDC_ISSUER", issuer);
    installed.with("OIDC_CLIENT_ID", CLIENT_ID);
    installed.with("OIDC_CLIENT_SECRET", CLIENT_SECRET);
}

#[test]
fn breaking_the_glass_is_counted_for_an_alert() {
    let Some(mut installed) = block_on(Installed::on(Database::Sqlite)) else { return };
    let admin = free_address();
    live_program(&mut installed, "http://127.0.0.1:9");
    installed.with("OPERATOR_KEY", OPERATOR);
    installed.with("BREAK_GLASS", "true");
    installed.with("ADMIN_LISTEN", &admin.to_string());
    let server = installed.serve();
    let counted = |times: u64| {
        let line = format!("\ncard_payments_break_glass_total {times}\n");
        assert!(ask(admin, "GET", "/metrics", None, "").body.contains(&line), "{times}");
    };
    counted(0);
    let address = format!("http://{}", server.address);
    let mut curl = Command::new("curl");
    curl.args([
        "-sS",
        "-o",
        "-",
        "-w",
        "%{http_code}",
        "-H",
        &format!("Origin: {address}"),
        "--data-urlencode",
    ]);
    let output =
        curl.arg(format!("key={OPERATOR}")).arg(format!("{address}/dashboard/sign-in")).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "303");
    counted(1);
    assert!(!server.stopped().contains(OPERATOR));
}

#[test]
fn a_provider_is_for_live_and_configured_as_a_whole() {
    let Some(mut installed) = block_on(Installed::on(Database::Sqlite)) else { return };
    installed.with("LOG", "error");
    for (variables, line) in [
        (
            vec![("OIDC_ISSUER", "https://id.example.com"), ("OIDC_CLIENT_ID", "x")],
            "CARD_PAYMENTS_OIDC_ISSUER is for the live environment",
        ),
        (
            vec![("OIDC_ISSUER", "https://id.example.com")],
            "CARD_PAYMENTS_OIDC_CLIENT_ID is required with CARD_PAYMENTS_OIDC_ISSUER",
        ),
        (
            vec![("OIDC_CLIENT_SECRET", "x")],
            "CARD_PAYMENTS_OIDC_ISSUER is required with other CARD_PAYMENTS_OIDC_ variables",
        ),
    ] {
        for (name, value) in &variables {
            installed.with(name, value);
        }
        installed.refuses(&["serve"], line);
        for (name, _) in &variables {
            installed.without(name);
        }
    }
    for (name, value) in [
        ("OIDC_ISSUER", "http://id.example.com"),
        ("OIDC_ISSUER", "https://id.example.com/?a=b"),
        ("OIDC_ISSUER", "id.example.com"),
        ("OIDC_ROLES", "owner=x"),
        ("OIDC_ROLES", "viewer"),
    ] {
        installed.with(name, value);
        let (code, _, stderr) = installed.run(&["serve"]);
        assert!(code == Some(2) && stderr.contains("must be"), "{name}={value}: {stderr}");
        installed.without(name);
    }
}

#[test]
fn people_sign_in_with_a_browser_at_a_real_provider() {
    let Some(mut installed) = block_on(Installed::on(Database::Sqlite)) else { return };
    let provider = format!("http://{}", free_address());
    live_program(&mut installed, &provider);
    installed.with("OIDC_ROLES", "finance=accounting");
    // The provider has the machine's clock.
    installed.with("TESTS_AS_OF", "0");
    installed.records(&["account", "create", "--business-name", "Shop", "--email", "shop@example.com"]);
    let server = installed.serve();
    let address = format!("http://{}", server.address);
    let Some(report) = driven("people.mjs", &[&provider, &address]) else { return };
    let read = report["read"].as_str().unwrap();
    for part in [
        "ada@example.com",
        "button \"Sign out\"",
        "button \"Sign out everywhere\"",
        "heading \"Accounts\" [level=1]",
    ] {
        assert!(read.contains(part), "{part}: {read}");
    }
    assert_eq!(report["charges"], "Charges · card-payments (live)");
    let sign_in = "/dashboard/sign-in";
    assert_eq!(
        report["left"],
        json!([sign_in, sign_in, "/dashboard/accounts"]),
        "the other person's session goes on"
    );
    assert!(report["refused"].as_str().unwrap().contains("none of the roles"), "{report}");
    for nothing in ["violations", "complaints"] {
        assert_eq!(report[nothing], json!([]), "{nothing}");
    }
    let log = server.stopped();
    for secret in [CLIENT_SECRET, JWT] {
        assert!(!log.contains(secret), "{log}");
    }
    let trail = installed.records(&["audit"]);
    let actions: Vec<_> =
        trail.iter().map(|act| (act["action"].as_str().unwrap(), act["by"].as_str().unwrap())).collect();
    assert!(actions.contains(&("person.signed_out_everywhere", "ada@example.com (ada)")), "{actions:?}");
    assert!(actions.contains(&("person.signed_in", "grace@example.com (grace)")), "{actions:?}");
}
