//! Problems.

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The server works, but something has to be done in the next days.
    Warning,
    /// Something does not work, will soon not work, or is open to strangers.
    Critical,
}

impl Severity {
    /// Returns its name in JSON and in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// What a check has found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The name of the problem in snake case. It never changes: alarms refer to it.
    pub name: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What has the problem, such as a folder or a function: together with the name it identifies the problem.
    pub subject: String,
    /// What is wrong, in a sentence without a full stop.
    pub what: String,
    /// What to do, in a sentence without a full stop.
    pub remedy: String,
    /// Whether it is a problem only if strangers can reach the server.
    #[serde(skip)]
    pub is_of_public: bool,
}

impl Finding {
    /// Returns the finding of a warning. `texts` are what is wrong and what to do.
    pub fn warning(name: &'static str, subject: impl Into<String>, texts: [String; 2]) -> Self {
        let [what, remedy] = texts;
        Self { name, severity: Severity::Warning, subject: subject.into(), what, remedy, is_of_public: false }
    }

    /// Returns the finding of something critical.
    pub fn critical(name: &'static str, subject: impl Into<String>, texts: [String; 2]) -> Self {
        Self { severity: Severity::Critical, ..Self::warning(name, subject, texts) }
    }

    /// Makes it critical if `is_critical`.
    #[must_use]
    pub fn critical_if(self, is_critical: bool) -> Self {
        if is_critical { Self { severity: Severity::Critical, ..self } } else { self }
    }

    /// Makes it one that is a problem only if strangers can reach the server.
    #[must_use]
    pub fn of_public(self) -> Self {
        Self { is_of_public: true, ..self }
    }

    /// Reports whether both are about the same problem.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.subject == other.subject
    }
}

/// A finding, with the time at which it was found first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// What was found last.
    #[serde(flatten)]
    pub finding: Finding,
    /// Since when a check has found it, without an interruption.
    #[serde(with = "time::serde::rfc3339")]
    pub since: OffsetDateTime,
    /// Whether all servers of the project see it, and not only this machine.
    #[serde(skip)]
    pub is_shared: bool,
    /// Whether the operator was told that it is critical.
    #[serde(skip)]
    pub is_told: bool,
}

impl Problem {
    /// Reports whether it is critical.
    pub fn is_critical(&self) -> bool {
        self.finding.severity == Severity::Critical
    }
}
