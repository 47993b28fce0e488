//! How fast the server is, next to what it could be at best on the same machine in the same minutes:
//! `cargo bench --bench speed`. `docs/measuring.md` says what each line means. The exit code is 0 unless a request failed: a
//! goal that is missed is told, and no failure.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use url::Url;

use database::Kind;
use lines::measure;
use report::Report;

mod against;
mod ceilings;
mod database;
mod goals;
mod lines;
mod load;
mod report;
mod site;
mod usage;
mod webhooks;
mod writes;

#[path = "../../tests/it/harness/cluster.rs"]
#[expect(dead_code, reason = "shared with the tests, which want more of it")]
mod cluster;
#[path = "../../tests/it/harness/process.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "shared with the tests, which want more of it")]
mod process;
#[path = "../../tests/it/harness/skipped.rs"]
mod skipped;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// How fast the server is.
#[derive(Debug, Clone, Parser)]
struct Options {
    /// Which databases; both by default.
    #[arg(long, value_delimiter = ',', default_values = ["sqlite", "postgres"])]
    database: Vec<Kind>,
    /// How long each line is measured, in each round.
    #[arg(long, default_value = "3")]
    seconds: u64,
    /// How often; the fastest round counts.
    #[arg(long, default_value = "3")]
    rounds: NonZeroUsize,
    /// How many charges there are before anything is measured.
    #[arg(long, default_value = "10000")]
    charges: NonZeroUsize,
    /// Only these lines: charge, customer, get, list, word, token, replay, keyed, copies, alone, handoff, renewals, start.
    #[arg(long, num_args = 1..)]
    only: Vec<String>,
    /// The server's program.
    #[arg(long, default_value = env!("CARGO_BIN_EXE_card-payments"))]
    binary: PathBuf,
    /// Measures this running server instead, of any maker: its plain HTTP address. It gets the lines charge, get, list and alone.
    #[arg(long, requires = "key")]
    against: Option<Url>,
    /// The secret key of an account on it.
    #[arg(long, requires = "against")]
    key: Option<String>,
    /// Where databases are kept meanwhile: a folder on the disk that is to be measured.
    #[arg(long, default_value = "/var/tmp")]
    folder: PathBuf,
    /// One JSON object instead of tables.
    #[arg(long)]
    json: bool,
    /// Says `cargo bench`; without it this is a test.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Enough charges to see that it works.
const FEW: NonZeroUsize = NonZeroUsize::MIN.saturating_add(59);

impl Options {
    fn span(&self) -> Duration {
        Duration::from_secs(self.seconds).max(Duration::from_millis(200))
    }

    fn wants(&self, line: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == line)
    }
}

fn main() -> Result<ExitCode> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    if arguments == [ceilings::EMPTY_ROUTE] {
        tokio::runtime::Runtime::new()?.block_on(ceilings::serve_empty_route())?;
        return Ok(ExitCode::SUCCESS);
    }
    // `cargo test` wants to know that it works; where it names tests, this is none of them.
    let is_test = !arguments.iter().any(|argument| argument == "--bench");
    if is_test && !arguments.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let mut options = Options::parse();
    if is_test {
        options = Options { seconds: 0, rounds: NonZeroUsize::MIN, charges: FEW, ..options };
    }
    // The load comes from this one thread.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut report = Report::default();
    if let (Some(server), Some(key)) = (&options.against, &options.key) {
        runtime.block_on(against::measure(server, key, &options, &mut report))?;
    } else {
        for kind in options.database.clone() {
            runtime.block_on(measure(kind, &options, &mut report))?;
        }
    }
    if is_test {
        println!("{} lines are measured", report.figures.len());
    } else if options.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        report.print();
    }
    for failure in &report.failures {
        eprintln!("{failure}");
    }
    Ok(if report.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
