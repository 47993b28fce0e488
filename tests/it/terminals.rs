//! What commands look like on a terminal: colours, and bars for what takes long; plain lines everywhere else.

use std::process::Stdio;

use crate::harness::process::{Process, output, program};
use crate::harness::terminal::{Terminal, on_a_terminal};

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
    let mut watched = seed();
    let watched = on_a_terminal(&mut watched).stderr(terminal.end()).stdout(Stdio::piped()).output().unwrap();
    assert!(watched.status.success(), "{}", terminal.output());
    let shown = terminal.output();
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
