//! Usual sets of rights, from which the form of a restricted key begins.

use entity::section::{Right, Section};

/// A set of rights. None of them may make keys.
pub struct KeyPreset {
    /// Its name in the address.
    pub code: &'static str,
    /// Its name on the page.
    pub name: &'static str,
    writes: &'static [Section],
    reads: &'static [Section],
}

/// The sets, in the order in which the page offers them.
pub const PRESETS: [KeyPreset; 5] = [
    KeyPreset { code: "read_only", name: "Read only", writes: &[], reads: Section::ALL },
    // Takes payments: what a shop's server does.
    KeyPreset {
        code: "checkout",
        name: "Checkout",
        writes: &[
            Section::Cards,
            Section::PaymentSources,
            Section::Charges,
            Section::Authorisations,
            Section::Customers,
            Section::MobileWalletSupport,
        ],
        reads: &[],
    },
    // Answers customers.
    KeyPreset {
        code: "support",
        name: "Support",
        writes: &[Section::Refunds, Section::Subscriptions, Section::Disputes, Section::Files],
        reads: &[Section::Charges, Section::Customers, Section::Plans, Section::Cards],
    },
    // Reads what moves money.
    KeyPreset {
        code: "accounting",
        name: "Accounting",
        writes: &[],
        reads: &[
            Section::Charges,
            Section::Refunds,
            Section::Transfers,
            Section::BankAccounts,
            Section::Recipients,
            Section::Deposits,
            Section::Balance,
            Section::Disputes,
        ],
    },
    KeyPreset { code: "everything", name: "Everything but keys", writes: Section::ALL, reads: &[] },
];

impl KeyPreset {
    /// Returns the set of a name in an address.
    pub fn from_code(code: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.code == code)
    }

    /// Returns what a key may do in a section.
    pub fn right(&self, section: Section) -> Right {
        if section == Section::Keys {
            Right::None
        } else if self.writes.contains(&section) {
            Right::Write
        } else if self.reads.contains(&section) {
            Right::Read
        } else {
            Right::None
        }
    }
}
