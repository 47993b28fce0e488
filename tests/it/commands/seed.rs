//! `card-payments seed`: a running server makes all records of a file of fixtures, or none.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use base::clock::{Clock, SystemClock};
use serde_json::{Value, json};

use crate::harness::process::{PAYMENT, Process, ask, free_address};
use crate::harness::{Installed, eventually, operated};

/// A server with an account in which nothing has happened, and how to seed it from a file.
struct Shop<'a> {
    installed: &'a Installed,
    server: Process,
    key: String,
}

impl<'a> Shop<'a> {
    fn open(installed: &'a Installed) -> Self {
        let server = installed.serve();
        let (key, _) = server.keys();
        Self { installed, server, key }
    }

    fn arguments<'b>(&'b self, address: &'b str, file: &'b str) -> Vec<&'b str> {
        vec!["seed", file, "--server", address, "--key", &self.key]
    }

    /// What it says: exit code, stdout, stderr.
    fn seeds(&self, name: &str, text: &str, further: &[&str]) -> (Option<i32>, String, String) {
        let file = self.file(name, text);
        let address = format!("http://{}", self.server.address);
        self.installed.run(&[&self.arguments(&address, &file), further].concat())
    }

    /// Starts it, and returns while it runs, after it has printed `what`.
    fn comes_to(&self, what: &str, name: &str, text: &str) -> Child {
        let file = self.file(name, text);
        let address = format!("http://{}", self.server.address);
        let mut program = self.installed.program();
        program.args(self.arguments(&address, &file)).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = program.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines().map(Result::unwrap);
        assert!(lines.any(|line| line.starts_with(what)), "it tells of {what}");
        child
    }

    fn file(&self, name: &str, text: &str) -> String {
        let file = self.installed.data.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    }

    /// The records of what was made, and how it ended.
    #[track_caller]
    fn made(&self, name: &str, text: &str) -> (Vec<Value>, Value) {
        let (code, stdout, stderr) = self.seeds(name, text, &["--json"]);
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
        let mut lines: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let end = lines.pop().unwrap();
        (lines, end)
    }

    #[track_caller]
    fn refused(&self, text: &str, message: &str) {
        let (code, stdout, stderr) = self.seeds("wrong.yaml", text, &[]);
        assert_eq!(
            (code, stdout.as_str(), stderr.as_str()),
            (Some(1), "", format!("error: {message}\n").as_str())
        );
    }

    #[track_caller]
    fn get(&self, path: &str) -> Value {
        self.server.ask("GET", path, Some(&self.key), "").ok(200)
    }

    fn count(&self, list: &str) -> u64 {
        let listed = self.server.ask("GET", list, Some(&self.key), "").json();
        listed["pagination"]["count"].as_u64().unwrap()
    }

    /// Waits until so many payments are with the acquirer.
    async fn has_in_flight(&self, payments: i64) {
        let in_flight = "SELECT COUNT(*) FROM charges WHERE settle_after IS NOT NULL";
        eventually(async || self.installed.number(in_flight).await == payments).await;
    }

    fn is_empty(&self) -> bool {
        ["charges", "customers", "plans", "events", "refunds", "transfers"]
            .iter()
            .all(|list| self.count(&format!("/1/{list}")) == 0)
    }
}

const TEA: &str = "
plans:
  tea: { amount: 1000, every: month, setup_amount: 150 }
customers:
  anna: { email: anna@example.com }
  ben: { email: ben@example.com, card: american_express, after: 1 month }
subscriptions:
  annas: { customer: anna, plan: tea, after: 1 day }
  bens: { customer: ben, plan: tea, include_setup_fee: false, after: 1 month }
cancellations:
  bens_choice: { of: bens, after: 40 days }
charges:
  pot: { customer: anna, amount: 4500, description: Pot, after: 2 days }
  cup: { email: guest@example.com, amount: 900, declined: lost_card, after: 2 days }
refunds:
  chipped: { of: pot, amount: 500, after: 3 days }
disputes:
  unknown: { of: pot, amount: 1000, after: 1 week, decided: lost, decided_after: 2 weeks }
until: 80 days
";

