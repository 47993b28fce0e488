//! A search over guides, operations and errors, in memory: the words of each section with their numbers, and a score that counts rare
//! words and headings more.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::Value;

use super::pages::PAGES;
use super::{ERRORS, HOME, render};
use crate::error::ErrorCode;

/// The number of words of a question that count, and the number of letters of each.
const WORDS_MAX: usize = 16;
const LETTERS_MAX: usize = 40;
/// The number of times that a word in the text of a section counts.
const TIMES_MAX: u32 = 4;
const RESULTS_MAX: usize = 20;
const EXCERPT_LETTERS: usize = 160;

/// Words that say nothing about what is searched for.
const EMPTY_WORDS: [&str; 28] = [
    "a", "an", "and", "are", "at", "be", "by", "can", "do", "does", "for", "from", "how", "i", "in", "is",
    "it", "my", "of", "on", "or", "the", "this", "to", "was", "what", "with", "you",
];

/// The kind of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A section of a guide.
    Guide,
    /// An operation of the API.
    Operation,
    /// An error code.
    Error,
    /// An answer where the specification is silent.
    Decision,
}

impl Kind {
    /// Returns its name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Guide => "Guide",
            Self::Operation => "Operation",
            Self::Error => "Error",
            Self::Decision => "Decision",
        }
    }

    /// Returns how much a result of it counts: guides say what to do, decisions why the server is as it is.
    const fn weight(self) -> u64 {
        match self {
            Self::Guide | Self::Error => 4,
            Self::Operation => 3,
            Self::Decision => 1,
        }
    }
}

#[derive(Debug, Serialize)]
pub struct Found<'a> {
    pub kind: Kind,
    pub title: &'a str,
    /// The heading, or the operation's summary.
    pub heading: &'a str,
    pub url: &'a str,
    /// The text around the first word that was found.
    pub excerpt: String,
}

/// The sections that are searched.
#[derive(Debug)]
pub struct Index(Vec<Entry>);

#[derive(Debug)]
struct Entry {
    kind: Kind,
    title: String,
    heading: String,
    url: String,
    text: String,
    /// The weight of each word here.
    words: HashMap<String, u32>,
}

impl Entry {
    fn new(kind: Kind, (title, heading): (&str, &str), url: String, text: &str) -> Self {
        let mut words = HashMap::new();
        for word in words_of(text) {
            let times = words.entry(word).or_insert(0);
            *times = (*times + 1).min(TIMES_MAX);
        }
        for (part, weight) in [(title, 6), (heading, 12)] {
            for word in words_of(part) {
                *words.entry(word).or_default() += weight;
            }
        }
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        Self { kind, title: title.to_owned(), heading: heading.to_owned(), url, text, words }
    }

    /// Returns how much a word counts here; one that only begins a longer word counts half.
    fn weight(&self, word: &str) -> u64 {
        if let Some(weight) = self.words.get(word) {
            return u64::from(*weight) * 2;
        }
        if word.len() < 4 {
            return 0;
        }
        let longer = self.words.iter().filter(|(known, _)| known.starts_with(word));
        longer.map(|(_, weight)| u64::from(*weight)).max().unwrap_or(0)
    }
}

impl Index {
    /// Creates the index of the guides, the error codes and the operations of a document.
    pub fn new(document: &Value) -> Self {
        let mut entries = Vec::new();
        for page in PAGES {
            let title = page.title();
            let kind = if page.is_decisions() { Kind::Decision } else { Kind::Guide };
            for (at, section) in render::sections(page).into_iter().enumerate() {
                let fragment = if at == 0 { String::new() } else { format!("#{}", section.anchor) };
                let url = format!("{HOME}{}{fragment}", page.name);
                entries.push(Entry::new(kind, (title, &section.heading), url, &section.text));
            }
        }
        for code in ErrorCode::ALL {
            let explanation = code.explanation();
            let text =
                [&[explanation.meaning][..], explanation.causes, &[explanation.remedy]].concat().join(" ");
            let title = format!("{} {}", code.status(), code.code());
            let heading = format!("Why {}? {}", code.status(), code.description());
            entries.push(Entry::new(
                Kind::Error,
                (&title, &heading),
                format!("{ERRORS}/{}", code.code()),
                &text,
            ));
        }
        entries.extend(operations(document));
        Self(entries)
    }

