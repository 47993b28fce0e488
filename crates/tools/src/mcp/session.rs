//! A session of the Model Context Protocol: messages of JSON-RPC, one a line. It has two ways to begin: until 2025-11-25 by
//! `initialize`; since 2026-07-28 each request names, in `_meta`, the version and what its client can do.

use std::collections::HashMap;
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::{INSTRUCTIONS, ToolServer};

/// The versions that begin with `initialize`, the newest last, which one is told that asks for another.
const WITH_INITIALIZE: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The version that begins with any request.
const WITHOUT_INITIALIZE: &str = "2026-07-28";

const CLIENT_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The longest line that is read as one.
const LINE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The time that calls may take that are in flight when the input ends.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// Serves a client until its input ends.
pub async fn serve(
    server: ToolServer,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> Result<(), Box<dyn Error>> {
    let (answers, written) = mpsc::unbounded_channel();
    let writer = tokio::spawn(write_lines(written, output));
    let mut session = Session {
        server: Arc::new(server),
        answers: Answers(answers),
        calls: HashMap::new(),
        has_begun: false,
        is_initialized: false,
    };
    let (mut input, mut line) = (BufReader::new(input), Vec::new());
    let mut ended = Ok(());
    while (&mut input).take(LINE_BYTES_MAX).read_until(b'\n', &mut line).await? > 0 {
        if !line.trim_ascii().is_empty() {
            ended = session.receive(&line);
            if ended.is_err() {
                break;
            }
        }
        line.clear();
    }
    drop(session);
    let _ = timeout(LAST_ANSWERS, writer).await;
    Ok(ended?)
}

/// Writes answers until there can be no more, or nobody reads them.
async fn write_lines(
    mut answers: mpsc::UnboundedReceiver<Value>,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    while let Some(answer) = answers.recv().await {
        output.write_all(format!("{answer}\n").as_bytes()).await?;
        output.flush().await?;
    }
    Ok(())
}

struct Session {
    server: Arc<ToolServer>,
    answers: Answers,
    /// Calls of tools in flight, by the id of their request.
    calls: HashMap<String, AbortHandle>,
    /// Whether a request was accepted.
    has_begun: bool,
    is_initialized: bool,
}

/// A refusal of a request, with its code in JSON-RPC or in this protocol.
struct Refusal {
    code: i32,
    message: &'static str,
    data: Option<Value>,
}

fn refusal(code: i32, message: &'static str) -> Refusal {
    Refusal { code, message, data: None }
}

const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const PARSE_ERROR: i32 = -32700;
const UNSUPPORTED_PROTOCOL_VERSION: i32 = -32022;

impl Session {
    /// Takes a line in. The only error is a first message that begins no session.
    fn receive(&mut self, line: &[u8]) -> Result<(), &'static str> {
        // No line is repeated: it may hold anything.
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            self.answers.refuse(&Value::Null, refusal(PARSE_ERROR, "the line is not JSON"));
            return Ok(());
        };
        // Only 2025-03-26 has batches; each message is answered by itself.
        match message.as_array().filter(|batch| !batch.is_empty()) {
            Some(batch) => batch.iter().try_for_each(|message| self.take(message)),
            None => self.take(&message),
        }
    }

    fn take(&mut self, message: &Value) -> Result<(), &'static str> {
        let is_answer = message.get("result").or(message.get("error")).is_some();
        match (message["method"].as_str(), message.get("id")) {
            _ if message["jsonrpc"] != "2.0" => self.refuse_message(message),
            (Some(method), Some(id)) if id.is_string() || id.is_number() => {
                match self.result_of(method, &message["params"], id) {
                    Ok(Some(result)) => self.answers.send(id, "result", &result),
                    // The call answers.
                    Ok(None) => (),
                    Err(refusal) => self.answers.refuse(id, refusal),
                }
            }
            (Some(_), None) if !self.has_begun => {
                return Err("the client's first message does not begin a session");
            }
            (Some("notifications/cancelled"), None) => {
                if let Some(call) = self.calls.remove(&message["params"]["requestId"].to_string()) {
                    call.abort();
                }
            }
            (Some(_), None) => (),
            // Of two programs that refuse each other's refusals none would end.
            (None, _) if is_answer => (),
            _ => self.refuse_message(message),
        }
        Ok(())
    }

    fn refuse_message(&self, message: &Value) {
        let id = message.get("id").filter(|id| id.is_string() || id.is_number()).unwrap_or(&Value::Null);
        self.answers.refuse(id, refusal(INVALID_REQUEST, "the line is no message of the protocol"));
    }

    /// Returns the result of a request, or none if it is a call of a tool, which answers when the API has.
    fn result_of(&mut self, method: &str, params: &Value, id: &Value) -> Result<Option<Value>, Refusal> {
        if method == "initialize" {
            (self.has_begun, self.is_initialized) = (true, true);
            return Ok(Some(self.initialize(&params["protocolVersion"])));
        }
        if method == "ping" {
            return Ok(Some(json!({})));
        }
        let is_stateless = self.is_stateless(&params["_meta"])?;
        self.has_begun = true;
        let mut result = match method {
            "server/discover" => self.discover(),
            "tools/list" => json!({ "tools": self.server.shown_tools() }),
            "tools/call" => return self.call(params, id, is_stateless).map(|()| None),
            _ => return Err(refusal(METHOD_NOT_FOUND, "there is no such method")),
        };
        if is_stateless {
            result["resultType"] = "complete".into();
            result["ttlMs"] = 0.into();
            result["cacheScope"] = "private".into();
        }
        Ok(Some(result))
    }

    /// Returns whether a request is of the version without `initialize`, or why it is of none.
    fn is_stateless(&self, meta: &Value) -> Result<bool, Refusal> {
        match meta[CLIENT_VERSION].as_str() {
            Some(WITHOUT_INITIALIZE) if meta[CLIENT_CAPABILITIES].is_object() => Ok(true),
            Some(WITHOUT_INITIALIZE) => {
                Err(refusal(INVALID_PARAMS, "_meta lacks io.modelcontextprotocol/clientCapabilities"))
            }
            version
                if self.is_initialized
                    && version.is_none_or(|version| WITH_INITIALIZE.contains(&version)) =>
            {
                Ok(false)
            }
            Some(version) => Err(Refusal {
                code: UNSUPPORTED_PROTOCOL_VERSION,
                message: "the server does not speak this version without initialize",
                data: Some(json!({ "supported": supported_versions(), "requested": version })),
            }),
            None => Err(refusal(
                INVALID_PARAMS,
                "begin with initialize, or name io.modelcontextprotocol/protocolVersion in _meta",
            )),
        }
    }

    fn initialize(&self, requested: &Value) -> Value {
        let [.., newest] = &WITH_INITIALIZE;
        let version = WITH_INITIALIZE.iter().find(|known| requested == **known).unwrap_or(newest);
        json!({
            "protocolVersion": version,
            "capabilities": { "tools": {} },
            "serverInfo": self.server.info(),
            "instructions": INSTRUCTIONS,
        })
    }

    fn discover(&self) -> Value {
        json!({
            "supportedVersions": supported_versions(),
            "capabilities": { "tools": {} },
            "instructions": INSTRUCTIONS,
            "_meta": { SERVER_INFO: self.server.info() },
        })
    }

    /// Calls a tool beside other requests.
    fn call(&mut self, params: &Value, id: &Value, is_stateless: bool) -> Result<(), Refusal> {
        let tool = params["name"].as_str().and_then(|name| self.server.find_tool(name));
        let tool = tool.ok_or_else(|| refusal(INVALID_PARAMS, "there is no such tool"))?;
        let given = params.get("arguments").filter(|given| !given.is_null());
        let arguments = given.cloned().unwrap_or_else(|| json!({}));
        if !arguments.is_object() {
            return Err(refusal(INVALID_PARAMS, "arguments must be an object"));
        }
        let (server, answers, request) = (self.server.clone(), self.answers.clone(), id.clone());
        let call = tokio::spawn(async move {
            let mut result = server.call(&tool, &arguments).await;
            if is_stateless {
                result["resultType"] = "complete".into();
            }
            answers.send(&request, "result", &result);
        });
        self.calls.retain(|_, call| !call.is_finished());
        self.calls.insert(id.to_string(), call.abort_handle());
        Ok(())
    }
}

fn supported_versions() -> Vec<&'static str> {
    WITH_INITIALIZE.into_iter().chain([WITHOUT_INITIALIZE]).collect()
}

/// The channel of the answers.
#[derive(Clone)]
struct Answers(mpsc::UnboundedSender<Value>);

impl Answers {
    fn refuse(&self, id: &Value, Refusal { code, message, data }: Refusal) {
        let mut error = json!({ "code": code, "message": message });
        if let Some(data) = data {
            error["data"] = data;
        }
        self.send(id, "error", &error);
    }

    fn send(&self, id: &Value, kind: &str, value: &Value) {
        let mut answer = json!({ "jsonrpc": "2.0", "id": id, kind: value });
        // The id of a message that cannot be read is not known, and the protocol knows no null.
        if let Some(fields) = answer.as_object_mut().filter(|_| id.is_null()) {
            fields.remove("id");
        }
        // A client that has left reads no answers.
        let _ = self.0.send(answer);
    }
}
