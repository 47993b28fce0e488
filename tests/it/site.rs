//! README and docs as one small site: an order to read them in, links that lead somewhere, chapters and numbers that
//! are right. `UPDATE_DOCUMENTS=1 cargo test --test it` writes what can be drawn from the rest: the last line of each
//! page, and the contents of docs/decisions.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Where the order stands.
const CONTENTS: &str = "docs/README.md";
const DECISIONS: &str = "docs/decisions.md";

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// README.md, CONTRIBUTING.md and every page of docs.
pub fn documents() -> BTreeSet<String> {
    let pages = std::fs::read_dir(root().join("docs")).unwrap();
    let pages = pages
        .map(|page| page.unwrap().path())
        .filter(|page| page.extension().is_some_and(|ending| ending == "md"));
    let pages = pages.map(|page| format!("docs/{}", page.file_name().unwrap().to_str().unwrap()));
    pages.chain(["README.md", "CONTRIBUTING.md"].map(str::to_owned)).collect()
}

pub fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The committed file must hold exactly this text.
#[track_caller]
pub fn committed(name: &str, text: &str) {
    if std::env::var_os("UPDATE_DOCUMENTS").is_some() {
        std::fs::write(root().join(name), text).unwrap();
    }
    let found = std::fs::read_to_string(root().join(name)).unwrap_or_default();
    assert!(found == text, "{name} is stale: UPDATE_DOCUMENTS=1 cargo test --test it");
}

/// The last section of the committed page must hold exactly this text.
#[track_caller]
pub fn committed_below(page: &str, heading: &str, drawn: &str) {
    let text = read(page);
    let (above, _) = text.split_once(heading).unwrap_or_else(|| panic!("{page}: no {heading}"));
    committed(page, &format!("{above}{heading}{drawn}{}", footer(page)));
}

/// The links of a document outside of its code: what they show, and where they lead.
fn links(document: &str) -> Vec<(String, String)> {
    let mut inside = false;
    let mut links = Vec::new();
    for line in document.lines() {
        inside ^= line.starts_with("```");
        let parts: Vec<_> = if inside { Vec::new() } else { line.split("](").collect() };
        for pair in parts.windows(2) {
            let shown = pair[0].rsplit('[').next().unwrap();
            let target = pair[1].split(')').next().unwrap();
            links.push((shown.to_owned(), target.to_owned()));
        }
    }
    links
}

/// How a heading is linked to: small letters, digits, hyphens for spaces, nothing else.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

fn headings(document: &str) -> Vec<&str> {
    let mut inside = false;
    let lines = document.lines().filter(|line| {
        inside ^= line.starts_with("```");
        !inside && line.starts_with('#')
    });
    lines.map(|line| line.trim_start_matches('#').trim()).collect()
}

/// The pages in the order in which the contents name them, with what they are called there.
fn order() -> Vec<(String, String)> {
    let entries =
        read(CONTENTS).lines().filter(|line| line.starts_with("| [")).map(str::to_owned).collect::<Vec<_>>();
    let named = entries.iter().map(|entry| links(entry).swap_remove(0));
    named.map(|(title, page)| (format!("docs/{page}"), title)).collect()
}

/// The last line of a page: where the reader goes from here.
pub fn footer(name: &str) -> String {
    let order = order();
    let Some(at) = order.iter().position(|(page, _)| page == name) else {
        panic!("{CONTENTS} does not name {name}");
    };
    let link = |(page, title): &(String, String)| format!("[{title}]({})", page.trim_start_matches("docs/"));
    let before = at.checked_sub(1).map(|before| format!("← {} · ", link(&order[before]))).unwrap_or_default();
    let after = order.get(at + 1).map(|after| format!(" · {} →", link(after))).unwrap_or_default();
    format!("{FOOTER}{before}[Contents](README.md){after}\n")
}

const FOOTER: &str = "\n---\n\n";

#[test]
fn every_page_has_its_place_and_leads_on_and_decisions_are_numbered_throughout() {
    let order = order();
    let named: BTreeSet<_> = order.iter().map(|(page, _)| page.clone()).collect();
    assert_eq!(named.len(), order.len(), "{CONTENTS} names a page twice");
    let pages = documents().into_iter().filter(|name| name.starts_with("docs/") && name != CONTENTS);
    assert_eq!(named, pages.collect(), "{CONTENTS} names every page");
    for (name, _) in order {
        let page = if name == DECISIONS { with_contents(&read(&name)) } else { read(&name) };
        let text = page.split_once(FOOTER).map_or(page.as_str(), |(text, _)| text).trim_end().to_owned();
        committed(&name, &(text + "\n" + &footer(&name)));
    }
}

#[test]
fn every_link_leads_somewhere() {
    for name in documents() {
        let document = read(&name);
        for (_, target) in links(&document) {
            if target.starts_with("http://") || target.starts_with("https://") {
                continue;
            }
            let (file, fragment) = target.split_once('#').unwrap_or((&target, ""));
            let beside = root().join(&name).parent().unwrap().join(file);
            assert!(file.is_empty() || beside.exists(), "{name}: {target}");
            if !fragment.is_empty() {
                let there = if file.is_empty() {
                    document.clone()
                } else {
                    std::fs::read_to_string(&beside).unwrap()
                };
                let anchors: Vec<_> = headings(&there).into_iter().map(anchor).collect();
                assert!(
                    anchors.iter().any(|anchor| anchor == fragment),
                    "{name}: {target} is none of {anchors:?}"
                );
            }
        }
    }
}

