//! The reason why no key opens a request.

/// The reason why no key opens a request. The page of `unauthorized` has a section for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyFault {
    /// There is none.
    Missing,
    /// It comes as a Bearer token.
    Bearer,
    /// The header is not one of Basic authentication.
    Unreadable,
    /// No account has it, or it opens nothing any more.
    Unknown,
    Publishable,
    /// It is secret, and a publishable one is needed.
    Secret,
    /// Its account manages no approved partner.
    NoPartner,
}

impl KeyFault {
    pub const ALL: [Self; 7] = [
        Self::Missing,
        Self::Bearer,
        Self::Unreadable,
        Self::Unknown,
        Self::Publishable,
        Self::Secret,
        Self::NoPartner,
    ];

    /// Returns its name, as addresses have it.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Missing => "no-key",
            Self::Bearer => "bearer",
            Self::Unreadable => "unreadable",
            Self::Unknown => "unknown-key",
            Self::Publishable => "publishable-key",
            Self::Secret => "secret-key",
            Self::NoPartner => "no-partner",
        }
    }

    /// Returns it in words.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Missing => {
                "There is no key: send the secret key as the user name of Basic authentication, with an empty password (curl -u \"$KEY:\")."
            }
            Self::Bearer => {
                "The key comes as a Bearer token, which this API does not take: send it as the user name of Basic authentication, with an empty password (curl -u \"$KEY:\")."
            }
            Self::Unreadable => {
                "The header Authorization cannot be read: it is the word Basic and the base64 of the key and a colon (curl -u \"$KEY:\" writes it)."
            }
            Self::Unknown => {
                "The key opens no account here: it is misspelled, replaced, revoked, past its end, of the other environment, or comes from a network that it is not for."
            }
            Self::Publishable => {
                "The key is publishable, and this operation needs a secret one. A publishable key goes into the parameter publishable_api_key, and only stores cards, payment sources and bank accounts."
            }
            Self::Secret => {
                "The parameter publishable_api_key is a secret key. It needs the publishable one; if a browser has sent this key, replace it."
            }
            Self::NoPartner => {
                "The key's account manages no approved partner, and this operation is for those that do."
            }
        }
    }
}
