//! Refusals that depend on the state of a record or of the account.

use super::Actor::{Developer, Nobody};
use super::Explanation;
use super::Repetition::{Corrected, Never, Same};
use super::Sandbox::{Shell, Words};

/// Returns lines that make a customer and a plan first: `$CUSTOMER` and `$PLAN` are their tokens.
macro_rules! billed {
    ($lines:literal) => {
        Shell(concat!(
            "CUSTOMER=$(jq '{email, card}' payment.json | curl -s \"$URL/1/customers\" -u \"$KEY:\" -H 'Content-Type: application/json' -d @- |\n  \
             jq -r .response.token)\n",
            "PLAN=$(curl -s \"$URL/1/plans\" -u \"$KEY:\" -d name=Coffee -d amount=1000 -d interval=1 -d interval_unit=month | jq -r .response.token)\n",
            $lines
        ))
    };
}

/// Returns lines that dispute a charge first: `$DISPUTE` is the dispute's token.
macro_rules! disputed {
    ($lines:literal) => {
        Shell(concat!(
            "curl -s -o /dev/null \"$URL/1/charges\" -u \"$KEY:\" -H 'Sandbox-Outcome: disputed' -H 'Content-Type: application/json' -d @payment.json\n",
            "DISPUTE=$(curl -s \"$URL/1/disputes?per_page=1\" -u \"$KEY:\" | jq -r '.response[0].token')\n",
            $lines
        ))
    };
}

const ENDED: &str = "Look at the dispute's status before you submit evidence.";

pub(super) const CLOCK_MOVING: Explanation = Explanation {
    meaning: "Another request is moving the clock of this account, or putting a snapshot back.",
    causes: &["Two tests share one account and move its clock at the same time."],
    remedy: "Send the request again after a moment. Give each test an account of its own.",
    actor: Nobody,
    repetition: Same,
    sandbox: Words(
        "Move the clock of an account with many subscriptions by a year, and meanwhile by an hour.",
    ),
};

pub(super) const PAYMENTS_UNDER_WAY: Explanation = Explanation {
    meaning: "A snapshot can be made or restored only while no payment of the account waits for the acquirer.",
    causes: &["A payment, a capture or a refund is in flight, or its outcome is not known yet."],
    remedy: "Send the request again once the payments have their answers.",
    actor: Nobody,
    repetition: Same,
    sandbox: Shell(
        r#"curl -s -o /dev/null "$URL/1/charges" -u "$KEY:" -H 'Sandbox-Outcome: no_answer' -H 'Content-Type: application/json' -d @payment.json &
sleep 3
curl -s -X POST "$URL/1/sandbox/snapshots" -u "$KEY:""#,
    ),
};

pub(super) const SNAPSHOT_TOO_LARGE: Explanation = Explanation {
    meaning: "The account holds more than a snapshot may: 50,000 rows, or 32 MiB.",
    causes: &["The account was used for a load test."],
    remedy: "Use another account for snapshots: POST /1/sandbox/accounts makes one.",
    actor: Developer,
    repetition: Never,
    sandbox: Words(
        "Fill an account with more than 50,000 rows, which are about 5,000 charges, and make a snapshot.",
    ),
};

pub(super) const TOO_MANY_CARD_PARAMETERS: Explanation = Explanation {
    meaning: "A change of a customer names its card in more than one way.",
    causes: &["The client sends two of card, card_token and primary_card_token."],
    remedy: "Send card or card_token to replace the primary card, or primary_card_token to choose another of the customer's cards.",
    actor: Developer,
    repetition: Corrected,
    sandbox: billed!(
        "curl -s -X PUT \"$URL/1/customers/$CUSTOMER\" -u \"$KEY:\" -d card_token=card_1 -d primary_card_token=card_2"
    ),
};

