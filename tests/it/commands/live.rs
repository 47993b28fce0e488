//! The live environment (`docs/decisions.md`, 137, 278 and 323): real cards, no sandbox, nothing unsafe, and no secret
//! printed.

use serde_json::{Value, json};
use vault::OperatorKeys;
use wallet::Issuer;

use crate::harness::app::DOCUMENT;
use crate::harness::process::{PAYMENT, Process, RawResponse, ask, free_address};
use crate::harness::{App, Database, Installed, card, operated};

/// A number of a known scheme that is in no table of test numbers.
const REAL: &str = "4012888888881881";

const CREATE: [&str; 6] = ["account", "create", "--business-name", "Shop", "--email", "shop@example.com"];

fn live(installed: &mut Installed) -> String {
    let key = OperatorKeys::generate("live").to_text().expose().to_owned();
    installed.with("ENVIRONMENT", "live");
    installed.with("ACQUIRER", "simulator");
    installed.with("VAULT_KEY", &key);
    key
}

fn pay(server: &Process, key: &str, number: &str) -> RawResponse {
    server.ask("POST", "/1/charges", Some(key), &PAYMENT.replace("4200000000000000", number))
}

operated! {
    async fn a_live_account_is_made_by_a_command_and_opens_with_nothing(installed) {
        live(installed);
        let made = installed.records(&CREATE).remove(0);
        let key = made["secret_key"].as_str().unwrap();
        let server = installed.serve();
        let balance = server.ask("GET", "/1/balance", Some(key), "").ok(200);
        assert_eq!((&balance["available"][0]["amount"], &balance["pending"][0]["amount"]), (&json!(0), &json!(0)));
        assert_eq!(server.ask("GET", "/1/deposits", Some(key), "").json()["count"], 0);
        let transfer = "description=Payout&amount=100&currency=AUD&recipient=self";
        assert_eq!(server.ask("POST", "/1/transfers", Some(key), transfer).status, 422, "it has no bank account");
        let shown = installed.records(&["account", "list"]).remove(0);
        assert_eq!((&shown["transfers_schedule"], &shown["partner"]), (&json!("daily"), &json!(false)));
        assert_eq!(installed.number("SELECT COUNT(*) FROM accounts WHERE settles_at IS NOT NULL").await, 1);
        assert_eq!(pay(&server, key, REAL).ok(201)["success"], true);
        let paid_out = installed.records(&[&CREATE[..], &["--bsb", "806015", "--number", "123456"]].concat()).remove(0);
        let rows = installed.number("SELECT COUNT(*) FROM bank_accounts").await;
        assert_eq!((rows, &paid_out["business_name"]), (1, &json!("Shop")));
        server.stopped();
        assert_eq!(installed.run(&["ledger", "verify"]).0, Some(0));
    }

    async fn the_document_of_a_live_server_shows_no_sandbox(installed) {
        live(installed);
        let server = installed.serve();
        for path in ["/openapi.json", "/openapi.yaml", "/llms.txt", "/docs/", "/docs/swagger-initializer.js"] {
            let page = server.ask("GET", path, None, "");
            assert_eq!(page.status, 200, "{path}");
            assert!(!page.body.to_lowercase().contains("sandbox"), "{path}");
            assert!(!page.body.contains("Test cards"), "{path}");
        }
        let document = server.ask("GET", "/openapi.json", None, "").json();
        let all = &*DOCUMENT;
        let paths = |document: &Value| document["paths"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let expected: Vec<_> = paths(all).into_iter().filter(|path| !path.starts_with("/1/sandbox/")).collect();
        assert_eq!(paths(&document), expected);
        for reference in document.to_string().split("\"$ref\":\"#").skip(1) {
            let reference = reference.split('"').next().unwrap();
            assert!(document.pointer(reference).is_some(), "{reference} leads nowhere");
        }
        server.stopped();
    }

    async fn commands_for_testers_do_nothing_in_live(installed) {
        live(installed);
        let key = installed.records(&CREATE).remove(0)["secret_key"].as_str().unwrap().to_owned();
        let server = installed.serve();
        let address = format!("http://{}", server.address);
        let refused = |nothing: &str| format!("{address} has no sandbox: {nothing} where cards are real");
        let named = ["--server", &address, "--key", &key];
        let receiver = ["examine", "receiver", "http://127.0.0.1:9/", "--secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"];
        installed.refuses(&[&receiver[..], &named].concat(), &refused("nothing is examined"));
        installed.refuses(&[&["coverage"][..], &named].concat(), &refused("nothing is covered"));
        installed.refuses(&["bench", "--against", &address, "--key", &key], &refused("nothing is charged"));
        let state = server.ask("POST", "/1/sandbox/provider_states", Some(&key), "state=a+charge");
        assert_eq!(state.status, 404);
        assert_eq!(server.ask("GET", "/arazzo.yaml", None, "").status, 404);
        assert_eq!(server.ask("GET", "/1/charges", Some(&key), "").json()["count"], 0);
        server.stopped();
    }

    async fn a_live_server_tells_no_secret(installed) {
        let vault_key = live(installed);
        let made = installed.records(&CREATE).remove(0);
        installed.with("LOG", "debug");
        let server = installed.serve();
        pay(&server, made["secret_key"].as_str().unwrap(), REAL).ok(201);
        let address = format!("http://{}", server.address);
        let banner = server.banner.join("\n");
        assert_eq!(server.banner, [
            format!("card-payments {} (live)", env!("CARGO_PKG_VERSION")),
            format!("  API        {address}/1"),
            format!("  Swagger    {address}/docs/"),
        ]);
        let log = server.stopped();
        let printed = format!("{banner}{log}");
        assert!(log.contains("no money moves") && log.contains("CARD_PAYMENTS_BASE_URL is no https address"), "{log}");
        let vault_key = vault_key.split_once(':').unwrap().1;
        let key = |name: &str| made[name].as_str().unwrap();
        for secret in [vault_key, key("secret_key"), key("publishable_key"), REAL] {
            assert!(!printed.contains(secret), "{secret} is told");
        }
    }

    async fn a_live_server_refuses_to_start_with_what_is_for_tests(installed) {
        live(installed);
        installed.with("LOG", "error");
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let known = Issuer::built_in();
        let [_, _, gateway] = known.private_keys();
        let roots = file("roots.json", &known.published().to_string());
        let key = file("gateway.pem", &gateway);
        for (variables, line) in [
            (vec![("SECRET_KEY", "sk_of_the_operator")], "CARD_PAYMENTS_SECRET_KEY is not for the live environment"),
            (vec![("SEED", "x")], "CARD_PAYMENTS_SEED is not for the live environment"),
            (vec![("PUBLISHABLE_KEY", "pk_of_the_operator")], "CARD_PAYMENTS_PUBLISHABLE_KEY is not for the live environment"),
            (
                vec![("WALLET_ROOTS", &*roots)],
                "a root of the test environment in CARD_PAYMENTS_WALLET_ROOTS is not for the live environment",
            ),
            (
                vec![("WALLET_G_KEY_FILE", &*key), ("WALLET_G_RECIPIENT", "gateway:own")],
                "the key in CARD_PAYMENTS_WALLET_G_KEY is not for the live environment",
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
        for (missing, line) in [
            ("ACQUIRER", "CARD_PAYMENTS_ACQUIRER is required in the live environment"),
            ("VAULT_KEY", "CARD_PAYMENTS_VAULT_KEY is required in the live environment"),
        ] {
            let mut program = installed.program();
            let (code, stdout, stderr) = crate::harness::process::output(program.env_remove(format!("CARD_PAYMENTS_{missing}")));
            assert_eq!((code, stdout.as_str(), stderr.as_str()), (Some(1), "", &*format!("error: {line}\n")));
        }
        assert!(std::fs::read_dir(installed.data.path()).unwrap().next().is_none(), "nothing was made");
    }

    async fn a_live_server_has_no_sandbox_and_its_pages_say_where_one_is(installed) {
        live(installed);
        let made = installed.records(&CREATE).remove(0);
        let key = made["secret_key"].as_str().unwrap();
        let admin = free_address();
        installed.with("ADMIN_LISTEN", &admin.to_string());
        let server = installed.serve();
        for (method, path) in [
            ("GET", "/1/sandbox/clock"), ("PUT", "/1/sandbox/clock"), ("POST", "/1/sandbox/deposits"),
            ("GET", "/1/sandbox/requests"), ("POST", "/1/sandbox/accounts"), ("GET", "/1/sandbox/account"), ("GET", "/1/sandbox"),
        ] {
            let answer = server.ask(method, path, Some(key), "");
            assert_eq!((answer.status, &answer.json()["error"]), (404, &json!("resource_not_found")), "{path}");
        }
        let index = server.ask("GET", "/", None, "");
        assert!(index.status == 200 && index.body.contains("live environment") && !index.body.contains("Try it"));
        let start = server.ask("GET", "/docs/swagger-initializer.js", None, "");
        assert_eq!(start.status, 200);
        assert!(!start.body.contains("\"persistAuthorization\": true") && !start.body.contains("\"tryItOutEnabled\": true"), "{}", start.body);
        assert!(!start.body.contains(key));
        assert_eq!(server.ask("GET", "/metrics", None, "").status, 404);
        assert_eq!(ask(admin, "GET", "/metrics", None, "").status, 200);
        for address in ["http://127.0.0.1:9/hook", "http://10.0.0.1/hook", "http://169.254.169.254/hook"] {
            let form = format!("url={address}");
            let refused = server.ask("POST", "/1/webhook_endpoints", Some(key), &form);
            assert_eq!(refused.status, 422, "{address}: {}", refused.body);
        }
        server.stopped();
    }
}

/// Through the router, with the parts of a live server.
async fn any_number_of_a_known_scheme_pays(database: Database) {
    let Some(app) = App::live(database).await else { return };
    let client = app.client();
    client.post("/1/cards", &card(REAL)).await.ok(201);
    for number in ["4012888888881880", "1234567812345670"] {
        let refused = app.unchanged(client.post("/1/cards", &card(number))).await;
        refused.faulty(&[("number", "Number is not valid")]);
    }
    let ordered = client.request(http::Method::POST, "/1/charges").header("Sandbox-Outcome", "card_declined");
    let ordered = ordered.header("Sandbox-Challenge", "no such word");
    let body: Value = crate::harness::charge_with(400, json!({ "card": card(REAL) }));
    let ordered = ordered.header("content-type", "application/json").body(body.to_string().into()).unwrap();
    client.send(ordered).await.ok(201);
    app.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_number_of_a_known_scheme_pays_in_live_on_sqlite() {
    any_number_of_a_known_scheme_pays(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_number_of_a_known_scheme_pays_in_live_on_postgres() {
    any_number_of_a_known_scheme_pays(Database::Postgres).await;
}
