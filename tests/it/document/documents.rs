//! Documents that are drawn from the code. `UPDATE_DOCUMENTS=1 cargo test --test it documents` rewrites them.

mod editions;
mod events;
mod links;
mod names;
mod recorded;
mod samples;
#[path = "../../../benches/scaling/page/mod.rs"]
mod scaling;
mod types;

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write;
use std::io::Write as _;
use std::path::PathBuf;

use card_payments::error::ErrorCode;
use card_payments::limits::WEBHOOK_RETRIES;
use card_payments::params::LISTS;
use card_payments::services::{
    approvals, disputes, merchants, payments, reconciliation, refunds, subscriptions, three_d_secure,
    transfers, webhooks,
};
use entity::card::CardState;
use entity::failure::Decline;
use entity::wallet_certificate::CertificateState;
use entity::webhook::WebhookState;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::Method;
use outbound::OutboundError;
use serde_json::{Value, json};

use crate::answers::Operation;
use crate::document::site::{committed, footer, read, root};
use crate::harness::app::DOCUMENT;
use crate::harness::rules;

#[test]
fn the_committed_openapi_document_is_current() {
    committed("openapi.yaml", &card_payments::api::openapi::yaml(&card_payments::api::openapi()));
}

#[test]
fn the_document_is_no_longer_than_500_000_bytes_or_64_000_compressed() {
    let document = &*DOCUMENT;
    let yaml = card_payments::api::openapi::yaml(document);
    for text in [yaml, document.to_string()] {
        assert!(text.len() <= 500_000, "{}", text.len());
        let mut compressed = GzEncoder::new(Vec::new(), Compression::best());
        compressed.write_all(text.as_bytes()).unwrap();
        let compressed = compressed.finish().unwrap();
        assert!(compressed.len() <= 64_000, "{}", compressed.len());
    }
}

/// No operation names what any of them may answer; the description does.
#[test]
fn the_description_tells_what_every_operation_may_answer_beside_its_own() {
    let front = DOCUMENT["info"]["description"].as_str().unwrap();
    for told in [
        "`Accept: text/csv`",
        "405 `method_not_allowed`",
        "`Allow`",
        "`Cache-Control: no-store`",
        "`Server-Timing`",
        "`X-Request-Id`",
        "pages of every origin",
        "## JSONP",
    ] {
        assert!(front.contains(told), "{told}");
    }
}

/// Sharing what operations have in common loses none of it.
#[test]
fn every_operation_keeps_each_of_its_errors() {
    let document = &*DOCUMENT;
    let mut lines = String::new();
    for (name, operation) in operations(document).filter(|(name, _)| !name.starts_with("HEAD")) {
        for (status, response) in operation["responses"].as_object().unwrap() {
            let response = resolved(document, response);
            let examples = response.pointer("/content/application~1json/examples").and_then(Value::as_object);
            for (code, example) in examples.into_iter().flatten().filter(|_| status.as_str() >= "400") {
                assert!(resolved(document, example).get("value").is_some(), "{name} {status} {code}");
                writeln!(lines, "{name} {status} {code}").unwrap();
            }
        }
    }
    let mut lines: Vec<_> = lines.lines().collect();
    lines.sort_unstable();
    committed("tests/fixtures/errors.txt", &(lines.join("\n") + "\n"));
}

#[test]
fn every_error_code_is_in_the_errors_document() {
    let mut text = String::from(
        "# Errors\n\nDrawn from `src/error/catalogue.rs`, the only place where a code, its status or its sentence is \
         written.\n\nEvery error body is `{\"error\", \"error_description\"}`; `invalid_resource` and `unprocessable_entity` add `messages`, one \
         `{\"param\", \"code\", \"message\"}` for each fault, in the order of the specification's parameters; declines \
         and refused voids and captures add `charge_token`, or `authorisation_token` where they are about an authorisation. The body of `insufficient_service_balance` is an array that \
         holds the one error.\n\nWhat a code means, what causes it, and what to do: a server's page `/docs/errors/CODE`, to which the header `Link` of each \
         refusal leads, and `card-payments explain CODE`. With `Accept: application/problem+json` a refusal is a problem of RFC 9457.\n\nDeclines, the issuer's answers, are ",
    );
    let declines: Vec<_> = Decline::ALL.iter().map(|decline| format!("`{}`", decline.code())).collect();
    text.push_str(&declines.join(", "));
    text.push_str(".\n\n| status | error | error_description |\n|---|---|---|\n");
    for code in ErrorCode::ALL {
        writeln!(text, "| {} | `{}` | {} |", code.status(), code.code(), code.description()).unwrap();
    }
    committed("docs/errors.md", &(text + &footer("docs/errors.md")));
}

