//! `card-payments account export`.

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;

use card_payments::config::{DatabaseOptions, Secrets};
use card_payments::sensitive::secret::{self, Secret};
use card_payments::services::merchants::export::export;
use clap::Args;
use serde_json::json;

use crate::commands::{self, terminal};

/// Write a merchant's application, and the keys that are to work in the other environment, as a JSON document.
///
/// Whoever has the document has the keys, so the audit trail says that it was written; nothing else changes. Needs the vault's key, as a server does.
#[derive(Args)]
#[command(
    after_help = "Example:\n  card-payments account export mrch_AZqYv3rVcBKUQ1mHn7tKRw --out merchant.json\n\n\
        With --json the document on one line; with --out as well {merchant, file}."
)]
pub struct Export {
    /// The merchant's token: mrch_...
    merchant: String,
    /// A file that is not there yet, which only you will be able to read; standard output if absent. It holds keys.
    #[arg(long)]
    out: Option<PathBuf>,
    /// On one line; with --out one JSON object that names the file.
    #[arg(long)]
    json: bool,
}

/// Run the command.
pub async fn run(
    Export { merchant, out, json }: Export,
    database: &DatabaseOptions,
) -> Result<(), Box<dyn Error>> {
    let ctx = commands::open_with_keys(database, &Secrets::from_environment()?).await?;
    let token = merchant.parse().map_err(|_| format!("there is no merchant {merchant}"))?;
    let document = export(&ctx, token).await?;
    let is_line = json && out.is_none();
    let text =
        if is_line { serde_json::to_string(&document) } else { serde_json::to_string_pretty(&document) };
    let text = Secret::from(text? + "\n");
    let Some(file) = out else { return Ok(terminal::stdout().write_all(text.expose().as_bytes())?) };
    secret::write_secret_file(&file, &text).map_err(|error| format!("{}: {error}", file.display()))?;
    if json { commands::tell(&json!({ "merchant": merchant, "file": file }), &"", true) } else { Ok(()) }
}
