//! `serve --import FILE --export-on-exit FILE`: the first account, from one run of a test server to another.

use std::error::Error;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use base::durable_fs;
use card_payments::app::StartError;
use card_payments::config::{Environment, FixtureOptions, ServeOptions};
use card_payments::error::{self, ErrorCode};
use card_payments::limits::SNAPSHOT_BYTES_MAX;
use card_payments::services::Context;
use card_payments::services::snapshots::account_file::{self, AccountFile};

use super::refused;

/// The files of a server's first account.
pub struct AccountFiles {
    import: Option<(PathBuf, AccountFile)>,
    export: Option<PathBuf>,
}

impl AccountFiles {
    /// Reads the one to import, and checks that the other one can be written.
    pub fn of_server(
        options: &FixtureOptions,
        serve: &ServeOptions,
        environment: Environment,
    ) -> Result<Self, Box<dyn Error>> {
        let option = match (&options.import, &options.export_on_exit) {
            (None, None) => return Ok(Self { import: None, export: None }),
            (Some(_), _) => "CARD_PAYMENTS_IMPORT",
            (None, Some(_)) => "CARD_PAYMENTS_EXPORT_ON_EXIT",
        };
        if environment == Environment::Live {
            return Err(StartError::TestOnly(option).into());
        }
        if serve.acquirer.as_deref().is_some_and(|acquirer| acquirer != "simulator") {
            return Err(
                format!("{option} needs the built-in acquirer: another one keeps what it has done").into()
            );
        }
        if let Some(file) = &options.export_on_exit {
            durable_fs::refuse_unwritable(file).map_err(|error| at(file, &error))?;
        }
        let import = match &options.import {
            Some(file) => Some((file.clone(), read(file).map_err(|wrong| at(file, &wrong))?)),
            None => None,
        };
        Ok(Self { import, export: options.export_on_exit.clone() })
    }

    /// Makes the first account what the file to import holds.
    pub async fn import(&self, ctx: &Context) -> Result<(), String> {
        let Some((file, account)) = &self.import else { return Ok(()) };
        account_file::import(ctx, account).await.map_err(|error| at(file, &reason(&error)))
    }

    /// Writes the first account to the file to export: all of it, or the file stays as it is.
    pub async fn export(&self, ctx: &Context) -> Result<(), String> {
        let Some(file) = &self.export else { return Ok(()) };
        let text = account_file::export(ctx).await.map_err(|error| at(file, &reason(&error)))?;
        durable_fs::replace_file(file, text.as_bytes()).map_err(|error| at(file, &error))
    }
}

fn at(file: &Path, wrong: &dyn std::fmt::Display) -> String {
    format!("{}: {wrong}", file.display())
}

fn reason(error: &error::Error) -> String {
    if error.code() == ErrorCode::InternalError { error.to_string() } else { refused(error) }
}

fn read(file: &Path) -> Result<AccountFile, String> {
    let text = |file: &Path| {
        let mut text = String::new();
        File::open(file)?.take(SNAPSHOT_BYTES_MAX + 1).read_to_string(&mut text)?;
        if text.len() as u64 > SNAPSHOT_BYTES_MAX {
            return Err(io::Error::other("is larger than 32 MiB"));
        }
        Ok(text)
    };
    AccountFile::parse(&text(file).map_err(|error| error.to_string())?)
}
