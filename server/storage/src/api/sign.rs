//! Signed URLs: making them, and reading and writing with them.

use std::sync::Arc;

use poem::{Request, Response};
use serde_json::{Value, json};

use super::body::{self, Fields};
use super::write::{content_length, metadata_header, replaces};
use super::{credentials, json_response, pictures, read, rest};
use crate::caller::Caller;
use crate::context::Context;
use crate::error::Error;
use crate::objects::versions::IS_CURRENT;
use crate::objects::{self, Access};
use crate::row::{names, text};
use crate::signature::{self, Scope};
use crate::upload::{Description, Target};
use crate::version_id::VersionId;
use crate::{key, response};

/// Objects that one request may sign.
const MAX_SIGNED: usize = 1000;

/// Responds to `POST object/sign/:bucket/*` and `POST object/sign/:bucket`.
pub(crate) async fn download(context: Arc<Context>, mut request: Request) -> Result<Response, Error> {
    let path = rest(&request).to_owned();
    let caller = credentials::required(&context.verifier, &request)?;
    let body = body::json(&mut request, false).await?;
    let fields = Fields::of(&body, "body")?;
    let life = fields.required_integer("expiresIn", 1)?;
    let signed = match path.split_once('/').filter(|(_, key)| !key.is_empty()) {
        Some(_) => {
            let transform = pictures::token_claims(context.renderer.as_ref(), &fields)?;
            let version = fields.text("versionId")?.filter(|version| !version.is_empty());
            let version = version.map(|version| VersionId::parse(&version)).transpose()?;
            json!({ "signedURL": one(&context, &caller, (&path, version), life, transform).await? })
        }
        None => {
            let keys = fields.texts("paths", 1..=MAX_SIGNED)?;
            many(&context, &caller, &key::decode(path.trim_end_matches('/'))?, &keys, life).await?
        }
    };
    Ok(json_response(signed.to_string()))
}

async fn one(
    context: &Context,
    caller: &Caller,
    (path, version): (&str, Option<VersionId>),
    life: u64,
    transform: Option<(String, &'static str)>,
) -> Result<String, Error> {
    let (bucket, key) = key::split_path(path)?;
    objects::find_visible(&context.store, caller, (&bucket, &key), version, "storage.object.sign").await?;
    let object = format!("{bucket}/{key}");
    let transform = transform.as_ref().map(|(list, format)| (&**list, *format));
    let token = signature::sign_download(&context.keys, &object, version, life, transform)?;
    let family = if transform.is_some() { "render/image" } else { "object" };
    // Clients encode the rest of the path themselves.
    Ok(format!("/{family}/sign/{}?token={token}", key::url_path(&object)))
}

async fn many(
    context: &Context,
    caller: &Caller,
    bucket: &str,
    keys: &[String],
    life: u64,
) -> Result<Value, Error> {
    let sql = format!(
        "select o.name from storage.objects o where o.bucket_id = $1 and {IS_CURRENT} \
         and o.name collate \"C\" in (select jsonb_array_elements_text($2::jsonb))"
    );
    let reply = context
        .store
        .rows
        .look_up_as(
            caller,
            "storage.object.sign_many",
            sql,
            vec![text(bucket), names(keys.iter().map(String::as_str))],
        )
        .await?;
    let rows = reply.rows().iter();
    let visible: std::collections::HashSet<&str> = rows.filter_map(|row| row.text(0)).collect();
    keys.iter()
        .map(|key| {
            if !visible.contains(&**key) {
                let error = "Either the object does not exist or you do not have access to it";
                return Ok(json!({ "error": error, "path": key, "signedURL": null }));
            }
            let object = format!("{bucket}/{key}");
            let token = signature::sign_download(&context.keys, &object, None, life, None)?;
            let url = format!("/object/sign/{}?token={token}", key::url_path(&object));
            Ok(json!({ "error": null, "path": key, "signedURL": url }))
        })
        .collect()
}

/// Responds to `GET object/sign/:bucket/*?token=`.
pub(crate) async fn read(context: Arc<Context>, request: Request) -> Result<Response, Error> {
    let query = body::query(&request);
    let token = Fields::of(&query, "querystring")?.required_text("token")?;
    let (bucket, key) = key::split_url_path(rest(&request))?;
    let verified = signature::verify(&context.keys, &token, &format!("{bucket}/{key}"), Scope::Download)?;
    let caller = credentials::anonymous(&request);
    let name = (&*bucket, &*key, signature::version(&verified)?);
    let operation = "storage.object.get_signed";
    let mut response = read::deliver(&context, &request, &caller, name, Access::Signature, operation).await?;
    response::expire(&mut response, &verified);
    Ok(response)
}

/// Responds to `POST object/upload/sign/:bucket/*` with a token, with which `PUT` uploads.
pub(crate) async fn upload(context: Arc<Context>, request: Request) -> Result<Response, Error> {
    let caller = credentials::required(&context.verifier, &request)?;
    let (bucket, key) = key::split_path(rest(&request))?;
    let replaces = replaces(&request);
    let about = Description {
        mimetype: request.content_type().unwrap_or_default().to_owned(),
        cache_control: String::new(),
        robots_tag: None,
        content_encoding: None,
        user_metadata: metadata_header(&request),
        content_length: content_length(&request),
    };
    let target = Target {
        bucket: &bucket,
        key: &key,
        owner: caller.subject(),
        replaces,
        operation: "storage.object.sign_upload_url",
    };
    target.rehearse(&context.store.rows, &caller, &about).await?;
    let object = format!("{bucket}/{key}");
    let life = context.settings.signed_upload_expiry.as_secs();
    let token = signature::sign_upload(&context.keys, &object, life, caller.subject(), replaces)?;
    let url = format!("/object/upload/sign/{}?token={token}", key::url_path(&object));
    Ok(json_response(json!({ "url": url, "token": token }).to_string()))
}
