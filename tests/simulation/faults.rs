//! What happens to the server while clients pay: kills, power cuts, pauses, stops and clocks that jump.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use simulated_disk::{Crash, Faults as DiskFaults};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::harness::random::Random;
use crate::history::History;
use crate::installation::Installation;
use crate::options::Options;
use crate::server::Server;

/// What can go wrong: the server is killed, its power is cut, either in the middle of a commit; it is asked to stop and starts again, or
/// is killed as it starts; it starts on a slow disk after a kill, and its power is cut once it has answered; it pauses; its clock jumps;
/// its disk is full, fails, or flushes slowly; the network loses connections, and receivers refuse webhooks.
pub const KINDS: [&str; 14] = [
    "kill",
    "power-cut",
    "stop-in-commit",
    "cut-in-commit",
    "restart",
    "killed-at-start",
    "cut-after-start",
    "pause",
    "clock",
    "loss",
    "receivers",
    "full-disk",
    "failing-disk",
    "slow-disk",
];

/// What scenarios wish for, if it may happen.
#[derive(Clone)]
pub struct Wishes {
    kills: mpsc::UnboundedSender<()>,
    clock_may_jump: bool,
    /// The number of the server.
    number: Arc<AtomicI32>,
    history: History,
}

impl Wishes {
    /// Lets the server be killed as soon as no other fault goes on.
    pub fn kill(&self) {
        // Once the faults have ended, nobody listens.
        let _ = self.kills.send(());
    }

    /// Returns whether the faults have ended, those that were under way, too.
    pub fn have_ended(&self) -> bool {
        self.history.is_healed()
    }

    /// Lets the server's clock go so far ahead that a call in flight seems to be lost.
    pub fn clock_ahead(&self, random: &mut Random) {
        if self.clock_may_jump && !self.history.is_healed() {
            self.history.note("clock ahead");
            let ahead = AHEAD_MIN + random.below(AHEAD_MAX - AHEAD_MIN);
            simulated_machine::set_wall(self.number.load(Ordering::Relaxed), ahead.cast_signed());
        }
    }
}

/// How long a server may take to start or to stop, with whatever is in flight.
const START_MAX: Duration = Duration::from_mins(2);
const STOP_MAX: Duration = Duration::from_mins(4);
/// How far ahead a clock goes that a scenario wishes for, in milliseconds: by more than the thirty seconds after which a call is taken
/// for lost, and by less than the minute by which the clock of an acquirer that answers may differ.
const AHEAD_MIN: u64 = 31_000;
const AHEAD_MAX: u64 = 58_000;
/// How far a clock is ahead or behind, in milliseconds: by less than the five minutes by which a signature may be older than it says.
const WRONG_MAX: u64 = 240_000;
/// The most that a clock goes on or back at once, in milliseconds.
pub const CLOCK_JUMP_MAX: u64 = 2 * WRONG_MAX;
/// The longest that an answer is on a cable.
const CABLE_MAX: Duration = Duration::from_millis(600);
/// The longest flush of a disk that has much to do.
const LONG_FLUSH: Duration = Duration::from_secs(3);
/// All flushes take a while.
const SLOW_DISK: DiskFaults = DiskFaults {
    read_errors: 0,
    write_errors: 0,
    flush_errors: 0,
    slow_flushes: 1_000_000,
    slowest_flush: Duration::from_millis(4),
    capacity: None,
};

/// The server that runs now, and its end.
pub struct Fate {
    installation: Arc<Installation>,
    history: History,
    random: Random,
    /// The kinds of faults that may happen, and those that happen by themselves.
    allowed: Vec<&'static str>,
    kinds: Vec<&'static str>,
    kills: mpsc::UnboundedReceiver<()>,
    wish: mpsc::UnboundedSender<()>,
    /// How often each kind of fault has happened.
    pub happened: BTreeMap<&'static str, usize>,
    /// The server's number, and the last that may be given.
    number: Arc<AtomicI32>,
    last: i32,
    server: Option<Server>,
}

