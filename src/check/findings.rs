//! What was found.

use serde::{Serialize, Serializer};

/// Where something was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Area {
    /// Variables.
    #[default]
    Configuration,
    /// The database.
    Database,
    /// The vault's key, and files of secrets.
    Keys,
    /// Whom this server believes.
    Roots,
    /// Clocks.
    Clock,
    /// Folders, files and buckets.
    Disk,
    /// Where it listens.
    Ports,
    /// Who moves the money.
    Acquirer,
}

/// How it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// As it should be.
    Ok,
    /// A server runs like this, and somebody should know.
    Warning,
    /// A server does not start like this, or must not run.
    Wrong,
}

/// One thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How it is.
    pub level: Level,
    /// Where.
    pub area: Area,
    /// What was found. Nothing secret.
    pub said: String,
    /// How to mend it.
    pub mend: Option<String>,
}

impl Area {
    /// As people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Database => "database",
            Self::Keys => "keys",
            Self::Roots => "roots",
            Self::Clock => "clock",
            Self::Disk => "disk",
            Self::Ports => "ports",
            Self::Acquirer => "acquirer",
        }
    }
}

impl Level {
    /// As people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Wrong => "wrong",
        }
    }
}

impl Serialize for Area {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Serialize for Level {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// What was found so far, and where is being looked.
#[derive(Debug, Default)]
pub struct Findings {
    area: Area,
    found: Vec<Finding>,
}

impl Findings {
    /// From now on this is looked at.
    pub fn turn_to(&mut self, area: Area) {
        self.area = area;
    }

    /// As it should be.
    pub fn ok(&mut self, said: impl Into<String>) {
        self.add(Level::Ok, said.into(), None);
    }

    /// Somebody should know.
    pub fn warning(&mut self, said: impl Into<String>, mend: impl Into<String>) {
        self.add(Level::Warning, said.into(), Some(mend.into()));
    }

    /// It must not be like this.
    pub fn wrong(&mut self, said: impl Into<String>, mend: impl Into<String>) {
        self.add(Level::Wrong, said.into(), Some(mend.into()));
    }

    /// Somebody should know, and in live it must not be like this.
    pub fn wrong_in_live(&mut self, live: bool, said: impl Into<String>, mend: impl Into<String>) {
        self.add(if live { Level::Wrong } else { Level::Warning }, said.into(), Some(mend.into()));
    }

    fn add(&mut self, level: Level, said: String, mend: Option<String>) {
        self.found.push(Finding { level, area: self.area, said, mend });
    }

    /// Whether nothing was found where it looks now.
    pub fn is_silent(&self) -> bool {
        self.found.iter().all(|finding| finding.area != self.area)
    }

    /// All of it.
    pub fn all(self) -> Vec<Finding> {
        self.found
    }
}
