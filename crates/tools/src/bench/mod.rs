//! `card-payments bench`: payments under an open load, with an acquirer outside of the system that takes its time and fails. The program
//! serves the acquirer; how, and what is measured, stands in `docs/benchmark.md`.

pub mod acquirer;
mod draws;
mod figures;
mod load;
mod proof;
mod rate_search;
mod servers;
mod summary;

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use base::http_address::parse_listen_address;
use base::random::random;
use base::secret::Secret;
use clap::Args;
use entity::Probability;
use http::Method;
use tokio::time::{Instant, sleep};

use self::acquirer::{BenchAcquirer, PaymentNames};
use self::draws::{AcquirerTimes, Draws};
use self::figures::Figures;
use self::load::{Load, PayerAnswer};
use self::proof::{Listed, Proof, balance};
use self::rate_search::{FIRST, RATE_MAX, RateSearch, Trial};
use self::servers::{BenchDatabase, OwnServers, ServerPlan};
use self::summary::{ProcessorTimes, Summary};
use crate::api_client::ApiClient;
use crate::terminal::{self, print_result};

/// Measure payments under an open load, and prove that none is lost.
///
/// Payments arrive at a fixed rate, whatever became of those before, at servers of its own or at a system that --against names. The
/// acquirer takes its time and fails some calls; the program serves it. A payment's added latency is its time from when it was due to its
/// answer, without what the acquirer took for it.
///
/// Without --rate it raises the rate until the p99 of the added latency passes 50 ms, and prints the highest rate held for --seconds.
/// At the end it compares its own list of payments with the system's list, balance and ledger, and with the acquirer's books.
/// docs/benchmark.md has the rules.
///
/// Exit code 1 if a payment was lost, doubled or charged against its answer, or if books differ. Then the servers' logs and their SQLite
/// file are kept.
#[derive(Args)]
#[command(after_help = "Examples:\n  card-payments bench\n  card-payments bench --rate 200 --seconds 30\n  \
    DATABASE_URL=postgres://me@localhost/empty card-payments bench --database postgres --copies 2\n  \
    card-payments bench --against http://10.0.0.7:8080 --acquirer-listen 10.0.0.9:8090\n\n\
    With --json {system, copies, acquirer, faults, seed, held, figures, processor_us, proof}.")]
pub struct Bench {
    /// Payments a second, as a Poisson process. Without it the highest rate is searched.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(RATE_MAX)))]
    rate: Option<u32>,
    /// How long the rate is held. A step of the search takes a sixth of it.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// How long the acquirer takes for a call: p50 and p99 of a log-normal distribution, in milliseconds. 120/380 by default.
    #[arg(long, value_name = "P50/P99")]
    acquirer: Option<AcquirerTimes>,
    /// The share of its calls that fail: done without an answer, not done without one, or answered with an error, each as often. 0.007 by default.
    #[arg(long, value_name = "SHARE", value_parser = parse_faults)]
    faults: Option<Probability>,
    /// What the servers run on: sqlite, postgres (at DATABASE_URL), or postgres://USER@HOST/DATABASE. A run needs an empty database.
    #[arg(long, default_value = "sqlite")]
    database: BenchDatabase,
    /// How many servers share the database. Payments go to them in turn.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    copies: u16,
    /// A folder on the disk that is to be measured. At the end nothing is left in it, unless something is wrong.
    #[arg(long, default_value = ".")]
    folder: PathBuf,
    /// Measure this running system instead: a test server, a cluster (once for each address), or another system.
    #[arg(long, value_name = "URL", conflicts_with_all = ["database", "copies", "folder"])]
    against: Vec<String>,
    /// The secret key of an account there that nobody else uses. By default that of a test server's first account.
    #[arg(long, env = "CARD_PAYMENTS_KEY", hide_env_values = true, allow_hyphen_values = true)]
    key: Option<Secret>,
    /// Where that system finds the acquirer, by the secret in CARD_PAYMENTS_ACQUIRER_SECRET. Without it the system has its own, whose
    /// time counts as added.
    #[arg(long, value_name = "ADDRESS", requires = "against", value_parser = parse_listen_address)]
    acquirer_listen: Option<SocketAddr>,
    /// A number that decides when payments arrive, how long calls take, and which fail.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Parses the share of calls that fail.
fn parse_faults(text: &str) -> Result<Probability, &'static str> {
    const WRONG: &str =
        "must be a number from 0 to 0.1: with more, recoveries fail too often for the proof to end";
    let share: Probability = text.parse().map_err(|_| WRONG)?;
    "0.1".parse().is_ok_and(|most| share <= most).then_some(share).ok_or(WRONG)
}

