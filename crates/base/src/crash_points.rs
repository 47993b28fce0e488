//! Named points at which a test aborts the process, to examine what a crash there leaves. Compiled for tests only: the feature
//! `crash-points` is on in `[dev-dependencies]` and nowhere else.

/// Aborts the process if its environment names this point: `CARD_PAYMENTS_CRASH_AT=capture.call.before`.
#[cfg(feature = "crash-points")]
pub fn point(what: &str, moment: &str) {
    use std::sync::LazyLock;

    static AT: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("CARD_PAYMENTS_CRASH_AT").ok());
    crate::coverage::reach(|| format!("crash point {what}.{moment}"));
    if AT.as_ref().is_some_and(|at| at.strip_prefix(what).and_then(|at| at.strip_prefix('.')) == Some(moment))
    {
        std::process::abort();
    }
}

/// Does nothing, as crash points are not compiled in.
#[cfg(not(feature = "crash-points"))]
pub fn point(_what: &str, _moment: &str) {}
