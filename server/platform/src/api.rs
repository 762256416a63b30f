//! The endpoints, one file per family. Their descriptions are the service's OpenAPI document.

mod absent;
mod account;
mod advisors;
mod api_keys;
mod backups;
mod config;
mod functions;
mod login_roles;
mod logs;
mod migrations;
mod network;
mod others;
mod payload;
mod projects;
mod query;
mod refused;
mod secrets;
mod signing_keys;
mod snippets;
mod sso;
mod storage;
mod types;
mod version2;
mod wording;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::OptionFuture;
use http::StatusCode;
use poem::{Endpoint, IntoEndpoint as _, Request, Response, Route, endpoint};
use poem_openapi::OpenApiService;

use crate::access::{Operator, Scope};
use crate::handles::{Handles, Inner};
use crate::settings::{Access, Settings};
use crate::{Error, error};

/// How long a request may take: the slowest is a deployment, which downloads modules and starts a function.
const TIME_LIMIT: Duration = Duration::from_secs(240);

/// The path of the description of the interface, which is no secret.
const DOCUMENT: &str = "/openapi.json";

/// What endpoints work with.
pub(crate) struct Context {
    pub(crate) settings: Settings,
    handles: Handles,
}

impl Context {
    pub(crate) fn new(settings: Settings, handles: Handles) -> Self {
        // A context is made anew when settings have changed.
        handles.0.logs.limit(settings.log_memory);
        Self { settings, handles }
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.handles.0
    }

    /// Returns the operator who has sent `request`, whose token has `scope`.
    ///
    /// Errors: 403.
    pub(crate) fn operator(&self, request: &Request, scope: Scope) -> Result<Operator, Error> {
        let operator = self.sender(request)?;
        operator.check(scope)?;
        Ok(operator)
    }

    /// Returns the operator who has sent `request`, whatever the token may do.
    pub(crate) fn sender(&self, request: &Request) -> Result<Operator, Error> {
        request.extensions().get::<Operator>().cloned().ok_or_else(Error::unauthorized)
    }

    /// Does what [`Self::operator`] does for a request about `project`.
    ///
    /// Errors: also 400 and 404 for a reference that is none, or another project's.
    pub(crate) fn enter(&self, request: &Request, project: &str, scope: Scope) -> Result<Operator, Error> {
        let operator = self.operator(request, scope)?;
        self.inner().project.check(project)?;
        Ok(operator)
    }

    /// Records what `operator` has changed.
    pub(crate) async fn audit(
        &self,
        operator: &Operator,
        action: &str,
        detail: serde_json::Value,
    ) -> Result<(), Error> {
        let reference = self.inner().project.reference();
        operator.audit(&self.inner().store, &reference, action, detail).await
    }

    /// Reports whether anybody can use the interface: elsewhere than on a loopback address, it is there once there is a
    /// token.
    pub(crate) fn is_open(&self) -> bool {
        match self.settings.access {
            Access::Auto => self.settings.is_local || self.inner().has_token(),
            Access::Api | Access::Admin => true,
            Access::Off => false,
        }
    }
}

/// Returns the endpoints below `prefix`. Every error is a status with `{"message": …}`.
pub(crate) fn endpoint(context: Arc<Context>, prefix: &str) -> impl Endpoint<Output = Response> + use<> {
    let routes = if prefix == "/v2" { version2(&context) } else { version1(&context) };
    let (routes, prefix) = (Arc::new(routes), prefix.to_owned());
    endpoint::make(move |mut request: Request| {
        let (routes, context, prefix) = (Arc::clone(&routes), Arc::clone(&context), prefix.clone());
        async move {
            let place = format!("{} {prefix}{}", request.method(), request.uri().path());
            if !context.is_open() {
                return Ok(error::response(StatusCode::NOT_FOUND, &format!("Cannot {place}")));
            }
            // Who it is comes first: nobody else is told anything, not even what is wrong with a body.
            let inner = context.inner();
            let mut revoked = OptionFuture::default();
            if request.uri().path() != DOCUMENT {
                match Operator::of(&request, &inner.store, &inner.failures).await {
                    Ok(operator) => {
                        revoked = Some(Box::pin(inner.revoked(operator.id()))).into();
                        request.extensions_mut().insert(operator);
                    }
                    Err(refusal) => return Ok(refusal.into_response()),
                }
            }
            if prefix == "/v1"
                && let Some(refusal) = refused::refusal(&context, &request)
            {
                return Ok(refusal.into_response());
            }
            let outcome = tokio::select! {
                outcome = tokio::time::timeout(TIME_LIMIT, routes.call(request)) => outcome,
                Some(()) = revoked => return Ok(Error::unauthorized().into_response()),
            };
            Ok::<_, poem::Error>(match outcome {
                Ok(Ok(response)) => response,
                Ok(Err(error)) => respond(error, &place),
                Err(_) => error::response(StatusCode::GATEWAY_TIMEOUT, "The request took too long"),
            })
        }
    })
}

/// Returns the endpoints below `/v1` for requests that have an [`Operator`] among their extensions.
pub(crate) fn for_known_operators(context: Arc<Context>) -> impl Endpoint<Output = Response> + use<> {
    let routes = Arc::new(version1(&context));
    endpoint::make(move |request: Request| {
        let routes = Arc::clone(&routes);
        async move {
            let place = format!("{} /v1{}", request.method(), request.uri().path());
            Ok::<_, poem::Error>(match routes.call(request).await {
                Ok(response) => response,
                Err(error) => respond(error, &place),
            })
        }
    })
}

fn version1(context: &Arc<Context>) -> Route {
    let of = || Arc::clone(context);
    let apis = (
        account::AccountApi(of()),
        projects::ProjectsApi(of()),
        api_keys::ApiKeysApi(of()),
        functions::FunctionsApi(of()),
        secrets::SecretsApi(of()),
        query::QueryApi(of()),
        migrations::MigrationsApi(of()),
        types::TypesApi(of()),
        advisors::AdvisorsApi(of()),
        login_roles::LoginRolesApi(of()),
        config::ConfigApi(of()),
        network::NetworkApi(of()),
        storage::StorageApi(of()),
        snippets::SnippetsApi(of()),
        others::OthersApi(of()),
        backups::BackupsApi(of()),
    );
    // A tuple has no more than 16 of them.
    let apis = (
        apis,
        logs::LogsApi(of()),
        signing_keys::SigningKeysApi(of()),
        sso::SsoApi(of()),
        absent::AbsentApi(of()),
    );
    routes(OpenApiService::new(apis, "Platform", env!("CARGO_PKG_VERSION")), "/v1")
}

fn version2(context: &Arc<Context>) -> Route {
    let apis = version2::Version2Api(Arc::clone(context));
    routes(OpenApiService::new(apis, "Platform", env!("CARGO_PKG_VERSION")), "/v2")
}

fn routes<T: poem_openapi::OpenApi + 'static>(service: OpenApiService<T, ()>, prefix: &str) -> Route {
    let service = service.description("Manages the server").server(prefix);
    let document = service.spec_endpoint();
    Route::new().at(DOCUMENT, poem::get(document)).nest("/", service.into_endpoint())
}

/// Returns the response of an error: our own, or one of the framework about a path, a method or a body.
fn respond(error: poem::Error, place: &str) -> Response {
    match error.downcast::<Error>() {
        Ok(own) => own.into_response(),
        Err(other) => match other.status() {
            status @ (StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED) => {
                error::response(status, &format!("Cannot {place}"))
            }
            status => error::response(status, &wording::message(&other)),
        },
    }
}
