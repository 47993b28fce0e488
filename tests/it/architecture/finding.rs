//! How rules find what they look for, and the sources that they read.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::Found;

/// The lines of code that `wrong` has something to say about; whole-line comments may speak of anything.
pub fn matching(text: &str, wrong: impl Fn(&str) -> Option<String>) -> Found {
    let code = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
    code.filter_map(|(index, line)| Some((index + 1, wrong(line)?))).collect()
}

pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty())
}

/// `f64` itself, a literal such as `1_f64`, and `as_secs_f64`.
pub fn is_float(word: &str, float: &str) -> bool {
    word.strip_suffix(float)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with(|c: char| c == '_' || c.is_numeric()))
}

pub fn crates(text: &str, forbidden: &[&str]) -> Found {
    matching(text, |line| {
        let named = words(line).find(|word| forbidden.contains(word))?;
        Some(format!("names {named}"))
    })
}

/// Finds `crate::room`, `super::room` and both inside of braces.
pub fn rooms(text: &str, forbidden: &[&str]) -> Found {
    let code = matching(text, |line| Some(line.to_owned()));
    let mut found = Found::new();
    for (index, (number, line)) in code.iter().enumerate() {
        for head in ["crate::", "super::"] {
            for (at, _) in line.match_indices(head) {
                let rest = &line[at + head.len()..];
                let following = code[index + 1..].iter().map(|(_, line)| line.as_str());
                let names = match rest.strip_prefix('{') {
                    Some(group) => outer_names(std::iter::once(group).chain(following)),
                    None => words(rest).take(1).map(str::to_owned).collect(),
                };
                let walls = names.into_iter().filter(|name| forbidden.contains(&name.as_str()));
                found.extend(walls.map(|name| (*number, format!("names {head}{name}"))));
            }
        }
    }
    found
}

/// The first names of the items of a brace group, whose opening brace has been read.
pub fn outer_names<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let (mut depth, mut names, mut item) = (1, Vec::new(), String::new());
    for letter in lines.flat_map(|line| line.chars().chain(['\n'])) {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        let ends = depth == 0 || (depth == 1 && letter == ',');
        if ends {
            names.extend(words(&std::mem::take(&mut item)).next().map(str::to_owned));
        } else {
            item.push(letter);
        }
        if depth == 0 {
            break;
        }
    }
    names
}

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns every source of the project with its path from the root.
pub fn sources() -> &'static [(String, String)] {
    static SOURCES: LazyLock<Vec<(String, String)>> = LazyLock::new(read_sources);
    &SOURCES
}

fn read_sources() -> Vec<(String, String)> {
    let rooms = [
        "src",
        "entity/src",
        "entity/tests",
        "migration/src",
        "migration/tests",
        "tests",
        "benches",
        "packages/examples",
    ];
    let mut folders: Vec<PathBuf> = rooms.map(|name| root().join(name)).into();
    let crates = std::fs::read_dir(root().join("crates")).expect("crates");
    folders.extend(crates.map(|own| own.expect("an entry").path().join("src")));
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                // Programs of others, in thousands of folders, hold no source of ours.
                if path.file_name().is_none_or(|name| name != "node_modules") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root()).expect("below the root").to_str().expect("a plain name");
                sources.push((name.replace('\\', "/"), std::fs::read_to_string(&path).expect("UTF-8")));
            }
        }
    }
    sources.sort();
    sources
}
