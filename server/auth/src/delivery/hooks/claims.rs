//! What a hook's claims must hold to make an access token that Supabase's services understand.

use serde_json::Value;

use crate::{Code, Error};

const REQUIRED: [&str; 10] =
    ["aud", "exp", "iat", "sub", "email", "phone", "role", "aal", "session_id", "is_anonymous"];

/// Checks the claims that a hook has returned.
///
/// Errors: 500 with a line for each claim that is missing or of the wrong type.
pub(super) fn check(claims: &Value) -> Result<(), Error> {
    let Value::Object(fields) = claims else {
        return Err(Code::UnexpectedFailure.because("Error unmarshaling JSON output."));
    };
    let missing = REQUIRED.iter().filter(|name| !fields.contains_key(**name));
    let mut complaints: Vec<String> = missing.map(|name| format!("- (root): {name} is required\n")).collect();
    for (name, value) in fields {
        if let Some((expected, fits)) = expected(name, value)
            && !fits
        {
            complaints
                .push(format!("- {name}: Invalid type. Expected: {expected}, given: {}\n", kind(value)));
        }
    }
    if complaints.is_empty() {
        return Ok(());
    }
    let message = format!("output claims do not conform to the expected schema: \n{}", complaints.concat());
    Err(Code::UnexpectedFailure.because(message))
}

/// Returns the type of a known claim, and whether `value` has it.
fn expected(name: &str, value: &Value) -> Option<(&'static str, bool)> {
    Some(match name {
        "aud" => ("string or array", value.is_string() || value.is_array()),
        "exp" | "iat" | "nbf" => ("integer", value.is_i64() || value.is_u64()),
        "jti" | "iss" | "sub" | "email" | "phone" | "role" | "aal" | "session_id" | "client_id" => {
            ("string", value.is_string())
        }
        "app_metadata" | "user_metadata" => ("object", value.is_object()),
        "amr" => ("array", value.is_array()),
        _ => return None,
    })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
