//! `nodes`: a distributed database under the payments of accounts on both of its workers. In each of `--rounds` (2) a worker is
//! killed and comes back, and a shard moves to the other worker. Skipped where Citus is not installed.

use std::time::{Duration, Instant};

use entity::AccountToken;

use crate::distributed::{Distributed, Shard};
use crate::harness::chance::Chance;
use crate::harness::process::{Process, pause};
use crate::installation::Installation;
use crate::load::Server;
use crate::options::{Database, Options};
use crate::payers::{Attempt, Payers, Try};
use crate::report::Report;
use crate::truth::Wrong;

const ACCOUNTS_PER_SHARD: usize = 4;
/// Bounds of a debug build beside other tests: for an answer, and for a worker's accounts to pay again after its start.
const ANSWER_MAX: Duration = Duration::from_secs(15);
const BACK_MAX: Duration = Duration::from_secs(20);

pub fn run(options: &Options, _: Database) -> Option<Report> {
    let Some(database) = Distributed::new() else {
        eprintln!("nodes: Citus is not installed, so this is skipped");
        return None;
    };
    let mut trial = NodesTrial::begin(Installation::distributed(database), options);
    for _ in 0..options.number("rounds", 2) {
        trial.report.rounds += 1;
        let mut faults: [fn(&mut NodesTrial); 2] = [NodesTrial::kill_worker, NodesTrial::move_shard];
        if trial.chance.below(2) == 0 {
            faults.reverse();
        }
        faults.iter().for_each(|fault| fault(&mut trial));
    }
    Some(trial.end())
}

/// What the faults of one kind did to the payments.
#[derive(Default)]
struct Effect {
    /// How long each fault lasted.
    lasted: Vec<Duration>,
    /// For each request that was refused, how long after the fault's end it succeeded.
    back: Vec<Duration>,
    /// How long each answer took.
    took: Vec<Duration>,
    refused: usize,
}

impl Effect {
    fn count(&mut self, attempts: &[Attempt], [began, ended]: [Instant; 2]) {
        self.lasted.push(ended - began);
        let attempts = || attempts.iter().filter(|attempt| attempt.time != Try::InDoubt);
        let refused = attempts().filter(|attempt| !attempt.succeeded());
        let repeated = attempts().filter(|attempt| attempt.succeeded() && attempt.time == Try::Again);
        self.refused += refused.count();
        self.back.extend(repeated.map(|attempt| attempt.ended.saturating_duration_since(ended)));
        self.took.extend(attempts().map(Attempt::took));
    }

    fn told(&self, fault: &str) -> String {
        let Self { lasted, back, took, refused } = self;
        let [lasted, back, took] =
            [lasted, back, took].map(|times| times.iter().max().copied().unwrap_or_default());
        format!(
            "{fault} for at most {lasted:.1?}: {refused} refused, each paid again at most {back:.1?} after it, no answer took longer \
             than {took:.1?}"
        )
    }
}

/// The payments of many accounts, while nodes fail.
struct NodesTrial {
    installation: Installation,
    server: Process,
    accounts: Vec<Server>,
    /// The shard of each account.
    shards_of: Vec<i64>,
    payers: Payers,
    /// How many attempts have been checked.
    seen: usize,
    chance: Chance,
    kills: Effect,
    moves: Effect,
    report: Report,
}

impl NodesTrial {
    fn begin(mut installation: Installation, options: &Options) -> Self {
        let server = installation.start();
        let (first, _) = server.keys();
        let shards = installation.nodes().shards();
        let (mut accounts, mut shards_of) = (Vec::new(), Vec::new());
        while accounts.len() < ACCOUNTS_PER_SHARD * shards.len() {
            let made = server.ask("POST", "/1/sandbox/accounts", Some(&first), "").ok(201);
            let token: AccountToken = made["token"].as_str().unwrap().parse().unwrap();
            let shard = installation.nodes().shard_of(token);
            if shards_of.iter().filter(|other| **other == shard).count() < ACCOUNTS_PER_SHARD {
                shards_of.push(shard);
                accounts.push(Server::new(server.address, made["secret_key"].as_str().unwrap().to_owned()));
            }
        }
        let payers = Payers::start(&accounts);
        Self {
            installation,
            server,
            accounts,
            shards_of,
            payers,
            seen: 0,
            chance: Chance(options.seed()),
            kills: Effect::default(),
            moves: Effect::default(),
            report: Report { seed: options.seed(), ..Report::default() },
        }
    }

    /// Lets the accounts pay for a moment, in which all of them succeed.
    fn go_on(&mut self) {
        pause(Duration::from_millis(500 + self.chance.below(1_500)));
        self.check(|_| false);
    }

