//! Files of fixtures, in YAML.

use card_payments::api;
use serde_json::Value;
use tools::known_api::{KnownApi, ParameterFault, Parameters};
use tools::seed::Fixtures;

use super::{Target, inputs};

pub const TARGET: Target = Target {
    name: "fixtures",
    hold,
    samples,
    words: &[
        "account:",
        "customers:",
        "plans:",
        "subscriptions:",
        "charges:",
        "refunds:",
        "disputes:",
        "deposits:",
        "recipients:",
        "transfers:",
        "webhook_endpoints:",
        "until: 1 year",
        "after: 3 days",
        "every: month",
        "card: declined",
        "amount: 400",
        "customer: ",
        "\n  - ",
        "? ",
        "--- ",
        "*a",
        "&a",
        "!!",
        "%YAML 1.2",
        "|-",
        "wrong",
    ],
};

fn samples() -> Vec<Vec<u8>> {
    let mut samples = inputs([
        "until: 1 year\ncustomers:\n  ada: { first_name: Ada, last_name: Abbott, email: ada@example.com, after: 9 days }\n\
         charges:\n  lamp: { customer: ada, amount: 400, after: 1 month, refund: 100 }\n",
        "account: {transfers_schedule: weekly}\nplans:\n  tea: {name: Tea, amount: 5, every: 3 months, trial: 14 days}\n\
         customers:\n  ben: {email: wrong}\n  ben: {}\nsubscriptions:\n  ben-tea: {customer: ben, plan: tea}\n",
        "a: &a [1, *a, \"x\"]\n---\nb: |-\n  1\n",
    ]);
    // Its first sections, because a sample is as quick to read as it is short.
    let year = include_str!("../../../../fixtures/sample.yaml");
    samples.push(year.bytes().take(4096).collect());
    samples
}

/// A server that calls whatever holds this word wrong.
const API: KnownApi = KnownApi {
    version: "0",
    document: api::openapi,
    strict_only: api::openapi::STRICT_ONLY,
    faults,
    error: |_| None,
    test_card: |_| None,
};

fn faults(_: Parameters, parameters: &Value) -> Vec<ParameterFault> {
    let fields = parameters.as_object().into_iter().flatten();
    let wrong = fields.filter(|(_, value)| value.to_string().contains("wrong"));
    wrong
        .map(|(name, _)| ParameterFault { param: name.clone(), message: format!("{name} is wrong") })
        .collect()
}

fn hold(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Err(faults) = Fixtures::parse(text, String::new(), &API) else { return };
    // The parser begins a line at each of these; what a text lacks at its end is told of the line behind it.
    let lines = text.split(['\n', '\r']).count() + 1;
    assert!(!faults.is_empty(), "what is refused is refused for a reason");
    for fault in &faults {
        assert!((1..=lines).contains(&fault.line) && !fault.fault.is_empty(), "{fault:?} of {lines} lines");
    }
    assert!(faults.is_sorted() && faults.windows(2).all(|two| two[0] != two[1]), "{faults:?}");
}
