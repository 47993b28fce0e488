//! People who are signed in at the dashboard, as operators see them (`docs/decisions.md`, 390).

use std::fmt;

use entity::Timestamp;
use entity::person::Role;
use serde::Serialize;

/// A person with open sessions. Times are by the wall clock.
#[derive(Debug, Clone, Serialize)]
pub struct SignedInPerson {
    /// The provider's name for the person, which never changes.
    pub subject: String,
    /// The provider.
    pub issuer: String,
    /// The person's name for people.
    pub name: String,
    /// The roles that any of the sessions has.
    pub roles: Vec<Role>,
    /// The number of open sessions.
    pub sessions: u64,
    /// When the oldest of them began.
    pub since: Timestamp,
    /// The latest request.
    pub seen_at: Timestamp,
}

impl fmt::Display for SignedInPerson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, name, roles, sessions, since, seen_at, .. } = self;
        let roles: Vec<_> = roles.iter().map(|role| role.code()).collect();
        write!(
            f,
            "{name} ({subject}), {}: {sessions} sessions since {since}, last seen at {seen_at}",
            roles.join(", ")
        )
    }
}
