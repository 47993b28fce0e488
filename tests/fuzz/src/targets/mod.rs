//! Every parser of bytes that others write, and what it promises whatever they are.
//!
//! `tests/fuzz/run.sh` lets libFuzzer look for inputs that break a promise, led by the branches that they reach. `tests/it/parsers.rs`
//! holds the parsers to their samples, and to spoilt ones, in every run of the tests.

pub mod account_files;
pub mod acquirer_wire;
pub mod bodies;
pub mod connections;
pub mod fixtures;
pub mod headers;
pub mod parameters;
pub mod recordings;
pub mod searches;
pub mod statements;
pub mod texts;
pub mod variables;
pub mod wallets;

/// A parser.
pub struct Target {
    pub name: &'static str,
    /// Gives it an input. A broken promise is a panic.
    pub hold: fn(&[u8]),
    /// Inputs to begin with.
    pub samples: fn() -> Vec<Vec<u8>>,
    /// Words that it looks for: letters drawn at random hardly ever make one.
    pub words: &'static [&'static str],
}

pub const TARGETS: [Target; 13] = [
    account_files::TARGET,
    acquirer_wire::TARGET,
    bodies::TARGET,
    connections::TARGET,
    fixtures::TARGET,
    headers::TARGET,
    parameters::TARGET,
    recordings::TARGET,
    searches::TARGET,
    statements::TARGET,
    texts::TARGET,
    variables::TARGET,
    wallets::TARGET,
];

/// Returns texts as inputs.
fn inputs<const N: usize>(texts: [&str; N]) -> Vec<Vec<u8>> {
    texts.map(|text| text.as_bytes().to_vec()).into()
}

/// Returns the first line of an input, and what stands below it.
fn first_line(input: &[u8]) -> (&[u8], &[u8]) {
    let end = input.iter().position(|byte| *byte == b'\n');
    end.map_or((input, &[]), |end| (&input[..end], &input[end + 1..]))
}
