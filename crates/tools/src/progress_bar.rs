//! A progress bar on a terminal for work that takes longer than a second: position, rate and remaining time. Nothing is drawn where
//! stderr is no terminal.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use base::progress::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shorter work shows no bar.
const SHOWN_AFTER: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(200);
const OF_UNKNOWN_LENGTH: &str = "{msg} {spinner} {elapsed}";

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

/// A progress bar. Dropping it removes it from the terminal.
pub struct Bar {
    shown: ProgressBar,
    unit: Unit,
    end: Option<Sender<()>>,
    showing: Option<JoinHandle<()>>,
}

impl Bar {
    /// Starts a bar with a label. Its length is unknown until `set_total`.
    pub fn new(what: &'static str, unit: Unit) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(style(OF_UNKNOWN_LENGTH));
        bar.set_message(what);
        let (end, ended) = mpsc::channel();
        let shown = bar.clone();
        let showing = thread::spawn(move || {
            if ended.recv_timeout(SHOWN_AFTER) == Err(RecvTimeoutError::Timeout) {
                // The bar stays hidden if stderr is no terminal.
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(TICK);
            }
        });
        Self { shown: bar, unit, end: Some(end), showing: Some(showing) }
    }

    /// Hides the bar while `print` prints.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.shown.suspend(print)
    }
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars("=> ")
}

impl Progress for Bar {
    fn set_total(&self, total: u64) {
        if self.shown.length() != Some(total) {
            self.shown.set_length(total);
            self.shown.set_style(style(self.unit.template()));
        }
    }

    fn set_done(&self, done: u64) {
        self.shown.set_position(done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        drop(self.end.take());
        // A bar that could not be drawn is no reason to fail.
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
