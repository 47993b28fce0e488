//! `card-payments check`.

use std::error::Error;
use std::ffi::OsString;
use std::fmt;

use card_payments::check::{self, Finding, Level};
use clap::Args;

use super::{tell, terminal};

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
    let told = findings.iter().try_for_each(|finding| tell(finding, &Line(finding), json));
    // What was found counts, though nobody reads all of it.
    match findings.iter().filter(|finding| finding.level == Level::Wrong).count() {
        0 => told,
        1 => Err("1 thing is wrong".into()),
        many => Err(format!("{many} things are wrong").into()),
    }
}

/// For a person: a line, and one below it that says how to mend it.
struct Line<'a>(&'a Finding);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { level, area, said, mend } = self.0;
        let style = match level {
            Level::Ok => terminal::GOOD,
            Level::Warning => terminal::DOUBTFUL,
            Level::Wrong => terminal::BAD,
        };
        write!(f, "{style}{:<8}{style:#} {:<14} {said}", level.name(), area.name())?;
        match mend {
            Some(mend) => write!(f, "\n{:<23} -> {mend}", ""),
            None => Ok(()),
        }
    }
}
