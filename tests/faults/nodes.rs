//! `nodes`: a distributed database under the payments of accounts on both of its workers. In each of `--rounds` (2) a worker is
//! killed and comes back, a shard moves to the other worker, and a worker is killed while a shard moves. In the end the server calls each
//! worker itself again, for the shards that it has by then. Skipped where Citus is not installed.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

use entity::AccountToken;

use crate::distributed::{Distributed, Shard};
use crate::harness::process::{Process, output, pause};
use crate::harness::random::Random;
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
/// How long a server may take to learn where shards are: a minute, and a loaded machine's time.
const PLACES_LEARNT_MAX: Duration = Duration::from_secs(90);

pub fn run(options: &Options, _: Database) -> Option<Report> {
    let Some(database) = Distributed::new() else {
        eprintln!("nodes: Citus is not installed, so this is skipped");
        return None;
    };
    let mut trial = NodesTrial::begin(Installation::distributed(database), options);
    for _ in 0..options.number("rounds", 2) {
        trial.report.rounds += 1;
        let mut faults: Vec<fn(&mut NodesTrial)> =
            vec![NodesTrial::kill_worker, NodesTrial::move_shard, NodesTrial::kill_worker_during_move];
        while !faults.is_empty() {
            let fault = faults.remove(trial.below(faults.len()));
            trial.go_on();
            fault(&mut trial);
        }
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
             than {took:.1?}; "
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
    random: Random,
    effects: BTreeMap<&'static str, Effect>,
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
            random: Random(options.seed()),
            effects: BTreeMap::new(),
            report: Report { seed: options.seed(), ..Report::default() },
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.random.below(bound as u64)).unwrap()
    }

    /// Lets the accounts pay for a moment, in which all of them succeed.
    fn go_on(&mut self) {
        pause(Duration::from_millis(500 + self.random.below(1_500)));
        self.check(|_| false);
    }

    /// Kills a worker. Its accounts are refused while it is away, and others never.
    fn kill_worker(&mut self) {
        let worker = self.below(2);
        let own = self.accounts_on(worker);
        let began = Instant::now();
        let [away, there] = self.kill(worker);
        let attempts = self.recover("a worker was away", began, &own);
        let answered = attempts.iter().find(|attempt| {
            let is_meanwhile = attempt.began > away && attempt.ended < there;
            attempt.succeeded() && is_meanwhile && own.contains(&attempt.account)
        });
        assert!(answered.is_none(), "a worker that is away has answered: {answered:?}");
    }

    /// Moves a shard to the other worker. Any account may be refused for a moment.
    fn move_shard(&mut self) {
        let shard = self.movable_shard();
        let began = Instant::now();
        let (code, _, stderr) = output(&mut self.installation.nodes().moving(shard));
        assert_eq!(code, Some(0), "{stderr}");
        self.recover("a shard moved", began, &self.all());
    }

    /// Kills a worker while a shard moves: it has moved afterwards, or not.
    fn kill_worker_during_move(&mut self) {
        let (shard, worker) = (self.movable_shard(), self.below(2));
        let began = Instant::now();
        let mut moving = self.installation.nodes().moving(shard);
        let mut moving = moving.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        pause(Duration::from_millis(self.random.below(5_000)));
        self.kill(worker);
        moving.wait().unwrap();
        self.recover("a worker was away amid a move", began, &self.all());
    }

    /// Kills a worker, and starts it again some seconds later. Returns the times between which it was away.
    fn kill(&mut self, worker: usize) -> [Instant; 2] {
        let node = &mut self.installation.nodes().workers[worker];
        node.kill();
        let away = Instant::now();
        pause(Duration::from_millis(500 + self.random.below(4_000)));
        // The server serves the accounts of the other worker. A new one's keys would be on every node.
        assert_eq!(self.server.ask("GET", "/readyz", None, "").status, 200);
        let key = self.server.keys().0;
        let new = self.server.ask("POST", "/1/sandbox/accounts", Some(&key), "");
        assert_eq!(new.status, 503, "{}", new.body);
        let there = Instant::now();
        node.start_again();
        [away, there]
    }

    /// Waits until each call goes to the worker that has its account, wherever its shard has moved.
    fn wait_for_places(&mut self) {
        let deadline = Instant::now() + PLACES_LEARNT_MAX;
        loop {
            let (direct, others) = self.installation.nodes().calls();
            if others == 0 && direct.iter().all(|calls| *calls > 0) {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "{direct:?} sessions call a worker itself, {others} another node"
            );
            pause(Duration::from_millis(500));
        }
    }

    /// Waits, after a fault, until these accounts pay again. No others were refused. Returns the attempts.
    fn recover(&mut self, fault: &'static str, began: Instant, accounts: &[usize]) -> Vec<Attempt> {
        let ended = Instant::now();
        self.wait_for(accounts, ended);
        let attempts = self.check(|attempt| accounts.contains(&attempt.account));
        self.report.faults += 1;
        self.effects.entry(fault).or_default().count(&attempts, [began, ended]);
        attempts
    }

    /// Chooses a shard of the worker that has more.
    fn movable_shard(&mut self) -> Shard {
        let mut shards = self.installation.nodes().shards();
        let on_first = shards.iter().filter(|shard| shard.worker == 0).count();
        let from = match (2 * on_first).cmp(&shards.len()) {
            Ordering::Less => 1,
            Ordering::Equal => self.below(2),
            Ordering::Greater => 0,
        };
        shards.retain(|shard| shard.worker == from);
        shards[self.below(shards.len())]
    }

    fn all(&self) -> Vec<usize> {
        (0..self.accounts.len()).collect()
    }

    fn accounts_on(&mut self, worker: usize) -> Vec<usize> {
        let shards = self.installation.nodes().shards();
        let own: Vec<_> =
            shards.iter().filter(|shard| shard.worker == worker).map(|shard| shard.id).collect();
        self.all().into_iter().filter(|account| own.contains(&self.shards_of[*account])).collect()
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
        self.wait_for_places();
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
        let effects: String = self.effects.iter().map(|(fault, effect)| effect.told(fault)).collect();
        let besides = format!(
            "{keys} payments of {} accounts, each key answered once; {effects}{} payments in flight were in doubt, for at most {known:.1?}",
            self.accounts.len(),
            in_doubt.len(),
        );
        Report { lost, doubled, server_errors, besides, ..self.report }
    }
}
