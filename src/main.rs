//! The command line: `card-payments [serve]`, and the operator commands.

mod allocator;
mod commands;

use std::ffi::OsString;
use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;
use std::sync::LazyLock;
use std::time::Duration;

use base::platform;
use card_payments::api;
use card_payments::api::openapi::editions::{Bodies, Edition, Samples, edited};
use card_payments::config::{DatabaseOptions, without_empty_variables, wrong_variable};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use serde_json::json;
use tempfile::TempDir;
use tools::terminal::{self, BAD, print_result};

use self::commands::exec::DataFolder;
use self::commands::known_api::known_api;

/// A card payments API server, and its commands.
#[derive(Parser)]
#[command(name = NAME, version = VERSION.as_str())]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const NAME: &str = "card-payments";

/// The release, and its commit if the build sets it (`deploy/release.sh`).
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let release = env!("CARGO_PKG_VERSION");
    option_env!("RELEASE_COMMIT").map_or_else(|| release.into(), |commit| format!("{release} ({commit})"))
});

#[derive(Subcommand)]
enum Command {
    Serve(Box<commands::serve::Serve>),
    Openapi(Openapi),
    Migrate(commands::migrate::Migrate),
    /// Manage accounts: merchants, their keys, switches and settings.
    Account(WithDatabase<commands::account::Account>),
    /// Decide about merchants.
    Merchant(WithDatabase<commands::merchant::Merchant>),
    /// Erase the personal data of customers.
    Customer(WithDatabase<commands::customer::Customer>),
    /// List people who are signed in, and end their sessions.
    People(WithDatabase<commands::people::People>),
    /// Record deposits: money from outside.
    Deposit(WithDatabase<commands::deposit::Deposit>),
    /// Open and decide disputes, as the card network does.
    Dispute(WithDatabase<commands::dispute::Dispute>),
    /// Verify and print the books.
    Ledger(WithDatabase<commands::ledger::Ledger>),
    Reconcile(commands::reconcile::Reconcile),
    /// Rotate the keys that encrypt stored data, and split the vault key.
    Vault(WithDatabase<commands::vault::Vault>),
    /// Confirm the clock.
    Clock(WithDatabase<commands::clock::Clock>),
    /// Ping webhook endpoints and rotate their keys.
    Webhook(WithDatabase<commands::webhook::Webhook>),
    Backup(commands::backup::Backup),
    Copy(commands::copy::Copy),
    Check(commands::check::Check),
    Audit(commands::audit::Audit),
    Listen(tools::listen::Listen),
    Trigger(tools::trigger::Trigger),
    Seed(tools::seed::Seed),
    Mcp(tools::mcp::Mcp),
    Explain(commands::explain::Explain),
    Exec(commands::exec::Exec),
    /// Examine a client of the API, or a receiver of its webhooks.
    #[command(subcommand)]
    Examine(commands::examine::Examine),
    Record(commands::record::Record),
    Replay(tools::replay::Replay),
    Coverage(tools::coverage::Coverage),
    Bench(Box<tools::bench::Bench>),
    Report(Box<commands::report::Report>),
    Requests(tools::requests::Requests),
    Health(tools::health::Health),
    Acquirer(commands::acquirer::Acquirer),
    Completions(Completions),
    Manual(commands::manual::Manual),
}

/// Print the OpenAPI document. Needs no database.
#[derive(Args)]
#[command(after_help = "Example:\n  card-payments openapi > openapi.yaml")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
struct Openapi {
    /// Print JSON instead of YAML.
    #[arg(long)]
    json: bool,
    /// Describe only JSON bodies, where there are others beside them: for generators that make a client of each.
    #[arg(long)]
    json_bodies: bool,
    /// Write it as OpenAPI 3.0, for programs that read no later one.
    #[arg(long, value_name = "VERSION", default_value = "3.1")]
    edition: Edition,
    /// Show how a program calls each operation: with curl, and with the clients in seven languages.
    #[arg(long)]
    code_samples: bool,
    /// Print a collection of requests for Postman and compatible programs.
    #[arg(long, conflicts_with_all = ["json", "json_bodies", "edition", "code_samples"])]
    postman: bool,
}

