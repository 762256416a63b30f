//! The `Prefer` header (RFC 7240) and the `Preference-Applied` header that answers it.
//!
//! Source: PostgREST's documentation, "Prefer header".

use http::{HeaderMap, HeaderName};

use crate::error::Error;

pub(crate) const PREFER: HeaderName = HeaderName::from_static("prefer");

/// What the client prefers; the first of each kind counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preferences {
    /// `resolution=`.
    pub resolution: Option<Resolution>,
    /// `missing=`.
    pub missing: Option<Missing>,
    /// `return=`.
    pub representation: Option<Representation>,
    /// `count=`.
    pub count: Option<Count>,
    /// `tx=`; `None` where the settings do not allow the client to choose.
    pub transaction: Option<TransactionEnd>,
    /// `handling=`.
    pub handling: Option<Handling>,
    /// `timezone=`.
    pub timezone: Option<String>,
    /// `max-affected=`.
    pub max_affected: Option<i64>,
    /// Everything that is no known preference.
    pub invalid: Vec<String>,
}

/// What an insert does with rows that exist already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// They are updated.
    MergeDuplicates,
    /// They are left alone.
    IgnoreDuplicates,
}

/// What a key missing from an object means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// The column's default.
    Default,
    /// Null.
    Null,
}

/// What a mutation answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Representation {
    /// The rows.
    Full,
    /// Where the new row is.
    HeadersOnly,
    /// Nothing.
    Minimal,
}

/// How the total number of rows is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// By counting.
    Exact,
    /// By asking the planner.
    Planned,
    /// By counting up to `db-max-rows`, by asking the planner beyond.
    Estimated,
}

/// How the transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionEnd {
    /// It is kept.
    Commit,
    /// It is undone after its answer is known.
    Rollback,
}

/// What an unknown preference means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handling {
    /// An error.
    Strict,
    /// Nothing.
    Lenient,
}

impl Preferences {
    /// Reads all `Prefer` headers. `may_choose_end` says whether `tx=` counts.
    pub fn from_headers(headers: &HeaderMap, may_choose_end: bool) -> Self {
        let mut found = Self::default();
        for value in headers.get_all(PREFER) {
            for preference in super::text(value).split(',').map(str::trim) {
                found.take(preference, may_choose_end);
            }
        }
        found
    }

    fn take(&mut self, preference: &str, may_choose_end: bool) {
        match preference {
            "resolution=merge-duplicates" => first(&mut self.resolution, Resolution::MergeDuplicates),
            "resolution=ignore-duplicates" => first(&mut self.resolution, Resolution::IgnoreDuplicates),
            "missing=default" => first(&mut self.missing, Missing::Default),
            "missing=null" => first(&mut self.missing, Missing::Null),
            "return=representation" => first(&mut self.representation, Representation::Full),
            "return=headers-only" => first(&mut self.representation, Representation::HeadersOnly),
            "return=minimal" => first(&mut self.representation, Representation::Minimal),
            "count=exact" => first(&mut self.count, Count::Exact),
            "count=planned" => first(&mut self.count, Count::Planned),
            "count=estimated" => first(&mut self.count, Count::Estimated),
            "tx=commit" if may_choose_end => first(&mut self.transaction, TransactionEnd::Commit),
            "tx=rollback" if may_choose_end => first(&mut self.transaction, TransactionEnd::Rollback),
            "tx=commit" | "tx=rollback" => {}
            "handling=strict" => first(&mut self.handling, Handling::Strict),
            "handling=lenient" => first(&mut self.handling, Handling::Lenient),
            other => {
                if let Some(zone) = other.strip_prefix("timezone=") {
                    first(&mut self.timezone, zone.to_owned());
                } else if let Some(rows) = other.strip_prefix("max-affected=") {
                    if let Ok(rows) = rows.parse() {
                        first(&mut self.max_affected, rows);
                    }
                } else {
                    self.invalid.push(other.to_owned());
                }
            }
        }
    }

