//! What operators read (docs/operating, README, deploy/) names what there is, and all of it.

use std::collections::{BTreeMap, BTreeSet};

use crate::document::site::operating;
use crate::harness::process::{Process, program};

fn text(name: &str) -> String {
    let path = format!("{}/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Words of a text that begin like this, made of these letters.
fn words(text: &str, prefix: &str, letter: fn(char) -> bool) -> BTreeSet<String> {
    let words = text.match_indices(prefix).map(|(at, _)| {
        let word: String = text[at..].chars().take_while(|&it| letter(it)).collect();
        word.trim_end_matches('_').to_owned()
    });
    words.filter(|word| word.len() > prefix.len()).collect()
}

fn is_variable(letter: char) -> bool {
    letter.is_ascii_uppercase() || letter == '_'
}

/// Variables, each without the `_FILE` by which secrets may be given.
fn variables(text: &str) -> BTreeSet<String> {
    let named = words(text, "CARD_PAYMENTS_", is_variable);
    named.into_iter().map(|name| name.trim_end_matches("_FILE").to_owned()).collect()
}

/// What the program reads.
fn known() -> BTreeSet<String> {
    variables(&(text("src/config.rs") + &text("src/config/people.rs") + &text("src/config/vault_key.rs")))
}

/// Those of the README's table, in which names that follow leave out what all begin with.
fn of_the_readme() -> BTreeSet<String> {
    let readme = text("README.md");
    let rows = readme.lines().filter_map(|line| line.strip_prefix("| `CARD_PAYMENTS_"));
    let cells = rows.map(|row| row.split('|').next().unwrap());
    let names = cells.flat_map(|cell| cell.split(',').map(|name| name.trim_matches(['`', ' ', '_'])));
    names.map(|name| format!("CARD_PAYMENTS_{}", name.trim_start_matches("CARD_PAYMENTS_"))).collect()
}

#[test]
fn every_variable_is_in_the_operators_guide_and_the_readme_names_some_of_them() {
    assert_eq!(variables(&operating()), known());
    let of_the_readme = of_the_readme();
    assert!(!of_the_readme.is_empty() && of_the_readme.is_subset(&known()), "{of_the_readme:?}");
}

#[test]
fn files_of_a_deployment_set_variables_that_exist() {
    for name in [
        "deploy/card-payments.service",
        "deploy/environment",
        "deploy/Containerfile",
        "deploy/Containerfile.source",
        "deploy/compose.yaml",
        "deploy/kubernetes.yaml",
    ] {
        let set = variables(&text(name));
        assert!(!set.is_empty() && set.is_subset(&known()), "{name}: {set:?}");
    }
}

/// Name and kind of every metric that a server shows which has taken a payment.
fn metrics() -> BTreeMap<String, String> {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    server.pay(&server.keys().0).ok(201);
    let page = server.ask("GET", "/metrics", None, "").body;
    server.stopped();
    let kinds = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    kinds.map(|kind| kind.split_once(' ').map(|(name, kind)| (name.into(), kind.into())).unwrap()).collect()
}

#[test]
fn every_metric_is_in_the_operators_guide_and_alerts_look_at_nothing_else() {
    let metrics = metrics();
    let is_metric = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    let known: BTreeSet<_> = metrics.keys().cloned().collect();
    assert_eq!(words(&operating(), "card_payments_", is_metric), known);
    let series = |name: &String| {
        let whole = ["_bucket", "_sum", "_count"].iter().find_map(|part| name.strip_suffix(part));
        whole.filter(|whole| metrics.get(*whole).is_some_and(|kind| kind == "histogram")).map(str::to_owned)
    };
    let alerts = words(&text("deploy/alerts.yaml"), "card_payments_", is_metric);
    assert!(alerts.len() > 5);
    for name in alerts {
        let name = series(&name).unwrap_or(name);
        assert!(known.contains(&name), "deploy/alerts.yaml looks at {name}");
    }
}
