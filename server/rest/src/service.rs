//! The endpoint, and the way of a request: [`Request`] → [`Plan`] → [`Statements`] →
//! [`transaction`](crate::transaction) → [`response`].
//!
//! [`PendingRequest::complete_in_full`] takes these steps one after the other. [`PendingRequest::complete_by_template`]
//! takes the last two for a request that differs from an earlier one only in its values. [`PendingRequest::complete`]
//! says when there is another attempt.

mod lifecycle;

use std::sync::Arc;

use bytes::Bytes;
use gateway::{Bearer, Caller};
use poem::http::header::SET_COOKIE;
use poem::http::{HeaderValue, Method};
use poem::{Endpoint, Response};
use postgres::Database;
use tokens::Verifier;

use crate::body;
use crate::caller::Identity;
use crate::compression;
use crate::configuration::{Configuration, SharedConfiguration};
use crate::error::Error;
use crate::freshness::{POSITION, WritePositions};
use crate::legacy;
use crate::openapi;
use crate::plan::{Plan, ServerTask};
use crate::plan_cache::{PlanCache, RequestShape, Template};
use crate::request::{Action, Incoming, Request};
use crate::response;
use crate::schema_cache::SchemaCache;
use crate::schema_cache::reload::SharedCache;
use crate::settings::Settings;
use crate::statement::Statements;
use crate::timing::Timing;
use crate::transaction::{Attempt, Context, Outcome};

/// The channel in which the platform's event triggers announce changes to the catalog.
const NOTICES: &str = "pgrst";

/// How many more times a request is planned at most because the catalog has changed meanwhile.
const MOST_RELOADS: u32 = 3;

/// PostgREST's interface as a poem endpoint. Cheap to clone.
///
/// Paths are relative to where it is mounted: `/<relation>` and `/rpc/<function>`. [`Rest::keep_fresh`] must be
/// running, else every request gets 503 `PGRST002`.
#[derive(Clone)]
pub struct Rest {
    inner: Arc<Inner>,
}

struct Inner {
    configuration: SharedConfiguration,
    database: Database,
    cache: SharedCache,
    plans: PlanCache,
    write_positions: Arc<WritePositions>,
}

/// Makes the service. Nothing is read from the database yet. Without a `verifier` and without `jwt-secret` among the
/// settings, tokens are refused.
pub fn service(settings: Settings, database: Database, verifier: impl Into<Option<Verifier>>) -> Rest {
    service_from(move || settings.clone(), database, verifier)
}

/// Makes the service as [`service`] does. `settings` is called whenever the settings are read again, so that a file
/// that an operator has edited takes effect. It has to return at once.
pub fn service_from(
    settings: impl Fn() -> Settings + Send + Sync + 'static,
    database: Database,
    verifier: impl Into<Option<Verifier>>,
) -> Rest {
    let configuration = SharedConfiguration::new(Box::new(settings), verifier.into());
    Rest {
        inner: Arc::new(Inner {
            configuration,
            database,
            cache: SharedCache::default(),
            plans: PlanCache::default(),
            write_positions: Arc::default(),
        }),
    }
}

impl Endpoint for Rest {
    type Output = Response;

    async fn call(&self, mut incoming: poem::Request) -> poem::Result<Response> {
        // For the database's own code, which may send requests on behalf of this one.
        telemetry::write_parent_to(incoming.headers_mut());
        let configuration = self.inner.configuration.current();
        let trace = configuration.settings.server_trace_header.as_ref().map(|header| &header.0);
        let trace = trace.map(|name| (name.clone(), incoming.headers().get(name).cloned()));
        let request_id = incoming.extensions().get::<Caller>().map(|caller| caller.request_id.clone());
        let takes_gzip = compression::is_accepted(&incoming);
        // The future is large and poem boxes it once per layer: boxed here, it is not copied from one to the next.
        let response = Box::pin(self.respond(&configuration, incoming)).await;
        let mut response = response.unwrap_or_else(|error| {
            if error.status().is_server_error() {
                let request_id = request_id.as_ref().map(tracing::field::display);
                tracing::warn!(request_id, code = %error.code(), message = %error.message(), "request failed");
            }
            let is_unavailable = error.status() == poem::http::StatusCode::SERVICE_UNAVAILABLE;
            // If no load has failed, the cache should be there soon.
            let wait = is_unavailable.then(|| self.inner.cache.retry_after().unwrap_or(1));
            response::failure(&error, &configuration.settings, wait)
        });
        if let Some((name, value)) = trace {
            response.headers_mut().insert(name, value.unwrap_or(HeaderValue::from_static("")));
        }
        Ok(if takes_gzip { compression::compress(response).await } else { response })
    }
}

