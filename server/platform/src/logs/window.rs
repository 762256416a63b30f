//! The time of which a query of logs asks.

use std::time::{Duration, SystemTime};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::Error;

/// The longest time.
pub(crate) const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The time of which a query asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) begin: SystemTime,
    pub(crate) end: SystemTime,
}

impl Window {
    /// Reads two points in time (RFC 3339). Without `end`, it ends now; without `begin`, it lasts for `length`.
    ///
    /// Errors: 400 for what is no point in time, and for a time that is longer than a day or ends before it begins.
    pub(crate) fn of(begin: Option<&str>, end: Option<&str>, length: Duration) -> Result<Self, Error> {
        let point = |name: &'static str, text: Option<&str>| match text.filter(|text| !text.is_empty()) {
            None => Ok(None),
            Some(text) => match OffsetDateTime::parse(text, &Rfc3339) {
                Ok(time) => Ok(Some(SystemTime::from(time))),
                Err(_) => Err(Error::invalid(format!(
                    "{name} must be a point in time such as 2026-01-31T09:00:00Z"
                ))),
            },
        };
        let end = point("iso_timestamp_end", end)?.unwrap_or_else(SystemTime::now);
        let begin = point("iso_timestamp_start", begin)?.or_else(|| end.checked_sub(length)).unwrap_or(end);
        match end.duration_since(begin) {
            Ok(length) if length <= DAY => Ok(Self { begin, end }),
            Ok(_) => Err(Error::invalid("The time of a query of logs is at most 24 hours")),
            Err(_) => Err(Error::invalid("iso_timestamp_start must be before iso_timestamp_end")),
        }
    }

    /// Returns the two points in time.
    pub(crate) fn texts(self) -> (String, String) {
        let text = |time: SystemTime| OffsetDateTime::from(time).format(&Rfc3339).unwrap_or_default();
        (text(self.begin), text(self.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_lasts_a_day_at_most() {
        let of = |begin, end| Window::of(Some(begin), Some(end), DAY);
        let day = of("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z").unwrap();
        assert_eq!(day.end.duration_since(day.begin).unwrap(), DAY);
        assert_eq!(day.texts().1, "2026-01-02T00:00:00Z");
        assert_eq!(Window::of(None, Some("2026-01-02T01:00:00+01:00"), DAY).unwrap(), day);
        assert!(of("2026-01-01T00:00:00Z", "2026-01-02T00:00:01Z").is_err());
        assert!(of("2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z").is_err());
        assert!(of("yesterday", "").is_err());
    }
}
