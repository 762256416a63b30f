//! Rows of the API, as a visitor reads them, kept for a moment.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use poem::endpoint::BoxEndpoint;
use poem::http::{StatusCode, Uri};
use poem::{Endpoint as _, Request, Response};
use serde_json::{Map, Value};
use tokio::time::Instant;

/// The API as visitors reach it below `/rest/v1`.
pub type Api = Arc<BoxEndpoint<'static, Response>>;

/// A row by its columns.
pub(super) type Row = Map<String, Value>;

/// How long is waited, and for how long an answer is good.
pub(super) struct Limits {
    /// How long an answer, or that there was none, counts.
    pub(super) fresh: Duration,
    /// How long a page waits for rows that were never read.
    pub(super) first: Duration,
    /// How long a page waits for newer rows than there are.
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

/// The most bytes of an answer.
const SIZE_LIMIT: usize = 1024 * 1024;

/// What was read last, by query. There are as many as the pages of the client ask.
pub(super) struct Rows {
    api: Option<Api>,
    limits: Limits,
    known: Mutex<HashMap<String, Arc<Known>>>,
}

#[derive(Default)]
struct Known {
    /// Held by the one who asks; the others wait for that answer.
    asked: tokio::sync::Mutex<Asked>,
    rows: Mutex<Option<Arc<Vec<Row>>>>,
}

#[derive(Default)]
struct Asked {
    at: Option<Instant>,
    failed: bool,
}

impl Rows {
    /// Rows of `api`; of none, no query has an answer.
    pub(super) fn new(api: Option<Api>, limits: Limits) -> Self {
        Self { api, limits, known: Mutex::default() }
    }

    /// The rows that `query`, a target below `/rest/v1/`, answers; older ones, where the API fails or takes too long,
    /// and `None`, if it never answered.
    pub(super) async fn read(&self, query: &str) -> Option<Arc<Vec<Row>>> {
        let api = self.api.as_ref()?;
        let known = self.known(query);
        let limits = &self.limits;
        let limit = if known.rows().is_some() { limits.newer } else { limits.first };
        let deadline = Instant::now() + limit;
        if let Ok(mut asked) = tokio::time::timeout_at(deadline, known.asked.lock()).await
            && asked.at.is_none_or(|at| at.elapsed() >= limits.fresh)
        {
            let answer = tokio::time::timeout_at(deadline, fetch(api, query)).await;
            let answer = answer.unwrap_or_else(|_| Err(format!("no answer within {limit:?}")));
            asked.at = Some(Instant::now());
            let failed = answer.is_err();
            match answer {
                Ok(rows) => *known.lock() = Some(Arc::new(rows)),
                Err(reason) if !asked.failed => {
                    tracing::warn!(query, reason, "pages are served with older or default heads");
                }
                Err(_) => {}
            }
            asked.failed = failed;
        }
        known.rows()
    }

    fn known(&self, query: &str) -> Arc<Known> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(query.to_owned()).or_default())
    }
}

impl Known {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<Vec<Row>>>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rows(&self) -> Option<Arc<Vec<Row>>> {
        self.lock().clone()
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