#[test]
fn every_file_that_a_document_names_is_there() {
    for name in documents() {
        for named in read(&name).split('`').skip(1).step_by(2) {
            let is_path = ["src/", "docs/", "tests/", "entity/", "crates/", "migration/", ".ci/"]
                .iter()
                .any(|room| named.starts_with(room));
            let plain = !named.contains(['*', '<', '{', ' ', '\n', '(']);
            let file = named.split("::").next().unwrap();
            assert!(!(is_path && plain) || root().join(file).exists(), "{name} names {named}");
        }
    }
}

/// The decisions with their contents, which are a line a chapter. Chapters and entries count from 1.
fn with_contents(page: &str) -> String {
    let (mut number, mut chapters) = (0, Vec::<(String, usize, usize)>::new());
    for line in page.lines() {
        if let Some(chapter) = line.strip_prefix("## Chapter ") {
            assert!(chapter.starts_with(&format!("{}: ", chapters.len() + 1)), "Chapter {chapter}");
            chapters.push((format!("Chapter {chapter}"), number + 1, number));
        } else if let Some(entry) = line.strip_prefix("### ") {
            number += 1;
            assert!(entry.starts_with(&format!("{number}. ")), "this should be number {number}: {entry}");
            chapters.last_mut().expect("an entry stands in a chapter").2 = number;
        }
    }
    let mut contents = String::from("| chapter | entries |\n|---|---|\n");
    for (title, first, last) in chapters {
        writeln!(contents, "| [{title}](#{}) | {first} to {last} |", anchor(&title)).unwrap();
    }
    let (head, rest) = page.split_once("\n## Chapter 1:").unwrap();
    let head = head.split_once("| chapter |").map_or(head, |(head, _)| head).trim_end();
    format!("{head}\n\n{contents}\n## Chapter 1:{rest}")
}

#[test]
fn every_decision_has_an_answer_a_reason_and_a_place() {
    let page = read(DECISIONS);
    for entry in page.split("\n### ").skip(1) {
        let parts = ["**Answer.** ", "**Why.** ", "**Where.** "].map(|part| entry.find(part));
        assert!(parts.iter().all(Option::is_some) && parts.is_sorted(), "{entry}");
    }
}

#[test]
fn the_index_by_topic_names_every_decision_and_nothing_else() {
    let page = read(DECISIONS);
    let (_, index) = page.split_once("\n## By topic\n").unwrap();
    let (index, rest) = index.split_once("\n## ").unwrap();
    let rows = index.lines().filter_map(|line| line.strip_suffix(" |")?.rsplit_once(" | "));
    let mut named = BTreeSet::new();
    for (_, entries) in rows.filter(|(_, entries)| *entries != "entries") {
        for entry in entries.split(", ") {
            let (first, last) = entry.split_once(" to ").unwrap_or((entry, entry));
            named.extend(first.parse::<usize>().unwrap()..=last.parse().unwrap());
        }
    }
    let last = rest.lines().filter(|line| line.starts_with("### ")).count();
    assert_eq!(named, (1..=last).collect());
}

/// ``(`file`, `item`)`` and `file::item`: an item that a change renames is renamed here, too.
#[test]
fn every_item_that_a_decision_names_is_in_its_file() {
    for line in read(DECISIONS).lines().filter(|line| line.starts_with("**Where.** ")) {
        let mut file = String::new();
        for named in line.split('`').skip(1).step_by(2) {
            let (path, item) = named.split_once("::").unwrap_or((named, ""));
            let item = if path.contains(['/', '.']) {
                path.clone_into(&mut file);
                item
            } else {
                path
            };
            if root().join(&file).is_file() && !item.is_empty() {
                let is_word = |part: &str| part == item;
                let text = read(&file);
                let found =
                    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(is_word);
                assert!(found, "{line}: no {item} in {file}");
            }
        }
    }
}

#[test]
fn no_question_is_answered_twice() {
    let mut answered = BTreeMap::new();
    for heading in headings(&read(DECISIONS)) {
        if let Some((number, question)) = heading.split_once(". ") {
            let before = answered.insert(question.to_owned(), number.to_owned());
            assert_eq!(before, None, "{question}");
        }
    }
}

/// What a script of CI sets, where it is a number: `export NAME="${NAME:-20}"`.
fn numbers_of(script: &str) -> BTreeMap<String, String> {
    let script = read(script);
    let set = script.lines().filter_map(|line| line.strip_prefix("export ")?.split_once("=\"${"));
    let set = set.filter_map(|(name, rest)| {
        Some((name.to_owned(), rest.split_once(":-")?.1.trim_end_matches("}\"").to_owned()))
    });
    set.filter(|(_, number)| number.bytes().all(|digit| digit.is_ascii_digit())).collect()
}

#[test]
fn the_numbers_of_the_long_proofs_are_told_as_ci_sets_them() {
    let page = read("docs/contributing.md");
    let (mut short, mut full) = (BTreeMap::new(), BTreeMap::new());
    for row in
        page.lines().filter(|line| line.starts_with("| `PROPTEST_") || line.starts_with("| `CARD_PAYMENTS_"))
    {
        let cells: Vec<_> = row.split('|').map(|cell| cell.replace(['`', ',', ' '], "")).collect();
        let [_, name, in_run, in_full, ..] = &cells[..] else { continue };
        if in_run.parse::<u64>().is_ok() {
            short.insert(name.clone(), in_run.clone());
            full.insert(name.clone(), in_full.clone());
        }
    }
    assert_eq!(full, numbers_of(".ci/full"));
    let set = numbers_of(".ci/run");
    assert!(!set.is_empty());
    short.retain(|name, _| set.contains_key(name));
    assert_eq!(short, set);
}