operated! {
    async fn entries_of_a_file_have_happened_in_their_time(installed) {
        let shop = Shop::open(installed);
        let before = shop.get("/1/sandbox/clock")["now"].as_str().unwrap().to_owned();
        let (made, end) = shop.made("tea.yaml", TEA);
        let names: Vec<_> = made.iter().map(|made| made["what"].as_str().unwrap()).collect();
        assert_eq!(names, [
            "plans/tea", "customers/anna", "subscriptions/annas", "charges/pot", "charges/cup", "refunds/chipped",
            "disputes/unknown", "customers/ben", "subscriptions/bens",
        ]);
        let token = |name: &str| made.iter().find(|made| made["what"] == name).unwrap()["token"].as_str().unwrap();
        assert_eq!(made[4]["token"], Value::Null);
        assert_eq!((end["made"].as_u64(), &end["again"]), (Some(8), &json!(false)));
        assert_eq!(shop.count(&format!("/1/customers/{}/charges", token("customers/anna"))), 4, "1,150, 4,500, 1,000, 1,000: whatever the day, two months end within 80 days and three do not");
        assert_eq!(shop.get(&format!("/1/subscriptions/{}", token("subscriptions/bens")))["state"], "cancelled");
        let pot = shop.get(&format!("/1/charges/{}", token("charges/pot")));
        assert_eq!((pot["amount"].as_i64(), pot["amount_refunded"].as_i64()), (Some(4500), Some(500)));
        let dispute = shop.get(&format!("/1/disputes/{}", token("disputes/unknown")));
        assert_eq!(dispute["status"], "lost");
        let day = |time: &str| chrono::DateTime::parse_from_rfc3339(time).unwrap();
        let passed = |time: &Value| (day(time.as_str().unwrap()) - day(&before)).num_days();
        assert_eq!((passed(&pot["created_at"]), passed(&dispute["received_at"])), (2, 9));
        assert_eq!(passed(&end["now"]), 80, "{end}");
        shop.server.stopped();
        assert_eq!(installed.run(&["ledger", "verify"]).0, Some(0));
    }

    async fn numbers_that_begin_with_a_zero_or_a_plus_are_kept_as_they_are_written(installed) {
        let shop = Shop::open(installed);
        let (made, _) = shop.made("numbers.yaml", "
recipients:
  payee: { name: Pay Ee, email: payee@example.com, bank_account: { name: Pay Ee, bsb: 012984, number: 000123456 } }
customers:
  anna: { email: anna@example.com, phone_number: 0412345678 }
  ben: { email: ben@example.com, phone_number: +61412345678 }
charges:
  pot: { customer: anna, amount: 4500, reference: 007, metadata: { code: 0123, table: 12 } }
");
        let token = |name: &str| made.iter().find(|made| made["what"] == name).unwrap()["token"].as_str().unwrap();
        let phone = |name: &str| shop.get(&format!("/1/customers/{}", token(name)))["phone_number"].clone();
        assert_eq!((phone("customers/anna"), phone("customers/ben")), (json!("0412345678"), json!("+61412345678")));
        let recipient = shop.get(&format!("/1/recipients/{}", token("recipients/payee")));
        assert_eq!(recipient["bank_account"]["bsb"].as_str().unwrap().replace('-', ""), "012984");
        let charge = shop.get(&format!("/1/charges/{}", token("charges/pot")));
        assert_eq!(charge["metadata"]["code"], "0123");
        assert_eq!(shop.count("/1/charges/search?reference=007"), 1);
        shop.server.stopped();
    }

    async fn a_file_told_twice_makes_nothing_twice_and_may_grow(installed) {
        let shop = Shop::open(installed);
        let (first, _) = shop.made("tea.yaml", TEA);
        let (events, charges) = (shop.count("/1/events"), shop.count("/1/charges"));
        let (second, end) = shop.made("tea.yaml", TEA);
        assert_eq!((&second, &end["again"]), (&first, &json!(true)));
        assert_eq!((shop.count("/1/events"), shop.count("/1/charges")), (events, charges));
        let longer = TEA.replace("customers:\n", "customers:\n  carl: { email: carl@example.com }\n");
        let (third, end) = shop.made("tea.yaml", &longer);
        assert_eq!((third.len(), &end["again"]), (first.len() + 1, &json!(false)));
        // What was made otherwise stays.
        let (code, _, stderr) = shop.seeds("tea.yaml", &TEA.replace("1000", "1100"), &[]);
        let expected = "error: line 3: plans/tea: This Idempotency-Key was used for another request. (422 idempotency_key_reused); \
                    what was made before stays\n";
        assert_eq!((code, stderr.as_str()), (Some(1), expected));
        assert_eq!(shop.count("/1/customers"), 3);
        // Another file needs another account, or a flag.
        let other = "customers:\n  dora: { email: dora@example.com }\n";
        let (code, _, stderr) = shop.seeds("other.yaml", other, &[]);
        assert!(code == Some(1) && stderr.contains("something has happened in this account already"), "{stderr}");
        assert_eq!(shop.count("/1/customers"), 3);
        assert_eq!(shop.seeds("other.yaml", other, &["--anyway"]).0, Some(0));
        assert_eq!(shop.count("/1/customers"), 4);
        shop.server.stopped();
    }

    async fn a_story_that_was_interrupted_goes_on_where_it_was(installed) {
        let shop = Shop::open(installed);
        let half = TEA.split_once("charges:").unwrap().0;
        let (first, _) = shop.made("tea.yaml", half);
        shop.server.stopped();
        let shop = Shop::open(installed);
        let (whole, end) = shop.made("tea.yaml", TEA);
        assert_eq!(end["again"], false);
        for made in first {
            assert!(whole.contains(&made), "{made}");
        }
        assert_eq!(shop.count("/1/plans"), 1);
        shop.server.stopped();
    }

    async fn a_story_that_was_killed_goes_on_also_while_its_last_request_is_under_way(installed) {
        let shop = Shop::open(installed);
        let slow = |ms: &str| shop.server.ask("PUT", "/1/sandbox/acquirer", Some(&shop.key), &format!("latency_ms={ms}")).ok(200);
        slow("3000");
        let mut killed = shop.comes_to("customers/anna", "tea.yaml", TEA);
        // Her first payment.
        shop.has_in_flight(1).await;
        killed.kill().unwrap();
        killed.wait().unwrap();
        slow("0");
        let moving = "UPDATE accounts SET clock_moves = clock_moves + 1, moving_until = ";
        installed.execute(&format!("{moving}{}", SystemClock.now().millis() + 4000)).await;
        let (_, end) = shop.made("tea.yaml", TEA);
        assert_eq!((end["made"].as_u64(), &end["again"]), (Some(8), &json!(false)));
        assert_eq!((shop.count("/1/plans"), shop.count("/1/customers"), shop.count("/1/subscriptions")), (1, 2, 2));
        shop.server.stopped();
    }

    async fn a_server_that_limits_how_often_it_is_asked_is_waited_for(installed) {
        installed.with("RATE_LIMIT", "5");
        let shop = Shop::open(installed);
        let wrong = TEA.replace("card: american_express", "card: declined");
        let (code, _, stderr) = shop.seeds("tea.yaml", &wrong, &[]);
        assert!(code == Some(1) && stderr.ends_with("(400 card_declined); nothing was made\n"), "{stderr}");
        assert_eq!(installed.number("SELECT COUNT(*) FROM customers").await, 0);
        assert_eq!(shop.made("tea.yaml", TEA).1["made"], 8);
        shop.server.stopped();
    }

    async fn two_files_of_one_name_are_two_stories(installed) {
        let shop = Shop::open(installed);
        shop.made("north/shöp.yaml", TEA);
        let (code, _, stderr) = shop.seeds("south/shöp.yaml", TEA, &[]);
        assert!(code == Some(1) && stderr.contains("something has happened in this account already"), "{stderr}");
        let (code, _, stderr) = shop.seeds("north/shäp.yaml", TEA, &[]);
        assert!(code == Some(1) && stderr.contains("something has happened in this account already"), "{stderr}");
        assert_eq!(shop.made("north/shöp.yaml", TEA).1["again"], true);
        shop.server.stopped();
    }

    async fn everything_that_is_wrong_is_told_by_line_and_nothing_is_made(installed) {
        let shop = Shop::open(installed);
        let text = "account: { disputes: maybe, colour: red }
plants: { fern: 1 }
plans:
  tea:
    amount: 20
    every: fortnight
    currency: XXX
  tea: { amount: 100, every: hour }
customers:
  anna: { mail: a@example.com, card: plastic }
  a b: { email: nonsense }
charges:
  pot: { customer: nobody, amount: -1, after: soon }
  cup: { email: a@example.com, amount: 900, declined: bored }
  dish:
    card: accepted
    metadata: [1]
refunds:
  back: { of: cup, amount: 0 }
transfers:
  rent: { to: landlord, amount: 5 }
until: tomorrow
";
        let (code, stdout, stderr) = shop.seeds("wrong.yaml", text, &["--json"]);
        assert_eq!(code, Some(1));
        let faults: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(stderr, format!("error: wrong.yaml has {} faults, and nothing was made\n", faults.len()));
        let assert_fault = |line: u64, words: &str| {
            let found = faults.iter().any(|fault| fault["line"] == line && fault["fault"].as_str().unwrap().contains(words));
            assert!(found, "{line}: {words} in {faults:#?}");
        };
        for (line, words) in [
            (1, "Disputes is not included in the list"), (1, "colour is no field"), (2, "plants is no section"),
            (6, "every is not a length of time"), (7, "is not a supported currency"), (8, "tea stands already in line 4"),
            (8, "is not of days, weeks, months or years"), (10, "mail is no field"), (10, "Email can't be blank"),
            (10, "card is no card"), (11, "a name is up to 50 letters"), (11, "Email is not formatted properly"),
            (13, "customer names nobody, which is not in customers"), (13, "after is not a length of time"),
            (14, "declined is none of card_declined"), (15, "Email can't be blank"), (15, "Amount can't be blank"),
            (17, "Metadata is not valid"), (19, "of names cup, which is declined"), (21, "to names landlord, which is not in recipients"),
            (22, "until is not a length of time"),
        ] {
            assert_fault(line, words);
        }
        let lines: Vec<_> = faults.iter().map(|fault| fault["line"].as_u64().unwrap()).collect();
        assert!(lines.is_sorted(), "{lines:?}");
        assert!(shop.is_empty());
        shop.refused("customers: [", "wrong.yaml has a fault, and nothing was made\n  line 2: is not YAML: while parsing a node, did not find expected node content");
        shop.refused("- a\n", "wrong.yaml has a fault, and nothing was made\n  line 1: is not the beginning of fixtures: sections such as customers: are");
        shop.refused(
            "customers:\n  late: { email: a@example.com, after: 2 days }\ncharges:\n  early: { customer: late, amount: 500, after: 1 day }\n",
            "wrong.yaml has a fault, and nothing was made\n  line 4: charges/early: after is too early: customers/late is not there yet",
        );
        assert!(shop.is_empty());
        assert_eq!(shop.get("/1/sandbox/snapshots"), json!([]));
        shop.server.stopped();
    }

    async fn a_refusal_on_the_way_leaves_the_account_as_it_was(installed) {
        let shop = Shop::open(installed);
        for (text, message) in [
            (format!("{TEA}\ntransfers:\n  rent: {{ to: self, amount: 999999999999, after: 80 days }}\n"),
                "line 22: transfers/rent: "),
            (TEA.replace("card: american_express", "card: declined"), "line 9: subscriptions/bens: The card was declined (400 card_declined)"),
            (TEA.replace("declined: lost_card", "capture: true, card: disputed, currency: JPY, amount_x: 1"), "wrong.yaml has a fault"),
        ] {
            let (code, _, stderr) = shop.seeds("wrong.yaml", &text, &[]);
            assert!(code == Some(1) && stderr.starts_with(&format!("error: {message}")), "{stderr}");
            assert!(stderr.trim_end().ends_with("nothing was made") || stderr.contains("no field"), "{stderr}");
            assert!(shop.is_empty(), "{stderr}");
            assert_eq!(shop.get("/1/sandbox/clock")["offset_seconds"], 0);
        }
        // And the same account takes the story once it is right.
        assert_eq!(shop.made("wrong.yaml", TEA).1["again"], false);
        shop.server.stopped();
    }

    async fn an_account_is_put_back_as_soon_as_no_payment_of_it_is_under_way(installed) {
        let shop = Shop::open(installed);
        shop.server.ask("PUT", "/1/sandbox/acquirer", Some(&shop.key), "latency_ms=10000").ok(200);
        let wrong = "customers:\n  anna: { email: anna@example.com }\ncharges:\n  cup: { email: a@example.com, card: declined, amount: 900 }\n";
        let seeding = shop.comes_to("customers/anna", "wrong.yaml", wrong);
        // Its own payment is declined before the other one is answered.
        shop.has_in_flight(1).await;
        let (address, key) = (shop.server.address, shop.key.clone());
        let paying = std::thread::spawn(move || ask(address, "POST", "/1/charges", Some(&key), PAYMENT));
        shop.has_in_flight(2).await;
        let output = seeding.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(stderr, "error: line 4: charges/cup: The card was declined (400 card_declined); nothing was made\n");
        paying.join().unwrap().ok(201);
        assert!(shop.is_empty());
        shop.server.stopped();
    }

    async fn an_account_that_was_made_for_a_refused_story_goes_with_it(installed) {
        let shop = Shop::open(installed);
        let wrong = TEA.replace("card: american_express", "card: declined");
        let (code, stdout, stderr) = shop.seeds("wrong.yaml", &wrong, &["--new-account", "--json"]);
        assert!(code == Some(1) && stderr.ends_with("; nothing was made\n"), "{stderr}");
        let account: Value = serde_json::from_str(stdout.lines().next().unwrap()).unwrap();
        let gone = shop.server.ask("GET", "/1/balance", account["secret_key"].as_str(), "");
        assert_eq!(gone.status, 401, "{}", gone.body);
        assert!(shop.is_empty());
        shop.server.stopped();
    }

    async fn nothing_is_made_up_where_cards_are_real(installed) {
        installed.with("ENVIRONMENT", "live");
        installed.with("ACQUIRER", "simulator");
        installed.with("VAULT_KEY", "own:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
        let new = ["account", "create", "--business-name", "Shop", "--email", "shop@example.com"];
        let account = installed.records(&new).remove(0);
        let server = installed.serve();
        let address = format!("http://{}", server.address);
        let seed = ["seed", "--sample", "--server", &address, "--key", account["secret_key"].as_str().unwrap()];
        let live = format!("{address} has no sandbox: nothing was created where cards are real");
        installed.refuses(&seed, &live);
        installed.refuses(&[&seed[..], &["--new-account"]].concat(), &live);
        server.stopped();
    }

    async fn who_cannot_be_asked_is_named(installed) {
        let shop = Shop::open(installed);
        let (code, stdout, stderr) = shop.seeds("tea.yaml", TEA, &["--key", "sk_wrong"]);
        assert_eq!((code, stdout.as_str(), stderr.as_str()), (Some(2), "", stderr.as_str()), "a key twice");
        let address = format!("http://{}", shop.server.address);
        let file = installed.data.path().join("tea.yaml");
        let file = file.to_str().unwrap();
        let wrong = installed.run(&["seed", file, "--server", &address, "--key", "sk_wrong"]);
        assert_eq!(wrong, (Some(1), String::new(), "error: Not authorised. (Check API Key) (401 unauthorized)\n".into()));
        shop.server.stopped();
        let address = format!("http://{}", free_address());
        let (code, _, stderr) = installed.run(&["seed", file, "--server", &address, "--key", "sk_wrong"]);
        assert!(code == Some(1) && stderr.starts_with(&format!("error: {address} does not answer: ")), "{stderr}");
        let (code, _, stderr) = installed.run(&["seed", "no/such.yaml", "--key", "sk_wrong"]);
        assert!(code == Some(1) && stderr.starts_with("error: no/such.yaml: "), "{stderr}");
    }

    async fn the_sample_is_a_year_that_adds_up(installed) {
        let shop = Shop::open(installed);
        let address = format!("http://{}", shop.server.address);
        let records = installed.records(&["seed", "--sample", "--new-account", "--server", &address, "--key", &shop.key]);
        let (account, end) = (&records[0], records.last().unwrap());
        assert_eq!((end["made"].as_u64(), &end["again"]), (Some(140), &json!(false)));
        let key = account["secret_key"].as_str().unwrap();
        let get = |path: &str| shop.server.ask("GET", path, Some(key), "").json();
        let count = |list: &str| get(&format!("/1/{list}?per_page=1"))["pagination"]["count"].as_u64().unwrap();
        assert!(count("charges") > 250, "{}", count("charges"));
        assert!(count("transfers") > 30, "{}", count("transfers"));
        assert_eq!((count("customers"), count("subscriptions"), count("disputes"), count("refunds")), (36, 36, 7, 7));
        let of = |list: &str, field: &str| {
            let listed = get(&format!("/1/{list}?per_page=500"))["response"].clone();
            listed.as_array().unwrap().iter().map(|record| record[field].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        for state in ["active", "trial", "cancelled"] {
            assert!(of("subscriptions", "state").iter().any(|found| found == state), "{state}");
        }
        for status in ["won", "lost", "accepted", "cancelled", "expired", "evidence_required"] {
            assert!(of("disputes", "status").iter().any(|found| found == status), "{status}");
        }
        assert!(shop.is_empty(), "the account whose key was named is as it was");
        // It fits into a snapshot, and comes back.
        let snapshot = shop.server.ask("POST", "/1/sandbox/snapshots", Some(key), "").ok(201);
        let path = format!("/1/sandbox/snapshots/{}/restore", snapshot["token"].as_str().unwrap());
        shop.server.ask("PUT", &path, Some(key), "").ok(200);
        assert!(count("charges") > 250);
        shop.server.stopped();
        assert_eq!(installed.run(&["ledger", "verify"]), (Some(0), "The books balance.\n".into(), String::new()));
    }
}
