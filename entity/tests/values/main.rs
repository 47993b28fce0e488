//! Values: what they are, how they are written, and that they read back. Beside the crate, whose tables take long to compile: in it, they
//! would be compiled twice.

// Tells clippy that all of this is test code: unwrap is allowed.
#![cfg(test)]

mod account;
mod acquirer_faults;
mod card_attack;
mod charge;
mod currency;
mod failure;
mod pricing;
mod rate;
mod rounding;
mod timestamp;
mod token;
