//! The people who sign in at the dashboard: their roles and sessions, and what two of them decide (`docs/decisions.md`, 386).

use crate::section::{Right, Section};

string_enum! {
    /// What a person does here. The provider says who has which role.
    pub enum Role {
        Viewer "viewer",
        Support "support",
        Finance "finance",
        Administrator "administrator",
    }
}

impl Role {
    /// Returns the right that a role has in a section, as a restricted key would have it.
    pub fn right(self, section: Section) -> Right {
        let written: &[Section] = match self {
            Self::Viewer => &[],
            Self::Support => &[Section::Customers, Section::Subscriptions, Section::Webhooks, Section::Files],
            Self::Finance => &[
                Section::Charges,
                Section::Authorisations,
                Section::Refunds,
                Section::Transfers,
                Section::Deposits,
                Section::Balance,
                Section::Disputes,
            ],
            Self::Administrator => Section::ALL,
        };
        match (written.contains(&section), section == Section::Keys) {
            (true, _) => Right::Write,
            (false, true) => Right::None,
            (false, false) => Right::Read,
        }
    }
}

/// Sessions of people.
pub mod person_session {
    use crate::{Bytes, JsonText, Timestamp};

    table! {
        /// One session, by the keyed hash of the secret in its cookie. All times are by the wall clock.
        "person_sessions" [hash: Bytes] {
            /// The provider that knows the person, and its name for the person, which never changes.
            issuer: String,
            subject: String,
            /// The person's name for people.
            name: String,
            /// The roles at the time of the sign-in: a list of words.
            roles: JsonText,
            created_at: Timestamp,
            /// The latest request.
            seen_at: Timestamp,
            /// The latest time at which it ends. The row stays until then, so that nothing opens it twice.
            ends_at: Timestamp,
            /// When the person has signed out, or somebody has ended it.
            ended_at: Option<Timestamp>,
        }
    }
}

/// Sessions of keys that were signed out.
pub mod ended_session {
    use crate::{Bytes, Timestamp};

    table! {
        /// One session, by the keyed hash of its CSRF token. Its cookie opens nothing. Times are by the wall clock.
        "ended_sessions" [hash: Bytes] {
            /// When the cookie expires. The row stays until then.
            ends_at: Timestamp,
        }
    }
}

/// Requests that a second person decides.
pub mod approval {
    use uuid::Uuid;

    use crate::section::Section;
    use crate::{AccountToken, JsonText, Timestamp};

    table! {
        /// One request. It belongs to the operator, so it stays when the account is deleted. Times are by the wall clock.
        "approvals" [id: Uuid] {
            account: AccountToken,
            kind: ApprovalKind,
            state: ApprovalState,
            /// The record that it is about; empty if it makes one.
            subject: String,
            parameters: JsonText,
            /// The person who asks: the provider, its name for the person, and the one for people.
            asker_issuer: String,
            asker_subject: String,
            asked_by: String,
            asked_at: Timestamp,
            /// The name of the person who has decided.
            decided_by: Option<String>,
            decided_at: Option<Timestamp>,
            /// What the operation depends on besides its parameters, as the request shows it: JSON. Null in rows of former releases.
            facts: Option<JsonText>,
        }
    }

    string_enum! {
        /// What takes two persons.
        pub enum ApprovalKind {
            Transfer "transfer",
            Dispute "dispute",
            Merchant "merchant",
            Key "key",
        }
    }

    impl ApprovalKind {
        /// Returns the section in which both persons need `write`.
        pub const fn section(self) -> Section {
            match self {
                Self::Transfer => Section::Transfers,
                Self::Dispute => Section::Disputes,
                Self::Merchant => Section::Merchants,
                Self::Key => Section::Keys,
            }
        }
    }

    string_enum! {
        /// How far a request is.
        pub enum ApprovalState {
            Pending "pending",
            Approved "approved",
            Declined "declined",
            Withdrawn "withdrawn",
            /// Never stored: nobody has decided a pending one in time.
            Expired "expired",
        }
    }
}
