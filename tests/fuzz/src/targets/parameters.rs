//! The parameters of requests, from a body to the struct that a service takes. The first letter of an input says which one.

use bytes::Bytes;
use card_payments::api::extract::body::tree;
use card_payments::params::{LoggableParams, Params, decode};
use card_payments::services::accounts::key_params::NewApiKey;
use card_payments::services::charges::params::NewCharge;
use card_payments::services::customers::params::{CustomerChanges, NewCustomer};
use card_payments::services::merchants::params::NewMerchant;
use card_payments::services::plans::params::NewPlan;
use card_payments::services::recipients::params::NewRecipient;
use card_payments::services::sandbox::params::ChangedAccount;
use card_payments::services::webhook_endpoints::params::NewWebhookEndpoint;
use futures::executor::block_on;
use http::Method;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;
use validator::Validate;

use super::{Target, inputs};

pub const TARGET: Target = Target {
    name: "parameters",
    hold,
    samples,
    words: &[
        "\"email\":\"a@example.com\"",
        "\"card\":{\"number\":\"4200000000000000\"",
        "\"cvc\":\"123\"",
        "\"amount\":400",
        "\"currency\":\"AUD\"",
        "\"ip_address\":\"::1\"",
        "\"metadata\":{\"a\":1}",
        "\"three_d_secure\":{\"enabled\":true",
        "\"interval_unit\":\"month\"",
        "\"bank_account\":{\"bsb\":\"806015\"",
        "\"phone_number\":",
        "\"url\":\"https://a:b@example.com/\"",
        "\"networks\":[\"10.0.0.0/8\"]",
        "\"expires_at\":\"2027-01-01T00:00:00Z\"",
        "\"date_of_birth\":\"1980-02-29\"",
        "9007199254740992",
        "null",
        "1e3",
    ],
};

fn samples() -> Vec<Vec<u8>> {
    inputs([
        r#"c{"email":"a@example.com","description":"x","amount":"400","ip_address":" ::1 ","card":{"number":"4200 0000 0000 0000","expiry_month":"05","expiry_year":2030,"cvc":"123","name":"A","address_line1":"1","address_city":"Perth","address_country":"Australia"},"metadata":{"a":1,"b":true},"three_d_secure":{"enabled":true,"callback_url":"https://a:b@example.com/"}}"#,
        "c{\"card\":{\"number\":{},\"cvc\":[1]},\"amount\":1.5,\"metadata\":{\"a\":{}},\"capture\":\"maybe\"}",
        "uemail=a@example.com&card[number]=4200000000000000&card[expiry_month]=13&phone_number=%2B61+8&first_name=Zo%C3%AB&date_of_birth=1980-02-29",
        r#"p{"name":"Tea","amount":500,"currency":"AUD","interval":1,"interval_unit":"month","trial_interval":14,"trial_interval_unit":"day","customer_permissions":"cancel"}"#,
        r#"r{"email":"a@example.com","name":"A","bank_account":{"name":"A","bsb":"806-015","number":"987654321"}}"#,
        r#"m{"contact":{"first_name":"A","phone_number":"+61 8","email":"a@example.com","password":"hunter2hunter2"},"entity":{"business_registration_number":"51824753556","date_of_birth":"1980-02-29"}}"#,
        r#"k{"name":"A","rights":{"charges":"read"},"networks":["10.0.0.0/8","::1"],"expires_at":"2027-01-01T00:00:00Z"}"#,
        r#"a{"transfers_schedule":"weekly","settlement_delay_days":5,"disputes":true}"#,
        r#"w{"url":"https://a:b@example.com/"}"#,
    ])
}

fn hold(input: &[u8]) {
    let Some((kind, body)) = input.split_first() else { return };
    let content_type =
        if body.starts_with(b"{") { "application/json" } else { "application/x-www-form-urlencoded" };
    let tree = tree(&Method::POST, None, Some(content_type), Bytes::copy_from_slice(body));
    let Ok(tree) = block_on(tree) else { return };
    match kind {
        b'a' => hold_params::<ChangedAccount>(&tree, &[]),
        b'c' => {
            hold_params::<NewCharge>(&tree, &["/card/number", "/card/cvc", "/three_d_secure/callback_url"]);
        }
        b'k' => hold_params::<NewApiKey>(&tree, &[]),
        b'm' => hold_params::<NewMerchant>(&tree, &["/contact/password"]),
        b'p' => hold_params::<NewPlan>(&tree, &[]),
        b'r' => hold_params::<NewRecipient>(&tree, &["/bank_account/number"]),
        b'u' => hold_params::<NewCustomer>(&tree, &["/card/number", "/card/cvc"]),
        b'v' => hold_params::<CustomerChanges>(&tree, &["/card/number", "/card/cvc"]),
        _ => hold_params::<NewWebhookEndpoint>(&tree, &[]),
    }
}

/// Holds that what is refused names a field, and that no log shows what is secret.
fn hold_params<T: DeserializeOwned + Validate>(tree: &Value, secrets: &[&str]) {
    let (Params { faults, .. }, read) = decode::<T>(tree);
    for message in faults.messages() {
        // Only the names that structs declare, which are words.
        let is_field = |name: &str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        assert!(message.param.split('.').all(is_field) && !message.message.is_empty(), "{message:?}");
    }
    let shown = Value::Object(LoggableParams::new(tree, &read).parameters);
    for secret in secrets {
        assert!(shown.pointer(secret).is_none_or(may_be_shown), "{secret} is shown: {shown}");
    }
}

/// Whether a value may be shown: one with nothing in it, or an address, unless it names somebody.
fn may_be_shown(value: &Value) -> bool {
    let names_nobody = |url: Url| url.username().is_empty() && url.password().is_none();
    match value {
        Value::Null => true,
        Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => text.trim().is_empty() || Url::parse(text.trim()).is_ok_and(names_nobody),
        Value::Array(items) => items.iter().all(may_be_shown),
        Value::Object(fields) => fields.values().all(may_be_shown),
    }
}
