//! Requests and answers, connections and load.

mod base_paths;
mod browsers;
mod client_addresses;
mod connections;
pub mod csv_lists;
mod deep_pages;
mod held_connections;
mod idempotency;
mod limits;
mod overload;
mod problems;
mod representations;
mod requests;
mod unread_bodies;