impl Fate {
    /// Starts the first server; it and its successors have these numbers.
    pub async fn begin(
        installation: &Arc<Installation>,
        numbers: Range<i32>,
        seed: u64,
        options: &Options,
        history: &History,
    ) -> Self {
        installation.disk.set_faults(SLOW_DISK);
        let mut random = Random(seed);
        // Histories with few kinds of faults go farther than those with all.
        let drawn = KINDS.into_iter().filter(|_| random.below(2) == 0).collect::<Vec<_>>();
        let kinds = drawn.into_iter().filter(|kind| options.allows(kind)).collect();
        let (wish, kills) = mpsc::unbounded_channel();
        let number = Arc::new(AtomicI32::new(numbers.start));
        let mut fate = Self {
            installation: Arc::clone(installation),
            history: history.clone(),
            random,
            allowed: options.faults.clone(),
            kinds,
            kills,
            wish,
            happened: BTreeMap::new(),
            number,
            last: numbers.end,
            server: None,
        };
        fate.start().await;
        fate
    }

    /// Returns the first account's secret key.
    pub fn secret(&self) -> String {
        self.server.as_ref().map(|server| server.secret.clone()).unwrap_or_default()
    }

    /// Leaves out all kinds of faults but these.
    pub fn leave_in(&mut self, kinds: &[&str]) {
        self.kinds.retain(|kind| kinds.contains(kind));
        self.allowed.retain(|kind| kinds.contains(kind));
    }

    /// Returns where scenarios send their wishes.
    pub fn wishes(&self) -> Wishes {
        Wishes {
            kills: self.wish.clone(),
            clock_may_jump: self.allowed.contains(&"clock"),
            number: Arc::clone(&self.number),
            history: self.history.clone(),
        }
    }

    /// Lets faults happen until this time of the machine.
    pub async fn strike_until(&mut self, end: Duration) {
        while simulated_machine::now() < end {
            let pause = Duration::from_millis(200 + self.random.below(2_500));
            let pause = pause.min(end.saturating_sub(simulated_machine::now()));
            let is_wished = timeout(pause, self.kills.recv()).await.is_ok();
            let kind = KINDS[usize::try_from(self.random.below(KINDS.len() as u64)).unwrap()];
            if simulated_machine::now() >= end || self.number() + 5 >= self.last {
                continue;
            }
            if is_wished && self.allowed.contains(&"kill") {
                self.strike("kill").await;
            } else if self.kinds.contains(&kind) {
                self.strike(kind).await;
            }
        }
    }

    fn number(&self) -> i32 {
        self.number.load(Ordering::Relaxed)
    }

