//! What the program says of itself: help on one screen, and a page of the manual for each command.

use std::collections::BTreeSet;

use crate::harness::process::{output, program};

const LINES_MAX: usize = 48;
const COLUMNS_MAX: usize = 80;
/// A longer sentence is read twice.
const WORDS_MAX: usize = 40;

/// The words of a command's help, and of all commands below it.
pub fn helps(path: &[String], found: &mut Vec<(Vec<String>, String)>) {
    let folder = tempfile::tempdir().unwrap();
    let (code, help, stderr) = output(program(folder.path()).args(path).arg("--help"));
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{path:?}");
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "help needs no database");
    let names = listed(&help);
    found.push((path.to_vec(), help));
    for name in names {
        helps(&[path, &[name]].concat(), found);
    }
}

/// The commands that a help lists: under one heading, or the program's under those of its groups.
fn listed(help: &str) -> Vec<String> {
    let is_heading =
        |line: &str| line == "Commands:" || line.starts_with("Develop, ") || line.starts_with("Operate, ");
    let (mut is_listed, mut names) = (false, Vec::new());
    for line in help.lines() {
        match line.strip_prefix("  ") {
            Some(row) if is_listed && !row.starts_with(' ') => {
                names.extend(row.split_whitespace().next().map(str::to_owned));
            }
            Some(_) => {}
            None => is_listed = is_heading(line),
        }
    }
    names.retain(|name| name != "help");
    names
}

/// Every command with its help, the program's first.
fn commands() -> Vec<(Vec<String>, String)> {
    let mut found = Vec::new();
    helps(&[], &mut found);
    found
}

