//! The endpoints, one file per family. Their descriptions are the service's OpenAPI document.

mod abuse_protection;
mod admin_audit;
mod admin_factors;
mod admin_links;
mod admin_sso;
mod admin_users;
mod body;
mod callers;
mod contexts;
mod custom_providers;
mod described;
mod discovery;
mod error_response;
mod external;
mod factors;
mod families;
mod fields;
mod identities;
mod listed_user;
mod oauth_clients;
mod oauth_grants;
mod oauth_server;
mod paging;
mod passkeys;
mod public;
mod recovery_codes;
mod request;
mod scim;
mod send;
mod session_response;
mod shared_responses;
mod sign_up;
mod sso;
mod sweep;
mod token;
mod user;
mod verify;

use std::sync::Arc;

use http::Method;
use poem::{Endpoint, EndpointExt, Request, Response, Route};
use poem_openapi::OpenApiService;

use crate::Settings;
use crate::flows::handles::Handles;
use crate::store::cleanup::Cleanup;
use families::families;

/// Returns the paths that need no API key, as each family declares them beside its routes.
pub(crate) fn keyless_paths() -> impl Iterator<Item = &'static str> {
    let families = [
        public::KEYLESS,
        verify::KEYLESS,
        external::KEYLESS,
        sso::KEYLESS,
        discovery::KEYLESS,
        oauth_clients::KEYLESS,
        oauth_server::KEYLESS,
    ];
    families.into_iter().flatten().copied()
}

/// Returns all endpoints of the service of `settings`, which works with the state in `handles`. Errors become responses
/// in the shape that the client's API version asks for.
///
/// Errors: a sentence for the operator about a setting that cannot be used.
pub(crate) fn endpoint(
    settings: Settings,
    handles: &Handles,
) -> Result<impl Endpoint<Output = Response> + use<>, String> {
    let settings = Arc::new(settings);
    let service = OpenApiService::new(families(&settings, handles)?, "Auth", env!("CARGO_PKG_VERSION"))
        .description("Users, sessions and tokens")
        .server(settings.external_url.as_str());
    let specification = service.spec_endpoint();
    let routes = Route::new().at("/openapi.json", poem::get(specification)).nest("/", service);
    let routes = routes.before(refuse_head).map_to_response();
    let (timeout, cleanup) = (settings.request_timeout, Cleanup::new(&settings));
    let routes = routes.around(move |routes, request| {
        let settings = Arc::clone(&settings);
        async move { scim::respond_to_unknown(&routes, request, &settings).await }
    });
    Ok(sweep::Sweep::new(
        cleanup,
        handles.database.clone(),
        error_response::ErrorResponses::new(timeout, routes),
    ))
}

/// Has HEAD refused as upstream does, with 405. The router would respond to it by running the endpoint of GET, which
/// may use something up: a scanner that asks for the head of a link in a mail would take the link from its reader.
async fn refuse_head(mut request: Request) -> poem::Result<Request> {
    if request.method() == Method::HEAD {
        // No path has this one, so that the router tells unknown paths from known ones.
        request.set_method(Method::TRACE);
    }
    Ok(request)
}
