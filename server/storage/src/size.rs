//! A bucket's limit of an object's size: bytes, or a number with a unit.

use serde_json::Value;

use crate::error::Error;

/// Returns the bytes that `value` stands for: a number of bytes, such a number as text, or a number with one of the
/// units B, KB, MB, GB, which are powers of 1000. A number with a unit is rounded to three significant digits, as
/// upstream does.
///
/// Errors: [`Error::InvalidContent`] for anything else.
pub(crate) fn parse(value: &Value) -> Result<u64, Error> {
    let bytes = match value {
        Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok().or_else(|| with_unit(text)),
        _ => None,
    };
    bytes.ok_or_else(|| {
        Error::InvalidContent("Invalid file size format, hint: use 20GB / 20MB / 30KB / 3B".to_owned())
    })
}

fn with_unit(text: &str) -> Option<u64> {
    let digits = text.find(|character: char| !character.is_ascii_digit() && character != '.')?;
    let (number, unit) = text.split_at(digits);
    let is_plain = number.starts_with(|first: char| first.is_ascii_digit()) && !number.ends_with('.');
    let number: f64 = number.parse().ok().filter(|_| is_plain)?;
    let factor = match &*unit.to_ascii_uppercase() {
        "B" => 1.0,
        "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        _ => return None,
    };
    // Three significant digits: one before the point of the exponential form, two after it.
    let rounded: f64 = format!("{number:.2e}").parse().ok()?;
    whole(rounded * factor)
}

/// Returns `number` without its fraction if it is one that a `bigint` of Postgres can hold.
fn whole(number: f64) -> Option<u64> {
    (0.0..9.2e18).contains(&number).then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sizes_are_bytes_or_have_a_unit() {
        for (value, bytes) in [
            (json!(100), 100),
            (json!("100"), 100),
            (json!("1.5kb"), 1500),
            (json!("1MB"), 1_000_000),
            (json!("20GB"), 20_000_000_000),
            (json!("3b"), 3),
            (json!("1.2345MB"), 1_230_000),
            (json!("1234kb"), 1_230_000),
        ] {
            assert_eq!(parse(&value).unwrap(), bytes, "{value}");
        }
        for value in
            [json!("5TB"), json!("MB"), json!("-1MB"), json!(-1), json!("1 MB"), json!(true), json!("1.MB")]
        {
            assert!(parse(&value).is_err(), "{value}");
        }
    }
}
