//! README and docs as one small site: an order to read them in, links that lead somewhere, chapters and numbers that
//! are right. `UPDATE_DOCUMENTS=1 cargo test --test it` writes what can be drawn from the rest: the last line of each
//! page, and the tables of docs/decisions.md that say on which page of docs/decisions each number is.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Where the order stands.
const CONTENTS: &str = "docs/README.md";
/// The index of the pages in docs/decisions.
const DECISIONS: &str = "docs/decisions.md";
/// The folders of pages. docs/README.md names those of the first two, the index of decisions those of the last.
const FOLDERS: [&str; 3] = ["docs", "docs/operating", "docs/decisions"];

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// README.md, CONTRIBUTING.md and every page of docs.
pub fn documents() -> BTreeSet<String> {
    let mut documents = BTreeSet::from(["README.md", "CONTRIBUTING.md"].map(str::to_owned));
    for folder in FOLDERS {
        let pages = std::fs::read_dir(root().join(folder)).unwrap().map(|page| page.unwrap().path());
        let pages = pages.filter(|page| page.extension().is_some_and(|ending| ending == "md"));
        documents
            .extend(pages.map(|page| format!("{folder}/{}", page.file_name().unwrap().to_str().unwrap())));
    }
    documents
}

/// The operators' guide: all pages of docs/operating, one after the other.
pub fn operating() -> String {
    let pages = documents().into_iter().filter(|name| name.starts_with("docs/operating/"));
    pages.map(|page| read(&page)).collect()
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

/// The pages that a table of this page names in the first column, with their titles there.
fn named_by(page: &str) -> Vec<(String, String)> {
    let page = read(page);
    let rows = page.lines().filter(|line| line.starts_with("| ["));
    rows.map(|row| links(row).swap_remove(0)).map(|(title, page)| (format!("docs/{page}"), title)).collect()
}

/// The pages in the order in which the contents name them, each index followed by its own pages.
fn order() -> Vec<(String, String)> {
    let with_own = |entry: (String, String)| {
        let own = if entry.0 == DECISIONS { named_by(DECISIONS) } else { Vec::new() };
        [vec![entry], own].concat()
    };
    named_by(CONTENTS).into_iter().flat_map(with_own).collect()
}

/// How one page links to another.
fn relative(from: &str, to: &str) -> String {
    let to = to.trim_start_matches("docs/");
    match from.trim_start_matches("docs/").split_once('/') {
        None => to.to_owned(),
        Some((folder, _)) => match to.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')) {
            Some(beside) => beside.to_owned(),
            None => format!("../{to}"),
        },
    }
}

