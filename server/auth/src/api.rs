//! The endpoints, one file per family. Their descriptions are the service's OpenAPI document.

mod admin_audit;
mod admin_factors;
mod admin_links;
mod admin_sso;
mod admin_users;
mod answer;
mod body;
mod custom_providers;
mod described;
mod discovery;
mod external;
mod factors;
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
mod response;
mod scim;
mod send;
mod session_answer;
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

use crate::Auth;

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

/// Returns all endpoints, answering errors in the shape that the client's API version asks for.
pub(crate) fn endpoint(auth: Arc<Auth>) -> impl Endpoint<Output = Response> {
    let families = (
        public::PublicApi { auth: Arc::clone(&auth) },
        token::TokenApi { auth: Arc::clone(&auth) },
        user::UserApi { auth: Arc::clone(&auth) },
        sign_up::SignUpApi { auth: Arc::clone(&auth) },
        send::SendApi { auth: Arc::clone(&auth) },
        verify::VerifyApi { auth: Arc::clone(&auth) },
        external::ExternalApi { auth: Arc::clone(&auth) },
        identities::IdentitiesApi { auth: Arc::clone(&auth) },
        custom_providers::CustomProvidersApi { auth: Arc::clone(&auth) },
        (
            factors::FactorsApi { auth: Arc::clone(&auth) },
            recovery_codes::RecoveryCodesApi { auth: Arc::clone(&auth) },
            passkeys::PasskeysApi { auth: Arc::clone(&auth) },
            admin_factors::AdminFactorsApi { auth: Arc::clone(&auth) },
        ),
        (
            admin_users::AdminUsersApi { auth: Arc::clone(&auth) },
            admin_links::AdminLinksApi { auth: Arc::clone(&auth) },
            admin_audit::AdminAuditApi { auth: Arc::clone(&auth) },
        ),
        (
            sso::SsoApi { auth: Arc::clone(&auth) },
            admin_sso::AdminSsoApi { auth: Arc::clone(&auth) },
            scim::ScimApi { auth: Arc::clone(&auth) },
        ),
        (
            discovery::DiscoveryApi { auth: Arc::clone(&auth) },
            oauth_clients::OauthClientsApi { auth: Arc::clone(&auth) },
            oauth_server::OauthServerApi { auth: Arc::clone(&auth) },
            oauth_grants::OauthGrantsApi { auth: Arc::clone(&auth) },
        ),
    );
    let service = OpenApiService::new(families, "Auth", env!("CARGO_PKG_VERSION"))
        .description("Users, sessions and tokens")
        .server(auth.settings.external_url.as_str());
    let specification = service.spec_endpoint();
    let routes = Route::new().at("/openapi.json", poem::get(specification)).nest("/", service);
    let routes = routes.before(refuse_head).map_to_response();
    let scim = Arc::clone(&auth);
    let routes = routes.around(move |routes, request| {
        let auth = Arc::clone(&scim);
        async move { scim::answer_unknown(&routes, request, &auth).await }
    });
    let answers = answer::Answers::new(auth.settings.request_timeout, routes);
    sweep::Sweep::new(auth, answers)
}

/// Has HEAD refused as upstream does, with 405. The router would answer it by running the endpoint of GET, which may use
/// something up: a scanner that asks for the head of a link in a mail would take the link from its reader.
async fn refuse_head(mut request: Request) -> poem::Result<Request> {
    if request.method() == Method::HEAD {
        // No path has this one, so that the router tells unknown paths from known ones.
        request.set_method(Method::TRACE);
    }
    Ok(request)
}
