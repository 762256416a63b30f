//! `application/vnd.pgrst.plan`: Postgres' plan of a request in place of its response.
//!
//! Source: PostgREST's documentation, "Execution plan".

use super::MediaType;

/// What is to be explained, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explain {
    /// The media type that the explained statement would give (`for=`).
    pub of: MediaType,
    /// How the plan is written.
    pub format: ExplainFormat,
    /// What else the plan shows (`options=`), each once.
    pub options: Vec<ExplainOption>,
}

::settings::words! {
    /// How a plan is written, by its name in media types, and in any case in SQL.
    pub enum ExplainFormat {
        /// Lines for people: `application/vnd.pgrst.plan` and `application/vnd.pgrst.plan+text`.
        Text = "text",
        /// `application/vnd.pgrst.plan+json`.
        Json = "json",
    }
}

::settings::words! {
    /// An option of `EXPLAIN`, by its name in media types, and in any case in SQL.
    pub enum ExplainOption {
        /// `analyze`: the statement is run, and what it changes is kept.
        Analyze = "analyze",
        /// `verbose`.
        Verbose = "verbose",
        /// `settings`.
        Settings = "settings",
        /// `buffers`.
        Buffers = "buffers",
        /// `wal`.
        Wal = "wal",
    }
}

impl Explain {
    /// Parses the values of `for=` and `options=`; unknown options are ignored.
    pub(super) fn new(format: ExplainFormat, of: Option<&str>, options: Option<&str>) -> Self {
        let named: Vec<&str> = options.unwrap_or_default().split('|').collect();
        let options = ExplainOption::ALL.into_iter().filter(|option| named.contains(&option.name()));
        Self { of: of.map_or(MediaType::Json, MediaType::parse), format, options: options.collect() }
    }

    /// Returns the media type with everything that was understood of it.
    pub(super) fn media_type(&self) -> String {
        let mut name =
            format!("application/vnd.pgrst.plan+{}; for=\"{}\"", self.format.name(), self.of.name());
        for (index, option) in self.options.iter().enumerate() {
            name.push_str(if index == 0 { "; options=" } else { "|" });
            name.push_str(option.name());
        }
        name
    }
}
