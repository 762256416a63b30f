//! `render/image`: pictures in another size and format.

use std::sync::Arc;

use poem::http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, VARY};
use poem::http::{HeaderName, StatusCode};
use poem::{Request, Response};
use serde_json::Value;

use super::body::{self, Fields};
use super::{credentials, rest, unknown};
use crate::caller::Caller;
use crate::context::Context;
use crate::error::Error;
use crate::object_row::Object;
use crate::objects::{self, Access};
use crate::render::{Anchor, FormatChoice, Gravity, ListForm, Options, QUALITIES, Renderer, Resize};
use crate::signature::{self, Scope};
use crate::version_id::VersionId;
use crate::{key, range, response};

const X_TRANSFORMATIONS: HeaderName = HeaderName::from_static("x-transformations");

/// Responds to `render/image/public/:bucket/*`.
pub(crate) async fn public(context: Arc<Context>, request: Request) -> Result<Response, Error> {
    let renderer = renderer(&context, &request)?;
    let (caller, operation) = (credentials::anonymous(&request), "storage.render.image_public");
    by_name(&context, renderer, &request, caller, Some(Access::Public), operation).await
}

/// Responds to `render/image/authenticated/:bucket/*`. Row-level security decides, for public buckets too.
pub(crate) async fn authenticated(context: Arc<Context>, request: Request) -> Result<Response, Error> {
    let renderer = renderer(&context, &request)?;
    let caller = credentials::required(&context.verifier, &request)?;
    by_name(&context, renderer, &request, caller, None, "storage.render.image_authenticated").await
}

/// Returns the renderer.
///
/// Errors: [`Error::NoSuchRoute`] if pictures are not rendered.
fn renderer<'a>(context: &'a Context, request: &Request) -> Result<&'a Renderer, Error> {
    context.renderer.as_ref().ok_or_else(|| unknown(request.method(), request.uri()))
}

async fn by_name(
    context: &Context,
    renderer: &Renderer,
    request: &Request,
    caller: Caller,
    access: Option<Access>,
    operation: &'static str,
) -> Result<Response, Error> {
    let options = query_options(renderer, request)?;
    let (bucket, key) = key::split_url_path(rest(request))?;
    let version = response::version(request)?;
    let lookup = Lookup { caller, name: (&bucket, &key), version, access, operation };
    deliver(context, renderer, request, &lookup, options).await
}

/// Responds to `render/image/sign/:bucket/*?token=`. Only the options in the token count; those of the query are
/// ignored.
pub(crate) async fn signed(context: Arc<Context>, request: Request) -> Result<Response, Error> {
    let renderer = renderer(&context, &request)?;
    let query = body::query(&request);
    let token = Fields::of(&query, "querystring")?.required_text("token")?;
    let (bucket, key) = key::split_url_path(rest(&request))?;
    let verified = signature::verify(&context.keys, &token, &format!("{bucket}/{key}"), Scope::Download)?;
    let claim = |name: &str| verified.claims.get(name).and_then(Value::as_str).unwrap_or_default();
    let options = Options::from_token(claim("transformations"), claim("format")).within(renderer.sizes());
    let lookup = Lookup {
        caller: credentials::anonymous(&request),
        name: (&bucket, &key),
        version: signature::version(&verified)?,
        access: Some(Access::Signature),
        operation: "storage.render.image_sign",
    };
    let mut response = deliver(&context, renderer, &request, &lookup, options).await?;
    response::expire(&mut response, &verified);
    Ok(response)
}

/// The requested object, and the caller.
struct Lookup<'a> {
    caller: Caller,
    name: (&'a str, &'a str),
    /// The version; `None` for the current one.
    version: Option<VersionId>,
    /// Whose rights decide; `None` is row-level security alone.
    access: Option<Access>,
    operation: &'static str,
}

impl Lookup<'_> {
    async fn find(&self, context: &Context) -> Result<Arc<Object>, Error> {
        let Self { caller, name, version, operation, .. } = self;
        match self.access {
            Some(access) => objects::find(&context.store, caller, *name, *version, access, operation).await,
            None => objects::find_visible(&context.store, caller, *name, *version, operation).await,
        }
    }
}