    /// Returns what fits a question best, the best first.
    pub fn search(&self, question: &str) -> Vec<Found<'_>> {
        let mut words: Vec<_> = words_of(question).take(WORDS_MAX).collect();
        words.sort_unstable();
        words.dedup();
        let weighed = |entry: &Entry| words.iter().map(|word| entry.weight(word)).collect::<Vec<_>>();
        let weighed: Vec<_> = self.0.iter().map(weighed).collect();
        let rarities: Vec<_> = (0..words.len()).map(|word| rarity(&weighed, word)).collect();
        let mut found: Vec<_> = self
            .0
            .iter()
            .zip(&weighed)
            .filter_map(|(entry, weights)| {
                let weights = weights.iter().zip(&rarities).map(|(weight, rarity)| weight * rarity);
                let (matched, score) = weights
                    .filter(|weight| *weight > 0)
                    .fold((0_u64, 0_u64), |(matched, score), weight| (matched + 1, score + weight));
                // A section with all words is worth more than one with the same word again and again.
                (score > 0).then(|| (score * entry.kind.weight() * matched * matched, entry))
            })
            .collect();
        found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        let best = found.into_iter().take(RESULTS_MAX);
        best.map(|(_, entry)| Found {
            kind: entry.kind,
            title: &entry.title,
            heading: &entry.heading,
            url: &entry.url,
            excerpt: excerpt(&entry.text, &words),
        })
        .collect()
    }
}

/// Returns how rare a word is, by the weights of all words in each entry: 1 if it stands everywhere.
fn rarity(weighed: &[Vec<u64>], word: usize) -> u64 {
    let with = weighed.iter().filter(|weights| weights[word] > 0).count().max(1);
    u64::from((weighed.len() / with).max(1).ilog2()) + 1
}

fn operations(document: &Value) -> Vec<Entry> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut entries = Vec::new();
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in methods.as_object().into_iter().flatten() {
            let (id, tag) = (text(&operation["operationId"]), text(&operation["tags"][0]));
            if id.is_empty() || method == "head" {
                continue;
            }
            let title = format!("{} {path}", method.to_uppercase());
            let url = format!("/docs/#/{}/{id}", tag.replace(' ', "%20"));
            let about = format!("{} {tag}", text(&operation["description"]));
            entries.push(Entry::new(Kind::Operation, (&title, &text(&operation["summary"])), url, &about));
        }
    }
    entries
}

/// Returns the words of a text that count, in small letters and without the s of a plural.
fn words_of(text: &str) -> impl Iterator<Item = String> {
    // One name of many spellings.
    let text = text
        .to_lowercase()
        .replace("3-d secure", "3ds")
        .replace("3d secure", "3ds")
        .replace("three_d_secure", "3ds");
    let words: Vec<_> = text
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty() && !EMPTY_WORDS.contains(word))
        .map(|word| {
            let word: String = word.chars().take(LETTERS_MAX).collect();
            match word.strip_suffix('s') {
                Some(stem) if stem.len() > 2 && !stem.ends_with('s') && word != "3ds" => stem.to_owned(),
                _ => word,
            }
        })
        .collect();
    words.into_iter()
}

/// Returns the text around the first word that was found, or its beginning.
fn excerpt(text: &str, words: &[String]) -> String {
    let mut places = text.split(' ').scan(0, |at, word| {
        let here = *at;
        *at += word.len() + 1;
        Some((here, word))
    });
    let is_wanted = |word: &str| words_of(word).any(|word| words.contains(&word));
    let first = places.find(|(_, word)| is_wanted(word)).map_or(0, |(at, _)| at);
    // A few words before it.
    let from = text[..first].rmatch_indices(' ').nth(5).map_or(0, |(at, _)| at + 1);
    let rest = &text[from..];
    let end = rest.char_indices().nth(EXCERPT_LETTERS).map(|(at, _)| at);
    let shown = end.map_or(rest, |end| &rest[..rest[..end].rfind(' ').unwrap_or(end)]);
    let (before, after) = (if from > 0 { "… " } else { "" }, if end.is_some() { " …" } else { "" });
    format!("{before}{shown}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_compared_without_their_spelling() {
        let words = |text| words_of(text).collect::<Vec<_>>();
        assert_eq!(words("How do I test a 3-D Secure failure?"), ["test", "3ds", "failure"]);
        assert_eq!(words("refunds, Refund's address"), ["refund", "refund", "s", "address"]);
    }

    #[test]
    fn a_long_question_has_an_answer_or_none() {
        let index = Index::new(&Value::Null);
        let long = "refund ".repeat(100_000) + &"x".repeat(1_000_000);
        assert!(!index.search(&long).is_empty());
        assert!(index.search("").is_empty() && index.search("the of ... ?").is_empty());
        assert!(index.search("é".repeat(500).as_str()).is_empty());
    }

    #[test]
    fn an_excerpt_begins_before_the_word() {
        let text = "one two three four five six seven eight nine ten refund eleven";
        assert_eq!(excerpt(text, &["refund".to_owned()]), "… six seven eight nine ten refund eleven");
        assert_eq!(excerpt("", &["refund".to_owned()]), "");
    }
}
