//! A card payments API server: stateful, offline, crash-safe, correct about money and described by a document
//! that generators accept. `docs/architecture.md` is the way in.

pub mod acquirer;
pub mod answer;
pub mod app;
pub mod blobs;
pub mod card_number;
pub mod check;
pub mod clock;
pub mod config;
pub mod crash;
pub mod error;
pub mod folder;
pub mod http;
pub mod limits;
pub mod outbound;
pub mod params;
pub mod password;
pub mod permits;
pub mod random;
pub mod remote;
pub mod secret;
pub mod services;
pub mod store;
pub mod trace;
pub mod under_way;
pub mod vault;
pub mod views;
pub mod wallet;
pub mod workers;
