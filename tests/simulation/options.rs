//! The arguments.

use std::time::Duration;

use base::mutants::Mutant;

use crate::faults::KINDS;

/// What to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// The history of this seed.
    One(u64),
    /// Histories of fresh seeds for so long.
    Fresh(Duration),
    /// Some seeds, each twice.
    Twice,
    /// The names of the mutants.
    Mutants,
    /// Histories of so many seeds at most with each mutant, until one fails.
    Find(u64),
    /// The same, within each mutant's own number of seeds.
    FindAll,
}

/// The arguments.
#[derive(Clone)]
pub struct Options {
    pub command: Command,
    /// For how long clients pay.
    pub shop: Duration,
    /// Of the clients, so many pay.
    pub clients: Option<u64>,
    /// The kinds of faults that may happen.
    pub faults: Vec<&'static str>,
    /// The scenarios to play, in place of drawn ones.
    pub scenarios: Vec<String>,
    /// Whether what was reached is printed.
    pub covers: bool,
    /// Slips that the server has; a history has one at most.
    pub mutants: Vec<Mutant>,
    /// Whether the history is printed.
    pub prints: bool,
    /// Whether the database is a real PostgreSQL, and how many servers it has.
    pub is_postgres: bool,
    pub servers: Option<u64>,
}

impl Options {
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Self {
        let mut options = Self {
            command: Command::Twice,
            shop: Duration::from_mins(1),
            clients: None,
            faults: KINDS.to_vec(),
            scenarios: Vec::new(),
            covers: false,
            mutants: Vec::new(),
            prints: false,
            is_postgres: false,
            servers: None,
        };
        while let Some(argument) = arguments.next() {
            let mut number = || arguments.next().and_then(|text| text.parse().ok()).expect("a number");
            match argument.as_str() {
                "mutants" => options.command = Command::Mutants,
                "--seed" => options.command = Command::One(number()),
                "--fresh" => options.command = Command::Fresh(Duration::from_secs(number())),
                "--find-within" => options.command = Command::Find(number()),
                "--find-all" => options.command = Command::FindAll,
                "--seconds-of-shop" => options.shop = Duration::from_secs(number()),
                "--clients" => options.clients = Some(number()),
                "--mutant" => options.mutants.push(mutant(&arguments.next().unwrap_or_default())),
                "--scenario" => options.scenarios.push(arguments.next().expect("a scenario")),
                "--coverage" => options.covers = true,
                "--without" => {
                    let left_out = arguments.next().expect("a kind of fault");
                    options.faults.retain(|kind| *kind != left_out);
                }
                "--database" => options.is_postgres = arguments.next().as_deref() == Some("postgres"),
                "--servers" => options.servers = Some(number()),
                "--print" => options.prints = true,
                // What `cargo test` hands to every program.
                _ => {}
            }
        }
        options
    }

    /// Returns whether faults of this kind may happen.
    pub fn allows(&self, kind: &str) -> bool {
        self.faults.contains(&kind)
    }

    /// Returns the mutants that are named, or all.
    pub fn mutants(&self) -> Vec<Mutant> {
        if self.mutants.is_empty() { Mutant::ALL.to_vec() } else { self.mutants.clone() }
    }

    /// Returns the arguments that run the history of a seed again.
    pub fn repeat(&self, seed: u64) -> Vec<String> {
        let shop = self.shop.as_secs();
        let mut arguments = vec![("--seed", seed.to_string()), ("--seconds-of-shop", shop.to_string())];
        arguments.extend(self.clients.map(|clients| ("--clients", clients.to_string())));
        arguments.extend(self.is_postgres.then(|| ("--database", "postgres".to_owned())));
        arguments.extend(self.servers.map(|servers| ("--servers", servers.to_string())));
        let left_out = KINDS.iter().filter(|kind| !self.allows(kind));
        arguments.extend(left_out.map(|kind| ("--without", (*kind).to_owned())));
        arguments.extend(self.scenarios.iter().map(|name| ("--scenario", name.clone())));
        arguments.extend(self.mutants.iter().map(|mutant| ("--mutant", mutant.name().to_owned())));
        arguments.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect()
    }
}

fn mutant(name: &str) -> Mutant {
    *Mutant::ALL.iter().find(|mutant| mutant.name() == name).unwrap_or_else(|| panic!("no mutant {name}"))
}
