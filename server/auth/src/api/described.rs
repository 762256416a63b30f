//! Errors in the OpenAPI document.

use poem_openapi::payload::{Json, Payload};
use poem_openapi::registry::{MetaMediaType, MetaResponse, MetaResponses, Registry};
use poem_openapi::types::Type;
use poem_openapi::{ApiResponse, Object, Union};

use crate::Error;

/// An error for clients with API version 2024-01-01, or an error that the project's own SQL has raised.
#[derive(Object)]
struct ErrorBody {
    /// The code that identifies the error; for errors of SQL, the SQLSTATE.
    code: String,
    /// A description of the error for people.
    message: String,
    /// The requirements that a password does not meet.
    weak_password: Option<WeakPasswordBody>,
    /// The hint of an error of SQL.
    hint: Option<String>,
    /// The detail of an error of SQL.
    detail: Option<String>,
}

/// An error for clients that request no API version.
#[derive(Object)]
struct InitialErrorBody {
    /// The HTTP status.
    code: u16,
    /// The code that identifies the error.
    error_code: String,
    /// A description of the error for people.
    msg: String,
    /// The id of the request in the log, if the server failed.
    error_id: Option<String>,
    /// The requirements that a password does not meet.
    weak_password: Option<WeakPasswordBody>,
}

/// The requirements that a password does not meet.
#[derive(Object)]
struct WeakPasswordBody {
    /// `length`, `characters`, `pwned`.
    reasons: Vec<String>,
}

/// An error of OAuth (RFC 6749, section 5.2).
#[derive(Object)]
struct OauthErrorBody {
    /// The standard's error code.
    error: String,
    /// A description of the error for developers.
    error_description: Option<String>,
}

/// The formats of errors.
#[derive(Union)]
enum AnyErrorBody {
    Current(ErrorBody),
    Initial(InitialErrorBody),
    Oauth(OauthErrorBody),
}

impl ApiResponse for Error {
    fn meta() -> MetaResponses {
        let described = |range: &str, description| MetaResponse {
            description,
            status: None,
            status_range: Some(range.to_owned()),
            content: vec![MetaMediaType {
                content_type: <Json<AnyErrorBody> as Payload>::CONTENT_TYPE,
                schema: AnyErrorBody::schema_ref(),
            }],
            headers: Vec::new(),
        };
        let client = "The request cannot be answered as it is";
        let server = "The server failed; the same request may succeed later";
        MetaResponses { responses: vec![described("4XX", client), described("5XX", server)] }
    }

    fn register(registry: &mut Registry) {
        AnyErrorBody::register(registry);
    }
}
