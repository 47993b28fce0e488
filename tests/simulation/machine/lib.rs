//! A machine that a seed decides (`machine.c`): of this process one thread runs at a time, which one is drawn, time passes only while
//! none can run, and random bytes come from the seed. It runs on Linux.
#![cfg(target_os = "linux")]

use std::time::Duration;

unsafe extern "C" {
    safe fn machine_start(seed: u64, wall: i64);
    safe fn machine_now() -> u64;
    safe fn machine_switches() -> u64;
    safe fn machine_belong(server: i32);
    safe fn machine_set_wall(server: i32, nanos: i64);
    safe fn machine_pause(server: i32, nanos: u64);
    safe fn machine_kill(server: i32);
}

/// The most servers that one process can start, one after the other or together.
pub const SERVERS_MAX: i32 = 63;

/// Gives the process to the machine, whose wall clock begins at this time, in nanoseconds since 1970. The caller is its only thread.
pub fn start(seed: u64, wall: i64) {
    machine_start(seed, wall);
}

/// Returns the time since the start.
pub fn now() -> Duration {
    Duration::from_nanos(machine_now())
}

/// Returns how often another thread went on.
pub fn switches() -> u64 {
    machine_switches()
}

/// Makes the calling thread, and all that it starts, those of a server. Server 0 is everything around the servers.
pub fn belong(server: i32) {
    machine_belong(server);
}

/// Makes the clock on a server's wall wrong by so much.
pub fn set_wall(server: i32, milliseconds: i64) {
    machine_set_wall(server, milliseconds * 1_000_000);
}

/// Stops a server for so long.
pub fn pause(server: i32, time: Duration) {
    machine_pause(server, u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
}

/// Kills a server: its threads stop where they are, its sockets are closed and its files unlocked. Its memory stays.
pub fn kill(server: i32) {
    machine_kill(server);
}
