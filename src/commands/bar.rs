//! A bar on a terminal for what takes longer than a second: how much of it is done, how fast that goes, and how long the rest
//! takes. Where no terminal is, nothing.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use card_payments::progress::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// What is over sooner needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(200);
const OF_UNKNOWN_LENGTH: &str = "{msg} {spinner} {elapsed}";

/// What is counted.
#[derive(Debug, Clone, Copy)]
pub enum Unit {
    /// Records, tables, proofs.
    Things,
    /// The size of a file.
    Bytes,
}

impl Unit {
    const fn template(self) -> &'static str {
        match self {
            Self::Things => "{msg} [{bar:30}] {pos} of {len}, {per_sec}, {eta} left",
            Self::Bytes => "{msg} [{bar:30}] {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
        }
    }
}

/// A bar, gone when it is dropped.
pub struct Bar {
    shown: ProgressBar,
    unit: Unit,
    end: Option<Sender<()>>,
    showing: Option<JoinHandle<()>>,
}

impl Bar {
    /// From now on this is done.
    pub fn begin(what: &'static str, unit: Unit) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(style(OF_UNKNOWN_LENGTH));
        bar.set_message(what);
        let (end, ended) = mpsc::channel();
        let shown = bar.clone();
        let showing = thread::spawn(move || {
            if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                // It stays hidden where stderr is no terminal.
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(TICK);
            }
        });
        Self { shown: bar, unit, end: Some(end), showing: Some(showing) }
    }

    /// Say something meanwhile.
    pub fn suspended<T>(&self, say: impl FnOnce() -> T) -> T {
        self.shown.suspend(say)
    }
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars("=> ")
}

impl Progress for Bar {
    fn expect(&self, total: u64) {
        if self.shown.length() != Some(total) {
            self.shown.set_length(total);
            self.shown.set_style(style(self.unit.template()));
        }
    }

    fn reach(&self, done: u64) {
        self.shown.set_position(done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        drop(self.end.take());
        // A thread that could not show a bar is no reason to fail.
        let _ = self.showing.take().map(JoinHandle::join);
        self.shown.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_tells_how_much_how_fast_and_how_long() {
        for unit in [Unit::Things, Unit::Bytes] {
            let template = unit.template();
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
            assert!(template.contains("per_sec") && template.contains("eta"), "{template}");
        }
        assert!(ProgressStyle::with_template(OF_UNKNOWN_LENGTH).is_ok());
    }
}
