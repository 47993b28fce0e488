//! Arguments of the programs: names, which may end with a flag, and `--name value` pairs.

use std::collections::{BTreeMap, BTreeSet};

/// Where the data is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Database {
    Sqlite,
    Postgres,
}

impl Database {
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

/// The arguments.
pub struct Options {
    names: Vec<String>,
    values: BTreeMap<String, String>,
    flags: BTreeSet<String>,
    seed: u64,
}

impl Options {
    /// Flags without a value are part of a name, or the test runner's.
    pub fn parse(arguments: impl Iterator<Item = String>) -> Self {
        let (mut names, mut values, mut flags) = (Vec::new(), BTreeMap::new(), BTreeSet::new());
        let mut arguments = arguments.peekable();
        while let Some(argument) = arguments.next() {
            match argument.strip_prefix("--") {
                None if argument.starts_with('-') => {}
                None => names.push(argument),
                Some(name) => {
                    if let Some(value) = arguments.next_if(|next| !next.starts_with('-')) {
                        values.insert(name.to_owned(), value);
                    } else {
                        flags.insert(argument);
                    }
                }
            }
        }
        let mut options = Self { names, values, flags, seed: 0 };
        options.seed = options.number("seed", getrandom::u64().unwrap() >> 1);
        options
    }

    /// Returns whether a program is to run: the one that is named, or all.
    pub fn chooses(&self, name: &str) -> bool {
        let (name, flag) = name.split_once(' ').map_or((name, None), |(name, flag)| (name, Some(flag)));
        let is_flagged = match flag {
            Some(flag) => self.flags.contains(flag),
            // One with a flag is another program.
            None => !self.flags.contains("--ready"),
        };
        self.names.is_empty() || is_flagged && self.names.iter().any(|named| named == name)
    }

    /// Returns whether programs are named, which is done to measure.
    pub fn has_names(&self) -> bool {
        !self.names.is_empty()
    }

    /// Returns whether it is to run on a database: the one that is named, or all that it is about.
    pub fn is_on(&self, database: Database) -> bool {
        self.text("database").is_none_or(|named| named == database.name())
    }

    /// Returns the seed of all random numbers of a run.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    pub fn number(&self, name: &str, otherwise: u64) -> u64 {
        self.text(name)
            .map_or(otherwise, |value| value.parse().unwrap_or_else(|_| panic!("--{name} {value}")))
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }
}
