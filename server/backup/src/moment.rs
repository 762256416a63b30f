//! Moments that a project can be brought back to.

use std::fmt;

use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use crate::error::Error;

/// A moment, to the microsecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(OffsetDateTime);

impl Moment {
    /// Returns the present one.
    pub fn now() -> Self {
        Self(OffsetDateTime::now_utc())
    }

    /// Returns that many seconds after the beginning of 1970.
    ///
    /// Errors: [`Error::Advice`] for one that no calendar has.
    pub fn of_seconds(seconds: i64) -> Result<Self, Error> {
        let moment = OffsetDateTime::from_unix_timestamp(seconds);
        moment.map(Self).map_err(|_| Error::Advice(format!("{seconds} is no moment")))
    }

    /// Returns that many microseconds after the beginning of 1970.
    ///
    /// Errors: as for [`Self::of_seconds`].
    pub fn of_microseconds(microseconds: i64) -> Result<Self, Error> {
        let moment = OffsetDateTime::from_unix_timestamp_nanos(i128::from(microseconds) * 1000);
        moment.map(Self).map_err(|_| Error::Advice(format!("{microseconds} is no moment")))
    }

    /// Reads a moment as Postgres, JSON or `date` write it, such as `2026-11-26 14:05:00+00`, `2026-11-26T14:05:00.5Z` or
    /// `2026-11-26 14:05:00 UTC`. Without a zone it is UTC.
    ///
    /// Errors: [`Error::Advice`] for another text.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let refused =
            || Error::Advice(format!("{text:?} is no moment: expected one such as 2026-11-26 14:05:00+00"));
        let text = text.trim();
        let text = text.strip_suffix(" UTC").map_or(text.to_owned(), |local| format!("{local}Z"));
        let (date, time) = text.split_once([' ', 'T', 't']).ok_or_else(refused)?;
        let zone_at = time.find(['+', '-', 'Z', 'z']);
        let (clock, zone) = time.split_at(zone_at.unwrap_or(time.len()));
        let clock = if clock.matches(':').count() == 1 { format!("{clock}:00") } else { clock.to_owned() };
        let zone = match zone.trim() {
            "" | "Z" | "z" => "Z".to_owned(),
            hours if hours.len() == 3 => format!("{hours}:00"),
            zone => match zone.split_at_checked(3) {
                Some((hours, minutes)) if minutes.len() == 2 => format!("{hours}:{minutes}"),
                _ => zone.to_owned(),
            },
        };
        let moment = OffsetDateTime::parse(&format!("{date}T{}{zone}", clock.trim()), &Rfc3339).ok();
        let moment = moment.and_then(|moment| moment.checked_to_offset(time::UtcOffset::UTC));
        moment.map(Self).ok_or_else(refused)
    }

    /// Returns the seconds since the beginning of 1970.
    pub fn seconds(self) -> i64 {
        self.0.unix_timestamp()
    }

    /// Returns the microseconds since the beginning of 1970.
    pub(crate) fn microseconds(self) -> i64 {
        i64::try_from(self.0.unix_timestamp_nanos() / 1000).unwrap_or(i64::MAX)
    }

    /// Returns the moment that is `days` earlier.
    pub(crate) fn days_before(self, days: u32) -> Self {
        Self(self.0 - Duration::days(i64::from(days)))
    }

    /// Returns how long after `earlier` it is, in seconds; negative if it is before it.
    pub(crate) fn seconds_after(self, earlier: Self) -> i64 {
        (self.0 - earlier.0).whole_seconds()
    }

    /// Returns the last moment before this one at which the clock shows `time`.
    pub(crate) fn last(self, time: time::Time) -> Self {
        let today = self.0.replace_time(time);
        Self(if today > self.0 { today - Duration::days(1) } else { today })
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (date, time) = (self.0.date(), self.0.time());
        write!(f, "{date} {:02}:{:02}:{:02}", time.hour(), time.minute(), time.second())?;
        if time.microsecond() != 0 {
            write!(f, ".{:06}", time.microsecond())?;
        }
        f.write_str("+00")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_as_postgres_and_json_write_them() {
        for (text, shown) in [
            ("2026-11-26 14:05:00+00", "2026-11-26 14:05:00+00"),
            ("2026-11-26T14:05:00.25Z", "2026-11-26 14:05:00.250000+00"),
            ("2026-11-26 14:05", "2026-11-26 14:05:00+00"),
            ("2026-11-26 14:05:00+02", "2026-11-26 12:05:00+00"),
            ("2026-11-26 14:05:00 +0130", "2026-11-26 12:35:00+00"),
            ("2026-11-26 14:05:00+01:30", "2026-11-26 12:35:00+00"),
            ("2026-11-26t14:05:00z", "2026-11-26 14:05:00+00"),
            (" 2026-11-26 14:05:00 UTC", "2026-11-26 14:05:00+00"),
        ] {
            assert_eq!(Moment::parse(text).unwrap().to_string(), shown, "{text}");
        }
        for text in [
            "",
            "yesterday",
            "2026-13-01 00:00:00",
            "2026-11-26",
            "2026-11-26 14:05:00+02 UTC",
            // The fourth byte of the zone is inside of a character.
            "2026-11-26 14:05:00+1é1",
            "2026-11-26 14:05:00+é",
            "2026-11-26é14:05:00",
            // In UTC it is in a year that has five digits.
            "9999-12-31 23:59:59-01",
        ] {
            assert!(Moment::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_last_time_of_day_is_today_or_yesterday() {
        let now = Moment::parse("2026-11-26 14:05:00").unwrap();
        let at = |hour| now.last(time::Time::from_hms(hour, 0, 0).unwrap()).to_string();
        assert_eq!(at(3), "2026-11-26 03:00:00+00");
        assert_eq!(at(15), "2026-11-25 15:00:00+00");
    }
}
