//! The `Prefer` header (RFC 7240) and the `Preference-Applied` header of the response.
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

::settings::words! {
    /// What an insert does with rows that exist already.
    pub enum Resolution {
        /// They are updated.
        MergeDuplicates = "resolution=merge-duplicates",
        /// They are left alone.
        IgnoreDuplicates = "resolution=ignore-duplicates",
    }
}

::settings::words! {
    /// What a key missing from an object means.
    pub enum Missing {
        /// The column's default.
        Default = "missing=default",
        /// Null.
        Null = "missing=null",
    }
}

::settings::words! {
    /// What the response to a mutation contains.
    pub enum Representation {
        /// The rows.
        Full = "return=representation",
        /// Where the new row is.
        HeadersOnly = "return=headers-only",
        /// Nothing.
        Minimal = "return=minimal",
    }
}

::settings::words! {
    /// How the total number of rows is found.
    pub enum Count {
        /// By counting.
        Exact = "count=exact",
        /// By asking the planner.
        Planned = "count=planned",
        /// By counting up to `db-max-rows`, by asking the planner beyond.
        Estimated = "count=estimated",
    }
}

::settings::words! {
    /// How the transaction ends.
    pub enum TransactionEnd {
        /// It is kept.
        Commit = "tx=commit",
        /// It is undone after its response is known.
        Rollback = "tx=rollback",
    }
}

::settings::words! {
    /// What an unknown preference means.
    pub enum Handling {
        /// An error.
        Strict = "handling=strict",
        /// Nothing.
        Lenient = "handling=lenient",
    }
}

impl Preferences {
    /// Reads all `Prefer` headers. `may_choose_end` says whether `tx=` counts.
    pub(crate) fn from_headers(headers: &HeaderMap, may_choose_end: bool) -> Self {
        let mut found = Self::default();
        for value in headers.get_all(PREFER) {
            for preference in super::text(value).split(',').map(str::trim) {
                found.take(preference, may_choose_end);
            }
        }
        found
    }

    fn take(&mut self, preference: &str, may_choose_end: bool) {
        let mut ignored = None;
        let transaction = if may_choose_end { &mut self.transaction } else { &mut ignored };
        let is_known = first(&mut self.resolution, Resolution::of_name(preference))
            || first(&mut self.missing, Missing::of_name(preference))
            || first(&mut self.representation, Representation::of_name(preference))
            || first(&mut self.count, Count::of_name(preference))
            || first(transaction, TransactionEnd::of_name(preference))
            || first(&mut self.handling, Handling::of_name(preference))
            || first(&mut self.timezone, preference.strip_prefix("timezone=").map(str::to_owned));
        if let Some(rows) = preference.strip_prefix("max-affected=") {
            first(&mut self.max_affected, rows.parse().ok());
        } else if !is_known {
            self.invalid.push(preference.to_owned());
        }
    }

    /// Checks that all preferences are known, if the client prefers `handling=strict`.
    ///
    /// Errors: `PGRST122` for unknown ones.
    pub fn check(&self) -> Result<(), Error> {
        if self.invalid.is_empty() || self.handling != Some(Handling::Strict) {
            return Ok(());
        }
        Err(Error::InvalidPreferences(self.invalid.clone()))
    }

    /// Returns the most rows that may be changed: `max-affected` counts only with `handling=strict`.
    pub(crate) fn row_limit(&self) -> Option<i64> {
        self.max_affected.filter(|_| self.handling == Some(Handling::Strict))
    }

    /// Returns the value of `Preference-Applied`, in upstream's order; `None` when nothing was preferred.
    pub fn applied(&self) -> Option<String> {
        let words = [
            self.resolution.map(Resolution::name),
            self.missing.map(Missing::name),
            self.representation.map(Representation::name),
            self.count.map(Count::name),
            self.transaction.map(TransactionEnd::name),
            self.handling.map(Handling::name),
        ];
        let mut applied: Vec<String> = words.into_iter().flatten().map(str::to_owned).collect();
        applied.extend(self.timezone.as_ref().map(|zone| format!("timezone={zone}")));
        applied.extend(self.row_limit().map(|rows| format!("max-affected={rows}")));
        (!applied.is_empty()).then(|| applied.join(", "))
    }
}

/// Puts `value` into `slot`, unless that has one already. Returns whether there is a value.
fn first<T>(slot: &mut Option<T>, value: Option<T>) -> bool {
    let is_known = value.is_some();
    *slot = slot.take().or(value);
    is_known
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
    fn applied_preferences_are_listed_in_upstreams_order() {
        let found =
            preferences(&["max-affected=5, timezone=UTC, count=exact, handling=strict, missing=default"]);
        assert_eq!(
            found.applied().unwrap(),
            "missing=default, count=exact, handling=strict, timezone=UTC, max-affected=5"
        );
        assert_eq!(preferences(&["max-affected=5"]).applied(), None);
    }
}
