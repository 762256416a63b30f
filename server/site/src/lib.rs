//! Serves the built client: one page for all of its routes, and its files, from this binary, from a folder or from
//! Vite's dev server.
//!
//! The page is the same for every deployment except for two parts, which are written when it is served: a block of JSON
//! with the API's URL and public key, and the [`heads`] of the requested page.

mod assets;
mod dev;
mod encoding;
mod headers;
mod heads;
mod page;
mod settings;

use poem::http::header::{ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, VARY};
use poem::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use poem::web::headers::{HeaderMapExt as _, IfNoneMatch};
use poem::{Body, Endpoint, Request, Response};

pub use heads::Api;
pub use settings::Settings;

use assets::{Assets, File};
use encoding::Encoding;
use headers::{Origin, Policy};
use heads::{Heads, Location};
use page::Page;

/// The site as an endpoint.
pub struct Site {
    settings: Settings,
    server: Server,
    assets: Assets,
    /// The paths of scripts and styles, as they were at the start.
    code: Vec<String>,
    page: Page,
    heads: Heads,
    dev: Option<dev::Proxy>,
}

/// The server that the site's pages and scripts use.
pub struct Server {
    /// The URL of the API for scripts; `None` for the page's origin.
    pub url: Option<gateway::ExternalUrl>,
    /// The origin of the storage's objects, if they have one of their own.
    pub storage_origin: Option<String>,
    /// The API key of scripts.
    pub key: String,
    /// Whether scripts are notified of changes through channels.
    pub has_channels: bool,
    /// Whether the storage resizes pictures.
    pub has_images: bool,
    /// The API that fills the heads of pages.
    pub api: Option<Api>,
}

/// The reason why the site cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no built client.
    #[error(
        "there is no built client {0}: build it with `npm run build`, or switch the site off (basalt.site.enabled)"
    )]
    NotBuilt(String),
    /// The dev server's URL is invalid.
    #[error("--dev: {0}")]
    Dev(String),
}

/// Checks that there is a client to serve, before anything else is started.
///
/// Errors: [`Error::NotBuilt`].
pub fn check(settings: &Settings) -> Result<(), Error> {
    let assets = Assets::choose(settings.path.as_deref());
    match settings.enabled && settings.dev.is_none() && !assets.has_page() {
        true => Err(Error::NotBuilt(assets.place())),
        false => Ok(()),
    }
}

impl Site {
    /// Returns the site of `settings`, whose API is `server`.
    ///
    /// Errors: [`Error::Dev`].
    pub fn open(settings: Settings, server: Server) -> Result<Self, Error> {
        let dev = settings.dev.as_deref().map(dev::Proxy::new).transpose().map_err(Error::Dev)?;
        let assets = Assets::choose(settings.path.as_deref());
        let (page, heads) = (Page::default(), Heads::new(server.api.clone()));
        let code = assets.code_paths();
        Ok(Self { settings, server, assets, code, page, heads, dev })
    }
}

impl Endpoint for Site {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let refusal =
                Response::builder().status(StatusCode::METHOD_NOT_ALLOWED).header(ALLOW, "GET, HEAD");
            return Ok(refusal.finish());
        }
        let origin = Origin::of(&request);
        let mut response = match &self.dev {
            Some(proxy) => proxy.forward(&request, |html| Page::inject(html, &self.config(&origin))).await,
            None => self.response_to(&request, &origin).await,
        };
        let policy = self.dev.is_none().then(|| self.policy(&origin));
        headers::secure(response.headers_mut(), &origin, policy.as_deref());
        if request.method() == Method::HEAD {
            response.set_body(());
        }
        Ok(response)
    }
}

