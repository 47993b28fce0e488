//! People who are signed in at the dashboard, as operators see them (`docs/decisions.md`, 390).

use std::fmt;

use base::plain_text::OneLine;
use entity::Timestamp;
use entity::person::Role;
use serde::Serialize;

/// A person with open sessions, or with requests that wait for an approval. Times are by the wall clock.
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
    /// The number of requests that wait for an approval.
    pub requests: u64,
    /// When the oldest session began; without one, when the person asked first.
    pub since: Timestamp,
    /// When the person last used a session, or asked.
    pub seen_at: Timestamp,
}

impl fmt::Display for SignedInPerson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, name, roles, sessions, requests, since, seen_at, .. } = self;
        let roles = match roles[..] {
            [] => "not signed in".to_owned(),
            _ => roles.iter().map(|role| role.code()).collect::<Vec<_>>().join(", "),
        };
        let (name, subject) = (OneLine(name), OneLine(subject));
        write!(f, "{name} ({subject}), {roles}: {sessions} sessions since {since}, last seen at {seen_at}")?;
        if *requests > 0 { write!(f, ", {requests} requests for approval") } else { Ok(()) }
    }
}
