//! `card-payments explain`: what an error code means, and why a request was refused.

mod accepted;

use std::error::Error;
use std::fmt::Write;

use base::plain_text::OneLine;
use card_payments::error::ErrorCode;
use card_payments::error::explanation::{PAYMENT, Sandbox};
use clap::Args;
use entity::token::is_token;
use http::Method;
use serde_json::{Value, json};
use tools::server_options::ServerOptions;
use tools::terminal::{BAD, GOOD, HEAD, print_result};

use self::accepted::accepted;

/// Explain an error code, or why a request was refused.
///
/// Of a code it says what it means, what causes it, what to do, and how to cause it in the sandbox. Of a request, by its X-Request-Id, it
/// says what was sent, what was wrong, and what would have been accepted: it asks a running test server. Changes nothing.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  card-payments explain card_declined\n  card-payments explain 0198c5e5-7d3a-7c41-9f0e-2b6a51d84c10\n\n\
    With --json {error, status, error_description, meaning, causes, remedy, actor, repeat, sandbox}; of a request {request, accepted, explanations}."
)]
pub struct Explain {
    /// An error code, or the X-Request-Id of an answer.
    #[arg(value_name = "CODE|REQUEST-ID")]
    subject: String,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerOptions,
}

pub async fn run(command: Explain) -> Result<(), Box<dyn Error>> {
    let Explain { subject, json, server } = command;
    let codes: Vec<_> = ErrorCode::spelled(&subject).collect();
    if codes.is_empty() {
        return explain_request(&subject, server, json).await;
    }
    for code in codes {
        print_result(&facts(code), &text(code), json)?;
    }
    Ok(())
}

/// Explains a request that a test server has logged.
async fn explain_request(id: &str, server: ServerOptions, json: bool) -> Result<(), Box<dyn Error>> {
    if is_token(id) {
        return Err(format!(
            "{id} is the token of a record: name an error code, or the X-Request-Id of an answer"
        )
        .into());
    }
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    if id.is_empty() || !id.bytes().all(is_plain) {
        return Err(format!("{} is neither an error code nor a request id", OneLine(id)).into());
    }
    let server = server.open().await?;
    let logged = server.answer_to(Method::GET, &format!("/1/sandbox/requests/{id}"), None, &[]).await?;
    if logged.status == 404 {
        let account =
            "there is no error code of this name, and the log of this account has no request of this id";
        return Err(format!("{}: {account} (of live servers there is no log)", OneLine(id)).into());
    }
    let request = logged.record()?;
    let document = serde_json::from_str(&server.request_text(Method::GET, "/openapi.json", None).await?)?;
    let accepted = accepted_of(&document, request);
    let error = request["error"]["error"].as_str().unwrap_or_default();
    // Two codes are spelled alike in some cases: the status says which.
    let code = ErrorCode::spelled(error).find(|code| request["status"] == code.status());
    let explanations: Vec<_> = code.map(facts).into_iter().collect();
    let record = json!({ "request": request, "accepted": accepted, "explanations": explanations });
    print_result(&record, &request_text(request, &accepted, code), json)
}

/// Returns what would have been accepted for each parameter that has a fault.
fn accepted_of(document: &Value, request: &Value) -> Value {
    let operation = &document["paths"][request["route"].as_str().unwrap_or_default()]
        [request["method"].as_str().unwrap_or_default().to_lowercase()];
    let faults = request["error"]["messages"].as_array().into_iter().flatten();
    let params = faults.filter_map(|fault| fault["param"].as_str());
    params
        .filter_map(|param| Some((param.to_owned(), Value::from(accepted(document, operation, param)?))))
        .collect()
}

fn request_text(request: &Value, accepted: &Value, code: Option<ErrorCode>) -> String {
    let shown = |name: &str| request[name].as_str().map_or_else(|| request[name].to_string(), str::to_owned);
    let mut text = format!(
        "{HEAD}{} {}{HEAD:#} {}\n  at {}, in {} ms\n",
        shown("method"),
        shown("path"),
        shown("status"),
        shown("created_at"),
        shown("duration_ms")
    );
    // Writing to a string does not fail.
    for (name, value) in request["parameters"].as_object().into_iter().flatten() {
        let _ = writeln!(text, "  {name} = {value}");
    }
    let hidden: Vec<_> =
        request["hidden"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !hidden.is_empty() {
        let _ = writeln!(text, "  sent, but not kept in the log: {}", hidden.join(", "));
    }
    for fault in request["error"]["messages"].as_array().into_iter().flatten() {
        let (param, message) = (&fault["param"], fault["message"].as_str().unwrap_or_default());
        let param = param.as_str().unwrap_or_default();
        let _ = writeln!(text, "\n{BAD}{param}{BAD:#}: {message}");
        if let Some(accepted) = accepted[param].as_str() {
            let _ = writeln!(text, "  {GOOD}accepted{GOOD:#}: {accepted}");
        }
    }
    match code {
        Some(code) => {
            let _ = write!(text, "\n{}", self::text(code));
        }
        None => text.push_str("\nThe request was not refused."),
    }
    text
}

/// Returns an explanation for programs.
fn facts(code: ErrorCode) -> Value {
    let explanation = code.explanation();
    let sandbox = match explanation.sandbox {
        Sandbox::Shell(lines) => lines,
        Sandbox::Words(words) => words,
    };
    json!({
        "error": code.code(),
        "status": code.status(),
        "error_description": code.description(),
        "meaning": explanation.meaning,
        "causes": explanation.causes,
        "remedy": explanation.remedy,
        "actor": explanation.actor.words(),
        "repeat": explanation.repetition.words(),
        "sandbox": sandbox,
    })
}

/// Returns an explanation for people.
fn text(code: ErrorCode) -> String {
    let explanation = code.explanation();
    let mut text = format!(
        "{HEAD}{}{HEAD:#} ({}): {}\n\n{}\n\n{HEAD}What causes it{HEAD:#}\n",
        code.code(),
        code.status(),
        code.description(),
        explanation.meaning
    );
    for cause in explanation.causes {
        let _ = writeln!(text, "- {cause}");
    }
    let _ = write!(
        text,
        "\n{HEAD}What to do{HEAD:#}\n{}\n\n{HEAD}Who must act{HEAD:#}\n{}\n\n{HEAD}Repeat the request?{HEAD:#}\n{}\n\n\
         {HEAD}Cause it in the sandbox{HEAD:#}\n",
        explanation.remedy,
        explanation.actor.words(),
        explanation.repetition.words()
    );
    match explanation.sandbox {
        Sandbox::Words(words) => text.push_str(words),
        Sandbox::Shell(lines) => {
            let payment =
                if explanation.sandbox.needs_payment() { format!("{PAYMENT}\n") } else { String::new() };
            let _ = write!(text, "URL=http://127.0.0.1:8080 KEY=...\n{payment}{lines}");
        }
    }
    text
}