#[test]
fn every_state_and_move_is_in_the_states_document() {
    let mut text = String::from(
        "# States\n\nDrawn from the code: a state is one column, its moves one total function. What the API shows as \
         flags (`captured`, `authorisation_voided`, `authorisation_expired`) is computed from it.\n\n## Charge\n\n\
         `processing` becomes `captured` or `authorised` when the acquirer approves, `failed` when it declines or the \
         outcome is unknown and the payment is reversed. An authorisation expires by the clock, seven days after it was \
         made. A charge with 3-D Secure is `pending` before it is `processing`, see below. Authorisations share the states and the \
         table: their capture ends in `captured` and makes the charge. Every other move, from `src/services/payments/state.rs`:\n\n```\n",
    );
    text.push_str(&payments::state::table());
    text.push_str(
        "```\n\n## 3-D Secure session\n\nBegins as `open`, with a `pending` charge. An approval makes that `processing`; every \
         other end makes it `failed`. From `src/services/three_d_secure/state.rs`:\n\n```\n",
    );
    text.push_str(&three_d_secure::state::table());
    text.push_str(
        "```\n\n## Refund\n\n`submitting` and `accepted` are pending. A worker submits a refund until the acquirer accepts or \
         declines it; ten seconds after its creation, by the account's clock, the announced outcome takes effect. From \
         `src/services/refunds/state.rs`:\n\n```\n",
    );
    text.push_str(&refunds::state::table());
    text.push_str(
        "```\n\n## Subscription\n\nNo client sees `starting`: the first charge is in flight. Every legal move, from \
         `src/services/subscriptions/state.rs`; all others are refused as `invalid_state`:\n\n```\n",
    );
    text.push_str(&subscriptions::state::table());
    text.push_str(
        "```\n\n## Dispute\n\nBegins as `evidence_required`, with the money taken back from the merchant. The merchant answers by \
         evidence or acceptance; without an answer the dispute expires by the account's clock. From \
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
        "```\n\n## Transfer\n\nA transfer is paid when it is made. In test, the bank returns one to an account number that ends in 999 \
         a day later, by the account's clock, with its fee. From `src/services/transfers/state.rs`:\n\n```\n",
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
    text.push_str(
        "```\n\n## Exception of a reconciliation\n\nWhat a statement of the acquirer and the books do not say alike begins as `open`. \
         From `src/services/reconciliation/state.rs`:\n\n```\n",
    );
    text.push_str(&reconciliation::state::table());
    text.push_str(
        "```\n\n## Request for approval\n\nWhat takes two persons at the dashboard begins as `pending`. From \
         `src/services/approvals.rs`:\n\n```\n",
    );
    text.push_str(&approvals::table());
    text.push_str("```\n");
    committed("docs/states.md", &(text + &footer("docs/states.md")));
}

#[test]
fn the_tables_about_scaling_are_those_of_the_model() {
    let page = scaling::tables().iter().fold(read("docs/scaling.md"), |page, table| {
        let heading = table.lines().next().unwrap();
        let (before, after) =
            page.split_once(heading).unwrap_or_else(|| panic!("no table begins with {heading}"));
        let (_, after) = after.split_once("\n\n").unwrap();
        format!("{before}{table}\n{after}")
    });
    committed("docs/scaling.md", &page);
}

#[test]
fn the_tests_that_compliance_names_are_there() {
    let page = read("docs/compliance.md");
    let named: Vec<_> = page.split('`').filter_map(|word| word.rsplit_once("::")).collect();
    assert!(named.len() > 40, "{named:?}");
    for (module, test) in named {
        let file = module.replace("::", "/");
        let folder = std::fs::read_dir(root().join(format!("tests/it/{file}"))).into_iter().flatten();
        let parts =
            folder.map(|entry| entry.unwrap().path()).chain([root().join(format!("tests/it/{file}.rs"))]);
        let is_in = |part: PathBuf| {
            std::fs::read_to_string(part).is_ok_and(|text| text.contains(&format!("fn {test}(")))
        };
        assert!(parts.into_iter().any(is_in), "{module}::{test}");
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
        OutboundError::ConnectionFailed,
        OutboundError::DnsFailed,
        OutboundError::TlsFailed,
        OutboundError::Timeout,
        OutboundError::ForbiddenAddress,
    ];
    for code in states.chain(errors.map(OutboundError::code)).chain(["unexpected_http_code"]) {
        assert!(guide.contains(&format!("| `{code}` |")), "{code}");
    }
}

/// Each operation with its method and path.
fn operations(document: &Value) -> impl Iterator<Item = (String, &Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().iter();
        methods.map(move |(method, operation)| (format!("{} {path}", method.to_uppercase()), operation))
    })
}

