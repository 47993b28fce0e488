//! `card-payments vault ...`: the keys that encrypt stored data.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use base::secret::Secret;
use base::secret_shares::split;
use base::{durable_fs, secret};
use card_payments::app;
use card_payments::config::{DatabaseOptions, Secrets, VaultKeySource};
use card_payments::services::data_keys::rotate::rotate_watched;
use clap::Subcommand;
use serde_json::json;
use tools::progress_bar::{Bar, Unit};
use tools::terminal::{Printer, print_result};
use vault::OperatorKeys;

use super::refused;

/// Manages the vault.
#[derive(Subcommand)]
pub enum Vault {
    /// Make a new data key and re-encrypt everything with it, while servers run.
    ///
    /// Also wraps every data key with the first key of CARD_PAYMENTS_VAULT_KEY. To change the operator's key, start every server
    /// with CARD_PAYMENTS_VAULT_KEY=new:...,old:..., run this command with the same value, then start every server with new:...
    /// alone.
    ///
    /// It is safe to kill it and run it again: everything stays readable. Servers use the new key within seconds. An old data key
    /// is kept for at least an hour; once no row needs it, a server or a later run deletes it.
    #[command(after_help = "Example:\n  card-payments vault rotate\n\n\
        Prints the id of the new data key, how many rows were re-encrypted, and how many former keys are kept; with \
        --json {data_key, rows, damaged, removed, kept}.")]
    Rotate {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Split the vault key into shares for several custodians: with fewer than the threshold nobody learns anything of the key.
    ///
    /// Writes each share to a new file that only its owner can read: share-1, share-2... in the folder. A server gets them by
    /// CARD_PAYMENTS_VAULT_KEY_SHARES=FILE,FILE, or types them on its standard input (-). The key stays the same, unless --new
    /// makes one that nobody has seen. Opens no database and changes nothing else.
    #[command(
        after_help = "Example:\n  card-payments vault split --shares 3 --threshold 2 --to /root/shares\n\n\
        Prints a line per share, with --json {share, file}."
    )]
    Split {
        /// How many shares there are.
        #[arg(long, value_parser = clap::value_parser!(u8).range(2..=16))]
        shares: u8,
        /// How many of them make up the key.
        #[arg(long, value_parser = clap::value_parser!(u8).range(2..=16))]
        threshold: u8,
        /// The folder of the new files.
        #[arg(long)]
        to: PathBuf,
        /// Make a new key with this id, instead of splitting the configured one.
        #[arg(long, value_name = "ID", value_parser = key_id)]
        new: Option<String>,
        /// Print one JSON object per share.
        #[arg(long)]
        json: bool,
    },
}

fn key_id(text: &str) -> Result<String, &'static str> {
    let id = Some(text.to_owned()).filter(|text| OperatorKeys::is_id(text));
    id.ok_or("an id has at most 32 letters, digits, - and _")
}

pub async fn run(command: Vault, database: &DatabaseOptions) -> Result<(), Box<dyn Error>> {
    let secrets = Secrets::from_environment()?;
    match command {
        Vault::Rotate { json } => {
            let bar = || Bar::new("Re-encrypting", Unit::Things);
            // A bar would hide the question for a share.
            let asks = secrets.vault_key.as_ref().is_some_and(VaultKeySource::asks);
            let shown = (!asks).then(bar);
            let ctx = super::open_with_keys(database, &secrets).await?;
            let bar = shown.unwrap_or_else(bar);
            let rotation = rotate_watched(&ctx, &bar).await.map_err(|error| refused(&error))?;
            drop(bar);
            print_result(&rotation, &rotation, json)
        }
        Vault::Split { shares, threshold, .. } if threshold > shares => {
            Err("the threshold is more than there are shares: nobody could make up the key".into())
        }
        Vault::Split { shares, threshold, to, new, json } => {
            let keys = match new {
                Some(id) => OperatorKeys::generate(&id),
                None => app::existing_vault_keys(database, &secrets).await?,
            };
            let shares = split(&keys.to_text(), shares, threshold);
            let files: Vec<_> = (1..=shares.len()).map(|n| to.join(format!("share-{n}"))).collect();
            if let Some(there) = files.iter().find(|file| file.exists()) {
                return Err(format!("{} exists: name another folder", there.display()).into());
            }
            durable_fs::create_folder(&to).map_err(|error| format!("{}: {error}", to.display()))?;
            write_shares(&shares, &files)?;
            let mut printer = Printer::new(json);
            for (file, n) in files.iter().zip(1..) {
                let file = file.display().to_string();
                printer.print(&json!({ "share": n, "file": file }), &format_args!("share {n}: {file}"));
            }
            printer.end()
        }
    }
}

/// Writes a file a share, or none: a part of the shares would be left to nobody.
fn write_shares(shares: &[Secret], files: &[PathBuf]) -> Result<(), String> {
    for (n, (share, file)) in shares.iter().zip(files).enumerate() {
        if let Err(error) = secret::write_secret_file(file, share) {
            for written in &files[..n] {
                // The first error is told.
                let _ = fs::remove_file(written);
            }
            return Err(format!("{}: {error}", file.display()));
        }
    }
    Ok(())
}
