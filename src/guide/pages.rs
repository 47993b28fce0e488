//! The pages of `docs/`, as they are in the program.

#[derive(Debug)]
pub struct Page {
    /// Its path below `docs/`, without its ending.
    pub name: &'static str,
    /// Its Markdown.
    pub text: &'static str,
}

macro_rules! pages {
    ($($name:literal)*) => {
        /// Every page, by its folder and name.
        pub static PAGES: &[Page] = &[$(
            Page { name: $name, text: include_str!(concat!("../../docs/", $name, ".md")) },
        )*];
    };
}

pages! {
    "README"
    "acquirer"
    "adding"
    "architecture"
    "benchmark"
    "billing"
    "clients"
    "compliance"
    "concepts"
    "contributing"
    "dashboard"
    "decisions"
    "decisions/billing"
    "decisions/cards"
    "decisions/charges"
    "decisions/commands"
    "decisions/customers"
    "decisions/databases"
    "decisions/disputes"
    "decisions/errors"
    "decisions/keys"
    "decisions/merchants"
    "decisions/money"
    "decisions/operators"
    "decisions/releases"
    "decisions/requests"
    "decisions/sandbox"
    "decisions/time"
    "decisions/webhooks"
    "disputes"
    "errors"
    "examine"
    "fixtures"
    "flows"
    "install"
    "measuring"
    "merchants"
    "money"
    "operating/backup"
    "operating/cards-and-keys"
    "operating/cluster"
    "operating/commands"
    "operating/configure"
    "operating/install"
    "operating/laptop-to-cluster"
    "operating/monitor"
    "operating/people-and-audit"
    "operating/upgrade"
    "pact"
    "performance"
    "quick-start"
    "reliability"
    "scaling"
    "states"
    "testing"
    "testing-in-your-language"
    "testing-the-server"
    "tools"
    "wallets"
    "webhooks"
}

impl Page {
    /// Returns its title: its first heading.
    pub fn title(&self) -> &'static str {
        self.text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or(self.name)
    }

    /// Returns whether it answers where the specification is silent.
    pub fn is_decisions(&self) -> bool {
        self.name.starts_with("decisions")
    }
}

/// The page that lists the others.
pub const CONTENTS: &str = "README";

pub fn named(name: &str) -> Option<&'static Page> {
    PAGES.iter().find(|page| page.name == name)
}
