//! `card-payments mcp`: a test server's payments as tools of the Model Context Protocol, for programs that read instead of people.

mod session;
mod tools;

use std::error::Error;
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};

use self::tools::{OfferedTool, ToolRequest};
use crate::api_client::{ApiClient, ApiClientError};
use crate::known_api::KnownApi;
use crate::server_options::{ServerOptions, refuse_live};

/// Offer a test server's payments as tools to an assistant.
///
/// Speaks the Model Context Protocol on stdin and stdout until its input ends, and calls a running test server: pays with test
/// cards, refunds, opens disputes, moves the account's clock, and reads the log of requests, events, charges and the balance.
/// Each call that changes something carries an Idempotency-Key, so a repeated call has one effect.
///
/// Refuses a live server. The secret key and card numbers are in no output.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  card-payments mcp\n  card-payments mcp --server http://127.0.0.1:8080\n\n\
    In an assistant's configuration: command \"card-payments\", arguments [\"mcp\"]."
)]
pub struct Mcp {
    #[command(flatten)]
    server: ServerOptions,
}

const INSTRUCTIONS: &str = "Tools on one account of a card payments server's test environment: its cards are test cards, no money \
    moves, and time passes when move_clock moves it. A tool answers as the API does: {response} on success; on failure an error \
    with error, error_description, messages and request_id, which get_sandbox_request takes. A tool that changes something takes \
    idempotency_key: a new one, such as a UUID, for each thing to do, and the same one to retry a call whose outcome is unknown.";

pub async fn run(Mcp { server }: Mcp, api: &KnownApi) -> Result<(), Box<dyn Error>> {
    let server = server.open().await?;
    refuse_live(&server, "no tools are offered").await?;
    let tools = tools::all(&(api.document)()).into_iter().map(Arc::new).collect();
    session::serve(
        ToolServer { server, version: api.version, tools },
        tokio::io::stdin(),
        tokio::io::stdout(),
    )
    .await
}

struct ToolServer {
    server: ApiClient,
    version: &'static str,
    tools: Vec<Arc<OfferedTool>>,
}

impl ToolServer {
    fn info(&self) -> Value {
        json!({ "name": "card-payments", "version": self.version })
    }

    /// Returns the tools as clients see them.
    fn shown_tools(&self) -> Vec<&Value> {
        self.tools.iter().map(|tool| &tool.shown).collect()
    }

    fn find_tool(&self, name: &str) -> Option<Arc<OfferedTool>> {
        self.tools.iter().find(|tool| tool.shown["name"] == name).cloned()
    }

    /// Calls a tool. Every refusal and every failure is a result that the assistant reads.
    async fn call(&self, tool: &OfferedTool, arguments: &Value) -> Value {
        let (content, is_error) = match tool.request(arguments) {
            Ok(request) => match self.answer_to(&request).await {
                Ok(answer) => (answer, false),
                Err(refusal) => (refusal, true),
            },
            Err(faults) => (wrong_arguments(&faults), true),
        };
        json!({
            "content": [{ "type": "text", "text": content.to_string() }],
            "structuredContent": content,
            "isError": is_error,
        })
    }

    /// Makes a tool's request. Returns the API's answer, or its refusal.
    async fn answer_to(&self, request: &ToolRequest) -> Result<Value, Value> {
        let ToolRequest { method, path, body, idempotency_key } = request;
        let key = idempotency_key.iter().map(|key| ("idempotency-key", key.as_str()));
        let key: Vec<_> = key.collect();
        match self.server.answer_to(method.clone(), path, body.as_ref(), &key).await {
            Ok(answer) if (200..300).contains(&answer.status) => Ok(answer.body),
            Ok(answer) => Err(refused(answer.body, answer.status, answer.request_id)),
            Err(ApiClientError::Refused { status, body, request_id, .. }) => {
                Err(refused(body, status, request_id))
            }
            Err(error) => Err(json!({ "error_description": error.to_string() })),
        }
    }
}

/// Returns the API's refusal: its own body, with the status and the request's id.
fn refused(body: Value, status: u16, request_id: Option<String>) -> Value {
    // The body of `insufficient_service_balance` is an array.
    let body = body.get(0).cloned().unwrap_or(body);
    let mut body = body.as_object().cloned().unwrap_or_default();
    body.insert("status".into(), status.into());
    body.insert("request_id".into(), request_id.into());
    body.into()
}

/// Returns the refusal of arguments that no request can be made of, in the form of the API's.
fn wrong_arguments(faults: &[String]) -> Value {
    let messages: Vec<_> = faults.iter().map(|fault| json!({ "message": fault })).collect();
    json!({
        "error": "invalid_arguments",
        "error_description": "The arguments do not fit the tool's input schema; nothing was requested",
        "messages": messages,
    })
}