impl Openapi {
    fn print(self) -> Result<(), Box<dyn std::error::Error>> {
        let bodies = if self.json_bodies { Bodies::Json } else { Bodies::All };
        let samples = if self.code_samples { Samples::Code } else { Samples::None };
        let document = edited(api::openapi(), bodies, self.edition, samples);
        let text = if self.postman {
            format!("{:#}\n", api::openapi::postman::collection(&document))
        } else if self.json {
            format!("{document:#}\n")
        } else {
            api::openapi::yaml(&document)
        };
        Ok(terminal::stdout().write_all(text.as_bytes())?)
    }
}

/// Print a script that completes commands and options in a shell. Needs no database.
#[derive(Args)]
#[command(after_help = "Example:\n  card-payments completions bash > /etc/bash_completion.d/card-payments")]
struct Completions {
    /// The shell.
    shell: clap_complete::Shell,
    /// Print one JSON object: {shell, script}.
    #[arg(long)]
    json: bool,
}

impl Completions {
    fn print(self) -> Result<(), Box<dyn std::error::Error>> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), NAME, &mut script);
        let mut script = String::from_utf8(script)?;
        if self.shell == clap_complete::Shell::Bash {
            // It spells a name with a hyphen in two ways, so that no command's own words would be completed.
            script = script.replace("card__subcmd__payments", "card__payments");
        }
        if !self.json {
            return Ok(terminal::stdout().write_all(script.as_bytes())?);
        }
        print_result(&json!({ "shell": self.shell.to_string(), "script": script }), &"", true)
    }
}

/// A command on a database.
#[derive(Args)]
struct WithDatabase<C: Subcommand> {
    #[command(subcommand)]
    command: C,
    #[command(flatten)]
    database: DatabaseOptions,
}

