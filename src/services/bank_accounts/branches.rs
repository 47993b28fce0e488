//! The branches known by name: a BSB's first digits name the bank, its third the state.

const BRANCHES: &[(&str, &str, &str)] = &[
    ("012984", "Australia and New Zealand Banking Group Limited", "Sydney"),
    ("342088", "HSBC Bank Australia Limited", "Sydney"),
    ("736032", "Westpac Banking Corporation", "Perth"),
    ("806015", "Cuscal Limited", "Perth"),
];

/// Returns bank and branch; empty if the BSB is not known.
pub fn bank_and_branch(bsb: &str) -> (&'static str, &'static str) {
    let known = BRANCHES.iter().find(|(known, ..)| *known == bsb);
    known.map_or(("", ""), |(_, bank, branch)| (bank, branch))
}
