//! A summary of a project's edge functions, which several commands show.

use std::path::PathBuf;

use crate::settings::Settings;

/// A summary of a project's functions.
pub(crate) struct EdgeFunctions {
    /// The number of functions that can be called.
    pub(crate) count: usize,
    /// The Deno that runs them, if there is one.
    pub(crate) deno: Result<PathBuf, functions::NoDeno>,
    watched: bool,
}

impl EdgeFunctions {
    /// Returns the functions of `settings`; `None` if functions are off.
    pub(crate) fn new(settings: &Settings) -> Option<Self> {
        let settings = settings.services.functions.as_ref()?;
        Some(Self {
            count: settings.list().iter().filter(|found| found.function.enabled).count(),
            deno: functions::find_deno(settings),
            watched: settings.watch,
        })
    }

    /// Says why none of them can be called, and what to do; `None` if they can, or if there are none.
    pub(crate) fn problem(&self) -> Option<String> {
        let missing = self.deno.as_ref().err().filter(|_| self.count > 0)?;
        Some(format!("{} cannot be called. {missing}", self.count_text()))
    }

    /// Describes their URL, and when changed files take effect.
    pub(crate) fn describe(&self, api_url: &str) -> String {
        let changes = match self.watched {
            true => "changed files take effect at the next call",
            false => "changed files take effect after a restart, or use `basalt functions serve`",
        };
        format!("{api_url}/functions/v1/<name> ({}; {changes})", self.count_text())
    }

    /// Returns the number with the noun: "1 function", for example.
    pub(crate) fn count_text(&self) -> String {
        if self.count == 1 { "1 function".to_owned() } else { format!("{} functions", self.count) }
    }
}
