//! The routes of the public and of the admin port.

use std::sync::Arc;

use ::platform::Access;
use gateway::Gateway;
use poem::endpoint::BoxEndpoint;
use poem::http::{StatusCode, Uri};
use poem::web::Json;
use poem::{Endpoint, EndpointExt, IntoResponse as _, Request, Response, Route, endpoint};
use site::{Server, Site};

use super::prefix_router::PrefixRouter;
use super::services::{Parts, RunningServices};
use super::{edge, hand_over};
use crate::accept;
use crate::commands::status;
use crate::error::Error;
use crate::settings::Settings;

const AUTH: &str = "/auth/v1";
const STORAGE: &str = "/storage/v1";
/// The path of an OAuth server's metadata, followed by the issuer's path (RFC 8414, section 3.1).
const METADATA: &str = "/.well-known/oauth-authorization-server";

/// The path of the metadata of the platform interface's own authorization server, and of `/mcp` as a resource of it
/// (RFC 9728, section 3.1).
const OAUTH_METADATA: &str = "/.well-known/oauth-authorization-server/v1/oauth";
const RESOURCE_METADATA: &str = "/.well-known/oauth-protected-resource";

/// Returns the routes of the public port: services under their Supabase paths, the site at `/`.
pub(super) fn public(settings: &Settings, parts: &Parts<'_>) -> Result<ByOrigin, Error> {
    let Parts { keys, running, functions, .. } = *parts;
    let gateway = &running.gateway.with_settings(settings.gateway.clone());
    let storage = settings.services.storage.as_ref();
    let storage_origin = storage.and_then(|storage| storage.origin.clone());
    let others = match settings.site.enabled {
        true => {
            let server = Server {
                url: settings.gateway.external_url.clone(),
                storage_origin: storage_origin.clone(),
                key: keys.api_keys().publishable().to_owned(),
                has_channels: settings.services.realtime.is_some(),
                has_images: storage.is_some_and(|storage| storage.image_transformation),
                api: running.rest.clone().map(|rest| Arc::new(rest.map_to_response().boxed())),
            };
            let site = Site::open(settings.site.clone(), server)?;
            gateway.open("site", site).boxed()
        }
        false => gateway.open("none", endpoint::make(not_found)).boxed(),
    };
    let mut routes = PrefixRouter::new(others);
    if let Some(rest) = &running.rest {
        if let Some(platform) = parts.platform {
            platform.set_rest(rest.clone().map_to_response().boxed());
        }
        let guarded = gateway.guarded("rest", rest.clone()).shaping_queries_by(rest::query_shape);
        let guarded = if settings.gateway.public_openapi { guarded } else { guarded.keeping_secret("/") };
        routes = routes.mount("/rest/v1", guarded);
        routes = routes.mount("/graphql/v1", gateway.guarded("graphql", endpoint::make(without_graphql)));
    }
    if let Some(platform) = parts.platform.filter(|_| is_public(&settings.platform)) {
        routes = with_platform(routes, settings, platform, gateway);
    }
    if let (Some(auth), Some(handles)) = (&settings.services.auth, &running.auth) {
        let auth = auth::service(auth.clone(), handles).map_err(Error::service("auth"))?;
        let auth = Arc::new(auth);
        if let Some(platform) = parts.platform {
            platform.set_auth(Arc::clone(&auth).map_to_response().boxed());
        }
        let guarded = gateway.guarded_except("auth", auth::keyless_paths(), Arc::clone(&auth));
        let metadata = gateway.open("auth", auth.before(metadata));
        routes = routes.mount(AUTH, guarded.exposing(auth::EXPOSED_HEADERS));
        routes = routes.mount(METADATA, metadata.exposing(auth::EXPOSED_HEADERS));
    }
    if let (Some(storage), Some(handles)) = (storage, &running.storage) {
        let open = gateway.open("storage", storage::service(storage.clone(), handles));
        // Each bucket has a limit of its own, and the error for larger files has another form than the gateway's.
        routes = routes.mount(STORAGE, open.streaming_bodies());
    }
    if let (Some(realtime), Some(handles)) = (&settings.services.realtime, &running.realtime) {
        // Tokens decide about access, and refusals have another form than the gateway's.
        let open = gateway.open("realtime", realtime::service(realtime.clone(), handles));
        routes = routes.mount("/realtime/v1", open);
    }
    if let Some(functions) = functions {
        let open = gateway.open("functions", functions.endpoint());
        routes = routes.mount("/functions/v1", open.without_cors().without_places());
    }
    let elsewhere = gateway.open("none", endpoint::make(not_found)).boxed();
    Ok(ByOrigin { routes: routes.mount("/health", health(running)), storage_origin, elsewhere })
}

/// Mounts the platform interface. Its authorization server comes before `/v1`, and its metadata before that of the
/// project's own.
fn with_platform(
    routes: PrefixRouter,
    settings: &Settings,
    platform: &::platform::Handles,
    gateway: &Gateway,
) -> PrefixRouter {
    let own = || settings.platform.clone();
    let (resource, server) = ::platform::oauth_metadata(own(), platform);
    let mut routes = routes
        .mount(OAUTH_METADATA, gateway.open("mcp", server))
        .mount(RESOURCE_METADATA, gateway.open("mcp", resource))
        .mount(::platform::OAUTH, gateway.open("mcp", ::platform::oauth(own(), platform)))
        .mount(::platform::MCP, gateway.open("mcp", ::platform::mcp(own(), platform)))
        .mount(::platform::META, gateway.guarded("pg", ::platform::meta(own(), platform)));
    for prefix in ::platform::PREFIXES {
        routes = routes.mount(prefix, gateway.open("platform", ::platform::service(own(), platform, prefix)));
    }
    routes
}