#[test]
fn the_help_is_on_one_screen_and_in_two_groups() {
    let data = tempfile::tempdir().unwrap();
    let (_, text, _) = output(program(data.path()).arg("--help"));
    for word in ["-h", "help"] {
        assert_eq!(output(program(data.path()).arg(word)), (Some(0), text.clone(), String::new()));
    }
    assert!(text.lines().count() <= LINES_MAX, "{}", text.lines().count());
    let wide: Vec<_> = text.lines().filter(|line| line.chars().count() > COLUMNS_MAX).collect();
    assert!(wide.is_empty(), "{wide:?}");
    insta::assert_snapshot!(text, @r#"
    A card payments API server, and its commands.

    Usage: card-payments [COMMAND] [OPTIONS]

    Develop, with a test server:
      serve        Serve the API (the default)
      exec         Run a command beside a test server of its own
      listen       Print events as they happen, and forward them to your receiver
      trigger      Cause an event of any type, by the API calls that lead to it
      seed         Create the fixtures of a YAML file in an account
      explain      Explain an error code, or why a request was refused
      requests     Write the request log of an account to a file
      report       Write a record and all that belongs to it into one file
      record       Run a command as exec does, and record its requests
      replay       Send the requests of a recording again, and compare the answers
      examine      Examine a client of the API, or a receiver of its webhooks
      coverage     Show what a test suite has met of the API, and what never
      bench        Measure payments under an open load, and prove that none is lost
      mcp          Offer a test server's payments as tools to an assistant
      openapi      Print the OpenAPI document

    Operate, on a server's database:
      migrate      Bring the database's schema up to date
      account      Manage accounts: merchants, their keys, switches and settings
      merchant     Decide about merchants
      customer     Erase the personal data of customers
      people       List people who are signed in, and end their sessions
      deposit      Record deposits: money from outside
      dispute      Open and decide disputes, as the card network does
      ledger       Verify and print the books
      reconcile    Compare a statement of the acquirer with the books
      vault        Rotate the keys that encrypt stored data, and split the vault key
      clock        Confirm the clock
      webhook      Ping webhook endpoints and rotate their keys
      backup       Copy a SQLite database into a file while a server writes to it
      copy         Copy the whole installation into another database
      check        Say what is wrong with an installation, and how to mend it
      audit        Print the actions of operators and the uses of API keys
      health       Ask the server on this machine whether it is healthy
      acquirer     Serve the built-in acquirer to other servers
      completions  Print a script that completes commands and options in a shell
      manual       Write the manual, a page for each command, into a folder

    Text for people; with --json one JSON object per record and line.
    Exit code 0 is success, 1 a refusal that begins with "error: ", 2 wrong usage.
    card-payments help COMMAND explains a command, with its options and an example.
    Without a command it serves: card-payments --listen 127.0.0.1:8080.
    A running server has the guides at /docs/guide/.
    "#);
}

#[test]
fn every_command_is_in_one_group_and_has_a_page_of_the_manual() {
    let all = commands();
    let mut pages: Vec<_> = all
        .iter()
        .map(|(name, _)| [&["card-payments".to_owned()], &name[..]].concat().join("-") + ".1")
        .collect();
    pages.sort();
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().join("man1");
    std::fs::create_dir(&folder).unwrap();
    let mut manual = program(data.path());
    let (code, stdout, stderr) = output(manual.arg("manual").arg("--to").arg(&folder));
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let mut written: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    written.sort();
    assert_eq!(written, pages);
    assert_eq!(stdout.lines().count(), pages.len());
    let page = std::fs::read_to_string(folder.join("card-payments-account-create.1")).unwrap();
    for part in [
        ".SH NAME\ncard\\-payments\\-account\\-create \\- Create an account",
        "\\-\\-business\\-name",
        "\nExample:\n  card-payments account create",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let nowhere = data.path().join("nowhere");
    let (code, stdout, stderr) = output(program(data.path()).arg("manual").arg("--to").arg(&nowhere));
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(stderr.starts_with(&format!("error: {}/card-payments.1: ", nowhere.display())), "{stderr}");
}

#[test]
fn no_sentence_of_the_help_is_long() {
    let mut long = BTreeSet::new();
    for (name, text) in commands() {
        // A row of a list is no part of the sentence above it.
        let text = text.replace("\n  ", "\n\n  ");
        for paragraph in text.split("\n\n") {
            let words: Vec<_> = paragraph.split_whitespace().collect();
            for sentence in words.split(|word| word.ends_with(['.', ':', ';', ']'])) {
                if sentence.len() > WORDS_MAX {
                    long.insert(format!("{name:?}: {}", sentence.join(" ")));
                }
            }
        }
    }
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn a_filter_of_the_log_and_a_file_of_the_log_have_options_of_their_own() {
    for (name, text) in commands() {
        let file = text.contains("--log <FILE>");
        assert_eq!(text.contains("--log "), file, "{name:?}: --log is a file");
        let filters = ["serve", "acquirer"].iter().any(|filters| name == [*filters]);
        assert_eq!(text.contains("--log-filter <FILTER>"), filters, "{name:?}");
    }
}

#[test]
fn the_help_of_every_command_teaches_it() {
    let mut found = Vec::new();
    helps(&[], &mut found);
    let paths: BTreeSet<_> = found.iter().map(|(path, _)| path.join(" ")).collect();
    for known in ["serve", "account create", "vault rotate", "backup", "completions", "ledger report"] {
        assert!(paths.contains(known), "{known} is not among {paths:?}");
    }
    for (path, help) in &found {
        assert!(help.lines().next().is_some_and(|sentence| sentence.len() > 5), "{path:?}");
        if !path.is_empty() && !help.contains("\nCommands:\n") {
            assert!(help.contains("Example"), "{path:?} has no example:\n{help}");
            let example = help.lines().skip_while(|line| !line.starts_with("Example")).nth(1).unwrap();
            assert!(example.contains(&format!("card-payments {}", path.join(" "))), "{path:?}: {example}");
            let takes_json = help.contains("      --json\n") || help.contains("      --json ");
            assert_eq!(
                takes_json,
                path != &["mcp"],
                "{path:?}: all but mcp, which speaks a protocol of JSON"
            );
        }
        // Only the server reports a wrong setting that only the server needs.
        assert_eq!(help.contains("--trusted-proxies"), path == &["serve"], "{path:?}");
        let no_database = [
            "",
            "acquirer",
            "openapi",
            "health",
            "listen",
            "trigger",
            "seed",
            "mcp",
            "coverage",
            "bench",
            "examine",
            "examine client",
            "examine receiver",
            "exec",
            "explain",
            "record",
            "replay",
            "requests",
            "completions",
            "manual",
        ];
        let has_database = !no_database.contains(&path.join(" ").as_str());
        assert_eq!(help.contains("--database-url"), has_database, "{path:?}");
    }
}
