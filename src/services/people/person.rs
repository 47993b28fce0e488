//! A person who is signed in, with the rights of their roles.

use entity::Timestamp;
use entity::api_key::KeyRestriction;
use entity::section::Section;
use outbound::identity_provider::Identity;
use store::Operator;

/// A person who is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// The provider and its name for the person: who they are.
    pub identity: Identity,
    /// The rights of their roles, as a restricted key would have them.
    pub restriction: KeyRestriction,
    /// The hash of the session's secret; `None` until one is opened.
    pub session: Option<Vec<u8>>,
}

impl Person {
    /// Returns a person with the rights of all their roles.
    pub fn new(identity: Identity) -> Self {
        let most = |section: Section| identity.roles.iter().map(|role| role.right(section)).max();
        let rights = Section::ALL.iter().filter_map(|section| Some((*section, most(*section)?))).collect();
        let restriction = KeyRestriction {
            name: identity.name.clone(),
            last_characters: String::new(),
            rights,
            networks: Vec::new(),
        };
        Self { identity, restriction, session: None }
    }

    /// Returns the name in the audit trail.
    pub fn name(&self) -> String {
        full_name(&self.identity.name, &self.identity.subject)
    }

    /// Returns the operator who acts, for the audit trail.
    pub fn acting(&self, at: Timestamp) -> Operator {
        Operator { name: self.name(), at }
    }

    /// Returns whether the provider has one name for both: one person, in however many sessions.
    pub fn is(&self, issuer: &str, subject: &str) -> bool {
        self.identity.issuer == issuer && self.identity.subject == subject
    }
}

/// Returns a person's name in the audit trail: that for people, and the one that never changes.
pub fn full_name(name: &str, subject: &str) -> String {
    if name == subject { name.to_owned() } else { format!("{name} ({subject})") }
}