    /// Kills a worker, which is away for some seconds. Its accounts are refused meanwhile, and others never.
    fn kill_worker(&mut self) {
        self.go_on();
        let worker = usize::try_from(self.chance.below(2)).unwrap();
        let shards = self.installation.nodes().shards();
        let node = &mut self.installation.nodes().workers[worker];
        let fault = Instant::now();
        node.kill();
        let away = Instant::now();
        pause(Duration::from_millis(500 + self.chance.below(4_000)));
        // It serves the accounts of the other worker.
        assert_eq!(self.server.ask("GET", "/readyz", None, "").status, 200);
        let there = Instant::now();
        node.start_again();
        let started = Instant::now();
        let of_worker = self.accounts_on(&shards, |shard| shard.worker == worker);
        self.wait_for(&of_worker, started);
        let attempts = self.check(|attempt| of_worker.contains(&attempt.account));
        let answered = attempts.iter().find(|attempt| {
            attempt.succeeded()
                && of_worker.contains(&attempt.account)
                && attempt.began > away
                && attempt.ended < there
        });
        assert!(answered.is_none(), "a worker that is away has answered: {answered:?}");
        self.report.faults += 1;
        self.kills.count(&attempts, [fault, started]);
    }

    /// Moves a shard to the worker that has fewer.
    fn move_shard(&mut self) {
        self.go_on();
        let shards = self.installation.nodes().shards();
        let on_first = shards.iter().filter(|shard| shard.worker == 0).count();
        let from = match (2 * on_first).cmp(&shards.len()) {
            std::cmp::Ordering::Less => 1,
            std::cmp::Ordering::Equal => usize::try_from(self.chance.below(2)).unwrap(),
            std::cmp::Ordering::Greater => 0,
        };
        let movable: Vec<_> = shards.iter().filter(|shard| shard.worker == from).collect();
        let shard = *movable[usize::try_from(self.chance.below(movable.len() as u64)).unwrap()];
        let fault = Instant::now();
        self.installation.nodes().move_shard(shard);
        let moved = Instant::now();
        let all: Vec<_> = (0..self.accounts.len()).collect();
        self.wait_for(&all, moved);
        let attempts = self.check(|_| true);
        self.report.faults += 1;
        self.moves.count(&attempts, [fault, moved]);
    }

    /// Returns the accounts in some shards.
    fn accounts_on(&self, shards: &[Shard], is_meant: impl Fn(&Shard) -> bool) -> Vec<usize> {
        let meant: Vec<_> = shards.iter().filter(|shard| is_meant(shard)).map(|shard| shard.id).collect();
        (0..self.accounts.len()).filter(|account| meant.contains(&self.shards_of[*account])).collect()
    }

    /// Waits until each of some accounts has paid with two requests after an instant, one after the other.
    fn wait_for(&self, accounts: &[usize], after: Instant) {
        let deadline = after + BACK_MAX;
        loop {
            let attempts = self.payers.since(self.seen);
            let last =
                attempts.iter().rev().filter(|attempt| attempt.began > after && attempt.time != Try::InDoubt);
            let last_of = |account| last.clone().filter(move |attempt| attempt.account == account);
            let fails =
                |account: &usize| last_of(*account).take_while(|attempt| attempt.succeeded()).count() < 2;
            let Some(failing) = accounts.iter().copied().find(fails) else { return };
            assert!(
                Instant::now() < deadline,
                "account {failing} does not pay: {:?}",
                last_of(failing).next()
            );
            pause(Duration::from_millis(50));
        }
    }

    /// Checks how the attempts were answered that have ended since the last check, and returns them.
    fn check(&mut self, may_fail: impl Fn(&Attempt) -> bool) -> Vec<Attempt> {
        let attempts = self.payers.since(self.seen);
        self.seen += attempts.len();
        for attempt in &attempts {
            assert!(attempt.wrong.is_none(), "{attempt:?}");
            assert!(attempt.took() < ANSWER_MAX, "{attempt:?}");
            assert!(attempt.succeeded() || attempt.time == Try::InDoubt || may_fail(attempt), "{attempt:?}");
        }
        attempts
    }

    /// Ends the payments, and compares the charges with the answers.
    fn end(mut self) -> Report {
        self.go_on();
        let (keys, Wrong { lost, doubled }) = self.payers.end();
        self.check(|_| false);
        self.installation.proves_its_books();
        self.server.stopped();
        let attempts = self.payers.since(0);
        let server_errors = attempts.iter().filter(|attempt| attempt.status == Some(503)).count() as u64;
        let in_doubt: Vec<_> =
            attempts.iter().filter(|attempt| attempt.time == Try::InDoubt && attempt.succeeded()).collect();
        let known = in_doubt.iter().map(|attempt| attempt.ended - attempt.first).max().unwrap_or_default();
        let besides = format!(
            "{keys} payments of {} accounts, each key answered once; {}; {}; {} payments in flight were in doubt, for at most {known:.1?}",
            self.accounts.len(),
            self.kills.told("a worker was away"),
            self.moves.told("a shard moved"),
            in_doubt.len(),
        );
        Report { lost, doubled, server_errors, besides, ..self.report }
    }
}
