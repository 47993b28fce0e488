//! CPU and memory of a process, as Linux reports them.

use std::fs::read_to_string;
use std::io::{ErrorKind, Result};
use std::time::Duration;

/// The kernel counts a process's time in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

/// Returns how long processors have worked for a process, in it and in the kernel.
pub fn cpu(pid: u32) -> Result<Duration> {
    let stat = read_to_string(format!("/proc/{pid}/stat"))?;
    // Its name, in brackets, may hold anything.
    let fields = stat.rsplit_once(") ").map(|(_, fields)| fields.split(' ').skip(11).take(2));
    let ticks = fields.and_then(|fields| fields.map(|ticks| ticks.parse::<u32>().ok()).sum::<Option<u32>>());
    Ok(TICK * ticks.ok_or(ErrorKind::InvalidData)?)
}

/// Bytes of memory that a process has.
pub fn memory(pid: u32) -> Result<u64> {
    let status = read_to_string(format!("/proc/{pid}/status"))?;
    let kilobytes =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok());
    kilobytes.map(|kilobytes: u64| kilobytes * 1024).ok_or(ErrorKind::InvalidData.into())
}
