//! The endpoint: a request's way through the modules, and the task that keeps the schema cache fresh.

mod lifecycle;

use std::sync::Arc;

use bytes::Bytes;
use database::Database;
use gateway::{Bearer, Caller};
use poem::http::{HeaderMap, HeaderValue, Method};
use poem::{Endpoint, Response};
use tokens::Verifier;

use crate::body;
use crate::caller::Identity;
use crate::compression;
use crate::error::Error;
use crate::freshness::Writers;
use crate::legacy;
use crate::live::{Live, Shared};
use crate::openapi;
use crate::plan::Plan;
use crate::plan_cache::{Generation, PlanCache, Shape, Template};
use crate::request::{Action, Incoming, Request};
use crate::response;
use crate::schema_cache::SchemaCache;
use crate::schema_cache::reload::SharedCache;
use crate::settings::Settings;
use crate::timing::Timing;
use crate::transaction::{Context, Outcome};

/// The channel in which the platform's event triggers tell of changes to the catalog.
const NOTICES: &str = "pgrst";

/// How often a request is planned anew at most because the catalog has changed meanwhile.
const MOST_RELOADS: u32 = 3;

/// PostgREST's interface as a poem endpoint. Cheap to clone.
///
/// Paths are relative to where it is mounted: `/<relation>` and `/rpc/<function>`. Somebody has to run
/// [`Rest::keep_fresh`], else every request answers 503 `PGRST002`.
#[derive(Clone)]
pub struct Rest {
    inner: Arc<Inner>,
}

struct Inner {
    live: Shared,
    database: Database,
    cache: SharedCache,
    plans: PlanCache,
    writers: Writers,
}

/// Makes the service. Nothing is read from the database yet. Without a `verifier` and without `jwt-secret` among the
/// settings, tokens are refused.
pub fn service(settings: Settings, database: Database, verifier: impl Into<Option<Verifier>>) -> Rest {
    service_from(move || settings.clone(), database, verifier)
}

/// As [`service`], with settings that are asked for again whenever they are read again, so that a file that an operator
/// has edited takes effect. `settings` has to answer at once.
pub fn service_from(
    settings: impl Fn() -> Settings + Send + Sync + 'static,
    database: Database,
    verifier: impl Into<Option<Verifier>>,
) -> Rest {
    let live = Shared::new(Box::new(settings), verifier.into());
    Rest {
        inner: Arc::new(Inner {
            live,
            database,
            cache: SharedCache::default(),
            plans: PlanCache::default(),
            writers: Writers::default(),
        }),
    }
}

impl Rest {
    async fn answer(&self, live: &Arc<Live>, mut incoming: poem::Request) -> Result<Response, Error> {
        let inner = &*self.inner;
        let settings = &live.settings;
        let mut timing = Timing::new(settings.server_timing_enabled);
        let verifier = live.verifier.as_ref();
        let identity = match incoming.extensions().get::<Caller>() {
            Some(caller) => Identity::new(caller.bearer.as_deref(), verifier, settings),
            None => Identity::new(Bearer::of(incoming.headers()).as_deref(), verifier, settings),
        }?;
        timing.lap("jwt");
        let cache = inner.cache.current().ok_or(Error::NoSchemaCache)?;
        let body = if matches!(*incoming.method(), Method::GET | Method::HEAD) {
            Bytes::new()
        } else {
            body::read(incoming.take_body(), settings.max_body_size).await?
        };
        let incoming = Incoming {
            method: incoming.method(),
            path: incoming.uri().path(),
            query: incoming.uri().query().unwrap_or_default(),
            headers: incoming.headers(),
            body,
        };
        let shape = Shape::of(&incoming);
        let headers = incoming.headers;
        let live = Arc::clone(live);
        let mut asked = Asked { inner, live, cache, identity: &identity, headers, timing };
        let mut reloads = 0;
        loop {
            let error = match asked.answer(&incoming, shape.as_ref()).await {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            // Nothing has been changed: an error undoes all of its transaction.
            if reloads == MOST_RELOADS || !Box::pin(asked.is_news(&error)).await {
                return Err(error);
            }
            reloads += 1;
        }
    }
}

/// A request that is being answered.
struct Asked<'a> {
    inner: &'a Inner,
    live: Arc<Live>,
    cache: Arc<SchemaCache>,
    identity: &'a Identity,
    headers: &'a HeaderMap,
    timing: Timing,
}

