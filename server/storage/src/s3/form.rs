//! Uploads of a browser's form, which carries a signed policy in place of a signed request. Source: Amazon S3 API
//! Reference, "Browser-Based Uploads Using POST (AWS Signature Version 4)".
//!
//! `s3s` is not used here, since it holds the file in memory.

use std::collections::BTreeMap;
use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::StreamExt as _;
use multer::{Field, Multipart};
use poem::http::header::{CONTENT_TYPE, ETAG, LOCATION};
use poem::http::{Method, StatusCode};
use poem::{Request, Response};
use s3s::S3Error;
use serde::Deserialize;
use serde_json::{Map, Value};
use time::OffsetDateTime;
use time::format_description::well_known::Iso8601;

use super::object_operations::METADATA_PREFIX;
use super::object_operations::VERSION_ID;
use super::request::{self, Target};
use super::signer::{caller, mismatch, signing_key};
use super::sigv4::{ALGORITHM, Credential, denied, encode_key, expired, malformed, parse_query, unsupported};
use super::xml_errors::{XML, invalid, refusal};
use crate::caller::Caller;
use crate::chunks::chunk_by_chunk;
use crate::context::Context;
use crate::error::Error;
use crate::mime::DEFAULT_TYPE;
use crate::response;
use crate::upload::{self, DEFAULT_CACHE_CONTROL, Description, StoredBytes};
use crate::{bucket_rules, coding};

/// Fields in addition to the file, and the bytes of all of them.
const MAX_FIELDS: usize = 100;
const MAX_FIELDS_LENGTH: usize = 64 * 1024;
/// Fields that a policy need not mention. Source: upstream.
const EXEMPT: [&str; 6] = [
    "policy",
    "x-amz-signature",
    "x-amz-algorithm",
    "x-amz-credential",
    "x-amz-date",
    "x-amz-security-token",
];
const IGNORED_PREFIX: &str = "x-ignore-";

/// Fields by their names in lower case.
type Fields = BTreeMap<String, String>;

/// Reports whether `request` is the upload of a form.
pub(super) fn is_form(request: &Request) -> bool {
    let kind = request.header(CONTENT_TYPE).unwrap_or_default();
    *request.method() == Method::POST && kind.to_ascii_lowercase().starts_with("multipart/form-data")
}

/// Stores the file of a form.
pub(super) async fn respond(
    context: &Context,
    mut request: Request,
    target: &Target,
) -> Result<Response, S3Error> {
    let query = parse_query(request.uri().query().unwrap_or_default());
    request::check(request.method(), request.headers(), &query, target)?;
    if target.bucket.is_empty() || !target.key.is_empty() {
        return Err(refusal(
            StatusCode::METHOD_NOT_ALLOWED,
            "MethodNotAllowed",
            "Forms are sent to a bucket",
        ));
    }
    let boundary = multer::parse_boundary(request.header(CONTENT_TYPE).unwrap_or_default())
        .map_err(|_| broken("the boundary is missing"))?;
    let mut form = Multipart::new(chunk_by_chunk(request.take_body().into_bytes_stream()), boundary);
    let mut fields = Fields::new();
    let mut length = 0;
    while let Some(field) = form.next_field().await.map_err(|error| broken(&error.to_string()))? {
        let name = field.name().unwrap_or_default().to_ascii_lowercase();
        if name == "file" {
            let signed = verify(context, &request, &mut fields, &target.bucket)?;
            return receive(context, signed, field, &fields, &target.bucket).await;
        }
        let value = text(field, &mut length).await?;
        if fields.insert(name, value).is_some() {
            return Err(malformed("Duplicate form field in POST policy request"));
        }
        if fields.len() > MAX_FIELDS {
            return Err(broken("there are too many fields"));
        }
    }
    Err(invalid("POST requires exactly one file upload per request."))
}

