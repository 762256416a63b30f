//! What is wrong with a request, in plain words: the framework's own have the names of its types.

use std::borrow::Cow;

use poem_openapi::error::{ParseParamError, ParsePathError, ParseRequestPayloadError};

/// The most characters of what was sent that are shown.
const SHOWN: usize = 100;

/// Returns what `error` of the framework says.
pub(super) fn message(error: &poem::Error) -> String {
    if let Some(error) = error.downcast_ref::<ParseRequestPayloadError>() {
        return body(&error.reason);
    }
    if let Some(ParseParamError { name, reason }) = error.downcast_ref() {
        return format!("{name}: {}", value(reason));
    }
    if let Some(ParsePathError { name, reason }) = error.downcast_ref() {
        return format!("{name}: {}", value(reason));
    }
    error.to_string()
}

/// Returns what is wrong with a body. Errors of JSON say where they are.
fn body(reason: &str) -> String {
    match reason.contains(" at line ") && !reason.contains('"') {
        true => format!("The body is not JSON: {reason}"),
        false => format!("The body is not as it has to be: {}", value(reason)),
    }
}

/// Returns what is wrong with a value.
fn value(reason: &str) -> Cow<'_, str> {
    let reason = reason.split(" (occurred while parsing \"").next().unwrap_or(reason);
    if let Some((wanted, found)) =
        reason.strip_prefix("Expected input type \"").and_then(|rest| rest.split_once("\", found "))
    {
        let found = found.strip_suffix('.').unwrap_or(found);
        let shown: String = found.chars().take(SHOWN).collect();
        let more = if shown.len() < found.len() { "…" } else { "" };
        return format!("expected {}, found {shown}{more}", kind(wanted)).into();
    }
    if reason.ends_with(" expects an input value.") {
        return "a value is missing".into();
    }
    let inner = reason.strip_prefix("failed to parse \"").and_then(|rest| rest.split_once("\": "));
    inner.map_or(reason, |(_, inner)| inner).into()
}

/// Returns the words for a type that the framework names so.
fn kind(name: &str) -> &'static str {
    let name = name.strip_prefix("optional_").unwrap_or(name);
    let kinds = [
        ("list_", "a list"),
        ("[", "a list"),
        ("string", "a text"),
        ("integer", "a whole number"),
        ("uint", "a whole number"),
        ("int", "a whole number"),
        ("number", "a number"),
        ("float", "a number"),
        ("bool", "true or false"),
    ];
    kinds.iter().find(|(start, _)| name.starts_with(start)).map_or("an object", |(_, words)| words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_the_framework_are_not_named() {
        for (reason, expected) in [
            ("Expected input type \"list_Secret\", found {}.", "expected a list, found {}"),
            (
                "Expected input type \"string\", found null. (occurred while parsing \"Secret\")",
                "expected a text, found null",
            ),
            ("Type \"Change\" expects an input value.", "a value is missing"),
            ("failed to parse \"integer_int32\": invalid digit", "invalid digit"),
        ] {
            assert_eq!(value(reason), expected);
        }
        assert_eq!(
            body("EOF while parsing an object at line 1 column 1"),
            "The body is not JSON: EOF while parsing an object at line 1 column 1"
        );
    }
}
