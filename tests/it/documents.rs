//! Documents that are drawn from the code. `UPDATE_DOCUMENTS=1 cargo test --test it documents` writes them anew.

use std::fmt::Write;
use std::path::PathBuf;

use card_payments::error::ErrorCode;
use card_payments::limits::WEBHOOK_RETRIES;
use card_payments::outbound::Unreached;
use card_payments::services::{
    charges, disputes, merchants, refunds, subscriptions, three_d_secure, transfers, webhooks,
};
use entity::card::CardState;
use entity::event::EventType;
use entity::wallet_certificate::CertificateState;
use entity::webhook::WebhookState;

use crate::harness::{fields, rules, token};

/// The committed file must hold exactly this text.
#[track_caller]
fn committed(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name);
    if std::env::var_os("UPDATE_DOCUMENTS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == text, "{name} is stale: UPDATE_DOCUMENTS=1 cargo test --test it documents");
}

#[test]
fn the_committed_openapi_document_is_current() {
    committed("openapi.yaml", &card_payments::http::document::yaml(&card_payments::http::openapi()));
}

#[test]
fn every_error_code_is_in_the_errors_document() {
    let mut text = String::from(
        "# Errors\n\nDrawn from `src/error/catalogue.rs`, the only place where a code, its status or its sentence is \
         written.\n\nEvery error body is `{\"error\", \"error_description\"}`; `invalid_resource` adds `messages`, one \
         `{\"param\", \"code\", \"message\"}` for each fault, in the order of the specification's parameters; declines \
         and refused voids and captures add `charge_token`, or `authorisation_token` where they are about an authorisation. The body of `insufficient_service_balance` is an array that \
         holds the one error.\n\n| status | error | error_description |\n|---|---|---|\n",
    );
    for code in ErrorCode::ALL {
        writeln!(text, "| {} | `{}` | {} |", code.status(), code.code(), code.description()).unwrap();
    }
    committed("docs/errors.md", &text);
}

#[test]
fn every_state_and_move_is_in_the_states_document() {
    let mut text = String::from(
        "# States\n\nDrawn from the code: a state is one column, its moves one total function. What the API shows as \
         flags (`captured`, `authorisation_voided`, `authorisation_expired`) is computed from it.\n\n## Charge\n\n\
         `processing` becomes `captured` or `authorised` when the acquirer approves, `failed` when it declines or the \
         outcome is unknown and the payment is reversed. An authorisation expires by the clock, seven days after it was \
         made. Of a charge whose cardholder is to verify it, `pending` comes before \
         `processing`, see below. Authorisations stand where charges stand that wait for their capture, and move by the same \
         table: their capture ends in `captured` and makes the charge. Every other move, from `src/services/charges/state.rs`:\n\n```\n",
    );
    text.push_str(&charges::state::table());
    text.push_str(
        "```\n\n## 3-D Secure session\n\nBegins as `open`, with a `pending` charge. An approval makes that `processing`; every \
         other end makes it `failed`. From `src/services/three_d_secure/state.rs`:\n\n```\n",
    );
    text.push_str(&three_d_secure::state::table());
    text.push_str(
        "```\n\n## Refund\n\n`submitting` and `accepted` are pending. A worker submits a refund until the acquirer accepts or \
         declines it; ten seconds after its creation, by the account's clock, what the acquirer announced comes about. From \
         `src/services/refunds/state.rs`:\n\n```\n",
    );
    text.push_str(&refunds::state::table());
    text.push_str(
        "```\n\n## Subscription\n\n`starting` is seen by nobody: the first charge is under way. Every legal move, from \
         `src/services/subscriptions/state.rs`; all others are refused as `invalid_state`:\n\n```\n",
    );
    text.push_str(&subscriptions::state::table());
    text.push_str(
        "```\n\n## Dispute\n\nBegins as `evidence_required`, with the money taken back from the merchant. Changing or submitting \
         evidence and accepting are the merchant's answer; what is not answered in time expires by the account's clock. From \
         `src/services/disputes/state.rs`:\n\n```\n",
    );
    text.push_str(&disputes::state::table());
    text.push_str(
        "```\n\n## Merchant\n\nBegins as `pending_approval`. The operator decides, in test through the sandbox as well. In live, the keys of \
         a merchant that is not active may only read, and those of a declined one open nothing. From \
         `src/services/merchants/state.rs`; all other moves are refused as `invalid_state`:\n\n```\n",
    );
    text.push_str(&merchants::state::table());
    text.push_str(
        "```\n\n## Transfer\n\nA transfer is paid when it is made. To an account number that ends in 999 it comes back a day later, by \
         the account's clock, with its fee. From `src/services/transfers/state.rs`:\n\n```\n",
    );
    text.push_str(&transfers::state::table());
    text.push_str(
        "```\n\n## Card token\n\nAn unused token is used once, by a charge or a customer, or expires after a month.\n\n",
    );
    for state in CardState::ALL {
        let meaning = match state {
            CardState::Unused => "may be used until it expires",
            CardState::Reserved => {
                "held by an attempt the acquirer has not answered: used by its answer, unused again where nothing was charged"
            }
            CardState::Used => "spent on a charge; its digits are erased",
            CardState::Attached => "belongs to a customer and may be charged again and again",
        };
        writeln!(text, "- `{}`: {meaning}", state.code()).unwrap();
    }
    text.push_str(
        "\n## Wallet certificate\n\nA key is made here; the provider certifies it. `PUT /walletA_pay/certificates` is its one \
         move, by compare-and-set.\n\n",
    );
    for state in CertificateState::ALL {
        let meaning = match state {
            CertificateState::Incomplete => {
                "the key waits for its certificate; becomes active by one that carries it"
            }
            CertificateState::Active => {
                "payloads are sealed for it; a second certificate of the key is refused"
            }
        };
        writeln!(text, "- `{}`: {meaning}", state.code()).unwrap();
    }
    text.push_str(
        "\n## Webhook\n\nBegins as `pending`. After a failed delivery a retry is planned, eight times at most. From \
         `src/services/webhooks/state.rs`:\n\n```\n",
    );
    text.push_str(&webhooks::state::table());
    text.push_str("```\n");
    committed("docs/states.md", &text);
}