async fn text(mut field: Field<'_>, length: &mut usize) -> Result<String, S3Error> {
    let mut value = Vec::new();
    while let Some(chunk) = field.chunk().await.map_err(|error| broken(&error.to_string()))? {
        *length += chunk.len();
        if *length > MAX_FIELDS_LENGTH {
            let message = "Your POST request fields preceding the upload file were too large.";
            return Err(refusal(StatusCode::BAD_REQUEST, "MaxPostPreDataLengthExceededError", message));
        }
        value.extend_from_slice(&chunk);
    }
    String::from_utf8(value).map_err(|_| broken("a field is not text"))
}

fn broken(reason: &str) -> S3Error {
    let message = format!("The body of your POST request is not well-formed multipart/form-data: {reason}");
    refusal(StatusCode::BAD_REQUEST, "MalformedPOSTRequest", message)
}

/// A form whose policy holds: who has signed it, and how large the file may be.
struct SignedForm {
    caller: Caller,
    lengths: Option<(u64, u64)>,
}

/// Checks the policy's signature and whether `fields` are what it allows.
fn verify(
    context: &Context,
    request: &Request,
    fields: &mut Fields,
    bucket: &str,
) -> Result<SignedForm, S3Error> {
    // The bucket is always that of the address; the form cannot change it.
    fields.insert("bucket".to_owned(), bucket.to_owned());
    let field = |name: &str| fields.get(name).map(String::as_str);
    if field("x-amz-signature").is_none() && field("awsaccesskeyid").is_some() {
        return Err(unsupported());
    }
    let required = |name: &str| field(name).ok_or_else(|| malformed("Invalid signature format"));
    let (policy, signature) = (required("policy")?, required("x-amz-signature")?);
    let credential = Credential::parse(required("x-amz-credential")?);
    let credential = credential.ok_or_else(|| malformed("Invalid credentials"))?;
    if field("x-amz-algorithm").is_some_and(|algorithm| algorithm != ALGORITHM) {
        return Err(malformed("X-Amz-Algorithm only supports \"AWS4-HMAC-SHA256\""));
    }
    let token = field("x-amz-security-token");
    if !signing_key(context, &credential, token)?.verifies(policy, signature) {
        return Err(mismatch(token.is_some()));
    }
    let policy = Policy::decode(policy)?;
    policy.check_expiration()?;
    let lengths = policy.check_fields(fields)?;
    Ok(SignedForm { caller: caller(context, request, token)?, lengths })
}

async fn receive(
    context: &Context,
    signed: SignedForm,
    file: Field<'_>,
    fields: &Fields,
    bucket_name: &str,
) -> Result<Response, S3Error> {
    let field = |name: &str| fields.get(name).filter(|value| !value.is_empty()).cloned();
    let key = field("key").ok_or_else(|| invalid("Bucket POST must contain a field named 'key'."))?;
    let key = key.replace("${filename}", file.file_name().unwrap_or_default());
    let metadata = fields.iter().filter_map(|(name, value)| {
        Some((name.strip_prefix(METADATA_PREFIX)?.to_owned(), value.as_str().into()))
    });
    let metadata: Map<String, Value> = metadata.collect();
    let about = Description {
        mimetype: field("content-type").unwrap_or_else(|| DEFAULT_TYPE.to_owned()),
        cache_control: field("cache-control").unwrap_or_else(|| DEFAULT_CACHE_CONTROL.to_owned()),
        robots_tag: None,
        content_encoding: field("content-encoding").as_deref().and_then(coding::stored),
        user_metadata: (!metadata.is_empty()).then_some(Value::Object(metadata)),
        content_length: None,
    };
    let target = upload::Target {
        bucket: bucket_name,
        key: &key,
        owner: signed.caller.subject(),
        replaces: true,
        operation: "storage.s3.upload",
    };
    let bucket = bucket_rules::find(&context.store.rows, bucket_name).await?;
    let chunks = file.map(|chunk| chunk.map_err(io::Error::other));
    let stored = target.receive(&context.store, &signed.caller, &bucket, &about, None, chunks).await?;
    if let Some((least, most)) = signed.lengths
        && !(least..=most).contains(&stored.size)
    {
        context.store.blobs.discard(&[stored.version]).await;
        return Err(match stored.size < least {
            true => s3s::s3_error!(
                EntityTooSmall,
                "Your proposed upload is smaller than the minimum allowed size"
            ),
            false => Error::EntityTooLarge.into(),
        });
    }
    let written = target.complete(&context.store, &signed.caller, &about, &stored).await?;
    let mut response = form_response(fields, &target, &stored);
    if let Some(version) = written.version {
        response::insert(response.headers_mut(), VERSION_ID, &version.to_string());
    }
    Ok(response)
}

