//! Points in time and durations in the formats of XML Schema.

use std::time::Duration;

use time::format_description::well_known::Rfc3339;
use time::{OffsetDateTime, PrimitiveDateTime, UtcOffset};

const DAY: u64 = 24 * 3600;

/// Parses `xs:dateTime`; without an offset it is UTC (SAML 2.0 Core, section 1.3.3).
pub(super) fn parse(text: &str) -> Option<OffsetDateTime> {
    let text = text.trim();
    if let Ok(moment) = OffsetDateTime::parse(text, &Rfc3339) {
        return Some(moment.to_offset(UtcOffset::UTC));
    }
    let moment = OffsetDateTime::parse(&format!("{text}Z"), &Rfc3339).ok()?;
    Some(PrimitiveDateTime::new(moment.date(), moment.time()).assume_utc())
}

/// Returns a moment in UTC, to the second.
pub(super) fn format(moment: OffsetDateTime) -> String {
    let moment = moment.to_offset(UtcOffset::UTC);
    // Years of four digits, which all times of the clock have, can be formatted.
    moment.replace_nanosecond(0).unwrap_or(moment).format(&Rfc3339).unwrap_or_default()
}

/// Parses `xs:duration`, with months of 30 and years of 365 days. `None` for other text and for a negative one.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let text = text.trim().strip_prefix('P')?;
    let (date, clock) = match text.split_once('T') {
        Some((_, "")) => return None,
        Some((date, clock)) => (date, clock),
        None => (text, ""),
    };
    if date.is_empty() && clock.is_empty() {
        return None;
    }
    let date = sum(date, &[('Y', 365 * DAY), ('M', 30 * DAY), ('D', DAY)])?;
    let clock = sum(clock, &[('H', 3600), ('M', 60), ('S', 1)])?;
    date.checked_add(clock)
}

/// Adds numbers that are each followed by one of the designators `units`, in their order.
fn sum(mut text: &str, units: &[(char, u64)]) -> Option<Duration> {
    let mut total = Duration::ZERO;
    for (designator, seconds) in units {
        let Some((number, rest)) = text.split_once(*designator) else { continue };
        let number = number.split_once('.').map_or(number, |(whole, _)| whole);
        let number: u64 = number.parse().ok()?;
        total = total.checked_add(Duration::from_secs(number.checked_mul(*seconds)?))?;
        text = rest;
    }
    text.is_empty().then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_with_and_without_an_offset() {
        let expected = OffsetDateTime::from_unix_timestamp(1_700_000_000).unwrap();
        for text in ["2023-11-14T22:13:20Z", "2023-11-14T23:13:20+01:00", " 2023-11-14T22:13:20 "] {
            assert_eq!(parse(text), Some(expected), "{text}");
        }
        assert!(parse("2023-11-14T22:13:20.123456Z").is_some());
        for text in ["", "2023-11-14", "yesterday", "2023-13-14T22:13:20Z"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(format(expected + time::Duration::milliseconds(5)), "2023-11-14T22:13:20Z");
    }

    #[test]
    fn durations_are_added_up() {
        let seconds = |text: &str| duration(text).map(|duration| duration.as_secs());
        assert_eq!(seconds("PT1H"), Some(3600));
        assert_eq!(seconds("P1DT2H3M4.5S"), Some(DAY + 2 * 3600 + 184));
        assert_eq!(seconds("P1Y2M"), Some(425 * DAY));
        for text in ["", "P", "PT", "-PT1H", "PT1X", "1H", "PT1M1H", "P99999999999999999999D", "PTS"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