/// Payments before anything is measured, so that connections and caches are there.
const WARM_UP: Duration = Duration::from_secs(2);
/// A step of the search is a part of the whole time.
const STEPS_A_WHOLE: u64 = 6;
/// Between two steps, so that one does not pay for the one before.
const PAUSE: Duration = Duration::from_secs(1);
/// The time that a system may take to find out what became of calls without an answer.
const RECOVERY: Duration = Duration::from_mins(3);
/// The number of payments with which something is wrong that are named.
const NAMES_SHOWN: usize = 5;
/// Between two comparisons.
const COMPARE_PAUSE: Duration = Duration::from_secs(5);

/// A run that has not begun.
pub struct BenchRun {
    options: Bench,
    draws: Draws,
    times: AcquirerTimes,
    faults: Probability,
    names: PaymentNames,
}

/// The things that the program has made for the servers of a run.
pub struct Surroundings {
    /// A folder for their files.
    pub folder: PathBuf,
    /// The address of their acquirer.
    pub acquirer: String,
    /// The secret that they share with it.
    pub secret: Secret,
}

impl BenchRun {
    /// Checks the options.
    pub fn new(options: Bench) -> Result<Self, Box<dyn Error>> {
        if options.copies > 1 && matches!(options.database, BenchDatabase::Sqlite) {
            return Err("several servers cannot share a SQLite file: name a PostgreSQL by --database".into());
        }
        let is_foreign = !options.against.is_empty() && options.acquirer_listen.is_none();
        if is_foreign && (options.acquirer.is_some() || options.faults.is_some()) {
            return Err(
                "the system has its own acquirer: name where it finds ours by --acquirer-listen".into()
            );
        }
        let times = options.acquirer.map_or_else(|| "120/380".parse(), Ok)?;
        let faults = options.faults.map_or_else(|| "0.007".parse(), Ok)?;
        let draws = Draws(options.seed);
        let names = PaymentNames::of_run(u32::from_be_bytes(random()));
        Ok(Self { options, draws, times, faults, names })
    }

    /// Returns where the acquirer listens; `None` if the system has its own.
    pub fn acquirer_address(&self) -> Option<SocketAddr> {
        let own = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        if self.brings_servers() { Some(own) } else { self.options.acquirer_listen }
    }

    pub fn acquirer(&self) -> BenchAcquirer {
        BenchAcquirer::new(self.times, self.faults, self.draws, self.names.clone())
    }

    /// Returns whether the servers are the run's own.
    pub fn brings_servers(&self) -> bool {
        self.options.against.is_empty()
    }

    /// Returns where the files of the run's own servers go; `None` if it brings none.
    pub fn folder(&self) -> Option<&Path> {
        self.brings_servers().then_some(&*self.options.folder)
    }

    /// Measures, prints the result, and returns the exit code: a failure if something is wrong.
    pub async fn measure(
        self,
        acquirer: Option<Arc<BenchAcquirer>>,
        surroundings: Surroundings,
    ) -> Result<ExitCode, Box<dyn Error>> {
        let own = if self.brings_servers() {
            let Surroundings { folder, acquirer, secret } = surroundings;
            let Bench { database, copies, .. } = &self.options;
            let plan = ServerPlan { database: database.clone(), copies: *copies, folder, acquirer, secret };
            Some(OwnServers::start(plan).await?)
        } else {
            None
        };
        let servers = match &own {
            Some(own) => own.clients().await?,
            None => named(&self.options).await?,
        };
        let load = Load { servers, names: self.names.clone(), draws: self.draws, acquirer };
        let mut measurement =
            Measurement { run: &self, load: Arc::new(load), own, answers: Vec::new(), processors: None };
        let result = measurement.take().await?;
        let printed = print_result(&result, &result, self.options.json);
        if let Some(own) = measurement.own {
            own.stop().await;
        }
        if result.proof.is_good() {
            return printed.map(|()| ExitCode::SUCCESS);
        }
        let concerned = result.proof.wrong_payments.iter().take(NAMES_SHOWN);
        let concerned: Vec<_> = concerned.map(|number| self.names.name(*number)).collect();
        if !concerned.is_empty() {
            terminal::print_notice(format_args!("The first payments concerned: {}", concerned.join(", ")));
        }
        Ok(ExitCode::FAILURE)
    }
}

