//! `GET /generators/typescript` of postgres-meta: types for supabase-js.

use std::borrow::Cow;

use http::StatusCode;
use poem::{Request, Response};
use serde_json::json;
use typegen::{Language, Options};

use crate::api::Context;
use crate::error::Error;

/// The longest version of PostgREST that a request may name.
const LONGEST_VERSION: usize = 20;

/// Returns the types as plain text, of the schemas and in the form that the query string of `request` asks for.
pub(super) async fn typescript(context: &Context, request: &Request) -> Response {
    let generated = match options(request.uri().query().unwrap_or_default()) {
        Ok(options) => {
            let database = &context.inner().project_database;
            typegen::generate(database, &options).await.map_err(Error::from)
        }
        Err(error) => Err(error),
    };
    match generated {
        Ok(types) => Response::builder().content_type("text/plain; charset=utf-8").body(types),
        Err(error) => refused(error.status(), &error.message()),
    }
}

fn refused(status: StatusCode, message: &str) -> Response {
    let builder = Response::builder().status(status).content_type("application/json; charset=utf-8");
    builder.body(json!({ "error": message }).to_string())
}

/// Reads a query string. Without `included_schemas`, the types are those of `public`.
///
/// Errors: 400 for a version that is none.
fn options(query: &str) -> Result<Options, Error> {
    let value = |name: &str| {
        let mut pairs = url::form_urlencoded::parse(query.as_bytes());
        pairs.find(|(known, value)| known == name && !value.is_empty()).map(|(_, value)| value)
    };
    let version = value("postgrest_version").map(Cow::into_owned);
    let is_version = |text: &String| {
        text.len() <= LONGEST_VERSION
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-+".contains(&byte))
    };
    if !version.as_ref().is_none_or(is_version) {
        return Err(Error::invalid("postgrest_version is no version"));
    }
    let schemas = value("included_schemas").unwrap_or(Cow::Borrowed("public"));
    Ok(Options {
        language: Language::TypeScript,
        schemas: schemas.split(',').map(|schema| schema.trim().to_owned()).collect(),
        one_to_one: value("detect_one_to_one_relationships").as_deref() == Some("true"),
        postgrest_version: version,
    })
}
