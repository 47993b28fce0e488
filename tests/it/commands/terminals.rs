//! What commands look like on a terminal: colours, and bars for what takes long; plain lines everywhere else.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use base::plain_text::OneLine;
use recording::{Exchange, KEY};
use serde_json::{Value, json};

use crate::harness::process::{PAYMENT, Process, ask, output, program};
use crate::harness::terminal::{Terminal, on_a_terminal};
use crate::harness::{Behaviour, Receiver};

const RED: &str = "\u{1b}[31m";
const ESCAPE: char = '\u{1b}';

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn a_check_is_in_colour_on_a_terminal_and_plain_elsewhere() {
    let data = folder();
    let check = |plain: bool| {
        let terminal = Terminal::open();
        let mut command = program(data.path());
        on_a_terminal(command.arg("check").env("CARD_PAYMENTS_CONCURRENCY", "0"));
        if plain {
            command.env("NO_COLOR", "1");
        }
        let status = command.stdout(terminal.end()).stderr(terminal.end()).status().unwrap();
        assert_eq!(status.code(), Some(1));
        terminal.shows("is wrong\r\n");
        terminal.output()
    };
    let coloured = check(false);
    assert!(coloured.contains("\u{1b}[32mok") && coloured.contains(RED), "{coloured:?}");
    assert!(coloured.contains("error:\u{1b}[0m 1 thing is wrong"), "{coloured:?}");
    let plain = check(true);
    assert!(!plain.contains(ESCAPE) && plain.contains("error: 1 thing is wrong"), "{plain:?}");
    let mut piped = program(data.path());
    let (_, stdout, stderr) = output(on_a_terminal(piped.arg("check")));
    assert!(!stdout.contains(ESCAPE) && !stderr.contains(ESCAPE), "{stdout:?}");
}

#[test]
fn a_year_that_is_seeded_has_a_bar_with_a_rate_and_a_remaining_time() {
    let data = folder();
    let server = Process::start(&mut program(data.path()));
    let (key, _) = server.keys();
    let seed = || {
        let mut command = program(data.path());
        command.args(["seed", "--sample", "--new-account", "--key", &key, "--server"]);
        command.arg(format!("http://{}", server.address));
        command
    };
    let terminal = Terminal::open();
    let watched = on_a_terminal(&mut seed()).stderr(terminal.end()).stdout(Stdio::piped()).output().unwrap();
    let shown = terminal.closed();
    assert!(watched.status.success(), "{shown}");
    assert!(shown.contains("Seeding [") && shown.contains("/s, ") && shown.contains(" left"), "{shown:?}");
    // What scripts read is what it was: a line a record, and how it ended.
    let (code, stdout, stderr) = output(&mut seed());
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let stdout_text = String::from_utf8(watched.stdout).unwrap();
    assert!(!stdout_text.contains(ESCAPE), "{stdout_text:?}");
    let names = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&stdout_text), names(&stdout));
    server.stopped();
}

/// What keeps a command waiting for longer than a second shows that it is at it; and nothing is left of that in the end.
#[test]
fn whatever_waits_for_longer_than_a_second_has_a_bar() {
    let data = folder();
    Process::start(&mut program(data.path())).stopped();
    let file = data.path().join("card-payments.db");
    let copy = data.path().join("copy.db");
    for (arguments, what) in [
        (&["migrate"][..], "Migrating"),
        (&["ledger", "verify"], "Proving the books"),
        (&["vault", "rotate"], "Re-encrypting"),
        (&["backup", copy.to_str().unwrap()], "Copying"),
    ] {
        let holder = rusqlite::Connection::open(&file).unwrap();
        holder
            .execute_batch(
                "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE installation SET value = value",
            )
            .unwrap();
        let terminal = Terminal::open();
        let mut command = program(data.path());
        on_a_terminal(command.args(arguments)).stdout(Stdio::null()).stderr(terminal.end());
        let mut child = command.spawn().unwrap();
        terminal.shows(what);
        drop(holder);
        let status = child.wait().unwrap();
        assert!(status.success(), "{arguments:?}: {}", terminal.output());
        assert!(!terminal.output().contains("error"), "{arguments:?}: {}", terminal.output());
    }
    std::fs::remove_file(&copy).unwrap();
    for arguments in
        [&["migrate"][..], &["ledger", "verify"], &["vault", "rotate"], &["backup", copy.to_str().unwrap()]]
    {
        let (code, stdout, stderr) = output(program(data.path()).args(arguments));
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "nothing is shown where no terminal is");
        assert!(!stdout.contains(ESCAPE));
    }
}

/// A name that hides lines, forges others and turns letters round on a terminal.
const STRANGE: &str =
    "k\u{1b}[1A\u{1b}[2K\r\nforged\u{7}\u{7f}\u{9b}2J\u{202e}\u{2066}\u{200b}\u{feff}\u{2028}end";
/// How its end is shown as text and as JSON.
const SPELLED: &str = "\\u009b2J\\u202e\\u2066\\u200b\\ufeff\\u2028end";

