//! The rules of the API as sentences, through the real router, on both databases.

// Tells clippy that all of this is test code, the harness too: unwrap is allowed.
#![cfg(test)]

mod answers;
mod authentication;
mod browsers;
mod charges;
mod documents;
mod harness;
mod house;
mod requests;
