//! Deployed functions.
//!
//! Source: the Supabase CLI, `functions list`, `deploy`, `download`, `delete`.

use std::sync::Arc;

use http::header::ACCEPT;
use poem::{Request, RequestBody};
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::{Binary, Json, Response};
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions, Object, OpenApi};
use serde_json::json;

use super::Context;
use super::payload::{Created, Done};
use crate::Error;
use crate::access::{Operator, Scope};
use crate::deployments::upload::{TOLD, Upload};
use crate::deployments::{Deployments, multipart};
use crate::store::functions::{self, FunctionRow};

/// The content type of a bundle that only Supabase's own runtime can read.
const ESZIP: &str = "application/vnd.denoland.eszip";

pub(super) struct FunctionsApi(pub(super) Arc<Context>);

/// A function.
#[derive(Debug, Clone, Object)]
pub(super) struct FunctionBody {
    id: String,
    slug: String,
    name: String,
    status: String,
    version: i32,
    /// Milliseconds since 1970.
    created_at: i64,
    /// Milliseconds since 1970.
    updated_at: i64,
    verify_jwt: bool,
    import_map: bool,
    /// A `file:` URL.
    entrypoint_path: String,
    /// A `file:` URL.
    #[oai(skip_serializing_if_is_none)]
    import_map_path: Option<String>,
    /// SHA-256 over the files, hexadecimal.
    ezbr_sha256: String,
}

/// A version that is to take the calls of its function.
#[derive(Object)]
struct Promotion {
    slug: String,
    /// The number that the deployment returned.
    version: i32,
}

/// What takes the calls now.
#[derive(Object)]
struct Promoted {
    functions: Vec<FunctionBody>,
}

/// A function that is one file.
#[derive(Default, Object)]
struct SingleFile {
    slug: Option<String>,
    name: Option<String>,
    /// The text of its main file.
    body: Option<String>,
    verify_jwt: Option<bool>,
}

impl SingleFile {
    /// Takes what the query string has and the body has not.
    fn with(mut self, name: Option<String>, verify_jwt: Option<bool>) -> Self {
        self.name = self.name.or(name);
        self.verify_jwt = self.verify_jwt.or(verify_jwt);
        self
    }
}

/// The whole request, whose body the endpoint reads itself.
struct WholeRequest(Request);

impl<'a> ApiExtractor<'a> for WholeRequest {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::PoemExtractor];

    type ParamType = ();
    type ParamRawType = ();

    async fn from_request(
        request: &'a Request,
        body: &mut RequestBody,
        _options: ExtractParamOptions<()>,
    ) -> poem::Result<Self> {
        let mut whole = Request::builder().method(request.method().clone()).uri(request.uri().clone());
        for (name, value) in request.headers() {
            whole = whole.header(name, value);
        }
        Ok(Self(whole.body(body.take()?)))
    }
}

#[OpenApi]
impl FunctionsApi {
    /// Returns the functions, by their slugs.
    #[oai(path = "/projects/:project/functions", method = "get")]
    async fn list(&self, request: &Request, project: Path<String>) -> Result<Json<Vec<FunctionBody>>, Error> {
        self.0.enter(request, &project, Scope::EdgeFunctionsRead)?;
        Ok(Json(list(&self.0).await?))
    }

    /// Makes a function of one file.
    #[oai(path = "/projects/:project/functions", method = "post")]
    async fn create(
        &self,
        request: &Request,
        project: Path<String>,
        slug: Query<Option<String>>,
        name: Query<Option<String>>,
        verify_jwt: Query<Option<bool>>,
        whole: WholeRequest,
    ) -> Result<Created<FunctionBody>, Error> {
        let operator = self.0.enter(request, &project, Scope::EdgeFunctionsWrite)?;
        let file = single_file(whole.0).await?.with(name.0, *verify_jwt);
        let slug = slug.0.or(file.slug).ok_or_else(|| Error::invalid("slug is missing"))?;
        if find(&self.0, &slug).await.is_ok() {
            return Err(Error::invalid(format!("Function {slug} exists already")));
        }
        let body = file.body.ok_or_else(|| Error::invalid("body is missing"))?;
        let upload = Upload::of_text(&slug, file.name.as_deref(), file.verify_jwt.unwrap_or(true), body);
        Ok(Created::of(self.deploy_as(&operator, &slug, &upload, false).await?))
    }

