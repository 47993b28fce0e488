//! Each mutant is one slip at one place, and none is made unless a run chooses it.

use base::mutants::{self, Mutant};

use super::finding::sources;

const TABLE: &str = "crates/base/src/mutants.rs";

/// Returns the files that name a mutant, one for each time.
fn places(sources: &[(String, String)], mutant: &str) -> Vec<String> {
    let of_program = |path: &str| path != TABLE && (path.starts_with("src/") || path.starts_with("crates/"));
    let sources = sources.iter().filter(|(path, _)| of_program(path));
    let named = |text: &str| text.split("Mutant::").skip(1).filter(|rest| first_word(rest) == mutant).count();
    sources.flat_map(|(path, text)| vec![path.clone(); named(text)]).collect()
}

fn first_word(text: &str) -> &str {
    text.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default()
}

#[test]
fn each_mutant_stands_at_exactly_one_place() {
    let sources = sources();
    for mutant in Mutant::ALL {
        let places = places(sources, &format!("{mutant:?}"));
        assert_eq!(places.len(), 1, "{mutant:?}: {places:?}");
    }
}

#[test]
fn a_mutant_that_stands_nowhere_or_twice_is_found() {
    let of = |text: &str| vec![("src/error.rs".to_owned(), text.to_owned())];
    let twice = "mutants::is(Mutant::A) || mutants::is(Mutant::A)";
    assert_eq!(places(&of(twice), "A").len(), 2);
    assert_eq!(places(&of("Mutant::Ab"), "A").len(), 0);
}

#[test]
fn mutants_have_names_of_their_own_and_a_sentence_each() {
    let mut names: Vec<_> = Mutant::ALL.iter().map(|mutant| mutant.name()).collect();
    assert!(names.len() >= 20, "{}", names.len());
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Mutant::ALL.len());
    for mutant in Mutant::ALL {
        let (name, slip) = (mutant.name(), mutant.slip());
        assert!(name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-'), "{name}");
        assert!(slip.starts_with(char::is_uppercase) && slip.ends_with('.'), "{name}: {slip}");
    }
}

#[test]
fn without_a_choice_no_mutant_is_made() {
    assert!(Mutant::ALL.iter().all(|mutant| !mutants::is(*mutant)));
}
