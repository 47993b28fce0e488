//! Tables of states, as documents and tests show them.

use std::fmt::Debug;

use base::coverage;

/// Notes that a run looks up a row of a table.
pub(super) fn reach(table: &str, state: impl Debug, action: impl Debug) {
    coverage::reach(|| format!("{table} {state:?} + {action:?}"));
}

/// Returns the line of each state and action that have one.
pub(super) fn draw<S: Copy, A: Copy>(
    states: impl IntoIterator<Item = S>,
    actions: &[A],
    line: impl Fn(S, A) -> Option<String>,
) -> String {
    let cells = states.into_iter().flat_map(|state| actions.iter().map(move |action| (state, *action)));
    cells.filter_map(|(state, action)| line(state, action)).map(|line| line + "\n").collect()
}
