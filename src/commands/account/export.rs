//! `card-payments account export`.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};

use base::secret::{self, Secret};
use card_payments::config::{DatabaseOptions, Secrets};
use card_payments::services::merchants::export::export;
use clap::Args;
use entity::token;
use serde_json::json;
use tools::terminal::{self, print_result};

use crate::commands::{self, tokens};

/// Write a merchant's application, and its keys for the other environment, as a JSON document.
///
/// The document contains the keys, so the audit trail records the export; nothing else changes. Needs the vault key as a server
/// does.
#[derive(Args)]
#[command(
    after_help = "Example:\n  card-payments account export mrch_AZqYv3rVcBKUQ1mHn7tKRw --out merchant.json\n\n\
        With --json the document on one line; with --out as well {merchant, file}."
)]
pub struct Export {
    /// The merchant's token: mrch_...
    merchant: String,
    /// A file to create, which only you can read; standard output if absent. It contains keys.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Print the document on one line; with --out print one JSON object that names the file.
    #[arg(long)]
    json: bool,
}

pub async fn run(
    Export { merchant, out, json }: Export,
    database: &DatabaseOptions,
) -> Result<(), Box<dyn Error>> {
    let ctx = commands::open_claimed(database, &Secrets::from_environment()?).await?;
    let token = merchant.parse().map_err(|_| tokens::missing::<token::Merchant>("merchant", &merchant))?;
    let failed = |file: &Path, error| format!("{}: {error}", file.display());
    // What is refused leaves no entry in the audit trail.
    if let Some(file) = &out {
        secret::refuse_unwritable(file).map_err(|error| failed(file, error))?;
    }
    let document = export(&ctx, token).await?;
    let is_line = json && out.is_none();
    let text =
        if is_line { serde_json::to_string(&document) } else { serde_json::to_string_pretty(&document) };
    let text = Secret::from(terminal::escape_lines(&text?).into_owned() + "\n");
    let Some(file) = out else { return Ok(terminal::stdout().write_all(text.expose().as_bytes())?) };
    secret::write_secret_file(&file, &text).map_err(|error| failed(&file, error))?;
    if !json {
        return Ok(());
    }
    print_result(&json!({ "merchant": merchant, "file": file.display().to_string() }), &"", true)
}