    /// Gives the calls of several functions to versions that were deployed with `bundleOnly`, all at once.
    #[oai(path = "/projects/:project/functions", method = "put")]
    async fn promote(
        &self,
        request: &Request,
        project: Path<String>,
        body: Json<Vec<Promotion>>,
    ) -> Result<Json<Promoted>, Error> {
        let operator = self.0.enter(request, &project, Scope::EdgeFunctionsWrite)?;
        let wanted: Vec<_> = body.0.into_iter().map(|one| (one.slug, one.version)).collect();
        self.deployments()?.promote(&project, &wanted).await?;
        let names: Vec<_> = wanted.iter().map(|(slug, version)| format!("{slug}@{version}")).collect();
        self.0.audit(&operator, "functions.promote", json!({ "functions": names })).await?;
        Ok(Json(Promoted { functions: list(&self.0).await? }))
    }

    /// Deploys a function from its files. It takes calls when it has started; with `bundleOnly`, when a later request
    /// says so.
    #[oai(path = "/projects/:project/functions/deploy", method = "post")]
    async fn deploy(
        &self,
        request: &Request,
        project: Path<String>,
        slug: Query<Option<String>>,
        #[oai(name = "bundleOnly")] bundle_only: Query<Option<bool>>,
        whole: WholeRequest,
    ) -> Result<Created<FunctionBody>, Error> {
        let operator = self.0.enter(request, &project, Scope::EdgeFunctionsWrite)?;
        let mut whole = whole.0;
        let upload = Upload::read(&mut whole, slug.as_deref().unwrap_or_default()).await?;
        let slug = slug.0.unwrap_or_else(|| upload.fields.name.clone());
        let is_bundle = bundle_only.unwrap_or(false);
        Ok(Created::of(self.deploy_as(&operator, &slug, &upload, is_bundle).await?))
    }

    /// Returns a function.
    #[oai(path = "/projects/:project/functions/:slug", method = "get")]
    async fn get(
        &self,
        request: &Request,
        project: Path<String>,
        slug: Path<String>,
    ) -> Result<Json<FunctionBody>, Error> {
        self.0.enter(request, &project, Scope::EdgeFunctionsRead)?;
        Ok(Json(described(&self.0, find(&self.0, &slug).await?)))
    }

    /// Changes the name of a function, whether callers need a token, or its only file.
    #[oai(path = "/projects/:project/functions/:slug", method = "patch")]
    async fn update(
        &self,
        request: &Request,
        project: Path<String>,
        slug: Path<String>,
        name: Query<Option<String>>,
        verify_jwt: Query<Option<bool>>,
        whole: WholeRequest,
    ) -> Result<Json<FunctionBody>, Error> {
        let operator = self.0.enter(request, &project, Scope::EdgeFunctionsWrite)?;
        let row = find(&self.0, &slug).await?;
        let file = single_file(whole.0).await?.with(name.0, *verify_jwt);
        let mut upload = match file.body {
            Some(body) => Upload::of_text(&slug, Some(&row.name), row.verify_jwt, body),
            None => self.deployments()?.upload_of(&row).await?,
        };
        upload.fields.name = file.name.unwrap_or(row.name);
        upload.fields.verify_jwt = file.verify_jwt.unwrap_or(row.verify_jwt);
        Ok(Json(self.deploy_as(&operator, &slug, &upload, false).await?))
    }

    /// Deletes a function.
    #[oai(path = "/projects/:project/functions/:slug", method = "delete")]
    async fn delete(
        &self,
        request: &Request,
        project: Path<String>,
        slug: Path<String>,
    ) -> Result<Done, Error> {
        let operator = self.0.enter(request, &project, Scope::EdgeFunctionsWrite)?;
        self.deployments()?.delete(&project, &slug).await?;
        self.0.audit(&operator, "functions.delete", json!({ "slug": slug.0 })).await?;
        Ok(Done::Ok)
    }

    /// Returns the files of a function as `multipart/form-data`: a part `metadata`, and a part `file` for each file.
    #[oai(path = "/projects/:project/functions/:slug/body", method = "get")]
    async fn body(
        &self,
        request: &Request,
        project: Path<String>,
        slug: Path<String>,
    ) -> Result<Response<Binary<Vec<u8>>>, Error> {
        self.0.enter(request, &project, Scope::EdgeFunctionsRead)?;
        let row = find(&self.0, &slug).await?;
        let accepted = request.headers().get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("*/*");
        if accepted.contains(ESZIP) {
            let refusal =
                "This server keeps the files of functions, and no bundles: accept multipart/form-data";
            return Err(Error::Refused(http::StatusCode::NOT_ACCEPTABLE, refusal.into()));
        }
        let upload = self.deployments()?.upload_of(&row).await?;
        let (content_type, body) = files_of(&self.0, &row, &upload);
        Ok(Response::new(Binary(body)).header("content-type", content_type))
    }
}

impl FunctionsApi {
    fn deployments(&self) -> Result<&Deployments, Error> {
        deployments(&self.0)
    }

