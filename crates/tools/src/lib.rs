//! The commands that call a running server by HTTP, and know no database: `listen`, `trigger`, `seed`, `mcp`, `requests`, `replay`,
//! `examine`, `coverage`, `bench` and `health`, and what `report` asks the server for. A server that lives as long as a command is brought
//! from above; only `bench` starts processes of its own.
//!
//! The program hands over the knowledge of the API that they have before a server answers, as a [`known_api::KnownApi`]. Terminals
//! and progress bars are for all commands.

#![expect(missing_docs, reason = "names speak inside of the program, whose commands these are")]

pub mod api_client;
pub mod bench;
pub mod coverage;
mod document;
pub mod events;
pub mod examine;
pub mod health;
pub mod html_page;
mod junit;
pub mod known_api;
pub mod listen;
pub mod mcp;
pub mod own_server;
pub mod progress_bar;
pub mod replay;
pub mod report;
pub mod request_line;
pub mod requests;
pub mod seed;
pub mod server_options;
pub mod terminal;
mod test_cards;
pub mod trigger;
