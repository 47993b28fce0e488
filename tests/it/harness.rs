//! What every test leans on: a whole server without its socket, on either database, with a clock to move and
//! every answer checked against the document.

pub mod app;
pub mod books;
pub mod browser;
pub mod client;
#[expect(dead_code, reason = "shared with the benches, which want more of it")]
pub mod cluster;
pub mod collector;
pub mod contract;
pub mod counts;
pub mod fault_proxy;
pub mod fixtures;
pub mod flaky_acquirer;
pub mod identity_provider;
pub mod installed;
pub mod migrated;
pub mod random;

pub mod postgres;
pub mod process;
pub mod raw_database;
pub mod receiver;
pub mod records;
pub mod remote_acquirer;
pub mod rows;
pub mod rules;
pub mod sending;
pub mod skipped;
pub mod small_disk;
pub mod steps;
pub mod stored;
pub mod terminal;
pub mod wallets;

pub use app::{App, Database, MONDAY, as_of};
pub use client::{Answer, Client, card, charge, with};
pub use fixtures::{
    PASSWORD, PDF, application, at_once, bank_account, charge_with, eventually, multipart, rounds, token_of,
};
pub use flaky_acquirer::{FlakyAcquirer, Proof};
pub use installed::Installed;
pub use raw_database::RawDatabase;
pub use receiver::{Behaviour, Received, Receiver};
pub use rules::{Fixture, hold};
pub(crate) use rules::{on_both, operated, rules};
pub use stored::{fields, token};
