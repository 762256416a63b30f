//! SQL of operators.

use std::sync::Arc;

use poem::Request;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use serde_json::{Value, json};

use super::Context;
use super::payload::{Document, Rows};
use crate::Error;
use crate::access::Scope;
use crate::console::Query;
use crate::redaction;

pub(super) struct QueryApi(pub(super) Arc<Context>);

/// SQL to be run.
#[derive(Object)]
struct QueryBody {
    /// One or more statements: a text.
    query: Value,
    /// The values of `$1`, `$2`, …, for one statement.
    parameters: Option<Vec<Value>>,
    /// Whether it may only read.
    read_only: Option<bool>,
}

impl QueryBody {
    /// Returns the statements. Errors: 400 for something else than a text, which the framework would make one of a
    /// number.
    fn sql(&self) -> Result<&str, Error> {
        let text = self.query.as_str().filter(|text| !text.is_empty());
        text.ok_or_else(|| Error::invalid("query must be a text of one character at least"))
    }
}

#[OpenApi]
impl QueryApi {
    /// Runs SQL, and returns the rows of the last statement that returned any.
    #[oai(path = "/projects/:project/database/query", method = "post")]
    async fn run(
        &self,
        request: &Request,
        project: Path<String>,
        body: Json<QueryBody>,
    ) -> Result<Rows, Error> {
        let is_read_only = body.read_only == Some(true);
        let scope = if is_read_only { Scope::DatabaseRead } else { Scope::DatabaseWrite };
        let operator = self.0.enter(request, &project, scope)?;
        if !is_read_only {
            let detail = json!({ "query": redaction::excerpt(body.sql()?) });
            self.0.audit(&operator, "database.query", detail).await?;
        }
        Ok(Rows::Created(Document(self.rows(&body, is_read_only).await?)))
    }

    /// Runs SQL that only reads.
    #[oai(path = "/projects/:project/database/query/read-only", method = "post")]
    async fn read(
        &self,
        request: &Request,
        project: Path<String>,
        body: Json<QueryBody>,
    ) -> Result<Rows, Error> {
        self.0.enter(request, &project, Scope::DatabaseRead)?;
        Ok(Rows::Created(Document(self.rows(&body, true).await?)))
    }
}

impl QueryApi {
    async fn rows(&self, body: &QueryBody, is_read_only: bool) -> Result<String, Error> {
        let query = Query {
            sql: body.sql()?,
            parameters: body.parameters.as_deref().unwrap_or_default(),
            is_read_only,
            time: self.0.settings.query_timeout,
        };
        self.0.inner().console.run(&query).await
    }
}
