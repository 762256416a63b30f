//! Queries of logs.

use std::sync::Arc;

use http::StatusCode;
use poem::Request;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use serde_json::{Value, json};

use super::Context;
use crate::Error;
use crate::access::Scope;
use crate::logs::{REQUESTS, Window};
use crate::store::functions;

/// How much of the past a query sees that does not say it. Source: the OpenAPI document of the Management API.
const DEFAULT: std::time::Duration = std::time::Duration::from_secs(60);

pub(super) struct LogsApi(pub(super) Arc<Context>);

#[OpenApi]
impl LogsApi {
    /// Runs a query on the table `logs`, in ClickHouse's dialect. Without a query, returns the newest requests.
    #[oai(path = "/projects/:project/analytics/endpoints/logs", method = "get")]
    async fn logs(
        &self,
        request: &Request,
        project: Path<String>,
        sql: Query<Option<String>>,
        iso_timestamp_start: Query<Option<String>>,
        iso_timestamp_end: Query<Option<String>>,
    ) -> Result<Json<Value>, Error> {
        let window = (iso_timestamp_start.0.as_deref(), iso_timestamp_end.0.as_deref());
        self.query(request, &project, sql.0.as_deref(), window).await
    }

    /// Does the same under an older name.
    #[oai(path = "/projects/:project/analytics/endpoints/logs.all", method = "get")]
    async fn all(
        &self,
        request: &Request,
        project: Path<String>,
        sql: Query<Option<String>>,
        iso_timestamp_start: Query<Option<String>>,
        iso_timestamp_end: Query<Option<String>>,
    ) -> Result<Json<Value>, Error> {
        let window = (iso_timestamp_start.0.as_deref(), iso_timestamp_end.0.as_deref());
        self.query(request, &project, sql.0.as_deref(), window).await
    }
}

impl LogsApi {
    async fn query(
        &self,
        request: &Request,
        project: &str,
        sql: Option<&str>,
        (begin, end): (Option<&str>, Option<&str>),
    ) -> Result<Json<Value>, Error> {
        self.0.enter(request, project, Scope::AnalyticsLogsRead)?;
        let window = Window::of(begin, end, DEFAULT)?;
        let inner = self.0.inner();
        let deployed = functions::list(&inner.store, project).await?;
        let ids = deployed.into_iter().map(|function| (function.slug, function.id.to_string())).collect();
        let sql = sql.filter(|sql| !sql.trim().is_empty()).unwrap_or(REQUESTS);
        match inner.logs.query(&inner.store, sql, window, (project, ids)).await {
            Ok(rows) => Ok(Json(json!({ "result": rows }))),
            // Tools show what is wrong with a query only if the status is that of an answer.
            Err(Error::Sql(error, _)) => Ok(Json(json!({ "result": [], "error": error.message }))),
            Err(Error::Refused(StatusCode::BAD_REQUEST, message)) => {
                Ok(Json(json!({ "result": [], "error": message })))
            }
            Err(other) => Err(other),
        }
    }
}
