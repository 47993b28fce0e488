//! Usual sets of rights, from which the form of a restricted key begins.

use entity::section::{Right, Section};

/// A set of rights.
pub struct KeyPreset {
    /// Its name in the address.
    pub code: &'static str,
    /// Its name on the page.
    pub name: &'static str,
    right: fn(Section) -> Right,
}

/// The sets, in the order in which the page offers them.
pub const PRESETS: [KeyPreset; 5] = [
    KeyPreset { code: "read_only", name: "Read only", right: reading },
    KeyPreset { code: "checkout", name: "Checkout", right: checkout },
    KeyPreset { code: "support", name: "Support", right: support },
    KeyPreset { code: "accounting", name: "Accounting", right: accounting },
    KeyPreset { code: "everything", name: "Everything but keys", right: everything },
];

impl KeyPreset {
    /// Returns the set of a name in an address.
    pub fn from_code(code: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.code == code)
    }

    /// Returns what a key may do in a section.
    pub fn right(&self, section: Section) -> Right {
        (self.right)(section)
    }
}

/// Reads whatever there is, but for keys.
fn reading(section: Section) -> Right {
    if section == Section::Keys { Right::None } else { Right::Read }
}

/// Takes payments: what a shop's server does.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a preset allows what it names, and no section that comes later"
)]
fn checkout(section: Section) -> Right {
    match section {
        Section::Cards
        | Section::PaymentSources
        | Section::Charges
        | Section::Authorisations
        | Section::Customers
        | Section::MobileWalletSupport => Right::Write,
        _ => Right::None,
    }
}

/// Answers customers: refunds, subscriptions and disputes.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a preset allows what it names, and no section that comes later"
)]
fn support(section: Section) -> Right {
    match section {
        Section::Refunds | Section::Subscriptions | Section::Disputes | Section::Files => Right::Write,
        Section::Charges | Section::Customers | Section::Plans | Section::Cards => Right::Read,
        _ => Right::None,
    }
}

/// Reads what moves money.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a preset allows what it names, and no section that comes later"
)]
fn accounting(section: Section) -> Right {
    match section {
        Section::Charges
        | Section::Refunds
        | Section::Transfers
        | Section::BankAccounts
        | Section::Recipients
        | Section::Deposits
        | Section::Balance
        | Section::Disputes => Right::Read,
        _ => Right::None,
    }
}

fn everything(section: Section) -> Right {
    if section == Section::Keys { Right::None } else { Right::Write }
}