fn main() -> ExitCode {
    let program = commands::help::in_groups(without_empty_variables(Cli::command()));
    let given = arguments();
    let read =
        program.clone().try_get_matches_from(&given).and_then(|matches| Cli::from_arg_matches(&matches));
    let Cli { command } = match read {
        Ok(cli) => cli,
        Err(error) => match wrong_variable(&error, &program, &given) {
            Some(wrong) => {
                print_error(&wrong);
                return ExitCode::from(USAGE);
            }
            None => error.exit(),
        },
    };
    // Files that the program creates are its user's only: the database, its log, uploads, copies. A command of the user's
    // keeps the user's mask, and everybody may read the manual.
    let keeps_mask =
        matches!(command, Command::Exec(_) | Command::Record(_) | Command::Examine(_) | Command::Manual(_));
    if !keeps_mask {
        platform::hide_new_files();
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    let mut folder = None;
    let ended = runtime.block_on(run(command, &mut folder));
    // A read of the standard input that nobody waits for any more would hold the program until the input ends.
    runtime.shutdown_timeout(Duration::from_secs(1));
    let code = match ended {
        Ok(code) => code,
        Err(error) if terminal::is_reader_gone(&*error) => ExitCode::SUCCESS,
        Err(error) => failed(&*error),
    };
    match folder.map_or(Ok(()), TempDir::close) {
        Err(error) if code == ExitCode::SUCCESS => failed(&error),
        Err(error) => {
            print_error(&error);
            code
        }
        Ok(()) => code,
    }
}

/// The exit code of wrong usage.
const USAGE: u8 = 2;

/// Returns the arguments. Options may stand before their command; without a command, `serve` is meant.
fn arguments() -> Vec<OsString> {
    let mut arguments: Vec<_> = std::env::args_os().collect();
    let of_all = ["-h", "--help", "-V", "--version"];
    let of_command = |first: &OsString| {
        first.as_encoded_bytes().starts_with(b"-") && !of_all.iter().any(|option| first == option)
    };
    if arguments.get(1).is_none_or(of_command) {
        let commands = Cli::command();
        // A word after an option may be its value.
        let is_value = |before: &OsString| {
            let option = before.to_str().and_then(|before| before.strip_prefix("--"));
            option.is_some_and(|option| takes_value(&commands, option))
        };
        let command = (2..arguments.len())
            .find(|&at| commands.find_subcommand(&arguments[at]).is_some() && !is_value(&arguments[at - 1]));
        if let Some(at) = command {
            // With the commands below it: `account list`.
            let (mut command, mut end) = (&commands, at);
            while let Some(below) = arguments.get(end).and_then(|word| command.find_subcommand(word)) {
                (command, end) = (below, end + 1);
            }
            arguments[1..end].rotate_left(at - 1);
        } else {
            arguments.insert(1, "serve".into());
        }
    }
    arguments
}

/// Returns whether an option of a command, or of one below it, has a value.
fn takes_value(command: &clap::Command, option: &str) -> bool {
    command.get_arguments().any(|it| it.get_long() == Some(option) && it.get_action().takes_values())
        || command.get_subcommands().any(|below| takes_value(below, option))
}

fn failed(error: &dyn std::error::Error) -> ExitCode {
    print_error(&error);
    ExitCode::FAILURE
}

/// Prints one line for the operator.
fn print_error(error: &dyn Display) {
    terminal::print_notice(format_args!("{BAD}error:{BAD:#} {error}"));
}

async fn run(command: Command, folder: &mut DataFolder) -> Result<ExitCode, Box<dyn std::error::Error>> {
    platform::survive_file_size_limit()?;
    match command {
        Command::Exec(command) => return Box::pin(commands::exec::run(command, folder)).await,
        Command::Record(command) => return Box::pin(commands::record::run(command, folder)).await,
        Command::Examine(command) => return Box::pin(commands::examine::run(command, folder)).await,
        Command::Bench(command) => return Box::pin(commands::bench::run(*command)).await,
        Command::Backup(command) => return commands::backup::run(command).await,
        Command::Serve(command) => Box::pin(commands::serve::run(*command)).await,
        Command::Openapi(options) => options.print(),
        Command::Migrate(command) => commands::migrate::run(command).await,
        Command::Account(group) => commands::account::run(group.command, &group.database).await,
        Command::Merchant(group) => commands::merchant::run(group.command, &group.database).await,
        Command::Customer(group) => commands::customer::run(group.command, &group.database).await,
        Command::People(group) => commands::people::run(group.command, &group.database).await,
        Command::Deposit(group) => commands::deposit::run(group.command, &group.database).await,
        Command::Dispute(group) => commands::dispute::run(group.command, &group.database).await,
        Command::Ledger(group) => commands::ledger::run(group.command, &group.database).await,
        Command::Reconcile(command) => commands::reconcile::run(command).await,
        Command::Vault(group) => commands::vault::run(group.command, &group.database).await,
        Command::Clock(group) => commands::clock::run(group.command, &group.database).await,
        Command::Webhook(group) => commands::webhook::run(group.command, &group.database).await,
        Command::Copy(command) => commands::copy::run(command).await,
        Command::Check(command) => commands::check::run(command).await,
        Command::Audit(command) => commands::audit::run(command).await,
        Command::Listen(command) => tools::listen::run(command).await,
        Command::Trigger(command) => tools::trigger::run(command, &known_api()).await,
        Command::Seed(command) => tools::seed::run(command, &known_api()).await,
        Command::Mcp(command) => tools::mcp::run(command, &known_api()).await,
        Command::Explain(command) => commands::explain::run(command).await,
        Command::Replay(command) => tools::replay::run(command, &known_api()).await,
        Command::Coverage(command) => tools::coverage::run(command, &known_api()).await,
        Command::Report(command) => commands::report::run(*command).await,
        Command::Requests(command) => tools::requests::run(command).await,
        Command::Health(command) => tools::health::run(&command),
        Command::Acquirer(command) => commands::acquirer::run(command).await,
        Command::Manual(command) => commands::manual::run(command, Cli::command()),
        Command::Completions(options) => options.print(),
    }
    .map(|()| ExitCode::SUCCESS)
}
