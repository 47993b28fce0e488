//! `card-payments check`.

use std::error::Error;
use std::ffi::OsString;
use std::fmt;

use base::plain_text::OneLine;
use card_payments::check::{self, Finding, Level};
use clap::Args;
use tools::terminal::{self, Printer};

/// Say what is wrong with an installation, and how to mend it. Changes nothing.
///
/// Run it with the variables and the user of the server: before the first start, before an upgrade, or beside a running server. It
/// checks the configuration (and names unknown variables), the keys, the database, the root certificates, the clock, the disk, the
/// ports and the acquirer, and goes on to the next however much is wrong with one.
#[derive(Args)]
#[command(after_help = "Example:\n  card-payments check --json\n\n\
    One line per finding: ok, warning (a server runs like this) or wrong, then the area; below it the remedy. With --json \
    {level, area, said, remedy}. Exit code 1 if anything is wrong.")]
pub struct Check {
    /// Print one JSON object per finding, one per line.
    #[arg(long)]
    json: bool,
    /// Replaces CARD_PAYMENTS_DATABASE_URL.
    #[arg(long)]
    database_url: Option<OsString>,
    /// Replaces CARD_PAYMENTS_DATA_DIR.
    #[arg(long)]
    data_dir: Option<OsString>,
    /// Replaces CARD_PAYMENTS_ENVIRONMENT.
    #[arg(long)]
    environment: Option<OsString>,
}

/// Runs the command. Reads its options as it reads the variables, so that it reports a wrong one with everything else.
pub async fn run(command: Check) -> Result<(), Box<dyn Error>> {
    let Check { json, database_url, data_dir, environment } = command;
    let given = [("database_url", database_url), ("data_dir", data_dir), ("environment", environment)];
    let given: Vec<_> = given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let findings = check::check(&given).await;
    let mut printer = Printer::new(json);
    for finding in &findings {
        printer.print(finding, &Line(finding));
    }
    match findings.iter().filter(|finding| finding.level == Level::Wrong).count() {
        0 => printer.end(),
        1 => Err("1 thing is wrong".into()),
        many => Err(format!("{many} things are wrong").into()),
    }
}

/// A finding as text: one line, and below it how to fix it.
struct Line<'a>(&'a Finding);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { level, area, text, remedy } = self.0;
        let style = match level {
            Level::Ok => terminal::GOOD,
            Level::Warning => terminal::DOUBTFUL,
            Level::Wrong => terminal::BAD,
        };
        write!(f, "{style}{:<8}{style:#} {:<14} {}", level.name(), area.name(), OneLine(text))?;
        match remedy {
            Some(remedy) => write!(f, "\n{:<23} -> {}", "", OneLine(remedy)),
            None => Ok(()),
        }
    }
}
