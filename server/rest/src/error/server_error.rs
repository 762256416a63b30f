//! Errors of Postgres: which HTTP status a SQLSTATE has, and what functions raise on purpose.
//!
//! Source: PostgREST's documentation, "Errors from PostgreSQL" and "RAISE errors with HTTP Status Codes".

use std::borrow::Cow;
use std::collections::BTreeMap;

use postgres::ServerError;
use serde::Deserialize;
use serde_json::Value;

use super::Error;
use super::table::{self, Entry};

/// What the guard of a statement puts before the number of rows in the text that it fails to cast (see `guarded_rows`
/// in [`crate::statement`]).
const GUARDS: [(&str, Refusal); 3] = [
    (crate::statement::NOT_SINGULAR, Error::NotSingular),
    (crate::statement::MAX_AFFECTED, Error::MaxAffectedExceeded),
    (crate::statement::PUT_MISMATCH, |_| Error::PutKeyMismatch),
];

/// Makes an error of a number of rows.
type Refusal = fn(u64) -> Error;

/// Returns the error that a statement's own guard means, if `error` is from a guard.
pub(super) fn guard(error: &ServerError) -> Option<Error> {
    if error.code != "22P02" {
        return None;
    }
    GUARDS.iter().find_map(|(marker, make)| {
        let (_, after) = error.message.split_once(marker)?;
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok().map(make)
    })
}

/// `message` of a `RAISE` with SQLSTATE `PGRST`.
#[derive(Deserialize)]
struct RaisedMessage {
    code: String,
    message: String,
    details: Option<String>,
    hint: Option<String>,
}

/// `detail` of a `RAISE` with SQLSTATE `PGRST`.
#[derive(Deserialize)]
struct RaisedDetail {
    status: u16,
    status_text: Option<String>,
    headers: BTreeMap<String, String>,
}

/// Returns what a `RAISE` with SQLSTATE `PGRST` asks for; `None` for any other error.
fn raised(error: &ServerError) -> Option<Result<(RaisedMessage, RaisedDetail), Entry>> {
    if error.code != "PGRST" {
        return None;
    }
    let malformed = |details: String, hint: &str| {
        table::entry("PGRST121", 500, "Could not parse JSON in the \"RAISE SQLSTATE 'PGRST'\" error")
            .details(details)
            .hint(hint)
    };
    let detail_form = "DETAIL must be a JSON object with obligatory keys: 'status', 'headers' and optional key: \
                       'status_text'.";
    let message_form = "MESSAGE must be a JSON object with obligatory keys: 'code', 'message' and optional keys: \
                        'details', 'hint'.";
    let Ok(message) = serde_json::from_str(&error.message) else {
        let details = format!("Invalid JSON value for MESSAGE: '{}'", error.message);
        return Some(Err(malformed(details, message_form)));
    };
    let Some(text) = &error.detail else {
        return Some(Err(malformed("DETAIL is missing in the RAISE statement".to_owned(), detail_form)));
    };
    Some(match serde_json::from_str(text) {
        Ok(detail) => Ok((message, detail)),
        Err(_) => Err(malformed(format!("Invalid JSON value for DETAIL: '{text}'"), detail_form)),
    })
}

/// Returns the headers that a `RAISE` with SQLSTATE `PGRST` asks for.
pub(super) fn raised_headers(error: &ServerError) -> Option<Vec<(String, String)>> {
    match raised(error)? {
        Ok((_, detail)) => Some(detail.headers.into_iter().collect()),
        Err(_) => None,
    }
}

/// Returns the text of the status that a `RAISE` with SQLSTATE `PGRST` or `PTxyz` asks for.
pub(super) fn reason(error: &ServerError) -> Option<String> {
    match raised(error) {
        Some(Ok((_, detail))) => detail.status_text,
        Some(Err(_)) => None,
        None => custom_status(&error.code).and_then(Result::ok).map(|_| error.message.clone()),
    }
}

/// Returns the status in a SQLSTATE `PTxyz`; an error where `xyz` is no number.
fn custom_status(code: &str) -> Option<Result<u16, std::num::ParseIntError>> {
    code.strip_prefix("PT").map(str::parse)
}

/// Returns the line of the table for an error of Postgres.
pub(super) fn entry(error: &ServerError, is_authenticated: bool) -> Entry {
    match raised(error) {
        Some(Ok((message, detail))) => Entry {
            code: Cow::Owned(message.code),
            status: detail.status,
            message: Cow::Owned(message.message),
            details: message.details.map(Value::from),
            hint: message.hint,
        },
        Some(Err(malformed)) => malformed,
        None => Entry {
            code: Cow::Owned(error.code.clone()),
            status: status(error, is_authenticated),
            message: Cow::Owned(error.message.clone()),
            details: error.detail.clone().map(Value::from),
            hint: error.hint.clone(),
        },
    }
}

