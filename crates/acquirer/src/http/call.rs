//! The operations of the protocol.

/// One operation of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Returns the acquirer's name.
    Greet,
    /// Looks a card up.
    Card,
    /// Lists the exchange rates.
    Rates,
    /// Reserves money, or takes it at once.
    Authorise,
    /// Takes reserved money.
    Capture,
    /// Releases reserved money.
    Void,
    /// Gives taken money back.
    Refund,
    /// Undoes a call and closes its key.
    Reverse,
    /// Returns the outcome of a key. A key under which nothing was done is closed.
    Settle,
}

impl Call {
    /// The path below the acquirer's address, which signatures cover.
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

    /// GET for what only reads, else POST.
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
