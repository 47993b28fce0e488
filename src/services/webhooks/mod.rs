//! Webhooks: one event on its way to one endpoint (specification, Webhooks and Events; decisions 11).

mod deliver;
mod find;
mod lease;
mod replay;
mod sign;
pub mod state;

pub use deliver::{DeliveryAttempt, LeasedWebhook, record, send};
pub use find::{list, show};
pub use lease::{DueWebhook, announced, due, lease, make_due_now, release, waiting};
pub use replay::replay;
pub use sign::headers;
