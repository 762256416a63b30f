//! The endpoint for operators: health, metrics, the schema cache and the settings in force.
//!
//! Source: PostgREST's documentation, "Admin Server" and "Observability".

mod metrics;

use std::fmt::Write as _;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use poem::http::{Method, StatusCode, header};
use poem::{Endpoint, Request, Response};

use crate::service::Rest;
use crate::settings::Settings;
use crate::standalone;

/// The paths `/live`, `/ready`, `/metrics`, `/schema_cache` and `/config`, for a port that only operators reach:
/// the schema cache lists everything that there is in the exposed schemas.
#[derive(Clone)]
pub struct Admin {
    rest: Rest,
    is_open: Probe,
}

/// Reports whether clients can reach the service.
pub type Probe = Arc<dyn Fn() -> BoxFuture<'static, bool> + Send + Sync>;

impl Rest {
    /// Returns the endpoint for operators. `is_open` reports whether clients can reach the service.
    pub fn admin(&self, is_open: Probe) -> Admin {
        Admin { rest: self.clone(), is_open }
    }

    /// Returns the settings in force, one a line, in the order of their names. Of secrets there is the name alone.
    pub fn configuration(&self) -> String {
        let mut lines = self.current_configuration().settings.named();
        lines.sort();
        lines.iter().fold(String::new(), |mut all, (name, value)| {
            let _ = writeln!(all, "{name} = {value}");
            all
        })
    }

    /// Returns the settings in force.
    pub fn settings(&self) -> Settings {
        self.current_configuration().settings.clone()
    }

    /// Returns the schema cache as JSON text; empty while none is loaded.
    ///
    /// Errors: none that a cache is known to cause.
    pub fn schema_cache(&self) -> Result<String, serde_json::Error> {
        self.cache().current().map_or_else(|| Ok(String::new()), |cache| cache.to_json())
    }
}

impl Endpoint for Admin {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        let rest = &self.rest;
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Ok(status(StatusCode::METHOD_NOT_ALLOWED));
        }
        Ok(match request.uri().path() {
            "/ready" if !rest.is_ready() || rest.database().ping().await.is_err() => {
                status(StatusCode::SERVICE_UNAVAILABLE)
            }
            "/live" | "/ready" if (self.is_open)().await => status(StatusCode::OK),
            "/live" | "/ready" => status(StatusCode::INTERNAL_SERVER_ERROR),
            "/metrics" => metrics(rest),
            "/config" => text(rest.configuration()),
            "/schema_cache" => schema_cache(rest),
            _ => status(StatusCode::NOT_FOUND),
        })
    }
}

fn status(status: StatusCode) -> Response {
    Response::builder().status(status).header(header::SERVER, standalone::NAME).finish()
}

fn text(body: String) -> Response {
    Response::builder()
        .header(header::SERVER, standalone::NAME)
        .content_type("text/plain; charset=utf-8")
        .body(body)
}

fn schema_cache(rest: &Rest) -> Response {
    match rest.schema_cache() {
        Ok(json) => Response::builder().content_type("application/json; charset=utf-8").body(json),
        Err(error) => {
            tracing::error!(%error, "the schema cache cannot be written");
            status(StatusCode::INTERNAL_SERVER_ERROR)
        }
    }
}

fn metrics(rest: &Rest) -> Response {
    metrics::text(rest).map_or_else(
        |error| {
            tracing::error!(%error, "the metrics cannot be written");
            status(StatusCode::INTERNAL_SERVER_ERROR)
        },
        text,
    )
}