/// Returns the response that the form asks for.
fn form_response(fields: &Fields, target: &upload::Target<'_>, stored: &StoredBytes) -> Response {
    let tag = format!("\"{}\"", stored.md5);
    let place = format!("{}/{}", target.bucket, target.key);
    let mut response = Response::default();
    response.set_status(StatusCode::NO_CONTENT);
    response::insert(response.headers_mut(), ETAG, &tag);
    response::insert(response.headers_mut(), LOCATION, &encode_key(&place));
    let redirect = fields.get("success_action_redirect").or_else(|| fields.get("redirect"));
    match (redirect.filter(|url| !url.is_empty()), fields.get("success_action_status").map(String::as_str)) {
        (Some(url), _) => {
            let mark = if url.contains('?') { '&' } else { '?' };
            let (bucket, key, tag) = (encode_key(target.bucket), encode_key(target.key), encode_key(&tag));
            response.set_status(StatusCode::SEE_OTHER);
            let url = format!("{url}{mark}bucket={bucket}&key={key}&etag={tag}");
            response::insert(response.headers_mut(), LOCATION, &url);
        }
        (None, Some("200")) => response.set_status(StatusCode::OK),
        (None, Some("201")) => {
            response.set_status(StatusCode::CREATED);
            response::insert(response.headers_mut(), CONTENT_TYPE, XML);
            response.set_body(super::xml_errors::post_response(&place, target.bucket, target.key, &tag));
        }
        (None, _) => {}
    }
    response
}

/// A policy: what a form may contain, and until when.
#[derive(Debug, Deserialize)]
struct Policy {
    expiration: Option<String>,
    conditions: Option<Vec<Value>>,
}

impl Policy {
    fn decode(text: &str) -> Result<Self, S3Error> {
        let json = STANDARD.decode(text.trim()).ok();
        json.and_then(|json| serde_json::from_slice(&json).ok())
            .ok_or_else(|| malformed("Invalid POST policy"))
    }

    fn check_expiration(&self) -> Result<(), S3Error> {
        let expiration = self.expiration.as_deref().ok_or_else(|| malformed("Missing policy expiration"))?;
        let expiration = OffsetDateTime::parse(expiration, &Iso8601::DEFAULT);
        let expiration = expiration.map_err(|_| malformed("Invalid policy expiration"))?;
        if expiration < OffsetDateTime::now_utc() { Err(expired()) } else { Ok(()) }
    }