/// Returns clients of the system that is named. A live server of this program is refused.
async fn named(options: &Bench) -> Result<Vec<ApiClient>, Box<dyn Error>> {
    let mut servers = Vec::new();
    for address in &options.against {
        let server = ApiClient::at(address, options.key.clone()).await?;
        let sandbox =
            server.answer_once(Some(server.key()), Method::GET, "/1/sandbox/clock", None, &[]).await?;
        let (status, code) = (sandbox.status, sandbox.code());
        if !is_test_system(status, code) {
            let why = if status == 404 {
                "has no sandbox".to_owned()
            } else {
                format!("answers GET /1/sandbox/clock with {status} {code}")
            };
            return Err(format!("{address} {why}: nothing is charged where cards are real").into());
        }
        servers.push(server);
    }
    Ok(servers)
}

/// Returns whether cards are not real, by what was answered to a question about the sandbox. Another system has no such address; neither
/// has a live server of this program, which has a code for that.
fn is_test_system(status: u16, code: &str) -> bool {
    matches!(status, 200..=299) || (status == 404 && code != "resource_not_found")
}

/// A run in progress.
struct Measurement<'a> {
    run: &'a BenchRun,
    load: Arc<Load>,
    own: Option<OwnServers>,
    /// The answer that each payment's payer got.
    answers: Vec<PayerAnswer>,
    /// Of the last step.
    processors: Option<ProcessorTimes>,
}

