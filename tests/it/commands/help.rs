//! What the program says of itself: help on one screen, and a page of the manual for each command.

use std::collections::BTreeSet;

use super::helps;
use crate::harness::process::{output, program};

const LINES_MAX: usize = 48;
const COLUMNS_MAX: usize = 80;
/// A longer sentence is read twice.
const WORDS_MAX: usize = 40;

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
    insta::assert_snapshot!(text, @"");
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
