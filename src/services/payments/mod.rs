//! The payment engine. A payment of a card takes three steps: record and commit the intent, call the acquirer with no
//! transaction open, record and commit the outcome (`docs/decisions.md`, 133). A capture or void takes the same three. A charge
//! or an authorisation whose acquirer is a part of this process may be one commit (`one_commit`).
//!
//! Charges, authorisations, 3-D Secure and subscriptions say only in what their payments differ: by the intent that they
//! record (`creation::PaymentIntent`), by what follows in the commit of the outcome (`purpose::PaymentPurpose`), and by the
//! stored origin (`purpose::rules`).

pub(super) mod call;
pub(super) mod capture_listener;
pub(super) mod creation;
pub(super) mod follow_up;
mod one_commit;
pub(super) mod order;
pub(super) mod outcome;
pub(super) mod purpose;
pub mod recovery;
pub(super) mod row;
pub mod state;
pub mod view;