impl Measurement<'_> {
    async fn take(&mut self) -> Result<Summary, Box<dyn Error>> {
        let BenchRun { options, times, faults, .. } = self.run;
        let before = balance(&self.load.servers[0]).await?;
        let warm_up = options.rate.unwrap_or(FIRST).min(FIRST);
        self.step(warm_up, WARM_UP).await?;
        let (held, figures) = match options.rate {
            Some(rate) => {
                let figures = self.step(rate, Duration::from_secs(options.seconds)).await?;
                terminal::print_notice(&figures);
                (figures.is_held().then_some(rate), figures)
            }
            None => self.search().await?,
        };
        let proof = self.prove(before).await?;
        let has_acquirer = self.load.acquirer.is_some();
        Ok(Summary {
            system: match &self.own {
                Some(_) => options.database.name().to_owned(),
                None => options.against.join(", "),
            },
            copies: self.load.servers.len(),
            acquirer: has_acquirer.then(|| times.to_string()),
            faults: has_acquirer.then_some(*faults),
            seed: options.seed,
            held,
            figures,
            processor_us: self.processors.unwrap_or_default(),
            proof,
        })
    }

    /// Searches the highest rate. Returns it, if there is one, and the figures of the last step.
    async fn search(&mut self) -> Result<(Option<u32>, Figures), Box<dyn Error>> {
        let seconds = self.run.options.seconds;
        let (mut search, mut last) = (RateSearch::new(), None);
        while let Some(Trial { rate, is_whole }) = search.next_trial() {
            let seconds = if is_whole { seconds } else { seconds.div_ceil(STEPS_A_WHOLE) };
            let span = Duration::from_secs(seconds);
            let mut figures = self.step(rate, span).await?;
            terminal::print_notice(&figures);
            if !figures.is_held() {
                // One stall must not decide.
                figures = self.step(rate, span).await?;
                terminal::print_notice(&figures);
            }
            search = search.after(figures.is_held());
            last = Some((figures.is_held().then_some(rate), figures));
        }
        Ok(last.ok_or("a search without a step")?)
    }

    /// Sends payments at a rate for a time, once the system has come to rest.
    async fn step(&mut self, rate: u32, span: Duration) -> Result<Figures, Box<dyn Error>> {
        sleep(PAUSE).await;
        let before = ProcessorTimes::now(self.own.as_ref());
        let step = self.load.run(self.answers.len(), rate, span, self.run.times.p99).await?;
        self.processors = Some(ProcessorTimes::now(self.own.as_ref()).of_each(before, step.payments.len()));
        self.answers.extend(step.payments.iter().map(|payment| payment.answer));
        if let Some(own) = &mut self.own {
            own.check_alive()?;
        }
        let figures = Figures::new(rate, &step);
        let is_dead = step.payments.iter().all(|payment| payment.answer != PayerAnswer::Charged);
        if is_dead && let Some(refusal) = &figures.refusal {
            let log = self.own.as_ref().map(|own| format!("; the server's log: {}", own.last_log_line(1)));
            return Err(format!("nothing was charged: {refusal}{}", log.unwrap_or_default()).into());
        }
        Ok(figures)
    }

    /// Compares all books, again and again while the system may not know yet what became of every call.
    async fn prove(&self, before: Option<i64>) -> Result<Proof, Box<dyn Error>> {
        let began = Instant::now();
        let mut proof = self.compare(before).await?;
        let seconds = RECOVERY.as_secs();
        if proof.may_come_right() {
            terminal::print_notice(format_args!(
                "Waiting up to {seconds} seconds: the system may still find out what became of calls without an answer"
            ));
        }
        while proof.may_come_right() && began.elapsed() < RECOVERY {
            sleep(COMPARE_PAUSE).await;
            proof = self.compare(before).await?;
        }
        if !proof.is_good() {
            // A payment that is listed while the list is read moves others to a page that was read before.
            sleep(COMPARE_PAUSE).await;
            proof = self.compare(before).await?;
        }
        // Neither right nor wrong can be said of a payment whose recovery the acquirer itself has failed.
        let has_lost_recovery = |number: &usize| {
            self.load.acquirer.as_ref().is_some_and(|acquirer| acquirer.seen(*number).is_recovery_lost)
        };
        let concerned = &proof.wrong_payments;
        if proof.may_come_right() && !concerned.is_empty() && concerned.iter().all(has_lost_recovery) {
            return Err(format!(
                "no verdict: after {seconds} seconds the outcome of {} payments is still unknown, because their \
                recoveries failed, too. Try another --seed or fewer --faults",
                concerned.len()
            )
            .into());
        }
        let books_are_right = match &self.own {
            Some(own) => Some(own.verify_ledger().await?),
            None => None,
        };
        Ok(Proof { books_are_right, ..proof })
    }

    /// Compares all books but the ledger.
    async fn compare(&self, before: Option<i64>) -> Result<Proof, Box<dyn Error>> {
        let Load { servers, names, acquirer, .. } = &*self.load;
        let listed = Listed::read(&servers[0], names, self.answers.len()).await?;
        let taken = acquirer.as_ref().map(|acquirer| acquirer.taken(self.answers.len()));
        let after = balance(&servers[0]).await?;
        Ok(Proof::new(&self.answers, &listed, taken.as_deref()).with_balance(before, after, &listed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_charged_where_cards_may_be_real() {
        for (status, code, is_test) in [
            (200, "", true),
            (404, "", true),
            (404, "no_such_page", true),
            (404, "resource_not_found", false),
            (401, "invalid_key", false),
            (302, "", false),
            (503, "", false),
        ] {
            assert_eq!(is_test_system(status, code), is_test, "{status} {code}");
        }
    }

    #[test]
    fn a_tenth_of_the_calls_may_fail() {
        assert_eq!(parse_faults("0.1"), Ok("0.1".parse().unwrap()));
        for wrong in ["0.100001", "-1", "2", "x"] {
            assert!(parse_faults(wrong).is_err(), "{wrong}");
        }
    }
}
