//! The parsers of bytes that others write keep their promises for samples of what they are meant to read, and for spoilt ones.
//! `tests/fuzz/run.sh` looks for more.
//!
//! `CARD_PAYMENTS_FUZZ_ROUNDS` says how many inputs they are given together; `CARD_PAYMENTS_FUZZ_SEED` repeats a run.

#[path = "../fuzz/src/targets/mod.rs"]
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use self::targets::{TARGETS, Target};
use crate::wallets::parsers::{Fuzzer, rounds};

/// Holds a parser to its samples and to spoilt ones.
fn hold(target: &Target) {
    let samples = (target.samples)();
    let mut drawn = Fuzzer::new();
    let spoilt = (0..rounds() / TARGETS.len()).map(|_| {
        let mut input = samples[drawn.below(samples.len())].clone();
        if drawn.below(4) == 0 {
            let (at, word) = (drawn.below(input.len()), target.words[drawn.below(target.words.len())]);
            input.splice(at..at, word.bytes());
        }
        drawn.spoil(&mut input);
        input
    });
    for input in samples.iter().cloned().chain(spoilt.collect::<Vec<_>>()) {
        if let Err(broken) = catch_unwind(AssertUnwindSafe(|| (target.hold)(&input))) {
            println!("{}: {:?}", target.name, String::from_utf8_lossy(&input));
            resume_unwind(broken);
        }
    }
}

macro_rules! parsers {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            hold(&targets::$name::TARGET);
        })*

        #[test]
        fn every_parser_is_held() {
            assert_eq!(TARGETS.map(|target| target.name), [$(stringify!($name)),*]);
        }
    };
}

parsers! {
    account_files
    acquirer_wire
    bodies
    connections
    fixtures
    headers
    parameters
    recordings
    searches
    statements
    texts
    variables
    wallets
}
