//! Durations of bans.

use crate::Error;

/// Go's durations are 64-bit counts of nanoseconds.
const LONGEST: f64 = i64::MAX as f64 / 1e9;

/// Returns the seconds of a ban; zero for `none`, which lifts it, and `None` for empty text, which leaves it as it is.
///
/// Errors: `validation_failed` for text that is no duration of Go (`time.ParseDuration`): numbers with units from `ns`
/// to `h`, such as `1h30m`.
pub(super) fn parse(text: &str) -> Result<Option<f64>, Error> {
    match text {
        "" => Ok(None),
        "none" => Ok(Some(0.0)),
        text => duration(text).map(Some).ok_or_else(|| {
            Error::validation(format!(
                "invalid format for ban duration: expected a duration such as 24h or 1h30m, found {text:?}"
            ))
        }),
    }
}

fn duration(text: &str) -> Option<f64> {
    let (sign, mut rest) = match text.as_bytes().first()? {
        b'-' => (-1.0, &text[1..]),
        b'+' => (1.0, &text[1..]),
        _ => (1.0, text),
    };
    if rest == "0" {
        return Some(0.0);
    }
    let mut seconds = 0.0;
    loop {
        let digits =
            rest.len() - rest.trim_start_matches(|digit: char| digit.is_ascii_digit() || digit == '.').len();
        let (number, after) = rest.split_at(digits);
        let letters =
            after.find(|letter: char| letter.is_ascii_digit() || letter == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        seconds += number.parse::<f64>().ok()? * seconds_of(unit)?;
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    (seconds <= LONGEST).then_some(sign * seconds)
}

fn seconds_of(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-9,
        // The micro sign and the Greek letter look alike.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bans_last_as_go_reads_them() {
        for (text, seconds) in [
            ("24h", 86_400.0),
            ("1h30m", 5_400.0),
            ("1.5h", 5_400.0),
            (".5s", 0.5),
            ("0s1m", 60.0),
            ("-10s", -10.0),
            ("+10s", 10.0),
            ("0", 0.0),
            ("none", 0.0),
            ("876000h", 3_153_600_000.0),
        ] {
            assert_eq!(parse(text).unwrap(), Some(seconds), "{text}");
        }
        assert_eq!(parse("").unwrap(), None);
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in
            ["1", "h", "1d", "forever", "-", "1h ", "1..5h", ".h", "1e3s", "--1s", "9999999h", "1h2", "NaNs"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_duration_or_refused(text in "[-+]?[0-9.]{0,4}[a-zµ]{0,2}[0-9]{0,3}[hms]?") {
            if let Ok(Some(seconds)) = parse(&text) {
                prop_assert!(seconds.is_finite());
            }
        }
    }
}
