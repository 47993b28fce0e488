//! `card-payments audit`: the actions of operators and the uses of API keys, and the proof that nobody has changed them.

use std::error::Error;
use std::path::PathBuf;

use card_payments::config::{DatabaseOptions, Secrets};
use card_payments::params::Paging;
use card_payments::services::audit::{self, AuditFilter, AuditReport, OperatorAction, list};
use clap::{Args, Subcommand};
use entity::audit_entry::Action;
use entity::{AccountToken, Timestamp};
use serde_json::json;
use tools::terminal::{self, GOOD, Printer, print_list};

use super::{refused, tokens};

/// Print the actions of operators and the uses of API keys.
///
/// The newest come first. Every command that changes something is recorded in the same transaction: the time, the operator, the
/// account or record. A key is named by its last characters. Its uses have one line per day and address, with the first and last time
/// and the number of uses, a few seconds late. Entries are kept for 400 days. Reading them is an entry, too.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Example:\n  card-payments audit --account acct_AZqYv3rVcBKUQ1mHn7tKRw --since 2026-11-01\n\n\
    With --json {at, action, account, subject, by, detail}. An empty page is the end; --until keeps the pages as they are."
)]
pub struct Audit {
    #[command(subcommand)]
    verify: Option<Proof>,
    /// Only this account: acct_...
    #[arg(long, value_parser = account)]
    account: Option<AccountToken>,
    /// Only entries at or after this day or time, by the wall clock in UTC.
    #[arg(long, value_parser = super::deposit::time)]
    since: Option<Timestamp>,
    /// Only entries before this day or time.
    #[arg(long, value_parser = super::deposit::time)]
    until: Option<Timestamp>,
    /// The number of the page.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    page: u64,
    /// Lines per page.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=500))]
    per_page: u64,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    database: DatabaseOptions,
}

#[derive(Subcommand)]
enum Proof {
    /// Verify that no sealed entry was changed, moved or deleted. If one was, prints a line per finding and exits with 1.
    ///
    /// Servers seal entries a second after their commit, each with its predecessors. Without the anchor, a trail that was put back
    /// as a whole to an earlier state looks right: name the file of CARD_PAYMENTS_AUDIT_ANCHOR. It also shows entries that were
    /// removed too young. Uses of API keys are counts and not sealed. Needs the vault key, and is recorded as an entry.
    #[command(
        after_help = "Example:\n  card-payments audit verify --anchor /var/log/card-payments/audit-heads.jsonl\n\n\
        With --json {finding, ...} per finding, then {verified, unsealed, removed, anchored, findings}."
    )]
    Verify {
        /// A file of heads that the servers have written. May be repeated.
        #[arg(long, value_name = "FILE")]
        anchor: Vec<PathBuf>,
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
    },
}

fn account(text: &str) -> Result<AccountToken, String> {
    tokens::parse("account", text)
}

pub async fn run(command: Audit) -> Result<(), Box<dyn Error>> {
    let Audit { verify: proof, account, since, until, page, per_page, json, database } = command;
    if let Some(Proof::Verify { anchor, json }) = proof {
        return verify(&database, &anchor, json).await;
    }
    let store = super::open_to_change(&database).await?;
    let filter = AuditFilter { account, since, until, paging: Paging { page, per_page } };
    let records = list(&store, filter).await?;
    // Before they are printed: nobody reads them unrecorded.
    let detail = json!({ "account": account, "since": since, "until": until, "page": page });
    audit::record_alone(&store, OperatorAction::on_trail(Action::AuditRead, detail)).await?;
    print_list(&records, json)
}

async fn verify(database: &DatabaseOptions, anchors: &[PathBuf], json: bool) -> Result<(), Box<dyn Error>> {
    let read = |file: &PathBuf| {
        match std::fs::read_to_string(file) {
            // The next file begins on a line of its own.
            Ok(lines) if lines.is_empty() || lines.ends_with('\n') => Ok(lines),
            Ok(lines) => Ok(lines + "\n"),
            Err(error) => Err(format!("{}: {error}", file.display())),
        }
    };
    let anchor = anchors.iter().map(read).collect::<Result<String, _>>()?;
    let ctx = super::open_claimed(database, &Secrets::from_environment()?).await?;
    let mut printer = Printer::new(json);
    let report = audit::verify(&ctx, &anchor, |finding| printer.print(finding, finding));
    let report = report.await.map_err(|error| refused(&error))?;
    let detail = json!({ "verified": report.verified, "findings": report.findings });
    audit::record_alone(&ctx.store, OperatorAction::on_trail(Action::AuditVerified, detail)).await?;
    let AuditReport { verified, unsealed, removed, anchored, findings } = report;
    let anchored = anchored.map_or_else(String::new, |number| format!("; the anchor knows entry {number}"));
    let counts = format!(
        "{verified} entries verified, {unsealed} not yet sealed, {removed} removed by age{anchored}."
    );
    printer.print(&report, &counts);
    match findings {
        0 if json => printer.end(),
        0 => {
            printer.end()?;
            let mut out = terminal::styled_stdout();
            writeln!(out, "{GOOD}The audit trail is as it was sealed.{GOOD:#}")?;
            if anchors.is_empty() {
                writeln!(
                    out,
                    "An earlier state of the whole trail looks the same: --anchor tells them apart."
                )?;
            }
            Ok(())
        }
        1 => Err("the audit trail is not as it was sealed: 1 finding".into()),
        many => Err(format!("the audit trail is not as it was sealed: {many} findings").into()),
    }
}