pub fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    value["$ref"].as_str().map_or(value, |reference| document.pointer(&reference[1..]).unwrap())
}

#[test]
fn every_operation_is_described_whole() {
    let document = &*DOCUMENT;
    let tags: Vec<_> = document["tags"].as_array().unwrap().iter().map(|tag| &tag["name"]).collect();
    let mut ids = HashSet::new();
    for (name, operation) in operations(document) {
        assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{name}: another has its id");
        assert!(
            operation["tags"].as_array().unwrap().len() == 1 && tags.contains(&&operation["tags"][0]),
            "{name}"
        );
        for text in ["summary", "description"] {
            assert!(operation[text].as_str().is_some_and(|text| !text.is_empty()), "{name}: {text}");
        }
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let parameter = resolved(document, parameter);
            assert!(!parameter["description"].as_str().unwrap().is_empty(), "{name}: {parameter}");
            assert_ne!(
                parameter["schema"]["type"],
                json!(["string", "null"]),
                "{name}: a parameter is not null"
            );
        }
        for (media, body) in operation["requestBody"]["content"].as_object().into_iter().flatten() {
            assert!(!body["schema"].to_string().contains("\"null\""), "{name}: a body is not null: {media}");
        }
        if name.contains('{') && name.starts_with("GET") {
            assert!(operation["responses"].get("404").is_some(), "{name}");
        }
    }
}

#[test]
fn every_error_is_named_with_the_body_that_it_has() {
    let document = &*DOCUMENT;
    for (name, operation) in operations(document).filter(|(name, _)| !name.starts_with("HEAD")) {
        for (status, response) in operation["responses"].as_object().unwrap() {
            if status.as_str() < "400" {
                continue;
            }
            let response = resolved(document, response);
            let examples = response["content"]["application/json"]["examples"].as_object().unwrap();
            assert!(!examples.is_empty(), "{name} {status}: {}", response["description"]);
            for (code, example) in examples {
                let body = &resolved(document, example)["value"];
                assert_eq!(body.get(0).unwrap_or(body)["error"], json!(code), "{name} {status}");
                assert!(response["description"].as_str().unwrap().contains(code), "{name} {status} {code}");
            }
        }
    }
}

