//! The reason why a call has no response.

use std::error::Error;
use std::io;

/// The reason why an outbound call has no response (`docs/decisions.md`, 247).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}", Self::description(*self))]
pub enum OutboundError {
    /// No server listens, the connection broke, or the response is no HTTP.
    ConnectionFailed,
    /// The host name has no address.
    DnsFailed,
    /// No trusted certificate of that name, or no TLS.
    TlsFailed,
    /// No response in time.
    Timeout,
    /// An address that is never called.
    ForbiddenAddress,
}

/// The reason why an exchange has no response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ExchangeError {
    /// There is none.
    #[error(transparent)]
    Unreached(#[from] OutboundError),
    /// The body broke off, or has more bytes than this.
    #[error("The answer broke off, or has more than {0} bytes")]
    NotWhole(usize),
}

impl OutboundError {
    /// All of them.
    pub const ALL: &[Self] =
        &[Self::ConnectionFailed, Self::DnsFailed, Self::TlsFailed, Self::Timeout, Self::ForbiddenAddress];

    /// Returns the recorded code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::ConnectionFailed => "connection_failed",
            Self::DnsFailed => "dns_failed",
            Self::TlsFailed => "tls_failed",
            Self::Timeout => "timeout",
            Self::ForbiddenAddress => "forbidden_address",
        }
    }

    /// Returns the sentence.
    pub const fn description(self) -> &'static str {
        match self {
            Self::ConnectionFailed => "The connection could not be made or broke before the answer",
            Self::DnsFailed => "The host name could not be resolved",
            Self::TlsFailed => "No trusted TLS connection could be made",
            Self::Timeout => "There was no answer in time",
            Self::ForbiddenAddress => "The address must not be called",
        }
    }

    /// Classifies the root cause of the HTTP client's error.
    pub fn from_error(error: &reqwest::Error) -> Self {
        if error.is_timeout() {
            return Self::Timeout;
        }
        let connecting = error.is_connect();
        let mut cause = error.source();
        while let Some(error) = cause {
            if let Some(unreached) = error.downcast_ref::<Self>() {
                return *unreached;
            }
            if of_tls(error, connecting) {
                return Self::TlsFailed;
            }
            cause = error.source();
        }
        Self::ConnectionFailed
    }
}

/// Returns whether the server closed or reset the connection before its response.
pub(crate) fn is_closed(error: &reqwest::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let closed = |error: &io::Error| {
        [BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof].contains(&error.kind())
    };
    let mut cause = error.source();
    while let Some(error) = cause {
        let is_incomplete = error.downcast_ref().is_some_and(hyper::Error::is_incomplete_message);
        if is_incomplete || error.downcast_ref().is_some_and(closed) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// TLS hides its errors inside I/O errors, which do not name them as their source. A connection that ends
/// while it is being made ended inside the handshake.
fn of_tls(error: &(dyn Error + 'static), connecting: bool) -> bool {
    if error.is::<rustls::Error>() {
        return true;
    }
    let Some(error) = error.downcast_ref::<io::Error>() else { return false };
    let cut_short = connecting && error.kind() == io::ErrorKind::UnexpectedEof;
    cut_short || error.get_ref().is_some_and(|inner| of_tls(inner, connecting))
}
