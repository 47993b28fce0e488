//! Test or live money.

/// The environment of a server, its database and its acquirer. Test and live never mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Environment {
    /// Test cards, a simulated acquirer.
    Test,
    /// Real cards.
    Live,
}

impl Environment {
    /// Returns the name, as the database stores it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Live => "live",
        }
    }

    /// Returns the one that this is not.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Test => Self::Live,
            Self::Live => Self::Test,
        }
    }
}
