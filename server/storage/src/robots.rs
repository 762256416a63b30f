//! `X-Robots-Tag`: the rules for search engines that an upload may give its object. Source: Google Search Central,
//! "Robots meta tag, data-nosnippet, and X-Robots-Tag specifications".

use crate::error::Error;

const PLAIN: [&str; 8] =
    ["all", "noindex", "nofollow", "none", "nosnippet", "indexifembedded", "notranslate", "noimageindex"];
const WITH_VALUE: [&str; 4] = ["max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"];
/// The most user agents in a row before a rule; a longer list is not a sensible header.
const MAX_AGENTS: usize = 8;

/// Checks the value of the header.
///
/// Errors: [`Error::InvalidRobotsTag`], which says what is wrong.
pub(crate) fn check(value: &str) -> Result<(), Error> {
    check_rules(value, 0).map_err(Error::InvalidRobotsTag)
}

fn check_rules(value: &str, agents: usize) -> Result<(), String> {
    let value = value.trim();
    if value.is_empty() || agents > MAX_AGENTS {
        return Err("X-Robots-Tag header value must be a non-empty string".to_owned());
    }
    split(value).into_iter().try_for_each(|rule| check_rule(rule, agents))
}

fn check_rule(rule: &str, agents: usize) -> Result<(), String> {
    if rule.is_empty() {
        return Err("X-Robots-Tag header contains empty rule".to_owned());
    }
    if PLAIN.contains(&rule) {
        return Ok(());
    }
    let Some((name, value)) = rule.split_once(':') else {
        return Err(format!("Invalid X-Robots-Tag rule: \"{rule}\""));
    };
    let value = value.trim();
    if WITH_VALUE.contains(&name) {
        return check_value(name, value);
    }
    if value.is_empty() {
        return Err(format!("X-Robots-Tag user agent \"{}\" has no rules specified", name.trim()));
    }
    check_rules(value, agents + 1)
}

fn check_value(name: &str, value: &str) -> Result<(), String> {
    if value.is_empty() {
        return Err(format!("X-Robots-Tag rule \"{name}\" requires a value"));
    }
    let (is_right, expected) = match name {
        "max-image-preview" => {
            (matches!(value, "none" | "standard" | "large"), "one of: none, standard, large")
        }
        "unavailable_after" => (is_date(value), "a valid date"),
        _ => (value.parse::<i64>().is_ok_and(|number| number >= -1), "an integer >= -1"),
    };
    let refusal = || format!("X-Robots-Tag \"{name}\" value must be {expected}, got: \"{value}\"");
    if is_right { Ok(()) } else { Err(refusal()) }
}

/// Reports whether `value` is a date as mails, HTTP or ISO 8601 write it.
fn is_date(value: &str) -> bool {
    use time::format_description::well_known::{Iso8601, Rfc2822};
    let with_zone = value.strip_suffix(" GMT").or_else(|| value.strip_suffix(" UTC"));
    let with_zone = with_zone.map(|date| format!("{date} +0000"));
    time::OffsetDateTime::parse(with_zone.as_deref().unwrap_or(value), &Rfc2822).is_ok()
        || time::OffsetDateTime::parse(value, &Iso8601::DEFAULT).is_ok()
        || time::Date::parse(value, &Iso8601::DEFAULT).is_ok()
}

/// Splits the rules at their commas. A date may hold commas itself: it ends where another rule or an agent begins.
fn split(value: &str) -> Vec<&str> {
    let mut rules = Vec::new();
    let mut rest = value.trim();
    while !rest.is_empty() {
        let end = match rest.starts_with("unavailable_after:") {
            true => rest
                .match_indices(',')
                .map(|(at, _)| at)
                .find(|at| begins_a_rule(rest[at + 1..].trim_start())),
            false => rest.find(','),
        };
        let (rule, after) = end.map_or((rest, ""), |at| (&rest[..at], &rest[at + 1..]));
        rules.push(rule.trim());
        rest = after.trim();
    }
    rules
}

fn begins_a_rule(text: &str) -> bool {
    let name = text.split([',', ':', ' ']).next().unwrap_or_default();
    PLAIN.contains(&name)
        || (text[name.len()..].starts_with(':') && name.parse::<u32>().is_err() && !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_the_specification_are_taken() {
        for value in [
            "noindex",
            "noindex, nofollow",
            "max-snippet: 20, max-image-preview: large, max-video-preview: -1",
            "unavailable_after: Sat, 31 Jan 2026 12:00:00 GMT, noindex",
            "unavailable_after: 2026-01-31",
            "googlebot: noindex, nofollow",
        ] {
            assert!(check(value).is_ok(), "{value}");
        }
    }

    #[test]
    fn others_are_refused_and_named() {
        for (value, message) in [
            ("nonsense", "Invalid X-Robots-Tag rule: \"nonsense\""),
            ("noindex,,none", "X-Robots-Tag header contains empty rule"),
            (
                "max-snippet: many",
                "X-Robots-Tag \"max-snippet\" value must be an integer >= -1, got: \"many\"",
            ),
            ("max-snippet:", "X-Robots-Tag rule \"max-snippet\" requires a value"),
            (
                "max-image-preview: huge",
                "X-Robots-Tag \"max-image-preview\" value must be one of: none, standard, large, got: \"huge\"",
            ),
            (
                "unavailable_after: never",
                "X-Robots-Tag \"unavailable_after\" value must be a valid date, got: \"never\"",
            ),
            ("bot:", "X-Robots-Tag user agent \"bot\" has no rules specified"),
            ("  ", "X-Robots-Tag header value must be a non-empty string"),
        ] {
            assert_eq!(check_rules(value, 0).unwrap_err(), message, "{value}");
        }
        assert!(check(&"a:".repeat(1000)).is_err());
    }
}