pub(super) const UNPROCESSABLE_ENTITY: Explanation = Explanation {
    meaning: "Parameters of a plan are missing or invalid; plans say it by this code. The list messages has an item for each fault.",
    causes: &[
        "A required parameter is missing.",
        "An amount is neither 0 nor at least the minimum of its currency.",
        "A trial lacks its unit.",
    ],
    remedy: "Correct each parameter that messages names.",
    actor: Developer,
    repetition: Corrected,
    sandbox: Shell(r#"curl -s "$URL/1/plans" -u "$KEY:" -d name=Coffee"#),
};

pub(super) const CANNOT_DELETE_PLAN: Explanation = Explanation {
    meaning: "The plan has subscriptions that are active or in their trial.",
    causes: &["Customers are still subscribed."],
    remedy: "Cancel the subscriptions first: GET /1/plans/{plan_token}/subscriptions lists them.",
    actor: Developer,
    repetition: Corrected,
    sandbox: billed!(
        "curl -s -o /dev/null \"$URL/1/subscriptions\" -u \"$KEY:\" -d plan_token=\"$PLAN\" -d customer_token=\"$CUSTOMER\"\n\
         curl -s -X DELETE \"$URL/1/plans/$PLAN\" -u \"$KEY:\""
    ),
};

pub(super) const INVALID_SUBSCRIPTION: Explanation = Explanation {
    meaning: "Parameters of a subscription are missing or invalid. Subscriptions answer 400, and their messages have no codes.",
    causes: &["plan_token or customer_token is missing.", "A change does not say which card shall pay."],
    remedy: "Correct each parameter that messages names.",
    actor: Developer,
    repetition: Corrected,
    sandbox: Shell(r#"curl -s -X POST "$URL/1/subscriptions" -u "$KEY:""#),
};

pub(super) const INVALID_REQUEST: Explanation = Explanation {
    meaning: "The card of a subscription is none of its customer's cards.",
    causes: &["card_token is a card that was only stored, or another customer's."],
    remedy: "Add the card to the customer by POST /1/customers/{customer_token}/cards, or leave card_token out: the primary card pays.",
    actor: Developer,
    repetition: Corrected,
    sandbox: billed!(
        "CARD=$(jq .card payment.json | curl -s \"$URL/1/cards\" -u \"$KEY:\" -H 'Content-Type: application/json' -d @- | jq -r .response.token)\n\
         curl -s \"$URL/1/subscriptions\" -u \"$KEY:\" -d plan_token=\"$PLAN\" -d customer_token=\"$CUSTOMER\" -d card_token=\"$CARD\""
    ),
};

pub(super) const INVALID_STATE: Explanation = Explanation {
    meaning: "The record is in a state from which this cannot be done; nothing was changed.",
    causes: &[
        "A subscription that has ended is cancelled again, or an active one reactivated.",
        "A refund or dispute that was decided before is decided again.",
        "A dispute's, merchant's or approval's next status cannot follow the present one.",
        "A snapshot was made by another release.",
    ],
    remedy: "Get the record and look at its state. The page States lists which moves each state allows.",
    actor: Developer,
    repetition: Never,
    sandbox: billed!(
        "SUBSCRIPTION=$(curl -s \"$URL/1/subscriptions\" -u \"$KEY:\" -d plan_token=\"$PLAN\" -d customer_token=\"$CUSTOMER\" | jq -r .response.token)\n\
         curl -s -o /dev/null -X DELETE \"$URL/1/subscriptions/$SUBSCRIPTION\" -u \"$KEY:\"\n\
         curl -s -X DELETE \"$URL/1/subscriptions/$SUBSCRIPTION\" -u \"$KEY:\""
    ),
};

pub(super) const DISPUTE_ALREADY_UNDER_REVIEW: Explanation = Explanation {
    meaning: "Evidence was submitted before, and the card network looks at it: the batch cannot change any more.",
    causes: &["The evidence was submitted twice."],
    remedy: "Wait for the decision, which comes as an event.",
    actor: Developer,
    repetition: Never,
    sandbox: disputed!(
        "curl -s -o /dev/null -X POST \"$URL/1/disputes/$DISPUTE/evidence\" -u \"$KEY:\"\n\
         curl -s -X POST \"$URL/1/disputes/$DISPUTE/evidence\" -u \"$KEY:\""
    ),
};

pub(super) const DISPUTE_ALREADY_RESOLVED: Explanation = Explanation {
    meaning: "The dispute has ended: decided, accepted or past its day. Evidence comes too late.",
    causes: &[
        "The network has decided.",
        "The merchant has accepted the dispute.",
        "evidence_required_by has passed.",
    ],
    remedy: ENDED,
    actor: Developer,
    repetition: Never,
    sandbox: disputed!(
        "curl -s -o /dev/null -X POST \"$URL/1/disputes/$DISPUTE/accept\" -u \"$KEY:\"\n\
         curl -s -X POST \"$URL/1/disputes/$DISPUTE/evidence\" -u \"$KEY:\""
    ),
};

pub(super) const DISPUTE_ALREADY_CANCELLED: Explanation = Explanation {
    meaning: "The cardholder's bank has withdrawn the dispute; its money is back.",
    causes: &["Evidence is submitted for a dispute that has ended."],
    remedy: ENDED,
    actor: Developer,
    repetition: Never,
    sandbox: disputed!(
        "curl -s -o /dev/null -X PUT \"$URL/1/sandbox/disputes/$DISPUTE\" -u \"$KEY:\" -d status=cancelled\n\
         curl -s -X POST \"$URL/1/disputes/$DISPUTE/evidence\" -u \"$KEY:\""
    ),
};

pub(super) const DISPUTE_EVIDENCE_ALREADY_SUBMITTED: Explanation = Explanation {
    meaning: "The file is evidence that was submitted, and stays with it.",
    causes: &["The client deletes a file of a dispute under review."],
    remedy: "Keep the file. Only files of batches that were not submitted can be deleted.",
    actor: Developer,
    repetition: Never,
    sandbox: disputed!(
        "printf '%%PDF-1.4\\n' > evidence.pdf\n\
         FILE=$(curl -s \"$URL/1/files\" -u \"$KEY:\" -F purpose=dispute_evidence -F file=@evidence.pdf | jq -r .response.token)\n\
         curl -s -o /dev/null -X PUT \"$URL/1/disputes/$DISPUTE/evidence\" -u \"$KEY:\" -d additional_evidence_file=\"$FILE\"\n\
         curl -s -o /dev/null -X POST \"$URL/1/disputes/$DISPUTE/evidence\" -u \"$KEY:\"\n\
         curl -s -X DELETE \"$URL/1/files/$FILE\" -u \"$KEY:\""
    ),
};

pub(super) const CANNOT_DELETE_PRIMARY_CARD: Explanation = Explanation {
    meaning: "A customer always has a primary card, and this is it.",
    causes: &["The client deletes the card that pays for the customer."],
    remedy: "Make another card the primary one first, by primary_card_token of PUT /1/customers/{customer_token}.",
    actor: Developer,
    repetition: Corrected,
    sandbox: billed!(
        "CARD=$(curl -s \"$URL/1/customers/$CUSTOMER\" -u \"$KEY:\" | jq -r .response.card.token)\n\
         curl -s -X DELETE \"$URL/1/customers/$CUSTOMER/cards/$CARD\" -u \"$KEY:\""
    ),
};

pub(super) const LIMIT_REACHED: Explanation = Explanation {
    meaning: "The account has as many of these records as it may have: 5 webhook endpoints, 100 restricted keys; in test 10 inboxes and 10 snapshots.",
    causes: &["Records of earlier tests or releases were never deleted."],
    remedy: "Delete one that is not needed any more. error_description says what there are too many of.",
    actor: Developer,
    repetition: Corrected,
    sandbox: Shell(
        r#"for n in 1 2 3 4 5; do curl -s -o /dev/null "$URL/1/webhook_endpoints" -u "$KEY:" -d url="http://127.0.0.1:9/$n"; done
curl -s "$URL/1/webhook_endpoints" -u "$KEY:" -d url=http://127.0.0.1:9/6"#,
    ),
};

pub(super) const CANNOT_REPLAY_WEBHOOK: Explanation = Explanation {
    meaning: "The webhook is about to be sent, so there is nothing to repeat yet.",
    causes: &["It is new, or was replayed a moment ago, or its delivery is in flight."],
    remedy: "Wait until its status is completed, retrying or failed.",
    actor: Nobody,
    repetition: Same,
    sandbox: Shell(
        r#"INBOX=$(curl -s "$URL/1/sandbox/inboxes" -u "$KEY:" -d latency_ms=5000 | jq -r .response.url)
curl -s -o /dev/null "$URL/1/webhook_endpoints" -u "$KEY:" -d url="$INBOX"
curl -s -o /dev/null "$URL/1/charges" -u "$KEY:" -H 'Content-Type: application/json' -d @payment.json
WEBHOOK=$(curl -s "$URL/1/webhooks?per_page=1" -u "$KEY:" | jq -r '.response[0].token')
curl -s -X PUT "$URL/1/webhooks/$WEBHOOK/replay" -u "$KEY:""#,
    ),
};