#[test]
fn texts_of_strangers_are_spelled_out_on_a_terminal_as_text_and_as_json() {
    let data = folder();
    let server = Process::start(&mut program(data.path()));
    let (key, _) = server.keys();
    let on_terminal = |arguments: &[&str], code: i32| {
        let terminal = Terminal::open();
        let status = {
            let mut command = program(data.path());
            on_a_terminal(command.args(arguments))
                .stdout(terminal.end())
                .stderr(terminal.end())
                .status()
                .unwrap()
        };
        let mut shown = terminal.closed();
        assert_eq!(status.code(), Some(code), "{arguments:?}: {shown:?}");
        assert!(shown.contains(SPELLED), "{arguments:?}: {shown:?}");
        for style in ["\u{1b}[0m", "\u{1b}[1m", RED, "\u{1b}[32m", "\u{1b}[33m"] {
            shown = shown.replace(style, "");
        }
        let is_strange = |letter: char| {
            (letter.is_control() && !['\r', '\n'].contains(&letter))
                || STRANGE.chars().any(|one| one == letter && !one.is_ascii())
        };
        assert!(!shown.contains(is_strange), "{arguments:?}: {shown:?}");
        assert!(!shown.lines().any(|line| line.starts_with("forged")), "{arguments:?}: {shown:?}");
        shown
    };
    let (_, made, _) = output(program(data.path()).args([
        "account",
        "create",
        "--business-name",
        STRANGE,
        "--email",
        "shop@example.com",
        "--json",
    ]));
    let account = serde_json::from_str::<Value>(&made).unwrap()["token"].as_str().unwrap().to_owned();
    let spelled = OneLine(STRANGE).to_string();
    let create = ["account", "key", "create", &account, "--right", "charges:read", "--name", STRANGE];
    assert!(on_terminal(&create, 0).contains(&spelled));
    for arguments in [&["account", "list"][..], &["account", "key", "list", &account], &["audit"]] {
        assert!(on_terminal(arguments, 0).contains(&spelled), "{arguments:?}");
        let json = on_terminal(&[arguments, &["--json"]].concat(), 0);
        let mut records = json.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        assert!(records.any(|record| record.to_string().contains(&json!(STRANGE).to_string())));
    }
    assert!(on_terminal(&["account", "key", "revoke", &account, STRANGE], 1).contains(&spelled));
    let recording = data.path().join("run.jsonl");
    let exchange = Exchange {
        at: "2026-11-01T00:00:00Z".into(),
        method: "GET".into(),
        path: "/1/customers".into(),
        key: Some(KEY.into()),
        status: 200,
        body: json!({ "response": STRANGE }),
        ..Exchange::default()
    };
    let lines = format!("{}\n{}\n", json!({ "card_payments_recording": 1 }), json!(exchange));
    std::fs::write(&recording, lines).unwrap();
    let address = format!("http://{}", server.address);
    let replay = ["replay", recording.to_str().unwrap(), "--server", &address, "--key", &key];
    on_terminal(&replay, 1);
    on_terminal(&[&replay[..], &["--json"]].concat(), 1);
    server.stopped();
}

#[test]
fn a_request_is_a_short_line_on_a_terminal_and_json_elsewhere() {
    let data = folder();
    let terminal = Terminal::open();
    let mut command = program(data.path());
    let mut child =
        on_a_terminal(&mut command).stdout(Stdio::piped()).stderr(terminal.end()).spawn().unwrap();
    let mut banner = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let key = banner
        .find_map(|line| Some(line.trim().strip_prefix("Keys ")?.split_whitespace().next()?.to_owned()))
        .unwrap();
    let address = banner.find_map(|line| line.strip_prefix("Listening on http://")?.parse().ok()).unwrap();
    let pay = |form: &str| ask(address, "POST", "/1/charges", Some(&key), form).json();
    let declined = pay(&PAYMENT.replace("4200000000000000", "4100000000000001"));
    let charged = pay(PAYMENT);
    for (status, rest) in [
        ("\u{1b}[1m\u{1b}[31m400", format!(" card_declined {} ", declined["charge_token"].as_str().unwrap())),
        ("\u{1b}[32m201", format!(" {} ", charged["response"]["token"].as_str().unwrap())),
    ] {
        terminal.shows(&format!("POST /1/charges {status}\u{1b}[0m{rest}"));
    }
    ask(address, "GET", "/1/nothing", Some(&key), "");
    terminal.shows("404\u{1b}[0m resource_not_found ");
    for line in terminal.output().lines().filter(|line| line.contains("/1/charges")) {
        assert!(line.starts_with("POST ") && line.ends_with(" ms"), "{line:?}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let server = Process::start(&mut program(data.path()));
    let declined = server
        .ask("POST", "/1/charges", Some(&key), &PAYMENT.replace("4200000000000000", "4100000000000001"))
        .json();
    let log = server.stopped();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let line = lines.iter().find(|line| line["fields"]["status"] == 400).unwrap();
    assert_eq!(
        (&line["fields"]["error"], &line["fields"]["record"]),
        (&json!("card_declined"), &declined["charge_token"])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_refuses_is_seen_at_a_glance() {
    let data = folder();
    let server = Process::start(&mut program(data.path()));
    let receiver = Receiver::start().await;
    let terminal = Terminal::open();
    let mut command = program(data.path());
    command.args(["listen", "--server", &server.address.to_string(), "--forward-to", &receiver.url()]);
    let mut child =
        on_a_terminal(&mut command).stdout(terminal.end()).stderr(terminal.end()).spawn().unwrap();
    terminal.shows("Signing with ");
    server.pay(&server.keys().0).ok(201);
    terminal.shows("-> 200 in ");
    receiver.behave(Behaviour::Status(500));
    server.pay(&server.keys().0).ok(201);
    terminal.shows("-> \u{1b}[1m\u{1b}[31m500\u{1b}[0m in ");
    receiver.behave(Behaviour::Reset);
    server.pay(&server.keys().0).ok(201);
    terminal.shows("-> \u{1b}[1m\u{1b}[31mconnection_failed\u{1b}[0m: ");
    child.kill().unwrap();
    child.wait().unwrap();
    server.stopped();
}
