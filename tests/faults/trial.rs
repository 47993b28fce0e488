//! A server under load that fails and recovers.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::harness::cluster::Cluster;
use crate::harness::process::{Process, pause, repeatable_request};
use crate::harness::random::Random;
use crate::installation::Installation;
use crate::load::{Load, PATIENCE, Server};
use crate::options::Options;
use crate::report::Report;
use crate::truth::{self, Wrong};

const RECIPIENT: &str = "email=payee@example.com&bank_account[name]=Pay+Ee&bank_account[bsb]=736032\
    &bank_account[number]=987654321";

/// How many requests the load makes during a check. Without a bound each check takes longer than the one before.
const MEANWHILE: u64 = 200;

/// A server under load.
pub struct Trial {
    pub installation: Installation,
    pub server: Server,
    pub random: Random,
    process: Option<Process>,
    load: Load,
    /// How many promises have been checked after a fault.
    seen: usize,
    wrong: Wrong,
    report: Report,
}

impl Trial {
    /// Starts the server and the load.
    pub fn begin(installation: Installation, options: &Options) -> Self {
        let process = installation.start();
        let (secret, _) = process.keys();
        let server = Server::new(process.address, secret);
        let made = process.ask("POST", "/1/recipients", Some(&server.secret), RECIPIENT).ok(201);
        let load = Load::on(&server, made["token"].as_str().unwrap(), options.seed());
        Self {
            installation,
            server,
            random: Random(options.seed()),
            process: Some(process),
            load,
            seen: 0,
            wrong: Wrong::default(),
            report: Report { seed: options.seed(), ..Report::default() },
        }
    }

    /// Lets the load go on for a moment.
    pub fn go_on(&mut self) {
        self.load.is_allowed(u64::MAX);
        pause(Duration::from_millis(200 + self.random.below(1_300)));
        self.report.rounds += 1;
    }

    /// Kills the server with SIGKILL. Returns stderr.
    pub fn kill(&mut self) -> String {
        self.report.faults += 1;
        self.process.take().unwrap().killed()
    }

    /// Counts a fault of something else.
    pub fn failed(&mut self) {
        self.report.faults += 1;
    }

    /// Starts the server again, with the keys that it has told.
    pub fn start(&mut self) {
        let process = self.installation.start();
        assert_eq!(process.keys().0, self.server.secret, "the keys are kept");
        *self.server.address.write().unwrap() = process.address;
        self.process = Some(process);
        self.look();
    }

    /// Starts a server on the database to which the installation has moved, and ends the old one, which changes nothing more.
    /// Returns what the old database lies on, and since when the new server listens.
    pub fn replace(&mut self, database: Cluster) -> (impl Sized + use<>, Instant) {
        let old = self.process.take();
        let old_database = self.installation.replace(database);
        let process = self.installation.start();
        assert_eq!(process.keys().0, self.server.secret, "the keys have moved");
        *self.server.address.write().unwrap() = process.address;
        let listening = Instant::now();
        self.process = Some(process);
        if let Some(old) = old {
            old.stopped();
        }
        (old_database, listening)
    }

    /// Checks that everything acknowledged since the last check is there and the books are right, while the load goes on.
    pub fn look(&mut self) {
        self.load.is_allowed(MEANWHILE);
        let lately = self.load.memory.since(self.seen);
        self.seen += lately.len();
        truth::is_there(&self.server, &lately, &mut self.wrong);
        self.installation.proves_its_books();
    }

    /// Waits until a condition holds.
    #[track_caller]
    pub fn waits_until(&self, is_so: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(self) {
            assert!(Instant::now() < deadline, "it never came about");
            pause(Duration::from_millis(50));
        }
    }

    /// Returns how many promises there were so far.
    pub fn promises(&self) -> usize {
        self.load.memory.promises()
    }

    /// Returns the status of a path at this moment.
    pub fn status(&self, path: &str) -> u16 {
        let request = repeatable_request("GET", path, Some(&self.server.secret), None, "");
        self.server.send(&request).unwrap().status
    }

    /// Returns how many answers with 5xx there were so far.
    pub fn server_errors(&self) -> u64 {
        self.load.memory.server_errors.load(Ordering::Relaxed)
    }

    /// Ends the load, and compares everything with what was acknowledged.
    pub fn end(mut self) -> Report {
        let memory = self.load.end();
        let acknowledged = memory.since(0);
        truth::is_whole(&self.server, &acknowledged, &mut self.wrong);
        truth::is_in_order(&self.server, &memory, &mut self.wrong);
        self.installation.proves_its_books();
        let Wrong { lost, doubled } = self.wrong;
        let server_errors = memory.server_errors.load(Ordering::Relaxed);
        let besides = format!("{} acknowledged", acknowledged.len());
        Report { lost, doubled, server_errors, besides, ..self.report }
    }
}