    async fn deploy_as(
        &self,
        operator: &Operator,
        slug: &str,
        upload: &Upload,
        bundle_only: bool,
    ) -> Result<FunctionBody, Error> {
        deploy(&self.0, operator, slug, upload, bundle_only).await
    }
}

/// Deploys `upload` as the function `slug`.
pub(super) async fn deploy(
    context: &Context,
    operator: &Operator,
    slug: &str,
    upload: &Upload,
    bundle_only: bool,
) -> Result<FunctionBody, Error> {
    if !is_slug(slug) {
        return Err(Error::invalid(format!(
            "{slug:?} cannot be the name of a function: a letter, then letters, digits, - and _"
        )));
    }
    let project = context.inner().project.reference();
    let row = deployments(context)?.deploy(&project, slug, upload, bundle_only).await?;
    let detail = json!({ "slug": slug, "version": row.version, "bundle_only": bundle_only });
    context.audit(operator, "functions.deploy", detail).await?;
    Ok(described(context, row))
}

/// Returns the functions, by their slugs.
pub(super) async fn list(context: &Context) -> Result<Vec<FunctionBody>, Error> {
    let inner = context.inner();
    let rows = functions::list(&inner.store, &inner.project.reference()).await?;
    Ok(rows.into_iter().map(|row| described(context, row)).collect())
}

/// Returns the version of the function `slug` that takes calls. Errors: 404.
pub(super) async fn find(context: &Context, slug: &str) -> Result<FunctionRow, Error> {
    let inner = context.inner();
    let found = functions::find(&inner.store, &inner.project.reference(), slug, None).await?;
    found.ok_or_else(|| Error::missing("Function not found"))
}

/// Returns what deploys functions. Errors: 400 if functions are off.
pub(super) fn deployments(context: &Context) -> Result<&Deployments, Error> {
    let off = || Error::invalid("Edge functions are off on this server (edge_runtime.enabled)");
    context.inner().deployments.as_ref().ok_or_else(off)
}

/// Reports whether `slug` can be the name of a function, as the Supabase CLI has it.
fn is_slug(slug: &str) -> bool {
    slug.len() <= 100
        && slug.starts_with(|first: char| first.is_ascii_alphabetic())
        && slug.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// Returns where the file at `path` of a version is, as hosted Supabase says it: tools strip the part before the path.
fn url(context: &Context, row: &FunctionRow, path: &str) -> String {
    let reference = context.inner().project.reference();
    format!("{TOLD}{reference}_{}_{}/source/{path}", row.id, row.version)
}

/// Returns the description of a version.
pub(super) fn described(context: &Context, row: FunctionRow) -> FunctionBody {
    FunctionBody {
        id: row.id.to_string(),
        entrypoint_path: url(context, &row, &row.entrypoint_path),
        import_map: row.import_map_path.is_some(),
        import_map_path: row.import_map_path.as_deref().map(|path| url(context, &row, path)),
        slug: row.slug,
        name: row.name,
        status: "ACTIVE".to_owned(),
        version: row.version,
        created_at: row.created_at,
        updated_at: row.updated_at,
        verify_jwt: row.verify_jwt,
        ezbr_sha256: row.digest,
    }
}

/// Reads the description of a function that is one file; an empty body has none. Errors: 400, also for bundles.
async fn single_file(mut request: Request) -> Result<SingleFile, Error> {
    if request.content_type().is_some_and(|kind| kind.starts_with(ESZIP)) {
        return Err(Error::invalid("Bundles are not supported: deploy with `--use-api`"));
    }
    let bytes = request.take_body().into_bytes().await;
    let bytes = bytes.map_err(|error| Error::invalid(format!("The body is incomplete: {error}")))?;
    if bytes.is_empty() {
        return Ok(SingleFile::default());
    }
    let text = String::from_utf8(bytes.into()).map_err(|_| Error::invalid("The body is not JSON"))?;
    let read = <SingleFile as poem_openapi::types::ParseFromJSON>::parse_from_json_string(&text);
    read.map_err(|error| Error::invalid(error.into_message()))
}

/// Returns the content type and the body with the files of a version.
fn files_of(context: &Context, row: &FunctionRow, upload: &Upload) -> (String, Vec<u8>) {
    let metadata = json!({
        "deno2_entrypoint_path": upload.fields.entrypoint_path,
        "entrypoint_path": url(context, row, &upload.fields.entrypoint_path),
        "import_map_path": upload.fields.import_map_path.as_deref().map(|path| url(context, row, path)),
        "name": upload.fields.name,
        "verify_jwt": upload.fields.verify_jwt,
        "static_patterns": upload.fields.static_patterns,
    });
    multipart::write(&metadata, upload.files.iter().map(|(path, content)| (path.as_str(), &content[..])))
}