/// The last line of a page: where the reader goes from here.
pub fn footer(name: &str) -> String {
    let order = order();
    let Some(at) = order.iter().position(|(page, _)| page == name) else {
        panic!("{CONTENTS} does not name {name}");
    };
    let link = |(page, title): &(String, String)| format!("[{title}]({})", relative(name, page));
    let before = at.checked_sub(1).map(|before| format!("← {} · ", link(&order[before]))).unwrap_or_default();
    let after = order.get(at + 1).map(|after| format!(" · {} →", link(after))).unwrap_or_default();
    format!("{FOOTER}{before}[Contents]({}){after}\n", relative(name, CONTENTS))
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

/// Returns whether the file is there, and in it the heading.
fn leads_somewhere(page: &str, target: &str) -> bool {
    let (file, fragment) = target.split_once('#').unwrap_or((target, ""));
    let page = root().join(page);
    let there = if file.is_empty() { page } else { page.parent().unwrap().join(file) };
    let has_heading = |text: String| headings(&text).into_iter().any(|heading| anchor(heading) == fragment);
    there.exists() && (fragment.is_empty() || std::fs::read_to_string(there).is_ok_and(has_heading))
}

#[test]
fn every_link_leads_somewhere() {
    for name in documents() {
        for (_, target) in links(&read(&name)) {
            let is_elsewhere = target.starts_with("http://") || target.starts_with("https://");
            assert!(is_elsewhere || leads_somewhere(&name, &target), "{name}: {target}");
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

/// Decisions by their number: the page and the text from the heading on.
type Entries = BTreeMap<usize, (String, String)>;

/// The pages of decisions in their order, and all entries.
fn decisions() -> (Vec<(String, String)>, Entries) {
    let (pages, mut entries) = (named_by(DECISIONS), BTreeMap::new());
    for (page, title) in &pages {
        let text = read(page);
        assert!(text.starts_with(&format!("# Decisions: {title}\n")), "{page} is not called {title}");
        let mut last = 0;
        for entry in text.split_once(FOOTER).unwrap().0.split("\n## ").skip(1) {
            let number = entry.split_once(". ").unwrap().0.parse().unwrap();
            assert!(number > last, "{page}: {number} stands after {last}");
            let before = entries.insert(number, (page.clone(), entry.to_owned()));
            assert_eq!(before, None, "{number}");
            last = number;
        }
    }
    assert!(entries.keys().copied().eq(1..=entries.len()), "a number is missing: {:?}", entries.keys());
    (pages, entries)
}

/// Numbers that follow one another, in words.
fn range(first: usize, last: usize) -> String {
    match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    }
}

/// The index of decisions with its tables by page and by number.
fn with_contents(index: &str) -> String {
    let (pages, entries) = decisions();
    let mut runs = Vec::<(usize, usize, &String)>::new();
    for (&number, (page, _)) in &entries {
        match runs.last_mut() {
            Some((_, last, of)) if *of == page => *last = number,
            _ => runs.push((number, number, page)),
        }
    }
    let mut tables = String::from("| page | entries |\n|---|---|\n");
    for (page, title) in &pages {
        let own = runs.iter().filter(|(_, _, of)| *of == page);
        let own: Vec<_> = own.map(|&(first, last, _)| range(first, last)).collect();
        writeln!(tables, "| [{title}]({}) | {} |", relative(DECISIONS, page), own.join(", ")).unwrap();
    }
    tables += "\n## By number\n\n| entries | page |\n|---|---|\n";
    for (first, last, page) in runs {
        let title = &pages.iter().find(|(name, _)| name == page).unwrap().1;
        let heading = anchor(entries[&first].1.lines().next().unwrap());
        let link = format!("{}#{heading}", relative(DECISIONS, page));
        writeln!(tables, "| {} | [{title}]({link}) |", range(first, last)).unwrap();
    }
    let (head, _) = index.split_once("| page | entries |\n").unwrap();
    let (_, topics) = index.split_once("\n## By topic\n").unwrap();
    format!("{head}{tables}\n## By topic\n{topics}")
}

/// The places that keep to a decision: they stand between brackets behind its reason. `None` if the entry lacks an answer, a
/// reason or a place.
fn places(entry: &str) -> Option<Vec<&str>> {
    let (question, reason) = entry.trim_end().rsplit_once("\n**Why.** ")?;
    let (_, answer) = question.split_once("\n\n")?;
    let (reason, places) = reason.strip_suffix("`)")?.rsplit_once("(`")?;
    let has_both = !answer.trim().is_empty() && !reason.trim().is_empty();
    has_both.then(|| places.split('`').step_by(2).collect())
}

#[test]
fn every_decision_has_an_answer_a_reason_and_a_place() {
    for (_, entry) in decisions().1.values() {
        assert!(places(entry).is_some(), "{entry}");
    }
}

#[test]
fn the_index_by_topic_names_every_decision_and_nothing_else() {
    let page = read(DECISIONS);
    let (_, index) = page.split_once("\n## By topic\n").unwrap();
    let (index, _) = index.split_once(FOOTER).unwrap();
    let rows = index.lines().filter_map(|line| line.strip_suffix(" |")?.rsplit_once(" | "));
    let mut named = BTreeSet::new();
    for (_, entries) in rows.filter(|(_, entries)| *entries != "entries") {
        for entry in entries.split(", ") {
            let (first, last) = entry.split_once(" to ").unwrap_or((entry, entry));
            named.extend(first.parse::<usize>().unwrap()..=last.parse().unwrap());
        }
    }
    assert_eq!(named, decisions().1.into_keys().collect());
}

/// ``(`file::item`)``: an item that a change renames is renamed here, too.
#[test]
fn every_item_that_a_decision_names_is_in_its_file() {
    for (_, entry) in decisions().1.values() {
        for place in places(entry).unwrap() {
            let Some((file, item)) = place.split_once("::") else { continue };
            let text = read(file);
            let found = text.split(|letter| !is_of_a_word(letter)).any(|word| word == item);
            assert!(found, "{entry}: no {item} in {file}");
        }
    }
}

#[test]
fn no_question_is_answered_twice() {
    let mut answered = BTreeMap::new();
    for (number, (_, entry)) in decisions().1 {
        let (_, question) = entry.lines().next().unwrap().split_once(". ").unwrap();
        let before = answered.insert(question.to_owned(), number);
        assert_eq!(before, None, "{question}");
    }
}

/// The words of all sources, and the paths of all files.
fn sources() -> (BTreeSet<String>, Vec<String>) {
    let rooms =
        ["src", "crates", "entity", "migration", "macros", "tests/it", "tests/faults", "benches", "docs"];
    let mut folders: Vec<_> =
        rooms.iter().map(|room| root().join(room)).filter(|room| room.exists()).collect();
    let mut paths: Vec<_> =
        ["openapi.yaml", "Cargo.toml", "README.md", "CHANGELOG.md"].map(str::to_owned).into();
    let mut words = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        let within = folder.strip_prefix(root()).unwrap().display().to_string();
        paths.push(format!("{within}/"));
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
                continue;
            }
            let name = format!("{within}/{}", entry.file_name().to_str().unwrap());
            if [".rs", ".sql"].iter().any(|ending| name.ends_with(ending)) {
                words.extend(read(&name).split(|letter| !is_of_a_word(letter)).map(str::to_owned));
            }
            paths.push(name);
        }
    }
    (words, paths)
}

