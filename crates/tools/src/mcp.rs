//! `card-payments mcp`: a test server's payments as tools of the Model Context Protocol, for programs that read instead of people.

mod tools;
mod transport;

use std::error::Error;

use clap::Args;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};

use self::tools::{OfferedTool, ToolRequest};
use self::transport::LineTransport;
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
    match (ToolServer { server, version: api.version, tools: tools::all(&(api.document)()) })
        .serve(LineTransport::new(tokio::io::stdin(), tokio::io::stdout()))
        .await
    {
        Ok(running) => {
            running.waiting().await?;
            Ok(())
        }
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        // The error would print the message, which may hold anything.
        Err(_) => Err("the client's first message does not begin a session".into()),
    }
}

struct ToolServer {
    server: ApiClient,
    version: &'static str,
    tools: Vec<OfferedTool>,
}

impl ServerHandler for ToolServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("card-payments", self.version))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.iter().map(|tool| tool.shown.clone()).collect()))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.tools.iter().find(|tool| tool.shown.name == call.name) else {
            return Err(ErrorData::invalid_params("there is no such tool", None));
        };
        let result = match tool.request(call.arguments.unwrap_or_default()) {
            Ok(request) => self.answer_to(&request).await,
            Err(faults) => CallToolResult::structured_error(wrong_arguments(&faults)),
        };
        Ok(result.into())
    }
}

impl ToolServer {
    /// Makes a tool's request. Every refusal and every failure is a result that the assistant reads.
    async fn answer_to(&self, request: &ToolRequest) -> CallToolResult {
        let ToolRequest { method, path, body, idempotency_key } = request;
        let key = idempotency_key.iter().map(|key| ("idempotency-key", key.as_str()));
        let key: Vec<_> = key.collect();
        match self.server.answer_to(method.clone(), path, body.as_ref(), &key).await {
            Ok(answer) if (200..300).contains(&answer.status) => CallToolResult::structured(answer.body),
            Ok(answer) => refused(answer.body, answer.status, answer.request_id),
            Err(ApiClientError::Refused { status, body, request_id, .. }) => {
                refused(body, status, request_id)
            }
            Err(error) => CallToolResult::structured_error(json!({ "error_description": error.to_string() })),
        }
    }
}

/// Returns the API's refusal: its own body, with the status and the request's id.
fn refused(body: Value, status: u16, request_id: Option<String>) -> CallToolResult {
    // The body of `insufficient_service_balance` is an array.
    let body = body.get(0).cloned().unwrap_or(body);
    let mut body = body.as_object().cloned().unwrap_or_default();
    body.insert("status".into(), status.into());
    body.insert("request_id".into(), request_id.into());
    CallToolResult::structured_error(body.into())
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