    /// Gives the next server its number.
    fn next_number(&self) -> i32 {
        self.number.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn note(&mut self, kind: &'static str) {
        self.history.note(kind);
        *self.happened.entry(kind).or_default() += 1;
    }

    async fn strike(&mut self, kind: &'static str) {
        // The network and the receivers see to theirs, and so does a start.
        if ["loss", "receivers", "killed-at-start"].contains(&kind) {
            return;
        }
        self.note(kind);
        match kind {
            "kill" => self.kill(Crash::Kill).await,
            "power-cut" => self.kill(Crash::PowerCut).await,
            "stop-in-commit" => self.kill_in_commit(Crash::Kill).await,
            "cut-in-commit" => self.kill_in_commit(Crash::PowerCut).await,
            "restart" => self.restart().await,
            "cut-after-start" => self.cut_after_start().await,
            "pause" => {
                let time = Duration::from_millis(self.random.below(70_000));
                simulated_machine::pause(self.number(), time);
            }
            "clock" => {
                let wrong = self.random.below(CLOCK_JUMP_MAX).cast_signed() - WRONG_MAX.cast_signed();
                simulated_machine::set_wall(self.number(), wrong);
            }
            "full-disk" => {
                let room = usize::try_from(self.random.below(400_000)).unwrap();
                let capacity = Some(self.installation.disk.used() + room);
                self.fail_disk(DiskFaults { capacity, ..SLOW_DISK }).await;
            }
            "failing-disk" => {
                let mut rate =
                    || [0, 1_000, 100_000, 1_000_000][usize::try_from(self.random.below(4)).unwrap()];
                let (read_errors, write_errors, flush_errors) = (rate() / 10, rate(), rate());
                self.fail_disk(DiskFaults { read_errors, write_errors, flush_errors, ..SLOW_DISK }).await;
            }
            "slow-disk" => {
                let slowest_flush = Duration::from_millis(100 << self.random.below(8));
                self.fail_disk(DiskFaults { slowest_flush, ..SLOW_DISK }).await;
            }
            other => unreachable!("{other}"),
        }
    }

    /// Lets the disk fail for a while; perhaps the power is cut then, or the server is killed or asked to stop and starts on such a disk.
    async fn fail_disk(&mut self, faults: DiskFaults) {
        self.installation.disk.set_faults(faults);
        let time = Duration::from_millis(self.random.below(20_000));
        sleep(time).await;
        match self.random.below(6) {
            0 if self.kinds.contains(&"power-cut") => self.end_server(Crash::PowerCut),
            1 if self.kinds.contains(&"kill") => self.end_server(Crash::Kill),
            2 if self.kinds.contains(&"restart") => self.stop().await,
            _ => return self.installation.disk.set_faults(SLOW_DISK),
        }
        if self.try_to_start().await.is_ok() {
            return self.installation.disk.set_faults(SLOW_DISK);
        }
        // It has said why, and its process has ended.
        self.end_server(Crash::Kill);
        self.installation.disk.set_faults(SLOW_DISK);
        self.start().await;
    }

    fn end_server(&mut self, crash: Crash) {
        simulated_machine::kill(self.number());
        self.server = None;
        self.installation.disk.crash(crash);
    }

    async fn kill(&mut self, crash: Crash) {
        self.end_server(crash);
        let pause = Duration::from_millis(self.random.below(5_000));
        sleep(pause).await;
        self.start().await;
        // What the killed server has written is still on its way.
        sleep(CABLE_MAX).await;
        self.history.excuse(false);
    }

    /// Kills the server between two writes to the disk.
    async fn kill_in_commit(&mut self, crash: Crash) {
        let changes = self.random.below(40);
        self.history.excuse(true);
        self.installation.disk.stop_after(changes);
        let disk = self.installation.disk.clone();
        wait_until(Duration::from_secs(2), || disk.is_stopped()).await;
        self.kill(crash).await;
    }

    /// Kills the server in the middle of a flush, starts one whose flushes take long, and cuts its power once it has given an answer again:
    /// that may come from the log of the killed one.
    async fn cut_after_start(&mut self) {
        let disk = self.installation.disk.clone();
        wait_until(Duration::from_secs(2), || disk.is_flushing()).await;
        self.end_server(Crash::Kill);
        disk.set_faults(DiskFaults { slowest_flush: LONG_FLUSH, ..SLOW_DISK });
        self.start().await;
        let replayed = self.history.replays();
        wait_until(LONG_FLUSH, || self.history.replays() > replayed).await;
        disk.set_faults(SLOW_DISK);
        self.end_server(Crash::PowerCut);
        self.start().await;
    }

    async fn restart(&mut self) {
        self.stop().await;
        self.start().await;
    }

    async fn stop(&mut self) {
        if let Some(server) = self.server.take()
            && timeout(STOP_MAX, server.stop()).await.is_err()
        {
            self.history.fail("a server that was asked to stop has not ended");
            self.end_server(Crash::Kill);
        }
    }

    /// Starts a server; sometimes it is killed before it listens, and starts once more.
    async fn start(&mut self) {
        if self.number() > 0 && self.random.below(4) == 0 && self.kinds.contains(&"killed-at-start") {
            self.note("killed-at-start");
            let number = self.next_number();
            let within = Duration::from_millis(self.random.below(300));
            let starting = timeout(within, Server::start(&self.installation, number)).await;
            drop(starting);
            simulated_machine::kill(number);
            self.installation.disk.crash(Crash::Kill);
        }
        if let Err(error) = self.try_to_start().await {
            self.history.fail(format_args!("a server does not start: {error}"));
        }
    }

    /// Starts a server; the error says why it has not started.
    async fn try_to_start(&mut self) -> Result<(), String> {
        match timeout(START_MAX, Server::start(&self.installation, self.next_number())).await {
            Ok(started) => self.server = Some(started?),
            Err(_) => self.history.fail("a server that was started does not listen"),
        }
        Ok(())
    }

    /// From now on nothing happens to the server, whose clock is right.
    pub fn heal(&self) {
        simulated_machine::set_wall(self.number(), 0);
        self.history.excuse(false);
    }

    /// Stops the server.
    pub async fn end(&mut self) {
        if let Some(server) = self.server.take()
            && timeout(STOP_MAX, server.stop()).await.is_err()
        {
            self.history.fail("a server that was asked to stop has not ended");
        }
    }
}

/// Waits for so long at most.
async fn wait_until(most: Duration, is_so: impl Fn() -> bool) {
    const LOOK_AGAIN: Duration = Duration::from_micros(200);
    let end = simulated_machine::now() + most;
    while !is_so() && simulated_machine::now() < end {
        sleep(LOOK_AGAIN).await;
    }
}
