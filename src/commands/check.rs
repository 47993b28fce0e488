//! `card-payments check`.

use std::error::Error;
use std::ffi::OsString;
use std::io::Write;

use card_payments::check::{self, Level};
use clap::Args;

/// Say what is wrong with the configuration, the database and the machine, and how to mend it. Changes nothing.
///
/// Give it the variables and the user of the server, before its first start, before an upgrade, or beside it while it runs. It
/// looks at the configuration (variables that nobody reads are named), the keys, the database, the roots, the clock, the disk, the
/// ports and the acquirer, and at all of them however much is wrong with one.
#[derive(Args)]
#[command(after_help = "Example:\n  card-payments check --json\n\n\
    A line a finding: ok, warning (a server runs like this) or wrong, then what it is about; below it how to mend it. With --json \
    {level, area, said, mend}. Exit code 1 if anything is wrong.")]
pub struct Check {
    /// One JSON object a finding, one a line.
    #[arg(long)]
    json: bool,
    /// In place of CARD_PAYMENTS_DATABASE_URL.
    #[arg(long)]
    database_url: Option<OsString>,
    /// In place of CARD_PAYMENTS_DATA_DIR.
    #[arg(long)]
    data_dir: Option<OsString>,
    /// In place of CARD_PAYMENTS_ENVIRONMENT.
    #[arg(long)]
    environment: Option<OsString>,
}

/// Run it. Its options are read as the variables are, all of them, so that one that is wrong is told with what else is.
pub async fn run(command: Check) -> Result<(), Box<dyn Error>> {
    let Check { json, database_url, data_dir, environment } = command;
    let given = [("database_url", database_url), ("data_dir", data_dir), ("environment", environment)];
    let given: Vec<_> = given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let findings = check::check(&given).await;
    let mut out = std::io::stdout().lock();
    for finding in &findings {
        if json {
            writeln!(out, "{}", serde_json::to_string(finding)?)?;
        } else {
            writeln!(out, "{finding}")?;
        }
    }
    match findings.iter().filter(|finding| finding.level == Level::Wrong).count() {
        0 => Ok(()),
        1 => Err("1 thing is wrong".into()),
        many => Err(format!("{many} things are wrong").into()),
    }
}
