//! Times in the form that clients expect.

use time::OffsetDateTime;

/// Returns a time in the format of JavaScript's `toISOString`: in UTC, with milliseconds.
pub fn iso_milliseconds(time: OffsetDateTime) -> String {
    let time = time.to_offset(time::UtcOffset::UTC);
    let (date, millisecond) = (time.date(), time.millisecond());
    let (hour, minute, second) = time.to_hms();
    format!("{date}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z")
}