fn is_of_a_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The numbers of decisions that a source cites: 66, 54 to 58, or 20 and 21.
fn cited(source: &str) -> Vec<usize> {
    let lines = source.lines().map(|line| line.trim_start().trim_start_matches(['/', '!', '#', ' ']));
    let text = lines.collect::<Vec<_>>().join(" ");
    let mut cited = Vec::new();
    for rest in text.split("docs/decisions.md`, ").skip(1) {
        for word in rest.split(' ') {
            match word.trim_end_matches(|letter: char| !letter.is_ascii_digit()).parse() {
                Ok(number) => cited.push(number),
                Err(_) if ["to", "and"].contains(&word) => {}
                Err(_) => break,
            }
            if word.ends_with([')', '.', ':', ';']) {
                break;
            }
        }
    }
    cited
}

#[test]
fn every_decision_that_a_source_cites_is_there() {
    let (entries, mut seen) = (decisions().1, 0);
    let is_rust = |path: &&String| Path::new(path).extension().is_some_and(|ending| ending == "rs");
    for path in sources().1.iter().filter(is_rust) {
        for number in cited(&read(path)) {
            assert!(entries.contains_key(&number), "{path} cites {number}");
            seen += 1;
        }
    }
    assert!(seen > 300, "{seen}");
}

/// A name between backticks, of a file, a type or a function, is one of the sources. Phrases of code and names with a
/// placeholder (`<verb>`) are no names.
#[test]
fn the_pages_for_contributors_name_what_there_is() {
    let (words, paths) = sources();
    let is_file = |name: &str| paths.iter().any(|path| path == name || path.ends_with(&format!("/{name}")));
    let of_a_room = paths.iter().filter(|path| path.ends_with("/README.md") && !path.starts_with("docs/"));
    let pages: Vec<_> =
        of_a_room.map(String::as_str).chain(["docs/architecture.md", "docs/adding.md"]).collect();
    assert!(pages.len() > 5, "{pages:?}");
    let (mut checked, mut unknown) = (0, Vec::new());
    for page in pages {
        let text = read(page);
        let prose: String = text.split("```").step_by(2).collect();
        let names = prose.split('`').skip(1).step_by(2);
        for name in names.filter(|name| !name.contains([' ', '<']) || name.contains("Token<")) {
            let is_path =
                [".rs", ".sql", ".md", ".yaml", ".toml", "/"].iter().any(|ending| name.ends_with(ending));
            let mut parts = name.split(|letter| !is_of_a_word(letter)).filter(|part| !part.is_empty());
            let is_known = if is_path { is_file(name) } else { parts.all(|part| words.contains(part)) };
            if !is_known {
                unknown.push(format!("{page}: {name}"));
            }
            checked += 1;
        }
        for (_, target) in links(&text).iter().filter(|(_, target)| !target.starts_with("http")) {
            assert!(leads_somewhere(page, target), "{page}: {target}");
        }
    }
    assert_eq!(unknown, [""; 0]);
    assert!(checked > 300, "{checked}");
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
