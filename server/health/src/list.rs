//! The list of problems, as operators see it.

use serde::Serialize;
use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::problem::{Problem, Severity};

/// The list.
#[derive(Debug, Clone)]
pub struct List {
    /// When the checks were run last.
    pub checked_at: OffsetDateTime,
    /// Whether strangers can reach the server.
    pub is_public: bool,
    /// All problems, also those that would be one if strangers could reach the server; critical and old ones first.
    pub(crate) problems: Vec<Problem>,
}

/// What is shown of a list.
#[derive(Serialize)]
struct Shown<'l> {
    #[serde(with = "time::serde::rfc3339")]
    checked_at: OffsetDateTime,
    public: bool,
    problems: Vec<&'l Problem>,
}

impl List {
    pub(crate) fn new(checked_at: OffsetDateTime, is_public: bool, mut problems: Vec<Problem>) -> Self {
        problems.sort_by(|one, other| {
            let of = |problem: &Problem| (std::cmp::Reverse(problem.finding.severity), problem.since);
            of(one).cmp(&of(other)).then_with(|| one.finding.name.cmp(other.finding.name))
        });
        Self { checked_at, is_public, problems }
    }

    /// Returns the problems.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.problems_if(self.is_public)
    }

    /// Returns the problems that there would be if it `is_public` whether strangers can reach the server.
    pub(crate) fn problems_if(&self, is_public: bool) -> impl Iterator<Item = &Problem> {
        self.problems.iter().filter(move |problem| is_public || !problem.finding.is_of_public)
    }

    /// Returns the list as JSON. With `as_public` it is that of a server that strangers can reach.
    pub fn to_json(&self, as_public: bool) -> Value {
        let public = self.is_public || as_public;
        let shown =
            Shown { checked_at: self.checked_at, public, problems: self.problems_if(public).collect() };
        serde_json::to_value(shown).unwrap_or_else(|_| json!({}))
    }

    /// Returns how many problems there are of each name and severity.
    pub(crate) fn counts(&self) -> Vec<((&'static str, Severity), usize)> {
        let mut counts: Vec<((&'static str, Severity), usize)> = Vec::new();
        for Problem { finding, .. } in self.problems() {
            let key = (finding.name, finding.severity);
            match counts.iter_mut().find(|(known, _)| *known == key) {
                Some((_, count)) => *count += 1,
                None => counts.push((key, 1)),
            }
        }
        counts
    }
}