    /// Checks that every condition holds and that every field is subject to one, and returns how many bytes the file
    /// may have.
    fn check_fields(&self, fields: &Fields) -> Result<Option<(u64, u64)>, S3Error> {
        let conditions = self.conditions.as_ref().ok_or_else(|| malformed("Invalid policy conditions"))?;
        let (mut covered, mut lengths) = (Vec::new(), None);
        for condition in conditions {
            match Condition::of(condition).ok_or_else(|| malformed("Unsupported policy condition"))? {
                Condition::Length(least, most) => lengths = Some((least, most)),
                Condition::Field { name, value, is_prefix } => {
                    let submitted = fields.get(&name).map(String::as_str);
                    let holds = submitted.is_some_and(|submitted| match is_prefix {
                        true => submitted.starts_with(&value),
                        false => submitted == value,
                    });
                    if !holds {
                        return Err(denied(&format!("Policy condition failed: \"{name}\" does not match")));
                    }
                    covered.push(name);
                }
            }
        }
        let mut submitted = fields.keys();
        let is_free = |name: &str| {
            EXEMPT.contains(&name) || name.starts_with(IGNORED_PREFIX) || covered.iter().any(|c| c == name)
        };
        match submitted.find(|name| !is_free(name)) {
            None => Ok(lengths),
            Some(name) => Err(denied(&format!(
                "Policy condition failed: field \"{name}\" is not covered by the policy"
            ))),
        }
    }
}

enum Condition {
    Field { name: String, value: String, is_prefix: bool },
    Length(u64, u64),
}

impl Condition {
    fn of(condition: &Value) -> Option<Self> {
        let text = |value: &Value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let number = |value: &Value| text(value).and_then(|text| text.parse().ok());
        if let Value::Object(pair) = condition {
            let (name, value) = pair.iter().next().filter(|_| pair.len() == 1)?;
            return Some(Self::Field {
                name: name.to_ascii_lowercase(),
                value: text(value)?,
                is_prefix: false,
            });
        }
        let [operator, target, value] = condition.as_array()?.as_slice() else { return None };
        let is_prefix = match operator.as_str()? {
            "content-length-range" => return Some(Self::Length(number(target)?, number(value)?)),
            "eq" => false,
            "starts-with" => true,
            _ => return None,
        };
        let name = target.as_str()?.strip_prefix('$')?.to_ascii_lowercase();
        Some(Self::Field { name, value: text(value)?, is_prefix })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(conditions: Value, fields: &[(&str, &str)]) -> Result<Option<(u64, u64)>, S3Error> {
        let policy = Policy { expiration: None, conditions: serde_json::from_value(conditions).unwrap() };
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        policy.check_fields(&fields)
    }

    #[test]
    fn every_field_is_subject_to_a_condition() {
        let conditions =
            json!([{"bucket": "b"}, ["starts-with", "$key", "u/"], ["content-length-range", 1, "9"]]);
        let lengths = check(
            conditions.clone(),
            &[("bucket", "b"), ("key", "u/a"), ("x-ignore-me", "1"), ("policy", "p")],
        );
        assert_eq!(lengths.unwrap(), Some((1, 9)));
        for fields in [
            &[("bucket", "b"), ("key", "v/a")][..],
            &[("bucket", "c"), ("key", "u/a")],
            &[("bucket", "b")],
            &[("bucket", "b"), ("key", "u/a"), ("content-type", "text/html")],
        ] {
            assert_eq!(
                check(conditions.clone(), fields).unwrap_err().code().as_str(),
                "AccessDenied",
                "{fields:?}"
            );
        }
    }

    #[test]
    fn conditions_that_are_not_understood_are_refused() {
        for condition in
            [json!(["ends-with", "$key", "a"]), json!(["eq", "key", "a"]), json!({"a": 1, "b": 2}), json!(7)]
        {
            assert!(check(json!([condition]), &[]).is_err(), "{condition}");
        }
    }

    #[test]
    fn a_policy_expires() {
        let policy =
            |expiration: Option<&str>| Policy { expiration: expiration.map(str::to_owned), conditions: None };
        assert!(policy(Some("2099-01-01T00:00:00.000Z")).check_expiration().is_ok());
        for (expiration, code) in [
            (Some("2020-01-01T00:00:00Z"), "ExpiredToken"),
            (Some("tomorrow"), "InvalidSignature"),
            (None, "InvalidSignature"),
        ] {
            assert_eq!(policy(expiration).check_expiration().unwrap_err().code().as_str(), code);
        }
    }
}
