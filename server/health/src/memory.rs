//! Since when problems are there. The memory outlives the process: a problem does not begin anew with each start.

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use crate::problem::{Finding, Problem};

/// The most problems that are remembered. Of further ones it is forgotten between two rounds since when they are there.
const MOST: usize = 1000;

/// Keeps a new content of the file.
type Save = Box<dyn Fn(&[u8]) -> std::io::Result<()> + Send>;

/// The memory.
pub struct Memory {
    entries: Vec<Entry>,
    save: Save,
    /// What was kept last.
    saved: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Entry {
    check: String,
    name: String,
    subject: String,
    #[serde(with = "time::serde::rfc3339")]
    since: OffsetDateTime,
    /// Whether the operator was told that it is critical.
    told: bool,
}

impl Entry {
    fn is_of(&self, check: &str, finding: &Finding) -> bool {
        self.check == check && self.name == finding.name && self.subject == finding.subject
    }
}

/// What one check knows.
pub(crate) struct Known<'c> {
    pub(crate) check: &'static str,
    pub(crate) is_shared: bool,
    /// What it has found; `None` if it has not been able to look yet.
    pub(crate) found: Option<&'c [Finding]>,
}

impl Memory {
    /// Returns the memory with the `content` of its file; one that cannot be read is like none. `save` keeps a new one.
    pub fn new(content: Option<&[u8]>, save: impl Fn(&[u8]) -> std::io::Result<()> + Send + 'static) -> Self {
        let entries = content.and_then(|content| serde_json::from_slice(content).ok());
        Self { entries: entries.unwrap_or_default(), save: Box::new(save), saved: Vec::new() }
    }

    /// Returns the problems at `now`: what the checks have found, with since when it is so. What a check that has not
    /// looked yet has found in an earlier process stays remembered.
    pub(crate) fn problems<'c>(
        &mut self,
        now: OffsetDateTime,
        known: impl IntoIterator<Item = Known<'c>>,
    ) -> Vec<Problem> {
        let (mut problems, mut entries) = (Vec::new(), Vec::new());
        for Known { check, is_shared, found } in known {
            let Some(found) = found else {
                entries.extend(self.entries.iter().filter(|entry| entry.check == check).cloned());
                continue;
            };
            for finding in found {
                let entry = self.entries.iter().find(|entry| entry.is_of(check, finding));
                let entry = entry.cloned().unwrap_or_else(|| Entry {
                    check: check.to_owned(),
                    name: finding.name.to_owned(),
                    subject: finding.subject.clone(),
                    since: now,
                    told: false,
                });
                let (since, is_told) = (entry.since, entry.told);
                problems.push(Problem { finding: finding.clone(), since, is_shared, is_told });
                entries.push(entry);
            }
        }
        entries.truncate(MOST);
        self.entries = entries;
        self.keep();
        problems
    }

    /// Remembers that the operator was told that `problems` are critical.
    pub(crate) fn note_told(&mut self, problems: &[Problem]) {
        for entry in &mut self.entries {
            let is_it = |problem: &Problem| {
                entry.name == problem.finding.name && entry.subject == problem.finding.subject
            };
            entry.told |= problems.iter().any(is_it);
        }
        self.keep();
    }

    /// Writes what has changed.
    fn keep(&mut self) {
        let Ok(content) = serde_json::to_vec_pretty(&self.entries) else { return };
        if content == self.saved {
            return;
        }
        if let Err(error) = (self.save)(&content) {
            tracing::debug!(%error, "since when problems are there cannot be remembered");
        }
        self.saved = content;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;
    use time::Duration;

    use super::*;

    fn finding(subject: &str) -> Finding {
        Finding::warning("disk_fills", subject, [String::new(), String::new()])
    }

    fn known(found: Option<&[Finding]>) -> [Known<'_>; 1] {
        [Known { check: "disk", is_shared: false, found }]
    }

    #[test]
    fn a_problem_keeps_its_beginning_while_it_lasts_and_over_a_restart() {
        let file = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&file);
        let mut memory = Memory::new(None, move |content| {
            *written.lock() = content.to_vec();
            Ok(())
        });
        let begin = OffsetDateTime::from_unix_timestamp(1_800_000_000).unwrap();
        let later = begin + Duration::minutes(5);
        let both = [finding("/a"), finding("/b")];
        assert_eq!(memory.problems(begin, known(Some(&both[..1])))[0].since, begin);
        let problems = memory.problems(later, known(Some(&both)));
        assert_eq!((problems[0].since, problems[1].since), (begin, later));
        memory.note_told(&problems[..1]);

        let content = file.lock().clone();
        let mut memory = Memory::new(Some(&content), |_| Ok(()));
        assert_eq!(memory.problems(later, known(None)), [], "the check has not looked yet");
        let problems = memory.problems(later, known(Some(&both)));
        assert_eq!((problems[0].since, problems[1].since), (begin, later));
        assert_eq!((problems[0].is_told, problems[1].is_told), (true, false));

        assert_eq!(memory.problems(later, known(Some(&[]))), []);
        assert_eq!(memory.problems(later, known(Some(&both)))[0].since, later, "it has begun anew");
    }

    #[test]
    fn a_damaged_file_is_like_none() {
        let mut memory = Memory::new(Some(b"{\"since\":"), |_| Err(std::io::Error::other("read only")));
        let now = OffsetDateTime::now_utc();
        assert_eq!(memory.problems(now, known(Some(&[finding("/a")])))[0].since, now);
    }
}
