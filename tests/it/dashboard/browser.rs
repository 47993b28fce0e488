//! The dashboard in a real browser: what it looks like on a desk and on a phone, by keyboard alone, and without scripts.
//! `SCREENSHOTS=target/screenshots cargo test --test it dashboard::browser::` takes a picture of every page, and those of the
//! documents.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::document::site::root;
use crate::harness::process::{PAYMENT, Process, program};
use crate::three_d_secure::challenge_page::driven;

/// Which pictures the documents show, and as what.
const PICTURES: [(&str, &str); 2] =
    [("dashboard-overview.png", "dashboard.png"), ("dashboard-clock-phone-dark.png", "dashboard-clock.png")];

const MONTHLY: &str = "name=Coffee+plan&amount=1000&currency=AUD&interval=1&interval_unit=month";

/// Half a year of a small shop; a charge that can be disputed.
fn history(server: &Process, key: &str) -> String {
    let post = |path: &str, form: &str| server.ask("POST", path, Some(key), form).ok(201);
    let token = |record: &Value| record["token"].as_str().unwrap().to_owned();
    let (_, card) = PAYMENT.split_once("&card[").unwrap();
    let customer = token(&post("/1/customers", &format!("email=roland@example.com&card[{card}")));
    let plan = token(&post("/1/plans", MONTHLY));
    post("/1/subscriptions", &format!("plan_token={plan}&customer_token={customer}"));
    let pay = |amount: u32, what: &str| {
        let form = PAYMENT.replace("amount=400", &format!("amount={amount}"));
        post("/1/charges", &form.replace("description=Test", &format!("description={what}")))
    };
    for month in 0..6_u32 {
        for (amount, what) in [(800_000, "Wholesale"), (4_500, "Beans"), (1_990, "A+cup")] {
            pay(amount * (month % 3 + 1), what);
        }
        if month % 2 == 1 {
            post("/1/transfers", "description=Rent&amount=2100000&currency=AUD&recipient=self");
        }
        server.ask("PUT", "/1/sandbox/clock", Some(key), "advance=2w").ok(200);
    }
    let (refunded, disputed) = (token(&pay(8_000, "Grinder")), token(&pay(25_000, "Machine")));
    post(&format!("/1/charges/{refunded}/refunds"), "amount=2500");
    post("/1/sandbox/disputes", &format!("charge_token={disputed}"));
    post("/1/webhook_endpoints", "url=http://127.0.0.1:9/hooks");
    for (number, times) in [("4000000000000002", 3), ("4100000000000001", 1)] {
        for _ in 0..times {
            let form = PAYMENT.replace("4200000000000000", number);
            server.ask("POST", "/1/charges", Some(key), &form);
        }
    }
    pay(300, &"long".repeat(200));
    server.ask("POST", "/1/charges", Some(key), "email=nobody&amount=5");
    token(&pay(6_400, "Tamper"))
}

