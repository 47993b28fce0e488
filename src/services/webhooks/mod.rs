//! A webhook is the delivery of one event to one endpoint (specification, Webhooks and Events; `docs/decisions.md`,
//! 253).

mod deliver;
mod find;
pub mod inboxes;
mod lease;
pub mod outbox;
pub mod params;
mod replay;
pub mod state;
pub mod view;

pub use deliver::{DeliveryAttempt, LeasedWebhook, record, send};
pub use find::{list, of_event, show};
pub use lease::{DueWebhook, announced, due, lease, make_due_now, release, waiting};
pub use replay::replay;
