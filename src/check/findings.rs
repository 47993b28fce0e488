//! The findings of a check.

use serde::{Serialize, Serializer};

/// The subject of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Area {
    /// Variables.
    #[default]
    Configuration,
    Database,
    /// The vault's key, and files of secrets.
    Keys,
    /// Trusted certificates.
    Roots,
    Clock,
    /// Directories, files and buckets.
    Disk,
    /// The addresses on which the server listens.
    Ports,
    Acquirer,
    /// The people who sign in at the dashboard.
    People,
    /// The operating system, if it lacks something.
    System,
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// No problem.
    Ok,
    /// A server runs like this, and the operator should know.
    Warning,
    /// A server does not start like this, or must not run.
    Wrong,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub level: Level,
    /// The subject.
    pub area: Area,
    /// The text. Holds nothing secret.
    #[serde(rename = "said")]
    pub text: String,
    pub remedy: Option<String>,
}

impl Area {
    /// The displayed name.
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
            Self::People => "people",
            Self::System => "system",
        }
    }
}

impl Level {
    /// The displayed name.
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

/// The findings so far, and the current area.
#[derive(Debug, Default)]
pub struct Findings {
    area: Area,
    found: Vec<Finding>,
}

impl Findings {
    /// Sets the area of further findings.
    pub fn begin_area(&mut self, area: Area) {
        self.area = area;
    }

    /// Records that there is no problem.
    pub fn ok(&mut self, text: impl Into<String>) {
        self.add(Level::Ok, text.into(), None);
    }

    pub fn warning(&mut self, text: impl Into<String>, remedy: impl Into<String>) {
        self.add(Level::Warning, text.into(), Some(remedy.into()));
    }

    /// Records an error.
    pub fn wrong(&mut self, text: impl Into<String>, remedy: impl Into<String>) {
        self.add(Level::Wrong, text.into(), Some(remedy.into()));
    }

    /// Records a warning, which in live is an error.
    pub fn wrong_in_live(&mut self, live: bool, text: impl Into<String>, remedy: impl Into<String>) {
        self.add(if live { Level::Wrong } else { Level::Warning }, text.into(), Some(remedy.into()));
    }

    fn add(&mut self, level: Level, text: String, remedy: Option<String>) {
        self.found.push(Finding { level, area: self.area, text, remedy });
    }

    /// Returns whether the current area has no finding.
    pub fn is_silent(&self) -> bool {
        self.found.iter().all(|finding| finding.area != self.area)
    }

    pub fn all(self) -> Vec<Finding> {
        self.found
    }
}