impl Site {
    async fn response_to(&self, request: &Request, origin: &Origin) -> Response {
        let path = request.uri().path();
        let name = path.trim_start_matches('/');
        let encoding = Encoding::accepted(request.headers());
        let description = match name.starts_with("assets/") {
            true => None,
            false => self.heads.description(&self.assets).await,
        };
        let (site, api) = (origin.to_string(), self.api_url(origin));
        let files = self.server.storage_origin.as_deref().unwrap_or(&api);
        let storage = format!("{files}/storage/v1/object/public");
        // Without resizing, the URL leads to the original picture, and its query is ignored.
        let images = match self.server.has_images {
            true => format!("{files}/storage/v1/render/image/public"),
            false => storage.clone(),
        };
        let location = Location { origin: &site, storage: &storage, images: &images, path: canonical(path) };
        if let Some(description) = &description
            && let Some(document) = self.heads.document(description, &location).await
        {
            return respond(request.headers(), document, "no-cache", StatusCode::OK);
        }
        if let Some(file) = self.assets.file(name, encoding).await {
            return respond(request.headers(), file, cache_control(name), StatusCode::OK);
        }
        if name.starts_with("assets/") {
            // If a page were returned in place of a missing script, the browser would report its type as the error.
            let missing = Response::builder().status(StatusCode::NOT_FOUND).content_type("text/plain");
            return missing.body("There is no such file.");
        }
        let head = match &description {
            Some(description) => Some(self.heads.page(description, &location).await),
            None => None,
        };
        let status = head.as_ref().map_or_else(|| self.status(path), |head| head.status);
        let Some(template) = self.assets.page().await else {
            let unavailable = Response::builder().status(StatusCode::SERVICE_UNAVAILABLE);
            return unavailable.body(format!("There is no built client {}.", self.assets.place()));
        };
        let file = self.page.render(&template, head.as_ref(), &self.config(origin), encoding);
        respond(request.headers(), file, "no-cache", status)
    }

    /// Returns the status of the page at `path` by the routes of the settings, for a client without descriptions.
    fn status(&self, path: &str) -> StatusCode {
        let routes = &self.settings.routes;
        let is_page = routes.is_empty() || routes.iter().any(|route| canonical(route) == canonical(path));
        if is_page { StatusCode::OK } else { StatusCode::NOT_FOUND }
    }

    fn api_url(&self, origin: &Origin) -> String {
        self.server.url.as_ref().map_or_else(|| origin.to_string(), |url| url.as_str().to_owned())
    }

    /// Returns the client's configuration as JSON.
    fn config(&self, origin: &Origin) -> String {
        let Server { key, has_channels, has_images, .. } = &self.server;
        let url = self.api_url(origin);
        let config =
            serde_json::json!({ "url": url, "key": key, "channels": has_channels, "images": has_images });
        config.to_string()
    }

    fn policy(&self, origin: &Origin) -> String {
        let policy = Policy {
            // A source with a path would match nothing below it (Content Security Policy Level 3, section 6.7.2.12).
            api_url: self.server.url.as_ref().map(gateway::ExternalUrl::origin),
            storage_origin: self.server.storage_origin.as_deref(),
            connect_src: &self.settings.connect_src,
            code: &self.code,
        };
        headers::content_security_policy(origin, &policy)
    }
}

/// Returns `path` without the slashes at its end.
fn canonical(path: &str) -> &str {
    match path.trim_end_matches('/') {
        "" => "/",
        path => path,
    }
}

/// Returns the value of `Cache-Control` for a file. Files below `assets/` have a hash of their content in the name, so
/// they never change.
fn cache_control(name: &str) -> &'static str {
    if name.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "public, max-age=3600" }
}

fn respond(request: &HeaderMap, file: File, cache_control: &'static str, status: StatusCode) -> Response {
    let mut response = Response::default();
    let headers = response.headers_mut();
    let mut insert = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    insert(CACHE_CONTROL, cache_control);
    insert(ETAG, &file.etag);
    insert(VARY, "accept-encoding");
    let condition = request.typed_get::<IfNoneMatch>().zip(file.etag.parse().ok());
    if status == StatusCode::OK
        && condition.is_some_and(|(condition, etag)| !condition.precondition_passes(&etag))
    {
        response.set_status(StatusCode::NOT_MODIFIED);
        return response;
    }
    insert(CONTENT_TYPE, &file.content_type);
    if let Some(name) = file.encoding.name() {
        insert(CONTENT_ENCODING, name);
    }
    response.set_status(status);
    response.set_body(Body::from_bytes(file.body));
    response
}

#[cfg(test)]
mod tests;
