//! `card-payments account export`.

use std::error::Error;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use card_payments::config::{DatabaseOptions, Secrets};
use card_payments::services::merchants::export::export;
use clap::Args;
use entity::MerchantToken;

use crate::commands;

/// Write a merchant's application, and the keys that are to work in the other environment, as a JSON document.
///
/// Whoever has the document has the keys. Changes nothing. Needs the vault's key, as a server does.
#[derive(Args)]
#[command(
    after_help = "Example:\n  card-payments account export mrch_AZqYv3rVcBKUQ1mHn7tKRw --out merchant.json"
)]
pub struct Export {
    /// The merchant's token: mrch_...
    merchant: MerchantToken,
    /// A file that is not there yet, which only you will be able to read; standard output if absent. It holds keys.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Run the command.
pub async fn run(Export { merchant, out }: Export, database: &DatabaseOptions) -> Result<(), Box<dyn Error>> {
    let ctx = commands::open_with_keys(database, &Secrets::from_environment()?).await?;
    let document = export(&ctx, merchant).await?;
    let text = serde_json::to_string_pretty(&document)? + "\n";
    match out {
        None => Ok(std::io::stdout().write_all(text.as_bytes())?),
        Some(file) => {
            written(&file, &text).map_err(|error| format!("{}: {error}", file.display()))?;
            Ok(())
        }
    }
}

/// A file that nobody else may read, whole or not at all.
fn written(file: &Path, text: &str) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut opened = options.open(file)?;
    let done = opened.write_all(text.as_bytes()).and_then(|()| opened.sync_all());
    if done.is_err() {
        // It would be half a document.
        let _ = std::fs::remove_file(file);
    }
    done
}
