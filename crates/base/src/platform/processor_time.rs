//! The time for which processors have worked for processes, as Linux tells. Elsewhere nothing is told.

use std::fs;
use std::time::Duration;

/// The kernel counts in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

/// Returns the time of a process, with that of its children that have ended.
pub fn of_process(id: u32) -> Option<Duration> {
    parse(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?).map(|(_, time)| time)
}

/// Returns the time of all processes of a program: those that have ended are counted with their parents.
pub fn of_program(name: &str) -> Option<Duration> {
    let processes = fs::read_dir("/proc").ok()?.filter_map(Result::ok);
    let texts = processes.filter_map(|process| fs::read_to_string(process.path().join("stat")).ok());
    let times: Vec<_> = texts
        .filter_map(|text| parse(&text).filter(|(program, _)| program == name).map(|(_, time)| time))
        .collect();
    (!times.is_empty()).then(|| times.iter().sum())
}

/// Returns name and time: in the process and in the kernel, its own and its ended children's.
fn parse(stat: &str) -> Option<(String, Duration)> {
    // The name, in brackets, may hold anything.
    let (head, fields) = stat.rsplit_once(") ")?;
    let (_, name) = head.split_once('(')?;
    let ticks: Vec<u32> =
        fields.split(' ').skip(11).take(4).map(|ticks| ticks.parse().ok()).collect::<Option<_>>()?;
    (ticks.len() == 4).then(|| (name.to_owned(), TICK * ticks.iter().sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_behind_any_name() {
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4194560 1 2 3 4 100 20 3 4 20 0 1 0 5 6";
        assert_eq!(parse(stat), Some(("a) b (c)".to_owned(), Duration::from_millis(1270))));
        for other in ["", "7 (short) S 1", "7 (a) S 1 7 7 0 -1 4194560 1 2 3 4 100 20 3 x 20"] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
