//! A machine that a seed decides (`machine.c`): of this process one thread runs at a time, which one is drawn, time passes only while
//! none can run, and random bytes come from the seed. It runs on Linux with the GNU C library.

use std::time::Duration;

/// Whether there is a machine: its functions stand before those of Linux's GNU C library.
pub const IS_HERE: bool = cfg!(all(target_os = "linux", target_env = "gnu"));

#[cfg(all(target_os = "linux", target_env = "gnu"))]
unsafe extern "C" {
    safe fn machine_start(seed: u64, wall: i64);
    safe fn machine_now() -> u64;
    safe fn machine_switches() -> u64;
    safe fn machine_belong(server: i32);
    safe fn machine_admit(port: i32);
    safe fn machine_set_wall(server: i32, nanos: i64);
    safe fn machine_pause(server: i32, nanos: u64);
    safe fn machine_kill(server: i32);
    safe fn machine_repeats() -> i32;
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod elsewhere {
    pub fn machine_start(_: u64, _: i64) {
        unreachable!("there is no machine here")
    }

    pub fn machine_now() -> u64 {
        unreachable!("there is no machine here")
    }

    pub fn machine_switches() -> u64 {
        unreachable!("there is no machine here")
    }

    pub fn machine_admit(_: i32) {
        unreachable!("there is no machine here")
    }

    pub fn machine_belong(_: i32) {
        unreachable!("there is no machine here")
    }

    pub fn machine_set_wall(_: i32, _: i64) {
        unreachable!("there is no machine here")
    }

    pub fn machine_pause(_: i32, _: u64) {
        unreachable!("there is no machine here")
    }

    pub fn machine_kill(_: i32) {
        unreachable!("there is no machine here")
    }

    pub fn machine_repeats() -> i32 {
        unreachable!("there is no machine here")
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
use elsewhere::{
    machine_admit, machine_belong, machine_kill, machine_now, machine_pause, machine_repeats,
    machine_set_wall, machine_start, machine_switches,
};

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

/// Lets connections to a port of the system through, where a database is that speaks PostgreSQL's protocol, unencrypted. Time passes slowly
/// while it owes an answer, so that statements take next to none. Such a history does not repeat.
pub fn admit(port: u16) {
    machine_admit(port.into());
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

/// Returns whether addresses, and with them hashes, are the same in every process: the system may forbid it.
pub fn repeats() -> bool {
    machine_repeats() != 0
}
