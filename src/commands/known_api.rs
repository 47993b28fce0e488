//! What the tools know of the server's API: its document, and its rules of parameters.

use card_payments::api;
use card_payments::error::ErrorCode;
use card_payments::params::{self, FieldMessage};
use card_payments::recorder::test_card;
use card_payments::services::charges::params::NewCharge;
use card_payments::services::customers::params::NewCustomer;
use card_payments::services::deposits::params::NewDeposit;
use card_payments::services::disputes::params::NewDispute;
use card_payments::services::plans::params::NewPlan;
use card_payments::services::recipients::params::NewRecipient;
use card_payments::services::refunds::params::NewRefund;
use card_payments::services::sandbox::params::ChangedAccount;
use card_payments::services::subscriptions::params::NewSubscription;
use card_payments::services::transfers::params::NewTransfer;
use card_payments::services::webhook_endpoints::params::NewWebhookEndpoint;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tools::known_api::{KnownApi, KnownError, ParameterFault, Parameters};
use validator::Validate;

use crate::VERSION;

/// Returns what this program knows.
pub fn known_api() -> KnownApi {
    KnownApi {
        version: VERSION.as_str(),
        document: api::openapi,
        strict_only: api::openapi::STRICT_ONLY,
        faults,
        error,
        test_card,
    }
}

fn error(code: &str) -> Option<KnownError> {
    ErrorCode::spelled(code).next().map(|error| KnownError {
        code: error.code(),
        status: error.status(),
        description: error.description(),
        is_transient: error.is_transient(),
    })
}

fn faults(of: Parameters, parameters: &Value) -> Vec<ParameterFault> {
    match of {
        Parameters::Account => read::<ChangedAccount>(parameters),
        Parameters::Charge => read::<NewCharge>(parameters),
        Parameters::Customer => read::<NewCustomer>(parameters),
        Parameters::Deposit => read::<NewDeposit>(parameters),
        Parameters::Dispute => read::<NewDispute>(parameters),
        Parameters::Plan => read::<NewPlan>(parameters),
        Parameters::Recipient => read::<NewRecipient>(parameters),
        Parameters::Refund => read::<NewRefund>(parameters),
        Parameters::Subscription => read::<NewSubscription>(parameters),
        Parameters::Transfer => read::<NewTransfer>(parameters),
        Parameters::WebhookEndpoint => read::<NewWebhookEndpoint>(parameters),
    }
}

fn read<T: DeserializeOwned + Validate>(parameters: &Value) -> Vec<ParameterFault> {
    let faults = params::read::<T>(parameters).faults;
    let faults = faults.iter().map(|(param, predicate)| ParameterFault {
        param: param.to_owned(),
        message: FieldMessage::new(param, predicate).message,
    });
    faults.collect()
}
