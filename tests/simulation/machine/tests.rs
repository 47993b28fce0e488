//! A machine that a seed decides repeats itself: threads that wait, wake and end do so in the same order, at the same times and addresses.

// Tells clippy that all of this is test code: unwrap is allowed.
#![cfg(test)]

use std::cell::RefCell;
use std::collections::HashSet;
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher};
use std::process::Command;
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, RwLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// What happened, in its order.
type Log = Arc<Mutex<DefaultHasher>>;

/// How often a seed is run.
const RUNS: usize = 20;

fn main() {
    if !simulated_machine::IS_HERE {
        return;
    }
    if std::env::args().nth(1).as_deref() == Some("--history") {
        return println!("{}", history());
    }
    if !simulated_machine::repeats() {
        return println!("The system gives each process addresses of its own");
    }
    let run = |n: usize| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        // An environment of another size moves the stack.
        let output = command.arg("--history").env("FILLER", "x".repeat(n * 40)).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let first = run(0);
    for n in 1..RUNS {
        assert_eq!(run(n), first, "run {n} has another history");
    }
    println!("{RUNS} runs, one history");
}

thread_local! {
    /// Memory that a thread frees while it ends.
    static LEFT: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Runs threads that do what a server's do, and returns a digest of it.
fn history() -> u64 {
    simulated_machine::start(7, 0);
    let log = Log::default();
    for round in 0..200 {
        let (sender, received) = channel();
        let gate = Arc::new((Mutex::new(0), Condvar::new(), RwLock::new(round)));
        for number in 0..4 {
            let (log, sender, gate) = (Arc::clone(&log), sender.clone(), Arc::clone(&gate));
            // Nobody waits for the end of this thread.
            drop(thread::spawn(move || {
                live(number, &log, &gate);
                sender.send(number).unwrap();
            }));
        }
        drop(sender);
        let order: Vec<_> = received.iter().collect();
        let mut log = log.lock().unwrap();
        order.hash(&mut *log);
        HashSet::<u8>::new().hasher().hash_one(round).hash(&mut *log);
    }
    simulated_machine::now().hash(&mut *log.lock().unwrap());
    log.lock().unwrap().finish()
}

#[expect(clippy::disallowed_methods, reason = "they are the machine's")]
fn live(number: u64, log: &Log, (entered, changed, rounds): &(Mutex<u64>, Condvar, RwLock<u64>)) {
    let memory: Vec<_> = (1..40).map(|n| vec![0_u8; n * n * 7]).collect();
    thread::sleep(Duration::from_micros(number % 3));
    let round = *rounds.read().unwrap();
    let mut inside = entered.lock().unwrap();
    *inside += 1;
    changed.notify_all();
    while *inside < 4 {
        inside = changed.wait_timeout(inside, Duration::from_millis(5)).unwrap().0;
    }
    drop(inside);
    let mut log = log.lock().unwrap();
    (number, round, memory.iter().map(|bytes| bytes.as_ptr() as usize).collect::<Vec<_>>()).hash(&mut *log);
    (Instant::now().elapsed(), SystemTime::now(), (&raw const number) as usize).hash(&mut *log);
    LEFT.set(memory);
}
