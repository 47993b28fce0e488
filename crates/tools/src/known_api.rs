//! The knowledge of the API that the tools have without asking a server. It is the program's own, so tools and server have the
//! same rules.

use serde_json::Value;

/// The program's knowledge of its API.
#[derive(Clone, Copy)]
pub struct KnownApi {
    /// The release of the program.
    pub version: &'static str,
    pub document: fn() -> Value,
    /// The note of the document on an answer that only strict handling causes.
    pub strict_only: &'static str,
    /// Returns the faults of parameters.
    pub faults: fn(Parameters, &Value) -> Vec<ParameterFault>,
    pub error: fn(&str) -> Option<KnownError>,
    /// Returns the test number that a placeholder of a recording names.
    pub test_card: fn(&str) -> Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownError {
    pub code: &'static str,
    pub status: u16,
    /// Its sentence.
    pub description: &'static str,
    /// Whether the same request may be accepted a moment later.
    pub is_transient: bool,
}

/// The parameters of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameters {
    /// PUT /1/sandbox/account.
    Account,
    /// POST /1/charges.
    Charge,
    /// POST /1/customers.
    Customer,
    /// POST /1/sandbox/deposits.
    Deposit,
    /// POST /1/sandbox/disputes.
    Dispute,
    /// POST /1/plans.
    Plan,
    /// POST /1/recipients.
    Recipient,
    /// POST /1/charges/{}/refunds.
    Refund,
    /// POST /1/subscriptions.
    Subscription,
    /// POST /1/transfers.
    Transfer,
    /// POST `/1/webhook_endpoints`.
    WebhookEndpoint,
}

/// A fault, as the server would report it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterFault {
    /// The parameter, nested ones with dots.
    pub param: String,
    /// The sentence about it.
    pub message: String,
}