#[test]
fn what_webhooks_send_is_in_the_document() {
    let document = card_payments::http::openapi();
    let sent = &document["webhooks"]["event"]["post"];
    let schema = &sent["requestBody"]["content"]["application/json"]["schema"]["$ref"];
    let schema = schema.as_str().unwrap().strip_prefix('#').unwrap();
    assert_eq!(
        fields(&document.pointer(schema).unwrap()["properties"]),
        ["token", "type", "data", "created_at"]
    );
    let headers: Vec<_> =
        sent["parameters"].as_array().unwrap().iter().map(|header| &header["name"]).collect();
    assert_eq!(headers, ["webhook-id", "webhook-timestamp", "webhook-signature"]);
    for what in EventType::ALL {
        assert!(sent["description"].as_str().unwrap().contains(what.code()));
    }
}

#[test]
fn the_guide_to_webhooks_tells_every_pause_state_and_error() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/webhooks.md");
    let guide = std::fs::read_to_string(path).unwrap();
    let pauses = WEBHOOK_RETRIES.map(|pause| match pause.millis() / 60_000 {
        minutes @ 0..60 => format!("{minutes} min"),
        minutes => format!("{} h", minutes / 60),
    });
    assert!(guide.contains(&format!("| after | {} |", pauses.join(" | "))), "{pauses:?}");
    let states = WebhookState::ALL.iter().map(|state| state.code());
    let errors = [
        Unreached::ConnectionFailed,
        Unreached::DnsFailed,
        Unreached::TlsFailed,
        Unreached::Timeout,
        Unreached::ForbiddenAddress,
    ];
    for code in states.chain(errors.map(Unreached::code)).chain(["unexpected_http_code"]) {
        assert!(guide.contains(&format!("| `{code}` |")), "{code}");
    }
}

rules! {
    async fn every_example_succeeds_as_it_stands(app) {
        let client = app.client();
        let customer = client.customer("4200000000000000").await;
        let charge = client.authorised(400).await;
        let refunded = client.captured(400).await;
        let recipient = client.recipient("987654321").await;
        let merchant = client.merchant().await;
        let document = card_payments::http::openapi();
        let mut sent = 0;
        for (path, operations) in document["paths"].as_object().unwrap() {
            let path = path.replace("{customer_token}", token(&customer)).replace("{charge_token}", &charge);
            let path = path.replace("{auth_token}", &client.authorisation(400).await);
            // Fresh, because the example of the clock lets pending ones end.
            let refund = client.refund(token(&refunded), 1).await.ok(201);
            let path = path.replace("{refund_token}", token(&refund)).replace("{recipient_token}", token(&recipient));
            let path = path.replace("{merchant_token}", &merchant);
            let path = if path.contains('{') { client.billing_path(&path).await } else { path };
            let dispute = client.disputed(400).await;
            let path = path.replace("{dispute_token}", token(&dispute));
            for (method, operation) in operations.as_object().unwrap() {
                let json = &operation["requestBody"]["content"]["application/json"];
                let Some(example) = json.get("example") else { continue };
                let example = &client.named_in(example).await;
                let answer = match method.as_str() {
                    "post" => client.post(&path, example).await,
                    "put" => client.put(&path, example).await,
                    other => panic!("an example for {other}"),
                };
                assert!((200..300).contains(&answer.status), "{method} {path}: {}", answer.text);
                sent += 1;
            }
        }
        assert_eq!(sent, 34, "every operation with a body has an example");
    }
}