    /// Checks that all preferences are known, if the client asked for strictness.
    ///
    /// Errors: `PGRST122` for unknown ones.
    pub fn check(&self) -> Result<(), Error> {
        if self.invalid.is_empty() || self.handling != Some(Handling::Strict) {
            return Ok(());
        }
        Err(Error::InvalidPreferences(self.invalid.clone()))
    }

    /// Returns the most rows that may be changed: `max-affected` counts only with `handling=strict`.
    pub fn row_limit(&self) -> Option<i64> {
        self.max_affected.filter(|_| self.handling == Some(Handling::Strict))
    }

    /// Returns the value of `Preference-Applied`, in upstream's order; `None` when nothing was preferred.
    pub fn applied(&self) -> Option<String> {
        let mut applied: Vec<String> = Vec::new();
        let mut add = |text: Option<&str>| applied.extend(text.map(str::to_owned));
        add(self.resolution.map(|resolution| match resolution {
            Resolution::MergeDuplicates => "resolution=merge-duplicates",
            Resolution::IgnoreDuplicates => "resolution=ignore-duplicates",
        }));
        add(self.missing.map(|missing| match missing {
            Missing::Default => "missing=default",
            Missing::Null => "missing=null",
        }));
        add(self.representation.map(|representation| match representation {
            Representation::Full => "return=representation",
            Representation::HeadersOnly => "return=headers-only",
            Representation::Minimal => "return=minimal",
        }));
        add(self.count.map(|count| match count {
            Count::Exact => "count=exact",
            Count::Planned => "count=planned",
            Count::Estimated => "count=estimated",
        }));
        add(self.transaction.map(|end| match end {
            TransactionEnd::Commit => "tx=commit",
            TransactionEnd::Rollback => "tx=rollback",
        }));
        add(self.handling.map(|handling| match handling {
            Handling::Strict => "handling=strict",
            Handling::Lenient => "handling=lenient",
        }));
        add(self.timezone.as_ref().map(|zone| format!("timezone={zone}")).as_deref());
        add(self.row_limit().map(|rows| format!("max-affected={rows}")).as_deref());
        (!applied.is_empty()).then(|| applied.join(", "))
    }
}

fn first<T>(slot: &mut Option<T>, value: T) {
    slot.get_or_insert(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preferences(values: &[&'static str]) -> Preferences {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append("prefer", http::HeaderValue::from_static(value));
        }
        Preferences::from_headers(&headers, true)
    }

    #[test]
    fn the_first_of_each_kind_counts() {
        let found = preferences(&["count=exact,   return=minimal", "count=planned, tx=rollback, odd"]);
        assert_eq!(found.count, Some(Count::Exact));
        assert_eq!(found.representation, Some(Representation::Minimal));
        assert_eq!(found.transaction, Some(TransactionEnd::Rollback));
        assert_eq!(found.invalid, ["odd"]);
        assert!(found.check().is_ok());
    }

    #[test]
    fn preferences_beside_any_text_count() {
        let mut headers = HeaderMap::new();
        let value = http::HeaderValue::from_bytes("count=exact, größe=1, handling=strict".as_bytes());
        headers.append("prefer", value.unwrap());
        let value = http::HeaderValue::from_bytes(b"return=minimal, \xFF");
        headers.append("prefer", value.unwrap());
        let found = Preferences::from_headers(&headers, true);
        assert_eq!((found.count, found.representation), (Some(Count::Exact), Some(Representation::Minimal)));
        assert_eq!(found.invalid, ["größe=1", "\u{FFFD}"]);
    }

    #[test]
    fn strict_handling_refuses_unknown_preferences() {
        let error = preferences(&["handling=strict, odd, worse"]).check().unwrap_err();
        assert_eq!(error.code(), "PGRST122");
        assert_eq!(error.details().unwrap(), "Invalid preferences: odd, worse");
    }

    #[test]
    fn what_was_applied_is_told_in_upstreams_order() {
        let found =
            preferences(&["max-affected=5, timezone=UTC, count=exact, handling=strict, missing=default"]);
        assert_eq!(
            found.applied().unwrap(),
            "missing=default, count=exact, handling=strict, timezone=UTC, max-affected=5"
        );
        assert_eq!(preferences(&["max-affected=5"]).applied(), None);
    }
}
