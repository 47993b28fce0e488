//! Why a call got no answer.

use std::error::Error;
use std::io;

/// Why there is no answer; decisions 11, "Errors recorded".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.description())]
pub enum Unreached {
    /// Nobody listens, or the connection broke, or what came back is no HTTP.
    ConnectionFailed,
    /// The host name has no address.
    DnsFailed,
    /// No trusted certificate of that name, or no TLS.
    TlsFailed,
    /// No answer in time.
    Timeout,
    /// A place that is not called.
    ForbiddenAddress,
}

impl Unreached {
    /// As it is recorded.
    pub const fn code(self) -> &'static str {
        match self {
            Self::ConnectionFailed => "connection_failed",
            Self::DnsFailed => "dns_failed",
            Self::TlsFailed => "tls_failed",
            Self::Timeout => "timeout",
            Self::ForbiddenAddress => "forbidden_address",
        }
    }

    /// In words.
    pub const fn description(self) -> &'static str {
        match self {
            Self::ConnectionFailed => "The connection could not be made or broke before the answer",
            Self::DnsFailed => "The host name could not be resolved",
            Self::TlsFailed => "No trusted TLS connection could be made",
            Self::Timeout => "There was no answer in time",
            Self::ForbiddenAddress => "The address must not be called",
        }
    }

    /// What the HTTP client's error says, at its bottom.
    pub(super) fn of(error: &reqwest::Error) -> Self {
        if error.is_timeout() {
            return Self::Timeout;
        }
        let mut cause = error.source();
        while let Some(error) = cause {
            if let Some(unreached) = error.downcast_ref::<Self>() {
                return *unreached;
            }
            if of_tls(error) {
                return Self::TlsFailed;
            }
            cause = error.source();
        }
        Self::ConnectionFailed
    }
}

/// TLS hides its errors inside of I/O errors, which do not name them as their source.
fn of_tls(error: &(dyn Error + 'static)) -> bool {
    let mut inner = error.downcast_ref::<io::Error>();
    while let Some(error) = inner {
        let Some(wrapped) = error.get_ref() else { return false };
        if wrapped.is::<rustls::Error>() {
            return true;
        }
        inner = wrapped.downcast_ref();
    }
    error.is::<rustls::Error>()
}