impl Rest {
    /// Responds to a request: identifies the caller, parses the request and takes its steps, again as long as a change
    /// of the catalog may explain an error.
    async fn respond(
        &self,
        configuration: &Arc<Configuration>,
        mut incoming: poem::Request,
    ) -> Result<Response, Error> {
        let inner = &*self.inner;
        let settings = &configuration.settings;
        let mut timing = Timing::new(settings.server_timing_enabled);
        let verifier = configuration.verifier.as_ref();
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
        let shape = RequestShape::of(&incoming);
        let pending = PendingRequest {
            inner,
            configuration: Arc::clone(configuration),
            cache,
            identity: &identity,
            incoming: &incoming,
            shape: shape.as_ref(),
            timing,
        };
        pending.complete().await
    }
}

/// A request that has been received and has no response yet.
struct PendingRequest<'a> {
    inner: &'a Inner,
    configuration: Arc<Configuration>,
    cache: Arc<SchemaCache>,
    identity: &'a Identity,
    incoming: &'a Incoming<'a>,
    /// What it has in common with others; `None` where a template is of no use.
    shape: Option<&'a RequestShape<'a>>,
    timing: Timing,
}

/// How an attempt to respond to a request ended without an error.
enum Attempted {
    /// With its response.
    Responded(Response),
    /// The template was not right for it, or the server could not do a part of the plan. Nothing has been changed, and
    /// all steps are to be taken, with the task left to Postgres.
    InFull(Option<ServerTask>),
}