/// Returns the HTTP status of a SQLSTATE.
fn status(error: &ServerError, is_authenticated: bool) -> u16 {
    let message = &error.message;
    match error.code.as_str() {
        "23503" | "23505" => 409,
        "25006" => 405,
        // pg-safeupdate's refusal is the client's mistake, unlike a subquery with too many rows.
        "21000" if message.ends_with("requires a WHERE clause") => 400,
        "21000" => 500,
        // A role that does not exist can only come from a token.
        "22023" if message.starts_with("role") && message.ends_with("does not exist") => 401,
        "22023" => 400,
        "42883" if message.starts_with("function xmlagg(") => 406,
        "42883" | "42P01" => 404,
        "42P17" => 500,
        "42501" if is_authenticated => 403,
        "42501" => 401,
        "53400" => 500,
        "57P01" => 503,
        "P0001" => 400,
        code => match custom_status(code) {
            Some(Ok(status)) => status,
            Some(Err(_)) => 500,
            None => class_status(code),
        },
    }
}

/// Returns the HTTP status of a class of SQLSTATEs: their first two characters.
fn class_status(code: &str) -> u16 {
    match code.get(..2).unwrap_or_default() {
        "08" | "53" => 503,
        "0L" | "0P" | "28" => 403,
        "09" | "25" | "2D" | "38" | "39" | "3B" | "40" | "54" | "55" | "57" | "58" | "F0" | "HV" | "P0"
        | "XX" => 500,
        _ => 400,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(code: &str, message: &str, detail: Option<&str>) -> Error {
        let error = ServerError {
            code: code.to_owned(),
            message: message.to_owned(),
            detail: detail.map(str::to_owned),
            ..ServerError::default()
        };
        Error::from_database(postgres::Error::Postgres(Box::new(error)), false)
    }

    #[test]
    fn sqlstates_have_upstreams_statuses() {
        for (code, message, status) in [
            ("23505", "", 409),
            ("23503", "", 409),
            ("42501", "", 401),
            ("42P01", "", 404),
            ("42883", "function x() does not exist", 404),
            ("22023", "role \"x\" does not exist", 401),
            ("22023", "invalid value", 400),
            ("21000", "DELETE requires a WHERE clause", 400),
            ("21000", "more than one row", 500),
            ("40001", "", 500),
            ("53300", "", 503),
            ("53400", "", 500),
            ("54001", "", 500),
            ("42P17", "", 500),
            ("PT402", "", 402),
            ("PTxyz", "", 500),
            ("P0001", "", 400),
            ("P0002", "", 500),
            ("22P02", "", 400),
        ] {
            assert_eq!(server(code, message, None).status().as_u16(), status, "{code} {message}");
        }
    }

    #[test]
    fn functions_may_raise_whole_responses() {
        let message =
            r#"{"code":"123","message":"Payment Required","details":"Quota exceeded","hint":"Upgrade"}"#;
        let error =
            server("PGRST", message, Some(r#"{"status":402,"headers":{"X-Powered-By":"Nerd Rage"}}"#));
        assert_eq!((error.code().as_ref(), error.status().as_u16()), ("123", 402));
        assert_eq!(error.headers(), [("X-Powered-By".to_owned(), "Nerd Rage".to_owned())]);
        assert_eq!(error.reason(), None);
        let detail = r#"{"status":419,"status_text":"Page Expired","headers":{}}"#;
        assert_eq!(server("PGRST", message, Some(detail)).reason().as_deref(), Some("Page Expired"));
        assert_eq!(server("PT419", "Page Expired", None).reason().as_deref(), Some("Page Expired"));
        assert_eq!(server("PTxyz", "x", None).reason(), None);
        let malformed = server("PGRST", message, None);
        assert_eq!((malformed.code().as_ref(), malformed.status().as_u16()), ("PGRST121", 500));
        assert_eq!(malformed.details().unwrap(), "DETAIL is missing in the RAISE statement");
        assert_eq!(server("PGRST", "x", None).details().unwrap(), "Invalid JSON value for MESSAGE: 'x'");
    }

    #[test]
    fn guards_become_their_errors() {
        let error = server("22P02", "invalid input syntax for type integer: \"PGRST116 rows: 3\"", None);
        assert_eq!(error.code(), "PGRST116");
        assert_eq!(error.details().unwrap(), "The result contains 3 rows");
    }
}