#[test]
fn a_refused_authorisation_is_named_and_no_charge() {
    let document = &*DOCUMENT;
    let mut seen = 0;
    for (name, operation) in operations(document).filter(|(name, _)| name.contains("/authorisations")) {
        for (status, response) in operation["responses"].as_object().unwrap() {
            let response = resolved(document, response);
            let examples = response["content"]["application/json"]["examples"].as_object();
            for (code, example) in examples.into_iter().flatten() {
                let body = &resolved(document, example)["value"];
                assert_eq!(body.get("charge_token"), None, "{name} {status} {code}");
                seen += usize::from(
                    body["authorisation_token"].as_str().is_some_and(|token| token.starts_with("auth_")),
                );
            }
        }
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn every_reader_of_yaml_reads_the_document_alike() {
    let document = &*DOCUMENT;
    let text = card_payments::api::openapi::yaml(document);
    let read: Value = yaml_serde::from_str(&text).unwrap();
    assert!(read == *document);
    // YAML 1.1 has a type of its own for them.
    let is_bare = |line: &&str| {
        line.rsplit_once(' ').is_some_and(|(before, word)| {
            let year = word.split_once('-').map_or("", |(year, _)| year);
            before.ends_with([':', '-']) && year.len() == 4 && year.parse::<u16>().is_ok()
        })
    };
    assert_eq!(text.lines().find(is_bare), None);
}

#[test]
fn every_list_that_a_form_sends_is_read_as_one() {
    let schemas = &DOCUMENT["components"]["schemas"];
    let mut lists = BTreeSet::new();
    for (_, operation) in operations(&DOCUMENT) {
        let form = &operation["requestBody"]["content"]["application/x-www-form-urlencoded"];
        let schema = form["schema"]["$ref"].as_str().and_then(|schema| schema.rsplit('/').next());
        let fields =
            schema.and_then(|schema| schemas[schema]["properties"].as_object()).into_iter().flatten();
        for (name, _) in fields.filter(|(_, field)| field["type"].to_string().contains("\"array\"")) {
            assert_eq!(form["encoding"][name], json!({ "style": "form", "explode": true }), "{name}");
            lists.insert(name.as_str());
        }
    }
    // Lists within an object are of no form that the document describes.
    let outermost = LISTS.iter().filter_map(|path| if let [name] = path { Some(*name) } else { None });
    assert_eq!(Vec::from_iter(lists), outermost.collect::<Vec<_>>());
}

#[test]
fn every_answer_names_its_headers() {
    let document = &*DOCUMENT;
    for (name, operation) in operations(document) {
        for (status, response) in operation["responses"].as_object().unwrap() {
            let response = resolved(document, response);
            let mut wanted = vec!["X-Request-Id"];
            match status.as_str() {
                "401" => wanted.push("WWW-Authenticate"),
                "429" | "503" => wanted.push("Retry-After"),
                "409" if response["description"].as_str().unwrap().contains("idempotency_key_in_use") => {
                    wanted.push("Retry-After");
                }
                "200" | "201" if !name.starts_with("GET") && !name.starts_with("HEAD") => {
                    wanted.push("Idempotent-Replayed");
                }
                _ => {}
            }
            for header in wanted {
                assert!(response["headers"].get(header).is_some(), "{name} {status}: {header}");
            }
            // Of refusals only a decline is kept under its key.
            let declines = response["description"].as_str().unwrap().contains("card_declined");
            let replayed = response["headers"].get("Idempotent-Replayed").is_some();
            assert!(!replayed || status.starts_with('2') || declines, "{name} {status}");
        }
    }
}

#[test]
fn no_choice_is_empty() {
    assert!(!DOCUMENT.to_string().contains(r#""enum":[]"#));
}

#[test]
fn no_schema_stands_twice() {
    let document = &*DOCUMENT;
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for (name, schema) in schemas.iter().filter(|(_, schema)| schema.get("properties").is_some()) {
        let text = schema.to_string();
        assert_eq!(
            document.to_string().matches(&text).count(),
            1,
            "{name} is written out where it could be named"
        );
    }
    for reference in document.to_string().split("\"$ref\":\"#").skip(1) {
        let reference = reference.split('"').next().unwrap();
        assert!(document.pointer(reference).is_some(), "{reference} leads nowhere");
    }
}

rules! {
    async fn an_operation_has_callbacks_if_it_causes_events(app) {
        let client = app.client();
        let mut wrong = Vec::new();
        for Operation { method, path: template, described } in &crate::answers::operations() {
            if described["tags"][0] == "Sandbox" || [Method::GET, Method::HEAD].contains(method) {
                continue;
            }
            let (path, body) = (app.path_of(&client, template).await, client.body_of(described).await);
            if template.ends_with("/reactivate") {
                // It is billed once the interval that was paid has ended.
                client.put("/1/sandbox/clock", &json!({ "advance": "32d" })).await.ok(200);
            }
            let before = app.events().await.len();
            let answer = client.perform(method, &path, &body).await;
            assert!(answer.status < 300, "{method} {template}: {}", answer.text);
            if (app.events().await.len() > before) != described.get("callbacks").is_some() {
                wrong.push(described["operationId"].clone());
            }
        }
        assert_eq!(wrong, [json!(null); 0]);
    }

    async fn every_example_gets_the_response_of_its_name(app) {
        let client = app.client();
        let document = &*DOCUMENT;
        let mut sent = 0;
        for (template, operations) in document["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                let json = &operation["requestBody"]["content"]["application/json"];
                for (name, example) in json["examples"].as_object().into_iter().flatten() {
                    let example = &client.named_in(&example["value"]).await;
                    let path = app.path_of(&client, template).await;
                    let answer = match method.as_str() {
                        "post" => client.post(&path, example).await,
                        "put" => client.put(&path, example).await,
                        other => panic!("an example for {other}"),
                    };
                    // It gets the response whose example has its name.
                    let status = answer.status.to_string();
                    let response = resolved(document, &operation["responses"][&status]);
                    let shown = &response["content"]["application/json"]["examples"];
                    assert!(shown.get(name).is_some() || status == "204", "{method} {path} {name}: {}", answer.text);
                    assert_eq!(answer.status < 300, name == "success", "{method} {path}: {}", answer.text);
                    sent += 1;
                }
            }
        }
        assert_eq!(sent, 46, "every operation with a body has an example, and two have declined ones");
    }
}
