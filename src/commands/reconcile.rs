//! `card-payments reconcile`: the acquirer's statements against the books.

use std::error::Error;
use std::fs::File;
use std::path::PathBuf;

use card_payments::config::DatabaseOptions;
use card_payments::params::Paging;
use card_payments::services::reconciliation::view::ExceptionRecord;
use card_payments::services::reconciliation::{
    self, ExceptionAction, ExceptionChange, ExceptionFilter, ReconcileError, change, find, list, note,
};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use entity::reconciliation_exception::{ExceptionKind, ExceptionState};
use entity::{ExceptionToken, token};
use tools::progress_bar::{Bar, Unit};
use tools::terminal::{Printer, print_list, print_result};

use super::{refused, tokens};

/// Compare a statement of the acquirer with the books.
///
/// Imports the statement once, in a transaction per thousand lines, and prints how many lines match and how many exceptions there
/// are; they alone do not make the exit code 1. Its subcommands work off the exceptions. A file with faults imports nothing: each is
/// printed with its line. The books are not changed.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Example:\n  card-payments reconcile statement.csv\n  card-payments reconcile list --kind missing\n\n\
    A file with the name of a subcommand is ./list."
)]
pub struct Reconcile {
    #[command(subcommand)]
    action: Option<ExceptionCommand>,
    /// The statement: the columns are in docs/money.md.
    #[arg(required = true)]
    file: Option<PathBuf>,
    /// Print one JSON object; of faults, one for each: {line, message}.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    database: DatabaseOptions,
}

#[derive(Subcommand)]
enum ExceptionCommand {
    /// Print exceptions, oldest first: those that are not resolved, or those in a state. Changes nothing.
    #[command(after_help = "Example:\n  card-payments reconcile list --state open --kind missing --json")]
    List {
        /// Only exceptions in this state.
        #[arg(long, value_parser = PossibleValuesParser::new(ExceptionState::ALL.iter().map(|state| state.code())))]
        state: Option<String>,
        /// Only exceptions of this kind.
        #[arg(long, value_parser = PossibleValuesParser::new(ExceptionKind::ALL.iter().map(|kind| kind.code())))]
        kind: Option<String>,
        /// The number of the page.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
        page: u64,
        /// Lines per page.
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=500))]
        per_page: u64,
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// Print an exception. Changes nothing.
    #[command(after_help = "Example:\n  card-payments reconcile show exc_AZqYv3rVcBKUQ1mHn7tKRw")]
    Show {
        /// The exception's token.
        exception: String,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Record why an exception is there, and print it. It stays in the list until it is resolved.
    #[command(
        after_help = "Example:\n  card-payments reconcile explain exc_AZqYv3rVcBKUQ1mHn7tKRw --note 'The bank was closed'"
    )]
    Explain(Noted),
    /// Record that an exception is settled, and print it.
    #[command(
        after_help = "Example:\n  card-payments reconcile resolve exc_AZqYv3rVcBKUQ1mHn7tKRw --note 'Paid on the 27th'"
    )]
    Resolve(Noted),
}

#[derive(Args)]
struct Noted {
    /// The exception's token.
    exception: String,
    /// Why; the operator's name is recorded with it.
    #[arg(long, value_parser = note)]
    note: String,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Noted {
    async fn record(
        &self,
        action: ExceptionAction,
        database: &DatabaseOptions,
    ) -> Result<Result<ExceptionRecord, card_payments::error::Error>, Box<dyn Error>> {
        let (token, note, wall) = (exception(&self.exception)?, self.note.clone(), super::now(database)?);
        let store = super::open_to_change(database).await?;
        Ok(change(&store, ExceptionChange { token, action, note, by: None, wall }).await)
    }
}

pub async fn run(command: Reconcile) -> Result<(), Box<dyn Error>> {
    let Reconcile { action, file, json, database } = command;
    if let Some(action) = action {
        return work_off(action, &database).await;
    }
    let path = file.ok_or("a statement is required")?;
    let file = File::open(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let store = super::open_to_change(&database).await?;
    let bar = Bar::new("Comparing with the books", Unit::Things);
    let reconciled = reconciliation::reconcile(&store, file, super::now(&database)?, &bar).await;
    drop(bar);
    match reconciled {
        Ok(reconciled) => print_result(&reconciled, &reconciled, json),
        Err(ReconcileError::Faults(faults)) => {
            let mut printer = Printer::new(json);
            for fault in &faults {
                printer.print(fault, fault);
            }
            Err(ReconcileError::Faults(faults).into())
        }
        Err(error) => Err(error.into()),
    }
}

async fn work_off(command: ExceptionCommand, database: &DatabaseOptions) -> Result<(), Box<dyn Error>> {
    let (record, json) = match command {
        ExceptionCommand::List { state, kind, page, per_page, json } => {
            let state = state.and_then(|word| ExceptionState::from_code(&word));
            let kind = kind.and_then(|word| ExceptionKind::from_code(&word));
            let filter = ExceptionFilter { state, kind, paging: Paging { page, per_page } };
            let store = super::open(database).await?;
            return print_list(&list(&store, filter).await?, json);
        }
        ExceptionCommand::Show { exception: token, json } => {
            (find(&super::open(database).await?, exception(&token)?).await, json)
        }
        ExceptionCommand::Explain(noted) => {
            (noted.record(ExceptionAction::Explain, database).await?, noted.json)
        }
        ExceptionCommand::Resolve(noted) => {
            (noted.record(ExceptionAction::Resolve, database).await?, noted.json)
        }
    };
    let record = record.map_err(|error| refused(&error))?;
    print_result(&record, &record, json)
}

fn exception(text: &str) -> Result<ExceptionToken, String> {
    text.parse().map_err(|_| tokens::missing::<token::Exception>("exception", &text))
}
