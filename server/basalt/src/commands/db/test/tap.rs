//! Reads what a file of tests prints: the Test Anything Protocol, version 12, as pgTAP writes it.

/// What one file has printed.
#[derive(Debug, Default)]
pub(super) struct Results {
    /// The number of tests that were announced: `1..N`.
    planned: Option<usize>,
    run: usize,
    /// Lines about tests that failed, with the comments that follow them.
    failures: Vec<String>,
    failed: usize,
    /// What stopped the tests: `Bail out!`.
    bail_out: Option<String>,
    is_skipped: bool,
}

impl Results {
    /// Reads the output of one file.
    pub(super) fn read(output: &str) -> Self {
        let mut results = Self::default();
        let mut explains = false;
        for line in output.lines() {
            if let Some(reason) = line.strip_prefix("Bail out!") {
                results.bail_out = Some(reason.trim().to_owned());
            } else if let Some(count) = plan(line) {
                results.planned = Some(count);
                results.is_skipped = count == 0;
            } else if let Some(passed) = outcome(line) {
                results.run += 1;
                explains = !passed;
                if !passed {
                    results.failed += 1;
                    results.failures.push(line.to_owned());
                }
            } else if explains && line.starts_with('#') {
                results.failures.push(line.to_owned());
            }
        }
        results
    }

    /// Returns the number of tests that were run.
    pub(super) fn run(&self) -> usize {
        self.run
    }

    /// Returns the word for a file without problems.
    pub(super) fn state(&self) -> &'static str {
        if self.is_skipped { "skipped" } else { "ok" }
    }

    /// Returns what is wrong, a line each.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut problems = self.failures.clone();
        if self.failed > 0 {
            problems.push(format!("Failed {}/{} subtests", self.failed, self.planned.unwrap_or(self.run)));
        }
        if let Some(reason) = &self.bail_out {
            problems.push(format!("Bail out! {reason}"));
        }
        match self.planned {
            None => problems.push("No plan found in TAP output".to_owned()),
            Some(planned) if planned != self.run => {
                problems.push(format!("Bad plan.  You planned {planned} tests but ran {}.", self.run));
            }
            Some(_) => {}
        }
        problems
    }
}

fn plan(line: &str) -> Option<usize> {
    let count = line.strip_prefix("1..")?;
    count.split_whitespace().next()?.parse().ok()
}

/// Reports whether the test of this line passed; `None` for other lines. A failure that is expected (`# TODO`) has
/// passed.
fn outcome(line: &str) -> Option<bool> {
    let (passed, rest) = match line.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, line.strip_prefix("ok")?),
    };
    if !rest.is_empty() && !rest.starts_with(' ') {
        return None;
    }
    let directive = rest.rsplit_once('#').map(|(_, text)| text.trim_start().to_ascii_uppercase());
    let is_excused = directive.is_some_and(|text| text.starts_with("TODO") || text.starts_with("SKIP"));
    Some(passed || is_excused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_passes_only_with_its_whole_plan() {
        let problems = |output: &str| Results::read(output).problems();
        assert!(problems("1..2\nok 1 - a\nnot ok 2 - b # TODO later\n").is_empty());
        assert!(problems("ok 1\n1..1\n").is_empty());
        assert_eq!(Results::read("1..0 # SKIP no\n").state(), "skipped");
        for (output, problem) in [
            ("1..2\nok 1\n", "Bad plan.  You planned 2 tests but ran 1."),
            ("okay\n", "No plan found in TAP output"),
            ("1..1\nok 1\nBail out! no database\n", "Bail out! no database"),
        ] {
            assert!(problems(output).contains(&problem.to_owned()), "{output}");
        }
    }

    #[test]
    fn a_failure_is_explained() {
        let results =
            Results::read("1..2\nnot ok 1 - sum\n# Failed test 1: \"sum\"\n#  have: 1\nok 2\n# end\n");
        let problems = results.problems();
        assert_eq!(
            problems,
            ["not ok 1 - sum", "# Failed test 1: \"sum\"", "#  have: 1", "Failed 1/2 subtests"]
        );
        assert_eq!(results.run(), 2);
    }
}
