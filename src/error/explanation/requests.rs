//! Refusals of any request: route, key, body, parameters, load.

use super::Actor::{Developer, Nobody, Operator};
use super::Explanation;
use super::Repetition::{Corrected, OtherKey, Same};
use super::Sandbox::{Shell, Words};

pub(super) const BAD_REQUEST: Explanation = Explanation {
    meaning: "The server could not read the request. It did not look at any parameter, and nothing was changed.",
    causes: &[
        "The body is JSON, but its Content-Type is missing or is that of a form, as curl sends it of its own accord.",
        "The body is not valid JSON, is no JSON object, or is cut off.",
        "The form is not properly encoded, nested too deeply, or has too many parameters.",
        "The Idempotency-Key is empty, has spaces or is longer than 255 characters.",
        "A wallet session was requested with a validation_url or a domain that is not allowed.",
    ],
    remedy: "Read error_description, which names the fault. For JSON, send the header Content-Type: application/json.",
    actor: Developer,
    repetition: Corrected,
    sandbox: Shell(r#"curl -s "$URL/1/charges" -u "$KEY:" -d '{"amount": 400}'"#),
};

pub(super) const API_UNAVAILABLE: Explanation = Explanation {
    meaning: "This part of the API is switched off for the account, or the account may not change anything yet.",
    causes: &[
        "The account's switch for disputes or for wallets is off.",
        "In live: the merchant is not approved yet, or is on hold.",
    ],
    remedy: "Ask the operator to switch it on or to approve the merchant. In test, switch it on by PUT /1/sandbox/account.",
    actor: Operator,
    repetition: Corrected,
    sandbox: Shell(
        r#"curl -s -o /dev/null -X PUT "$URL/1/sandbox/account" -u "$KEY:" -d disputes=false
curl -s "$URL/1/disputes" -u "$KEY:"
curl -s -o /dev/null -X PUT "$URL/1/sandbox/account" -u "$KEY:" -d disputes=true"#,
    ),
};

pub(super) const UNAUTHORIZED: Explanation = Explanation {
    meaning: "The request has no key that opens this operation. Nothing else of it was looked at.",
    causes: &[
        "There is no key: the header Authorization is missing, or its user name is empty.",
        "The key is not known here: it is misspelled, rotated away, revoked, past its end or comes from a network that it is not for; or it belongs to the other environment, test or live.",
        "It is a publishable key where a secret one is needed. A publishable key only stores cards, payment sources and bank accounts, as the parameter publishable_api_key.",
        "The header says Bearer. A key goes as the user name of Basic authentication, with an empty password: curl -u \"$KEY:\".",
        "The path is one of a partner's, and the account manages no approved partner.",
    ],
    remedy: "Send the secret key as the user name of Basic authentication. The fragment of the header Link, and the detail of application/problem+json, say which of the causes it is.",
    actor: Developer,
    repetition: Corrected,
    sandbox: Shell(r#"curl -s "$URL/1/charges""#),
};

pub(super) const FORBIDDEN: Explanation = Explanation {
    meaning: "The restricted key lacks a right that this operation needs, or a page of another site sent the request.",
    causes: &[
        "The operation needs read of its section for GET and HEAD, and write for others.",
        "The operation shows or changes records of another section, too.",
        "A key with the right to make keys would give more than it has itself.",
        "A form on a page of another site was sent by a browser that had kept a key, or a proxy in between has changed the Host.",
    ],
    remedy: "Use a key that has the right which error_description names. Rights of a key never change: make another key.",
    actor: Developer,
    repetition: Corrected,
    sandbox: Shell(
        r#"RESTRICTED=$(curl -s "$URL/1/sandbox/keys" -u "$KEY:" -d name=Reader -d 'rights[charges]=read' | jq -r .response.secret_key)
curl -s "$URL/1/customers" -u "$RESTRICTED:""#,
    ),
};

pub(super) const NOT_FOUND: Explanation = Explanation {
    meaning: "The account has no record with this token.",
    causes: &[
        "The token is misspelled, or of another kind of record.",
        "The record belongs to another account, or to the other environment.",
        "The record was deleted, or its card has expired.",
    ],
    remedy: "Compare the token with the answer that gave it, and the key with the account that made it.",
    actor: Developer,
    repetition: Corrected,
    sandbox: Shell(r#"curl -s "$URL/1/charges/ch_AZqYv3rVcBKUQ1mHn7tKRw" -u "$KEY:""#),
};

pub(super) const ROUTE_NOT_FOUND: Explanation = Explanation {
    meaning: "No operation has this address.",
    causes: &[
        "The path is misspelled, or its version is missing: every path begins with /1.",
        "The path is one of the sandbox, and the server is live.",
    ],
    remedy: "Compare the path with the operations at /docs/.",
    actor: Developer,
    repetition: Corrected,
    sandbox: Shell(r#"curl -s "$URL/1/nothing" -u "$KEY:""#),
};

pub(super) const RECORD_NOT_FOUND: Explanation = Explanation {
    meaning: "The account has no record with this token; events, webhooks, webhook endpoints and some paths of subscriptions say it by this code.",
    causes: NOT_FOUND.causes,
    remedy: NOT_FOUND.remedy,
    actor: Developer,
    repetition: Corrected,
    sandbox: Shell(r#"curl -s "$URL/1/events/evt_AZqYv3rVcBKUQ1mHn7tKRw" -u "$KEY:""#),
};

pub(super) const METHOD_NOT_ALLOWED: Explanation = Explanation {
    meaning: "There are operations at this address, but none with this method.",
    causes: &[
        "A change was sent by PATCH or POST where the API has PUT.",
        "A JSONP request lacks _method=POST.",
    ],
    remedy: "Use one of the methods that the header Allow names.",
    actor: Developer,
    repetition: Corrected,
    sandbox: Shell(r#"curl -s -X PATCH "$URL/1/charges" -u "$KEY:""#),
};

pub(super) const IDEMPOTENCY_KEY_IN_USE: Explanation = Explanation {
    meaning: "A request with the same Idempotency-Key is still in flight, so its answer cannot be given yet.",
    causes: &[
        "The client has given up waiting and has sent the request again.",
        "The acquirer has not answered yet, and the outcome is not known.",
    ],
    remedy: "Send the same request again after a moment. Once the first one has its answer, you get that.",
    actor: Nobody,
    repetition: Same,
    sandbox: Shell(
        r#"curl -s -o /dev/null "$URL/1/charges" -u "$KEY:" -H 'Idempotency-Key: explain-1' -H 'Sandbox-Outcome: no_answer' \
  -H 'Content-Type: application/json' -d @payment.json &
sleep 3
curl -s "$URL/1/charges" -u "$KEY:" -H 'Idempotency-Key: explain-1' -H 'Content-Type: application/json' -d @payment.json"#,
    ),
};

pub(super) const IDEMPOTENCY_KEY_REUSED: Explanation = Explanation {
    meaning: "The Idempotency-Key was used within 24 hours for a request with another method, path or parameters. This request was not carried out.",
    causes: &[
        "The client does not choose a new key for each intended effect.",
        "A request was changed and sent again under its former key.",
    ],
    remedy: "Choose a new key for a new effect. To learn the earlier outcome, send the earlier request again.",
    actor: Developer,
    repetition: OtherKey,
    sandbox: Shell(
        r#"curl -s -o /dev/null "$URL/1/sandbox/inboxes" -u "$KEY:" -H 'Idempotency-Key: explain-2' -d status=200
curl -s "$URL/1/sandbox/inboxes" -u "$KEY:" -H 'Idempotency-Key: explain-2' -d status=503"#,
    ),
};

pub(super) const PAYLOAD_TOO_LARGE: Explanation = Explanation {
    meaning: "The body is longer than the server reads: 1 MiB, or 11 MiB with a file of at most 10 MiB.",
    causes: &["A file was sent as a parameter of another request.", "The file is too large."],
    remedy: "Upload files by POST /1/files, and make them smaller.",
    actor: Developer,
    repetition: Corrected,
    sandbox: Shell(r#"head -c 1100000 /dev/zero | tr '\0' a | curl -s "$URL/1/charges" -u "$KEY:" -d @-"#),
};

pub(super) const UNSUPPORTED_MEDIA_TYPE: Explanation = Explanation {
    meaning: "The server does not read bodies of this Content-Type.",
    causes: &[
        "The client sends text/plain, XML or another type.",
        "The client names no type that fits its body.",
    ],
    remedy: "Send application/json or application/x-www-form-urlencoded; for a file, multipart/form-data.",
    actor: Developer,
    repetition: Corrected,
    sandbox: Shell(r#"curl -s "$URL/1/charges" -u "$KEY:" -H 'Content-Type: text/plain' -d amount=400"#),
};

pub(super) const INVALID_RESOURCE: Explanation = Explanation {
    meaning: "Parameters are missing or invalid. The list messages has an item for each fault, all of them at once.",
    causes: &[
        "A required parameter is missing or blank.",
        "A value has the wrong form, or is not one of those that the operation takes.",
        "A token in the body is unknown, used, expired or another account's.",
        "In test, the card number is not one of the test cards.",
    ],
    remedy: "Correct each parameter that messages names. The operation's page at /docs/ and card-payments explain REQUEST-ID say what it takes.",
    actor: Developer,
    repetition: Corrected,
    sandbox: Shell(r#"curl -s "$URL/1/charges" -u "$KEY:" -d amount=none"#),
};

pub(super) const INVALID_SEARCH_QUERY_PARAM: Explanation = Explanation {
    meaning: "The query of a search of disputes or merchants is shorter than three characters.",
    causes: &["The client searches while its user is still typing."],
    remedy: "Search once there are three characters; without a query, leave the parameter out.",
    actor: Developer,
    repetition: Corrected,
    sandbox: Shell(r#"curl -s "$URL/1/disputes/search?query=ab" -u "$KEY:""#),
};

pub(super) const RATE_LIMITED: Explanation = Explanation {
    meaning: "The account has sent more requests than its rate allows. This one was not looked at, and its Idempotency-Key is free.",
    causes: &["The client polls, or sends many requests in parallel.", "Several clients share one account."],
    remedy: "Wait as Retry-After says. The headers RateLimit-Policy and RateLimit of each answer say how many requests there are and how many are left.",
    actor: Nobody,
    repetition: Same,
    sandbox: Words("Start a test server with CARD_PAYMENTS_RATE_LIMIT=1 and send five requests in a row."),
};

pub(super) const INTERNAL_ERROR: Explanation = Explanation {
    meaning: "The server has made a mistake. The answer says nothing about the outcome of the request.",
    causes: &["A fault of the program, or stored data that cannot be read."],
    remedy: "Repeat a change with its Idempotency-Key. Give the operator the request id, by which the log has the cause.",
    actor: Operator,
    repetition: Same,
    sandbox: Words("No request causes it: one that does has found a fault of the program."),
};

pub(super) const SERVICE_UNAVAILABLE: Explanation = Explanation {
    meaning: "The server cannot answer at the moment. If it was a change, its outcome may be unknown.",
    causes: &[
        "More requests came than the server takes at once.",
        "The database cannot be reached, is busy, or its disk is full.",
        "The server is starting or stopping.",
    ],
    remedy: "Repeat the request after a moment; a change with its Idempotency-Key. If it lasts, the operator looks at /readyz and the log.",
    actor: Operator,
    repetition: Same,
    sandbox: Words(
        "Send more requests at once than CARD_PAYMENTS_CONCURRENCY admits, or stop the PostgreSQL of a test server.",
    ),
};

pub(super) const GATEWAY_TIMEOUT: Explanation = Explanation {
    meaning: "The request took longer than a minute, or its body came too slowly. Its outcome is not known.",
    causes: &[
        "The acquirer or the database was slow.",
        "The connection of the client stalled during an upload.",
    ],
    remedy: "Repeat a change with its Idempotency-Key: it is done once, and you get its answer. Without a key, look the record up first.",
    actor: Nobody,
    repetition: Same,
    sandbox: Words("Begin the upload of a file and send nothing for thirty seconds."),
};
