//! What is asked over the protocol.

/// One operation of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Who are you?
    Greet,
    /// What card is this?
    Card,
    /// What are currencies worth?
    Rates,
    /// Reserve or take money.
    Authorise,
    /// Take what was reserved.
    Capture,
    /// Release it.
    Void,
    /// Give back what was taken.
    Refund,
    /// Undo and close a key.
    Reverse,
    /// Tell what became of a key; one under which nothing was done is closed.
    Settle,
}

impl Call {
    /// Below the acquirer's address, and as signatures name it.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Greet => "/",
            Self::Card => "/card",
            Self::Rates => "/rates",
            Self::Authorise => "/authorise",
            Self::Capture => "/capture",
            Self::Void => "/void",
            Self::Refund => "/refund",
            Self::Reverse => "/reverse",
            Self::Settle => "/settle",
        }
    }

    /// How it is asked.
    pub const fn method(self) -> http::Method {
        match self {
            Self::Greet | Self::Rates => http::Method::GET,
            Self::Card
            | Self::Authorise
            | Self::Capture
            | Self::Void
            | Self::Refund
            | Self::Reverse
            | Self::Settle => http::Method::POST,
        }
    }
}