impl PendingRequest<'_> {
    /// Responds to the request: by the template of its shape, if there is one; else, or if that turns out not to be
    /// possible, by taking all steps; and from the beginning, as long as a change of the catalog may explain an error.
    ///
    /// This is the uppermost of three places that try again, and each only after an attempt that has changed nothing.
    /// The other ones are [`Database::run`], which chooses a server, and the pool of connections below it.
    async fn complete(mut self) -> Result<Response, Error> {
        let mut attempted = self.complete_by_template().await;
        let mut reloads = 0;
        loop {
            attempted = match attempted {
                Ok(Attempted::Responded(response)) => return Ok(response),
                // Boxed since it is large and seldom needed.
                Ok(Attempted::InFull(task)) => Box::pin(self.complete_in_full(task)).await,
                Err(error) if reloads == MOST_RELOADS => return Err(error),
                Err(error) => {
                    if !Box::pin(self.take_newer_catalog(&error)).await {
                        return Err(error);
                    }
                    reloads += 1;
                    Ok(Attempted::InFull(None))
                }
            }
        }
    }

    /// Takes the steps that are left where the plan and the statements of an earlier request of the same shape are
    /// known: transaction → response.
    async fn complete_by_template(&mut self) -> Result<Attempted, Error> {
        let plans = self.inner.plans.of(&self.configuration, &self.cache);
        let found = self.shape.and_then(|shape| Some((shape, plans.find(shape)?)));
        self.inner.plans.count(found.is_some());
        let Some((shape, template)) = found else { return Ok(Attempted::InFull(None)) };
        self.timing.lap("parse");
        let (request, plan) = (template.request(), template.plan());
        telemetry::name_route(request.action.route());
        let Some(values) = template.values(shape) else { return Ok(Attempted::InFull(None)) };
        let Some(statements) = template.statements(&values) else { return Ok(Attempted::InFull(None)) };
        self.timing.lap("plan");
        let outcome = match self.run(request, plan, &statements).await? {
            Attempt::Done(outcome) => outcome,
            Attempt::LeftToPostgres(task) => {
                if task == ServerTask::WriteRows {
                    // There are rows that only Postgres can write; the next request of this shape will have them, too.
                    plans.forget(shape);
                }
                return Ok(Attempted::InFull(Some(task)));
            }
        };
        self.timing.lap("transaction");
        self.respond(request, &template.canonical(shape), plan, outcome).map(Attempted::Responded)
    }

    /// Takes all steps: request → plan → statements → transaction → response. `left_to_postgres` is what has already
    /// turned out to be more than the server can do.
    async fn complete_in_full(&mut self, left_to_postgres: Option<ServerTask>) -> Result<Attempted, Error> {
        let (cache, configuration) = (Arc::clone(&self.cache), Arc::clone(&self.configuration));
        let settings = &configuration.settings;
        let request = Request::parse(self.incoming, settings)?;
        self.timing.lap("parse");
        let mut plan = Plan::new(&request, &cache, settings)?;
        if let Some(task) = left_to_postgres {
            plan.leave_to_postgres(task);
        }
        self.timing.lap("plan");
        let outcome = match Statements::new(&plan, &request, settings)? {
            None => Outcome::default(),
            Some(statements) => match self.run(&request, &plan, &statements).await? {
                Attempt::Done(outcome) => outcome,
                Attempt::LeftToPostgres(task) => return Ok(Attempted::InFull(Some(task))),
            },
        };
        self.timing.lap("transaction");
        if left_to_postgres.is_none() {
            self.keep_template(&request);
        }
        let outcome = match &plan {
            Plan::Describe(_) if !request.headers_only => with_document(&request, &cache, settings, outcome)?,
            _ => outcome,
        };
        self.respond(&request, &request.query.canonical, &plan, outcome).map(Attempted::Responded)
    }

    /// Runs `statements` in a transaction.
    async fn run(
        &self,
        request: &Request,
        plan: &Plan,
        statements: &Statements<'_>,
    ) -> Result<Attempt, Error> {
        let context = Context {
            request,
            headers: self.incoming.headers,
            cache: &self.cache,
            is_cache_fresh: self.inner.cache.is_fresh() && self.inner.database.is_listening_to(NOTICES),
            settings: &self.configuration.settings,
            identity: self.identity,
            write_positions: &self.inner.write_positions,
        };
        let attempt = context.run(plan, statements, &self.inner.database).await;
        attempt.map_err(|error| self.client_error(request, error))
    }

    /// Makes the response, with the headers that do not depend on the outcome.
    fn respond(
        &mut self,
        request: &Request,
        query: &str,
        plan: &Plan,
        outcome: Outcome,
    ) -> Result<Response, Error> {
        let written_to = outcome.written_to;
        let mut response = response::success(request, query, plan, outcome)?;
        self.timing.lap("response");
        if let Some(position) = written_to {
            add(&mut response, POSITION, Some(position.to_string()));
            // For browsers, of the service's own site. No standby that is more than a minute behind gets reads.
            let cookie = format!("{POSITION}={position}; Path=/; Max-Age=60; HttpOnly; SameSite=Lax");
            if let Ok(cookie) = HeaderValue::try_from(cookie) {
                response.headers_mut().append(SET_COOKIE, cookie);
            }
        }
        add(&mut response, "warning", legacy::warning(request, plan));
        add(&mut response, "server-timing", self.timing.header());
        Ok(response)
    }

    /// Keeps what requests of this shape have in common, if it is not the first one.
    fn keep_template(&self, request: &Request) {
        let plans = self.inner.plans.of(&self.configuration, &self.cache);
        if let Some(shape) = self.shape.filter(|shape| plans.expects(shape))
            && let Some(template) =
                Template::new(self.incoming, shape, request, &self.cache, &self.configuration.settings)
        {
            plans.keep(shape, template);
        }
    }

    /// Exchanges the schema cache and the settings for newer ones, if the catalog has changed since the request was
    /// planned and that would explain `error`. Reports whether it did; then the request is to be planned again.
    async fn take_newer_catalog(&mut self, error: &Error) -> bool {
        let Some(suspicion) = error.suspects_catalog() else { return false };
        let newer = self.inner.cache.newer_than(&self.cache, &self.inner.database, suspicion).await;
        let Some(newer) = newer else { return false };
        self.cache = newer;
        self.configuration = self.inner.configuration.current();
        true
    }

    /// Returns the error for the client. Several candidate functions are reported in the same way, whether the
    /// ambiguity was found here or by Postgres, which knows also functions that cannot be called by name.
    fn client_error(&self, request: &Request, error: Error) -> Error {
        let Action::Call { function, .. } = &request.action else { return error };
        let schema = self.cache.schema(&request.schema).filter(|_| error.is_ambiguous_call());
        match schema.and_then(|schema| schema.functions.get(function)) {
            Some(candidates) => Error::AmbiguousFunction(candidates.clone()),
            None => error,
        }
    }
}

/// Adds the header `name`, if it has a value that a header can have.
fn add(response: &mut Response, name: &'static str, value: Option<String>) {
    if let Some(Ok(value)) = value.map(HeaderValue::try_from) {
        response.headers_mut().insert(name, value);
    }
}

/// Puts the document of the request's schema in place of the privileges that are the body of `outcome`.
fn with_document(
    request: &Request,
    cache: &SchemaCache,
    settings: &Settings,
    outcome: Outcome,
) -> Result<Outcome, Error> {
    let schema = cache.schema(&request.schema).ok_or(Error::NoSchemaCache)?;
    let document = openapi::document(schema, &outcome.body, settings)?;
    Ok(Outcome { body: document.into(), ..outcome })
}
