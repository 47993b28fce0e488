//! `card-payments record`.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use card_payments::recorder::Recorder;
use clap::Args;
use tools::requests::FileFormat;
use tools::terminal;

use super::exec::{self, DataFolder, Exec};

/// Run a command as exec does, and record its requests.
///
/// The file has every request of the API with its answer, of all accounts, and no secret or card number: published test cards have
/// names, and what is hidden otherwise is named. `replay` sends it again. It is there once the command has ended, whatever its exit
/// code, which is returned.
#[derive(Args)]
#[command(after_help = "Examples:\n  card-payments record --to run.jsonl -- pytest\n  \
    card-payments record --to run.har -- npm test\n\n\
    With --json and without a command {listening, secret_key, publishable_key} and more.")]
pub struct Record {
    /// The file. One that exists is replaced.
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// The form of the file. By default har if its name ends so.
    #[arg(long, value_enum)]
    format: Option<FileFormat>,
    #[command(flatten)]
    exec: Exec,
}

pub async fn run(
    Record { to, format, exec }: Record,
    folder: &mut DataFolder,
) -> Result<ExitCode, Box<dyn Error>> {
    let format = FileFormat::for_file(&to, format);
    let of_file = |error| format!("{}: {error}", to.display());
    let recorder = Arc::new(Recorder::create(&to, format).map_err(of_file)?);
    let ended = Box::pin(exec::serve_for(exec, Some(Arc::clone(&recorder)), folder)).await;
    match recorder.finish() {
        Ok(()) => ended,
        Err(error) if matches!(ended, Ok(ExitCode::SUCCESS)) => Err(of_file(error).into()),
        Err(error) => {
            // The command's own failure says more.
            terminal::print_notice(format_args!("error: {}", of_file(error)));
            ended
        }
    }
}