/// The routes of all origins. Requests to that of storage, if it has one of its own, reach nothing but objects: a page
/// in an object shares its origin with nothing else.
pub(super) struct ByOrigin {
    routes: PrefixRouter,
    storage_origin: Option<String>,
    elsewhere: BoxEndpoint<'static, Response>,
}

impl ByOrigin {
    fn is_allowed(&self, request: &Request) -> bool {
        let Some(origin) = &self.storage_origin else { return true };
        let path = request.uri().path().strip_prefix(STORAGE).filter(|path| path.starts_with('/'));
        !storage::is_addressed(request, origin)
            || path.is_some_and(|path| storage::is_read_of_object(request.method(), path))
    }
}

impl Endpoint for ByOrigin {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        match self.is_allowed(&request) {
            true => self.routes.call(request).await,
            false => self.elsewhere.call(request).await,
        }
    }
}

/// Reports whether a request to the public port is completed even if its client disconnects, because it may write. With
/// auth, any request may write: links in mails and redirects of providers are opened with GET.
pub(super) fn must_finish(request: &Request) -> bool {
    accept::may_write(request) || request.uri().path().starts_with(AUTH)
}

/// Reports whether the platform interface is on the public port.
fn is_public(settings: &::platform::Settings) -> bool {
    matches!(settings.access, Access::Auto | Access::Api)
}

/// Returns the routes of the admin port, which only programs on this machine can reach.
pub(super) fn admin(settings: &Settings, parts: &Parts<'_>) -> Result<Route, Error> {
    let Parts { keys, running, functions, .. } = *parts;
    let health = health(running);
    let slow = gateway::slow_statements(running.slow.clone());
    let mut route =
        Route::new().at("/metrics", running.gateway.metrics()).at("/slow", slow).nest("/health", health);
    if let Some(problems) = parts.problems {
        route = route.at("/health/problems", problems.endpoint());
    }
    if let Some(functions) = functions {
        let sessions = hand_over::sessions(functions.clone(), keys, running.draining.clone());
        route = route.at(hand_over::SESSIONS, sessions).at(status::DOUBLES, doubles(functions.clone()));
    }
    if let Some(platform) = parts.platform.filter(|_| settings.platform.access == Access::Admin) {
        let gateway = running.gateway.with_settings(settings.gateway.clone());
        for prefix in ::platform::PREFIXES {
            let service = ::platform::service(settings.platform.clone(), platform, prefix);
            route = route.nest(prefix, gateway.open("platform", service).boxed());
        }
    }
    Ok(match edge::outbox(settings, keys)? {
        Some(outbox) => route.at(edge::OUTBOX, outbox),
        None => route,
    })
}

/// Returns the endpoint that lists the functions of which the folder and a deployment have one each.
fn doubles(functions: functions::Functions) -> impl Endpoint<Output = Response> + use<> {
    endpoint::make_sync(move |_request| Json(functions.doubles()).into_response())
}

/// Rewrites the path of a request for metadata of this server's issuer, and that of any other request to `/`.
async fn metadata(mut request: Request) -> poem::Result<Request> {
    let is_issuer = matches!(request.uri().path(), "/" | AUTH);
    *request.uri_mut() = Uri::from_static(if is_issuer { METADATA } else { "/" });
    Ok(request)
}

fn health(running: &RunningServices) -> impl Endpoint<Output = Response> + use<> {
    let (database, rest, draining) = (running.probe.clone(), running.rest.clone(), running.draining.clone());
    gateway::health(move || {
        let (database, rest, draining) = (database.clone(), rest.clone(), draining.clone());
        async move {
            if draining.is_cancelled() {
                return Err("the server is stopping".to_owned());
            }
            if rest.is_some_and(|rest| !rest.is_ready()) {
                return Err("the schema cache is not loaded".to_owned());
            }
            // It waits behind no request, however busy the pool is.
            database.ping().await.map_err(|error| error.to_string())
        }
    })
}

/// Responds like Supabase's gateway for a path without a service.
async fn not_found(_request: Request) -> poem::Result<Response> {
    let response =
        Response::builder().status(StatusCode::NOT_FOUND).content_type("application/json; charset=utf-8");
    Ok(response.body("{\"message\":\"no Route matched with those values\"}"))
}

/// Returns the response of hosted Supabase to GraphQL in a project without its extension.
async fn without_graphql(_request: Request) -> poem::Result<Response> {
    let response = Response::builder().content_type("application/json; charset=utf-8");
    Ok(response.body("{\"errors\":[{\"message\":\"pg_graphql extension is not enabled.\"}]}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_issuers_path_has_metadata() {
        let rewritten = async |path: &'static str| {
            metadata(Request::builder().uri_str(path).finish()).await.unwrap().uri().to_string()
        };
        assert_eq!(rewritten("/auth/v1").await, METADATA);
        assert_eq!(rewritten("/").await, METADATA);
        for path in ["/token", "/auth/v1/token?grant_type=password", "/auth/v1/"] {
            assert_eq!(rewritten(path).await, "/", "{path}");
        }
    }
}