impl Asked<'_> {
    async fn answer(
        &mut self,
        incoming: &Incoming<'_>,
        shape: Option<&Shape<'_>>,
    ) -> Result<Response, Error> {
        let plans = self.inner.plans.of(&self.live, &self.cache);
        if let Some(shape) = shape
            && let Some(template) = plans.find(shape)
            && let Some(response) = self.again(&template, shape, &plans).await?
        {
            return Ok(response);
        }
        // Boxed since it is large and seldom needed.
        Box::pin(self.anew(incoming, shape, &plans)).await
    }

    /// Whether the catalog has changed since the request was planned, which would explain `error`. The request is then
    /// to be planned against what holds now.
    async fn is_news(&mut self, error: &Error) -> bool {
        let Some(suspicion) = error.suspects_catalog() else { return false };
        let newer = self.inner.cache.newer_than(&self.cache, &self.inner.database, suspicion).await;
        let is_news = newer.is_some();
        if let Some(newer) = newer {
            self.cache = newer;
            self.live = self.inner.live.current();
        }
        is_news
    }

    /// Answers with what requests of this shape have in common. `None` where that was not right for this one, and
    /// nothing has been changed.
    async fn again(
        &mut self,
        template: &Template,
        shape: &Shape<'_>,
        plans: &Generation,
    ) -> Result<Option<Response>, Error> {
        self.timing.lap("parse");
        let (request, plan) = (template.request(), template.plan());
        let Some(values) = template.values(shape) else { return Ok(None) };
        let Some(statements) = template.statements(&values) else { return Ok(None) };
        self.timing.lap("plan");
        let outcome = match self.context(request).execute(plan, &statements, &self.inner.database).await {
            Ok(Some(outcome)) => outcome,
            Ok(None) => {
                // There are rows that only Postgres can write, and so there will be the next time.
                plans.forget(shape);
                return Ok(None);
            }
            // What is wrong with the payload is Postgres' to say.
            Err(error) if error.is_about_values() && plan.reads_payload() => return Ok(None),
            Err(error) => return Err(self.refused(request, error)),
        };
        self.timing.lap("transaction");
        self.response(request, &template.canonical(shape), plan, outcome).map(Some)
    }

    /// Answers a request that is like no other that is known.
    async fn anew(
        &mut self,
        incoming: &Incoming<'_>,
        shape: Option<&Shape<'_>>,
        plans: &Generation,
    ) -> Result<Response, Error> {
        let (cache, live) = (Arc::clone(&self.cache), Arc::clone(&self.live));
        let (cache, settings) = (&*cache, &live.settings);
        let request = Request::parse(incoming, settings)?;
        self.timing.lap("parse");
        let mut plan = Plan::new(&request, cache, settings)?;
        self.timing.lap("plan");
        let ran = self.context(&request).run(&mut plan, &self.inner.database).await;
        let (outcome, was_right) = ran.map_err(|error| self.refused(&request, error))?;
        self.timing.lap("transaction");
        if let Some(shape) = shape.filter(|shape| was_right && plans.expects(shape))
            && let Some(template) = Template::new(incoming, shape, &request, cache, settings)
        {
            plans.keep(shape, template);
        }
        let outcome = match &plan {
            Plan::Describe(_) if !request.headers_only => described(&request, cache, settings, outcome)?,
            _ => outcome,
        };
        self.response(&request, &request.query.canonical, &plan, outcome)
    }

    /// What the client is told of `error`: that functions cannot be told apart is said in one way, whether it was
    /// found here or, since some cannot be called by name and are not known here, by Postgres.
    fn refused(&self, request: &Request, error: Error) -> Error {
        let Action::Call { function, .. } = &request.action else { return error };
        let schema = self.cache.schema(&request.schema).filter(|_| error.is_ambiguous_call());
        match schema.and_then(|schema| schema.functions.get(function)) {
            Some(candidates) => Error::AmbiguousFunction(candidates.clone()),
            None => error,
        }
    }

    fn context<'c>(&'c self, request: &'c Request) -> Context<'c> {
        Context {
            request,
            headers: self.headers,
            cache: &self.cache,
            is_cache_settled: self.inner.cache.is_settled() && self.inner.database.is_listening_to(NOTICES),
            settings: &self.live.settings,
            identity: self.identity,
            writers: &self.inner.writers,
        }
    }

    fn response(
        &mut self,
        request: &Request,
        query: &str,
        plan: &Plan,
        outcome: Outcome,
    ) -> Result<Response, Error> {
        let mut response = response::success(request, query, plan, outcome)?;
        self.timing.lap("response");
        add(&mut response, "warning", legacy::warning(request, plan));
        add(&mut response, "server-timing", self.timing.header());
        Ok(response)
    }
}

/// Adds the header `name`, if it has a value that a header can have.
fn add(response: &mut Response, name: &'static str, value: Option<String>) {
    if let Some(Ok(value)) = value.map(HeaderValue::try_from) {
        response.headers_mut().insert(name, value);
    }
}

/// Puts the document of the request's schema in place of the privileges that `outcome` tells of.
fn described(
    request: &Request,
    cache: &SchemaCache,
    settings: &Settings,
    outcome: Outcome,
) -> Result<Outcome, Error> {
    let schema = cache.schema(&request.schema).ok_or(Error::NoSchemaCache)?;
    let document = openapi::document(schema, &outcome.body, settings)?;
    Ok(Outcome { body: document.into(), ..outcome })
}

impl Endpoint for Rest {
    type Output = Response;

    async fn call(&self, incoming: poem::Request) -> poem::Result<Response> {
        let live = self.inner.live.current();
        let trace = live.settings.server_trace_header.as_ref().map(|header| &header.0);
        let trace = trace.map(|name| (name.clone(), incoming.headers().get(name).cloned()));
        let request_id = incoming.extensions().get::<Caller>().map(|caller| caller.request_id.clone());
        let takes_gzip = compression::is_accepted(&incoming);
        // The future is large and poem boxes it once per layer: boxed here, it is not copied from one to the next.
        let answer = Box::pin(self.answer(&live, incoming)).await;
        let mut response = answer.unwrap_or_else(|error| {
            if error.status().is_server_error() {
                let request_id = request_id.as_ref().map(tracing::field::display);
                tracing::warn!(request_id, code = %error.code(), message = %error.message(), "request failed");
            }
            let is_unavailable = error.status() == poem::http::StatusCode::SERVICE_UNAVAILABLE;
            // Without a failed load there is no better guess than a moment.
            let wait = is_unavailable.then(|| self.inner.cache.retry_after().unwrap_or(1));
            response::failure(&error, &live.settings, wait)
        });
        if let Some((name, value)) = trace {
            response.headers_mut().insert(name, value.unwrap_or(HeaderValue::from_static("")));
        }
        Ok(if takes_gzip { compression::compress(response).await } else { response })
    }
}