#[test]
fn whoever_sits_at_the_server_sees_everything_by_keyboard_on_a_phone_and_without_scripts() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let (key, _) = server.keys();
    let charge = history(&server, &key);
    let folder = std::env::var("SCREENSHOTS").ok();
    let address = format!("http://{}", server.address);
    let Some(report) = driven(
        "dashboard.mjs",
        &[&address, &format!("/dashboard/charges/{charge}"), folder.as_deref().unwrap_or("-")],
    ) else {
        return;
    };
    for (taken, shown) in PICTURES.iter().filter(|_| folder.is_some()) {
        let taken = Path::new(folder.as_deref().unwrap_or_default()).join(taken);
        std::fs::copy(taken, root().join("docs/images").join(shown)).unwrap();
    }
    assert_eq!(report["title"], "Overview · card-payments (test)", "signed in at once");
    let read = report["read"].as_str().unwrap();
    for part in [
        "- navigation \"Pages\"",
        "- main:",
        "- heading \"Overview\" [level=1]",
        "- img \"What is available, by day\"",
        "- contentinfo:",
    ] {
        assert!(read.contains(part), "{part}: {read}");
    }
    assert_eq!(report["pages"].as_array().unwrap().len(), 13);
    for nothing in
        ["wide", "narrow", "unnamed", "contrast", "violations", "unseen", "complaints", "elsewhere"]
    {
        assert_eq!(report[nothing], json!([]), "{nothing}");
    }
    assert_eq!((&report["behind"], &report["menu"]), (&json!(0), &json!("Disputes")));
    assert_eq!(report["lost"], "Page not found");
    assert_eq!(report["skip"], "Skip to the page");
    assert_eq!((&report["button"], &report["outline"]), (&json!("Move by these days"), &json!("solid")));
    let (before, after) = (report["before"].as_str().unwrap(), report["after"].as_str().unwrap());
    assert!(report["slider"].as_str().unwrap().starts_with("9 days, to "), "{report}");
    assert!(
        before[..10] < after[..10] && report["ran"].as_str().unwrap().contains("The clock has been moved"),
        "{report}"
    );
    let dispute = server.ask("GET", "/1/disputes", Some(&key), "").ok(200)[0].clone();
    assert_eq!(dispute["charge"]["token"], charge.as_str());
    assert_eq!(
        report["dispute"]["path"],
        format!("/dashboard/disputes/{}", dispute["token"].as_str().unwrap())
    );
    assert_eq!(report["found"], 1);
    assert_eq!(report["sought"], format!("/dashboard/charges/{charge}"));
    let told = json!({
        "focus": "amount", "error": "Amount is not a number", "isBelow": true, "kept": ["a lot", "A pot of tea"], "isWide": false,
    });
    assert_eq!(report["refused"], json!([told, told, told, told]));
    assert!(report["plain"].as_str().unwrap().contains("The clock has been moved"));
    assert_eq!(report["question"], "Delete this endpoint?");
    assert_eq!((&report["kept"], &report["left"], &report["evidence"]), (&json!(1), &json!(0), &json!(1)));
    assert!(report["door"].as_str().unwrap().contains("- textbox \"Secret key\""), "{report}");
    server.stopped();
}

/// What a browser of this kind gets.
fn opened(server: &Process, header: &str) -> String {
    let mut curl = Command::new("curl");
    curl.args(["-sS", "-i", "-H", header]).arg(format!("http://{}/dashboard", server.address));
    String::from_utf8(curl.output().unwrap().stdout).unwrap()
}

#[test]
fn only_a_browser_on_the_servers_machine_is_signed_in_at_once() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let mut name = String::new();
    for own in [
        "X-Nothing: 1",
        "Host: localhost:8080",
        "Host: [::1]:8080",
        "Cookie: card_payments_dashboard_other=x",
    ] {
        let page = opened(&server, own);
        let (_, cookie) = page.split_once("set-cookie: card_payments_dashboard_").expect(own);
        assert!(page.contains("<h1>Overview</h1>"), "{own}");
        name = cookie.split('=').next().unwrap().to_owned();
    }
    let over = opened(&server, &format!("Cookie: card_payments_dashboard_{name}=x"));
    assert!(
        over.contains("<h1>Sign in</h1>") && !over.contains("set-cookie"),
        "it may have been another account's"
    );
    let beside = tempfile::tempdir().unwrap();
    let beside = Process::start(&mut program(beside.path()));
    assert!(
        !opened(&beside, "X-Nothing: 1").contains(&format!("card_payments_dashboard_{name}=")),
        "they share no cookie"
    );
    beside.stopped();
    for strange in ["X-Forwarded-For: 203.0.113.9", "Via: 1.1 proxy", "Host: page.example.com"] {
        let page = opened(&server, strange);
        assert!(page.contains("<h1>Sign in</h1>") && !page.contains("set-cookie"), "{strange}");
    }
    assert!(server.banner.iter().any(|line| line.ends_with(&format!("http://{}/dashboard", server.address))));
    server.stopped();
}

#[test]
fn an_operators_key_is_long_enough_and_a_secret_or_the_server_does_not_start() {
    let data = tempfile::tempdir().unwrap();
    for key in ["short", &"x".repeat(31), &format!("{} {}", "x".repeat(20), "x".repeat(20))] {
        let mut command = program(data.path());
        let output = command.env("CARD_PAYMENTS_OPERATOR_KEY", key).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let line = "error: CARD_PAYMENTS_OPERATOR_KEY must be at least 32 visible characters\n";
        assert_eq!((output.status.code(), stderr.as_str()), (Some(1), line));
    }
    assert!(!data.path().join("card-payments.db").exists(), "nothing was made");
}

#[test]
fn the_pictures_of_the_documents_are_there_and_small() {
    for (_, name) in PICTURES {
        let picture = std::fs::read(root().join("docs/images").join(name)).unwrap();
        assert!(
            picture.starts_with(b"\x89PNG") && picture.len() < 200_000,
            "{name}: {} bytes",
            picture.len()
        );
    }
}
