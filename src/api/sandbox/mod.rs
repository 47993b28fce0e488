//! The sandbox, in the test environment only: a live server does not have these routes, and ignores the headers
//! Sandbox-Outcome and Sandbox-Challenge.

mod account;
mod accounts;
mod acquirer;
mod clock;
mod deposits;
mod disputes;
mod inboxes;
mod keys;
mod merchants;
mod outcome;
mod provider_states;
mod refunds;
mod requests;
mod snapshots;
mod subscriptions;
mod wallet_payloads;
mod webhook_endpoints;

pub use outcome::{SANDBOX_CHALLENGE, SANDBOX_OUTCOME, SandboxHeaders};

use super::operations::{Operations, routes};

/// Returns the operations under /1/sandbox.
pub fn operations() -> Operations {
    Operations::default()
        .routes(routes!(clock::get_clock, clock::move_clock))
        .routes(routes!(deposits::create_sandbox_deposit))
        .routes(routes!(disputes::create_sandbox_dispute))
        .routes(routes!(disputes::decide_sandbox_dispute))
        .routes(routes!(refunds::decide_sandbox_refund))
        .routes(routes!(merchants::decide_sandbox_merchant))
        .routes(routes!(subscriptions::unsubscribe_sandbox_subscription))
        .routes(routes!(acquirer::get_sandbox_acquirer, acquirer::update_sandbox_acquirer))
        .routes(routes!(account::get_sandbox_account, account::update_sandbox_account))
        .routes(routes!(accounts::create_sandbox_account))
        .routes(routes!(accounts::delete_sandbox_account))
        .routes(routes!(wallet_payloads::create_sandbox_wallet_payload))
        .routes(routes!(webhook_endpoints::ping_sandbox_webhook_endpoint))
        .routes(routes!(webhook_endpoints::rotate_sandbox_webhook_key))
        .routes(routes!(snapshots::create_sandbox_snapshot, snapshots::list_sandbox_snapshots))
        .routes(routes!(snapshots::restore_sandbox_snapshot))
        .routes(routes!(snapshots::delete_sandbox_snapshot))
        .routes(routes!(inboxes::create_sandbox_inbox, inboxes::list_sandbox_inboxes))
        .routes(routes!(inboxes::update_sandbox_inbox, inboxes::delete_sandbox_inbox))
        .routes(routes!(inboxes::list_sandbox_inbox_deliveries))
        .routes(routes!(keys::create_sandbox_key, keys::list_sandbox_keys))
        .routes(routes!(keys::roll_sandbox_key))
        .routes(routes!(keys::delete_sandbox_key))
        .routes(routes!(provider_states::change_provider_state))
        .routes(routes!(requests::list_sandbox_requests))
        .routes(routes!(requests::get_sandbox_request))
}
