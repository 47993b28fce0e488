//! A client of the card payments server. Each operation is a function of its section in [`apis`]; its records are in [`models`].
//!
//! - [`Client`] repeats a request whose connection is lost, or that the server answers with 429, 5xx, or 409 and `Retry-After`.
//! - [`items`] gives the items of all pages of a list.
//! - [`Error`] says what the server refused.
//! - [`verify_webhook`] returns the event of a webhook that the server has signed.

// Names and lengths of what is generated.
#[allow(unused, clippy::all, clippy::pedantic)]
pub mod apis;
mod client;
mod error;
mod items;
mod known_events;
#[allow(unused, clippy::all, clippy::pedantic)]
pub mod models;
mod webhooks;

pub use client::Client;
pub use error::{Error, ErrorKind};
pub use futures_util::{Stream, TryStreamExt};
pub use items::{Page, items};
pub use known_events::WebhookEvent;
pub use webhooks::{WebhookRefused, verify_webhook};
