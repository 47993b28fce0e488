//! `card-payments requests`: the request log of an account as a file.

use std::error::Error;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use recording::{Exchange, Format, KEY, RecordingFile, without_secrets};
use serde_json::{Value, json};

use crate::report::all;
use crate::server_options::{ServerOptions, refuse_live};
use crate::terminal::print_result;

/// Write the request log of an account to a file.
///
/// The last 1,000 requests that a running test server has logged, the oldest first, as HTTP Archive 1.2 for other programs or as JSON
/// lines. The log keeps errors, and no other answers; of hidden parameters it has the names. `record` keeps whole answers, for
/// `replay`. Changes nothing.
#[derive(Args)]
#[command(after_help = "Example:\n  card-payments requests --to log.har\n\nWith --json {requests, file}.")]
pub struct Requests {
    /// The file. One that exists is replaced.
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// The form of the file. By default har if its name ends so.
    #[arg(long, value_enum)]
    format: Option<FileFormat>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerOptions,
}

/// The forms of a recording.
#[derive(Clone, Copy, ValueEnum)]
pub enum FileFormat {
    /// HTTP Archive 1.2, for other programs.
    Har,
    /// A JSON object a line.
    Jsonl,
}

impl FileFormat {
    /// Returns the form of a file, by its name if none is given.
    pub fn for_file(path: &Path, given: Option<Self>) -> Format {
        let named_har = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("har"));
        match given {
            Some(Self::Har) => Format::Har,
            None if named_har => Format::Har,
            Some(Self::Jsonl) | None => Format::JsonLines,
        }
    }
}

pub async fn run(command: Requests) -> Result<(), Box<dyn Error>> {
    let Requests { to, format, json, server } = command;
    let of_file = |error| format!("{}: {error}", to.display());
    let server = server.open().await?;
    refuse_live(&server, "nothing is written").await?;
    let mut requests = all(&server, "/1/sandbox/requests?", "").await?;
    requests.reverse();
    let mut file = RecordingFile::create(&to, FileFormat::for_file(&to, format)).map_err(of_file)?;
    for request in &mut requests {
        without_secrets(request);
        file.write(&exchange(request)).map_err(of_file)?;
    }
    file.finish().map_err(of_file)?;
    let text = format!("{} requests in {}", requests.len(), to.display());
    print_result(&json!({ "requests": requests.len(), "file": to.display().to_string() }), &text, json)
}

/// Returns what the log keeps of a request. Its time is the account's clock's.
pub fn exchange(request: &Value) -> Exchange {
    let text = |name: &str| request[name].as_str().map(str::to_owned);
    let hidden = request["hidden"].as_array().into_iter().flatten();
    Exchange {
        at: text("created_at").unwrap_or_default(),
        method: text("method").unwrap_or_default(),
        path: text("path").unwrap_or_default(),
        key: Some(KEY.to_owned()),
        idempotency_key: text("idempotency_key"),
        sandbox_outcome: None,
        sandbox_challenge: None,
        prefer: None,
        parameters: request["parameters"].as_object().cloned().unwrap_or_default(),
        hidden: hidden.filter_map(Value::as_str).map(str::to_owned).collect(),
        status: request["status"].as_u64().and_then(|status| status.try_into().ok()).unwrap_or_default(),
        replayed: request["idempotent_replayed"] == true,
        location: None,
        duration_ms: request["duration_ms"].as_u64().unwrap_or_default(),
        body: request["error"].clone(),
        of_log: true,
    }
}