async fn deliver(
    context: &Context,
    renderer: &Renderer,
    request: &Request,
    lookup: &Lookup<'_>,
    options: Options,
) -> Result<Response, Error> {
    let object = lookup.find(context).await?;
    match picture_response(renderer, request, &object, options).await {
        // The object may have been replaced, and its old bytes removed, since its row was read.
        Err(Error::NoSuchKey) => {
            picture_response(renderer, request, &*lookup.find(context).await?, options).await
        }
        response => response,
    }
}

/// Returns the response: `ETag`, `Last-Modified` and `Cache-Control` are those of the source.
async fn picture_response(
    renderer: &Renderer,
    request: &Request,
    object: &Object,
    options: Options,
) -> Result<Response, Error> {
    let target = options.format.target(request.headers());
    let mut response = Response::default();
    let headers = response.headers_mut();
    response::describe(headers, request, object);
    headers.remove(ACCEPT_RANGES);
    headers.remove(CONTENT_TYPE);
    if target.is_negotiated() {
        headers.append(VARY, HeaderValue::from_static("Accept"));
    }
    let list = options.list(ListForm::Header);
    if !list.is_empty() {
        response::insert(headers, X_TRANSFORMATIONS, &list);
    }
    let etag = object.metadata.etag.as_deref().unwrap_or_default();
    if range::is_fresh(request.headers(), etag, object.metadata.last_modified) {
        response.set_status(StatusCode::NOT_MODIFIED);
        return Ok(response);
    }
    let picture = renderer.render(object.version, object.size, options, target).await?;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(picture.format.content_type()));
    headers.insert(CONTENT_LENGTH, picture.bytes.len().into());
    response.set_body(picture.bytes);
    Ok(response)
}

fn query_options(renderer: &Renderer, request: &Request) -> Result<Options, Error> {
    let query = body::query(request);
    Ok(options(&Fields::of(&query, "querystring")?)?.within(renderer.sizes()))
}

/// Reads the options of a query, or of `transform` in a body.
///
/// Errors: [`Error::InvalidRequest`] in the words of upstream's validator, which looks at the focal point first.
pub(super) fn options(fields: &Fields<'_>) -> Result<Options, Error> {
    if fields.value("gravity").and_then(Value::as_str) == Some("fp") {
        let point = |name| fields.required(name).and_then(|_| fields.number(name, Some(0.0..=1.0)));
        if let Err(Error::InvalidRequest(reason)) = point("x_offset").and_then(|_| point("y_offset")) {
            return Err(Error::InvalidRequest(format!(
                "{reason}, {} must match \"then\" schema",
                fields.path()
            )));
        }
    }
    let size = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let height = fields.integer("height", 0)?.map(size);
    let width = fields.integer("width", 0)?.map(size);
    let resize = fields
        .one_of("resize", &Resize::ALL.map(Resize::name))?
        .and_then(Resize::of_name)
        .unwrap_or_default();
    let format =
        fields.one_of("format", &FormatChoice::NAMES)?.and_then(FormatChoice::of_name).unwrap_or_default();
    let quality =
        fields.integer_within("quality", &QUALITIES)?.and_then(|quality| u8::try_from(quality).ok());
    let anchor = fields.one_of("gravity", &Anchor::ALL.map(Anchor::name))?.and_then(Anchor::of_name);
    let (x, y) = (fields.number("x_offset", None)?, fields.number("y_offset", None)?);
    let gravity = anchor.map(|anchor| Gravity { anchor, x, y });
    Ok(Options { width, height, resize, quality, format, gravity })
}

/// Returns the claims `transformations` and `format` of a token for what a request to sign a URL asks for; `None` if
/// that changes nothing, or if pictures are not rendered.
///
/// Errors: [`Error::InvalidRequest`].
pub(super) fn token_claims(
    renderer: Option<&Renderer>,
    fields: &Fields<'_>,
) -> Result<Option<(String, &'static str)>, Error> {
    let Some(transform) = fields.value("transform") else { return Ok(None) };
    let options = options(&Fields::of(transform, "body/transform")?)?;
    let Some(renderer) = renderer else { return Ok(None) };
    let list = options.within(renderer.sizes()).list(ListForm::Token);
    Ok((!list.is_empty()).then(|| (list, options.format.claim())))
}
