//! Rows of the API with the rights of visitors, cached for a short time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use poem::endpoint::BoxEndpoint;
use poem::http::{StatusCode, Uri};
use poem::{Endpoint as _, Request, Response};
use serde_json::{Map, Value};
use tokio::time::Instant;

/// The API below `/rest/v1`, with the rights of visitors.
pub type Api = Arc<BoxEndpoint<'static, Response>>;

/// A row by its columns.
pub(super) type Row = Map<String, Value>;

/// Time limits of reads and of the cache.
pub(super) struct Limits {
    /// How long a response or a failure is cached.
    pub(super) fresh: Duration,
    /// How long a page waits for rows that are not cached.
    pub(super) first: Duration,
    /// How long a page waits for rows that are newer than the cached ones.
    pub(super) newer: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            fresh: Duration::from_secs(2),
            first: Duration::from_secs(1),
            newer: Duration::from_millis(250),
        }
    }
}

/// The maximum number of bytes of a response.
const SIZE_LIMIT: usize = 1024 * 1024;

/// The latest rows, by query. The client's pages have a fixed number of queries.
pub(super) struct Rows {
    api: Option<Api>,
    limits: Limits,
    cache: Mutex<HashMap<String, Arc<CachedRows>>>,
}

#[derive(Default)]
struct CachedRows {
    /// Locked by the task that calls the API; others wait for its response.
    last_attempt: tokio::sync::Mutex<Attempt>,
    rows: Mutex<Option<Arc<Vec<Row>>>>,
}

/// The last request to the API, and whether it failed.
#[derive(Default)]
struct Attempt {
    at: Option<Instant>,
    failed: bool,
}

impl Rows {
    /// Returns the cache of rows of `api`; without one, no query has a result.
    pub(super) fn new(api: Option<Api>, limits: Limits) -> Self {
        Self { api, limits, cache: Mutex::default() }
    }

    /// Returns the rows of `query`, a target below `/rest/v1/`. If the API fails or takes too long, these are the
    /// cached rows; `None` if it has never responded.
    pub(super) async fn read(&self, query: &str) -> Option<Arc<Vec<Row>>> {
        let api = self.api.as_ref()?;
        let cached = self.cached(query);
        let limits = &self.limits;
        let limit = if cached.rows().is_some() { limits.newer } else { limits.first };
        let deadline = Instant::now() + limit;
        if let Ok(mut attempt) = tokio::time::timeout_at(deadline, cached.last_attempt.lock()).await
            && attempt.at.is_none_or(|at| at.elapsed() >= limits.fresh)
        {
            let response = tokio::time::timeout_at(deadline, fetch(api, query)).await;
            let response = response.unwrap_or_else(|_| Err(format!("no answer within {limit:?}")));
            attempt.at = Some(Instant::now());
            let failed = response.is_err();
            match response {
                Ok(rows) => *cached.rows.lock() = Some(Arc::new(rows)),
                Err(reason) if !attempt.failed => {
                    tracing::warn!(query, reason, "pages are served with older or default heads");
                }
                Err(_) => {}
            }
            attempt.failed = failed;
        }
        cached.rows()
    }

    fn cached(&self, query: &str) -> Arc<CachedRows> {
        let mut cache = self.cache.lock();
        Arc::clone(cache.entry(query.to_owned()).or_default())
    }
}

impl CachedRows {
    fn rows(&self) -> Option<Arc<Vec<Row>>> {
        self.rows.lock().clone()
    }
}

async fn fetch(api: &Api, query: &str) -> Result<Vec<Row>, String> {
    let target: Uri = format!("/{query}").parse().map_err(|error| format!("{error}"))?;
    let response = api.get_response(Request::builder().uri(target).finish()).await;
    let status = response.status();
    let body = response.into_body().into_bytes_limit(SIZE_LIMIT).await;
    let body = body.map_err(|error| error.to_string())?;
    if status != StatusCode::OK {
        return Err(format!("{status}: {}", String::from_utf8_lossy(&body)));
    }
    serde_json::from_slice(&body).map_err(|error| error.to_string())
}
