//! Errors in the OpenAPI document.

use poem_openapi::payload::{Json, Payload};
use poem_openapi::registry::{MetaMediaType, MetaResponse, MetaResponses, Registry};
use poem_openapi::types::Type;
use poem_openapi::{ApiResponse, Object, Union};

use crate::Error;

/// An error as clients of API version 2024-01-01 get it, or as the project's own SQL has raised it.
#[derive(Object)]
struct ErrorBody {
    /// What programs tell errors apart by; the SQLSTATE of what SQL has raised.
    code: String,
    /// What went wrong, for people.
    message: String,
    /// What a password lacks.
    weak_password: Option<WeakPasswordBody>,
    /// What SQL says to do about it.
    hint: Option<String>,
    /// What SQL says besides.
    detail: Option<String>,
}

/// An error as clients get it that ask for no API version.
#[derive(Object)]
struct InitialErrorBody {
    /// The HTTP status.
    code: u16,
    /// What programs tell errors apart by.
    error_code: String,
    /// What went wrong, for people.
    msg: String,
    /// What the log names the request, if the server failed.
    error_id: Option<String>,
    /// What a password lacks.
    weak_password: Option<WeakPasswordBody>,
}

/// What a password lacks.
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
    /// What a developer should know.
    error_description: Option<String>,
}

/// The shapes that errors have.
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
