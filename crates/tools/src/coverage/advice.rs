//! The line that makes a thing happen: for a shell with $URL, $KEY and payment.json, as docs/testing.md has them.

use http::Method;

use super::goals::{APPROVED, DECLINED, EXPIRED, FAILED, UNAVAILABLE};
use crate::document::Operation;
use crate::trigger;

/// The line for an answer of an earlier request.
pub const REPLAY: &str = "send the same request twice with the same Idempotency-Key";
/// The line for a webhook that is accepted.
pub const ACCEPTED: &str =
    "curl \"$URL/1/sandbox/inboxes\" -u \"$KEY:\" -X POST; register its url, and read its deliveries";
/// The line for a webhook that is refused.
pub const REFUSED: &str =
    "curl \"$URL/1/sandbox/inboxes\" -u \"$KEY:\" -d status=503; register its url, and read its deliveries";

/// Parameters, each with a value that no operation can read.
const UNREADABLE: [(&str, &str); 4] = [
    ("amount", "amount=x"),
    ("email", "email=x"),
    ("customer_permissions", "customer_permissions[]=x"),
    ("include_setup_fee", "include_setup_fee=x"),
];

/// The lines for the ends of a challenge.
pub const CHALLENGES: [(&str, &str); 5] = [
    (
        APPROVED,
        "POST /1/charges with three_d_secure and Sandbox-Challenge: challenge_approved, curl REDIRECT_URL -d '', and GET /1/charges/verify",
    ),
    (DECLINED, "the same with Sandbox-Outcome: card_declined on POST /1/charges"),
    (
        FAILED,
        "POST /1/charges with three_d_secure and Sandbox-Challenge: challenge_refused, curl REDIRECT_URL -d '', and GET /1/charges/verify",
    ),
    (
        UNAVAILABLE,
        "POST /1/charges with three_d_secure and Sandbox-Challenge: not_offered, GET its redirect_url, and GET /1/charges/verify",
    ),
    (
        EXPIRED,
        "POST /1/charges with three_d_secure, PUT /1/sandbox/clock advance=1h, and GET /1/charges/verify",
    ),
];

pub fn to_call(operation: &Operation) -> String {
    match trigger::causing(&operation.method, &operation.path) {
        Some(what) => format!("card-payments trigger {}", what.code()),
        None => to_call_with(operation, ""),
    }
}

pub fn to_call_with(operation: &Operation, query: &str) -> String {
    let method = if operation.method == Method::GET.as_str() {
        String::new()
    } else {
        format!(" -X {}", operation.method)
    };
    let question = if query.is_empty() { "" } else { "?" };
    format!("curl{method} \"$URL{}{question}{query}\" -u \"$KEY:\"", operation.path)
}

/// Returns the line that makes an operation answer this error.
pub fn to_be_refused(operation: &Operation, code: &str) -> String {
    let name = operation.name();
    match (of_code(code), code) {
        (_, "insufficient_service_balance") if operation.path.ends_with("/refunds") => {
            format!("{name} after a transfer of all that GET /1/balance shows as available")
        }
        (Some(line), _) => line.to_owned(),
        (None, "invalid_resource" | "unprocessable_entity") if operation.method == Method::GET.as_str() => {
            if operation.has_pages {
                to_call_with(operation, "per_page=0")
            } else {
                format!("{name} with a value that it cannot read")
            }
        }
        (None, "invalid_resource" | "unprocessable_entity") => {
            match UNREADABLE.iter().find(|(parameter, _)| operation.reads(parameter)) {
                Some((_, sent)) => format!("{} -d {sent}", to_call_with(operation, "")),
                None => format!("{name} with a value that it cannot read"),
            }
        }
        (None, "not_found" | "resource_not_found") => format!("{name} with a token of no record"),
        (None, "invalid_state") => format!("{name} twice: the second finds another state"),
        (None, decline) if operation.reads("Sandbox-Outcome") => {
            format!("{name} with Sandbox-Outcome: {decline}")
        }
        (None, decline) => {
            format!("{name} for a customer whose card is that of {decline} among the test cards")
        }
    }
}

/// Returns the line of an error that is the same for each operation.
fn of_code(code: &str) -> Option<&'static str> {
    Some(match code {
        "bad_request" => "curl \"$URL/1/charges\" -u \"$KEY:\" -H 'Content-Type: application/json' -d '{'",
        "api_unavailable" => {
            "curl -X PUT \"$URL/1/sandbox/account\" -u \"$KEY:\" -d disputes=false; curl \"$URL/1/disputes\" -u \"$KEY:\""
        }
        "unauthorized" => "curl \"$URL/1/balance\" -u sk_of_nobody:",
        "forbidden" => {
            "curl \"$URL/1/sandbox/keys\" -u \"$KEY:\" -d name=reader -d 'rights[charges]=read', and a POST with that key"
        }
        "idempotency_key_in_use" => {
            "curl -X PUT \"$URL/1/sandbox/acquirer\" -u \"$KEY:\" -d latency_ms=2000, and one Idempotency-Key twice at the same time"
        }
        "idempotency_key_reused" => "the same Idempotency-Key with another amount",
        "payload_too_large" => {
            "head -c 3000000 /dev/zero | curl \"$URL/1/charges\" -u \"$KEY:\" -H 'Content-Type: application/json' --data-binary @-"
        }
        "unsupported_media_type" => "curl \"$URL/1/charges\" -u \"$KEY:\" -H 'Content-Type: text/plain' -d x",
        "gateway_error" => "POST /1/charges with Sandbox-Outcome: gateway_error",
        "rate_limited" => "CARD_PAYMENTS_RATE_LIMIT=1 card-payments record --to run.jsonl -- COMMAND",
        "service_unavailable" => "card-payments examine client --log run.jsonl -- COMMAND",
        "token_already_used" => "charge the same card_token twice",
        "already_captured" => "capture it before",
        "already_voided" => "void it before",
        "authorisation_expired" => {
            "curl -X PUT \"$URL/1/sandbox/clock\" -u \"$KEY:\" -d advance=8d after the authorisation"
        }
        "bad_authorisation" => "capture or void the charge of a 400: its charge_token or authorisation_token",
        "invalid_capture_amount" => "capture with another amount than was authorised",
        "insufficient_service_balance" => "transfer more than GET /1/balance shows as available",
        "cannot_delete_plan" => "delete a plan that a customer is subscribed to",
        "cannot_delete_primary_card" => "delete the primary card of a customer",
        "cannot_replay_webhook" => "replay a webhook at once after its event: it is pending",
        "dispute_already_cancelled" => "card-payments trigger dispute.cancelled, and then the same dispute",
        "dispute_already_resolved" => "card-payments trigger dispute.resolved, and then the same dispute",
        "dispute_already_under_review" => {
            "card-payments trigger dispute.evidence_under_review, and then the same dispute"
        }
        "dispute_evidence_already_submitted" => "delete a file of evidence that was submitted",
        "invalid_request" => "pay with the card_token of another customer",
        "invalid_search_query_param" => "search for two letters: query=ab",
        "limit_reached" => "register six webhook endpoints",
        "too_many_card_parameters" => "update a customer with card and card_token",
        "clock_moving" => "move the clock twice at the same time",
        "payments_under_way" => "take a snapshot during a payment with latency_ms=2000",
        "snapshot_too_large" => "take a snapshot of an account with more than 50,000 rows",
        _ => return None,
    })
}
