//! The order in which the collection's requests succeed on a fresh server.

/// The requests before a request: operations whose records it takes, with changes of their example bodies as JSON.
const BEFORE: &[(&str, &[(&str, &str)])] = &[
    ("verify_charge", &[("create_charge", CHALLENGED)]),
    ("void_charge", &[("create_charge", AUTHORISED)]),
    ("capture_charge", &[("create_charge", AUTHORISED)]),
    ("capture_authorisation", &[("create_authorisation", SAME)]),
    ("cancel_customer_subscription", &[("create_plan", SAME), ("create_subscription", SAME)]),
    ("create_plan_subscription", &[("create_customer", SAME)]),
    ("delete_plan", &[("create_plan", SAME)]),
    ("create_subscription", &[("create_plan", SAME)]),
    ("reactivate_subscription", &[("cancel_subscription", SAME)]),
    ("get_deposit", &[("create_sandbox_deposit", SAME)]),
    ("get_dispute", &[("create_charge", SAME), ("create_sandbox_dispute", SAME)]),
    ("accept_dispute", &[("create_charge", SAME), ("create_sandbox_dispute", SAME)]),
    ("delete_wallet_certificate_as_listed", &[("create_wallet_certificate", SAME)]),
    ("list_webhooks", &[("create_webhook_endpoint", SAME), ("create_customer", SAME)]),
    ("create_sandbox_dispute", &[("create_charge", SAME)]),
    ("decide_sandbox_refund", &[("create_charge", SAME), ("create_refund", SAME)]),
    ("decide_sandbox_merchant", &[("create_merchant", SAME)]),
    (
        "unsubscribe_sandbox_subscription",
        &[("create_customer", SAME), ("create_plan", SAME), ("create_subscription", SAME)],
    ),
];

const SAME: &str = "{}";
const AUTHORISED: &str = r#"{ "capture": false }"#;
const CHALLENGED: &str =
    r#"{ "three_d_secure": { "enabled": true, "callback_url": "https://shop.example.com/done" } }"#;

/// Returns the operations that go before this one, with the changes of their bodies.
pub(super) fn before(operation: &str) -> &'static [(&'static str, &'static str)] {
    BEFORE.iter().find(|(id, _)| *id == operation).map_or(&[], |(_, before)| before)
}

/// Returns where an operation stands in its folder: deletions last, and of those the innermost record first.
pub(super) fn place(method: &str, path: &str) -> (bool, std::cmp::Reverse<usize>) {
    let is_deletion = method == "delete";
    (is_deletion, std::cmp::Reverse(if is_deletion { path.split('/').count() } else { 0 }))
}

/// Operations that a collection cannot let succeed, with the status that they answer: no script certifies a key.
const REFUSED: &[(&str, &str)] = &[("update_wallet_certificate", "422")];

/// Returns the status of the refusal, if the operation is one of those.
pub(super) fn refused(operation: &str) -> Option<&'static str> {
    REFUSED.iter().find(|(id, _)| *id == operation).map(|(_, status)| *status)
}
