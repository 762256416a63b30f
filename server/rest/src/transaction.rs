//! One round trip: the settings of the request, then its statements, as the caller's role.
//!
//! Source: PostgREST's documentation, "Transactions".

mod outcome;

use std::borrow::Cow;

use database::{Database, Isolation, JsonArray, Row, Rows, Transaction, push_identifier, quote_identifier};
use http::HeaderMap;

pub use outcome::Outcome;
use outcome::{changed, explanation, outcome, plan_rows, set};

use crate::caller::Identity;
use crate::error::Error;
use crate::freshness::Writers;
use crate::plan::{Body, Plan};
use crate::request::{Count, Request, Sent, TransactionEnd};
use crate::schema_cache::SchemaCache;
use crate::settings::Settings;
use crate::statement::{Gives, Statement, Statements};

/// The setting of a function that says at which isolation level it is to be called.
const ISOLATION: &str = "default_transaction_isolation";

/// Everything that a request's transaction is made of.
pub struct Context<'a> {
    /// The request.
    pub request: &'a Request,
    /// The headers that it came with.
    pub headers: &'a HeaderMap,
    /// What it was planned against.
    pub cache: &'a SchemaCache,
    /// Whether the catalog has not changed since, as far as is known.
    pub is_cache_settled: bool,
    /// The service's settings.
    pub settings: &'a Settings,
    /// Who calls.
    pub identity: &'a Identity,
    /// Who has just written.
    pub writers: &'a Writers,
}

impl Context<'_> {
    /// Runs `plan`, and answers whether it was right as it was. Where its plain rows turn out to be of a kind that only Postgres can write, it is asked again; so it
    /// is where a value was refused, for Postgres to say what is wrong with the payload as it came, and whether at all.
    ///
    /// Errors: what Postgres refused, under its SQLSTATE; `PGRST116`, `PGRST124` and `PGRST115` when the number of
    /// rows is not what it must be, in which case nothing is changed; `PGRST000` to `PGRST003`; `PGRST100` for more
    /// values than one statement can have.
    pub async fn run(&self, plan: &mut Plan, database: &Database) -> Result<(Outcome, bool), Error> {
        let mut was_right = true;
        loop {
            let Some(statements) = Statements::new(plan, self.request, self.settings)? else {
                return Ok((Outcome::default(), was_right));
            };
            match self.execute(plan, &statements, database).await {
                Ok(Some(outcome)) => return Ok((outcome, was_right)),
                Ok(None) if plan.write_in_database() => {}
                Ok(None) => return Err(Error::Client("the rows could not be written".to_owned())),
                Err(error) if error.is_about_values() && plan.read_in_database() => {}
                Err(error) => return Err(error),
            }
            was_right = false;
        }
    }

    /// Runs the `statements` of `plan`. `None` when there were plain rows that only Postgres can write as JSON; nothing
    /// has been changed then.
    ///
    /// Errors: as [`Self::run`].
    pub async fn execute(
        &self,
        plan: &Plan,
        statements: &Statements<'_>,
        database: &Database,
    ) -> Result<Option<Outcome>, Error> {
        let search_path = self.search_path();
        let before = self.settings.db_pre_request.as_deref().map(pre_request);
        // What nothing looks at is not sent, and what nothing says is not asked for.
        let is_seen = plan.sees_request() || !self.is_cache_settled;
        let sent = is_seen.then(|| Sent::new(self.headers));
        let mut transaction = self.configured(plan, &search_path, sent.as_ref());
        if !is_seen {
            // Code that cannot set anything for the response cannot set anything for the session.
            transaction = transaction.leaves_session_unchanged();
        }
        if let Some(before) = before {
            transaction = transaction.statement(before, Vec::new());
        }
        let main = usize::from(self.settings.db_pre_request.is_some());
        transaction = if statements.gives == Gives::Rows {
            let Statement { sql, parameters } = &statements.main;
            transaction.json_statement(&**sql, borrowed(parameters))
        } else {
            add(transaction, &statements.main)
        };
        let response = statements.response.as_ref().filter(|_| is_seen || statements.needs_response);
        if let Some(response) = response {
            transaction = add(transaction, response);
        }
        if let Some(estimate) = &statements.estimate {
            transaction = add(transaction, estimate);
        }
        if self.is_rolled_back() {
            // Deferred constraints would otherwise never be looked at.
            transaction = transaction.statement("SET CONSTRAINTS ALL IMMEDIATE", Vec::new()).rollback();
        }
        let answer = database.run(&transaction).await;
        if !is_read_only(plan) {
            // Noted at the end of the write, and whatever became of it: a lost connection tells nothing.
            self.writers.note(&self.identity.claims);
        }
        let answer = answer.map_err(|error| Error::from_database(error, self.identity.is_authenticated));
        if self.settings.log_query {
            log_query(&statements.main.sql, answer.as_ref().err());
        }
        let answer = answer?;
        let rows_of = |index| answer.statements().get(index);
        let row_of = |index| {
            let first = rows_of(index).and_then(|rows: &Rows| Some((rows, rows.first()?)));
            first.ok_or_else(|| Error::Client("the statement gave no row".to_owned()))
        };
        if let (Some(rows), Some(_)) = (rows_of(main), plan.body().and_then(Body::explain)) {
            return Ok(Some(Outcome { body: explanation(rows), ..Outcome::default() }));
        }
        let told = match response {
            Some(_) => Some(row_of(main + 1)?.1),
            None => None,
        };
        let mut outcome = match statements.gives {
            Gives::Page => {
                let (rows, row) = row_of(main)?;
                outcome(rows, row)
            }
            Gives::Rows => {
                match rows_of(main).and_then(Rows::json) {
                    Some(list) => self.written(list, plan, told),
                    None if is_read_only(plan) => return Ok(None),
                    // Plans of changes see to it that this cannot be.
                    None => return Err(Error::Client("the changed rows could not be written".to_owned())),
                }
            }
            Gives::Count => changed(rows_of(main).map_or("", Rows::tag), told),
        };
        if statements.estimate.is_some() {
            let estimate = row_of(main + 1 + usize::from(told.is_some()))?.1;
            outcome.total = self.estimated(outcome.total, estimate.get(0));
        }
        Ok(Some(outcome))
    }

    /// The outcome of the plain rows of `plan`. They are planned only where all there are are shown if they are
    /// counted.
    fn written(&self, list: &JsonArray, plan: &Plan, told: Option<&Row>) -> Outcome {
        let rows = i64::try_from(list.rows).unwrap_or(i64::MAX);
        let is_object = plan.body().is_some_and(Body::must_be_single);
        // Rows of changes are never counted in all.
        let is_counted = !matches!(plan, Plan::Mutate(_))
            && matches!(self.request.preferences.count, Some(Count::Exact | Count::Estimated));
        let body = match list.text.len() {
            // Any other number of rows is refused.
            length if is_object && rows == 1 => list.text.slice(1..length - 1),
            _ => list.text.clone(),
        };
        Outcome { total: is_counted.then_some(rows), rows, body, ..set(told) }
    }

    /// The transaction with all its settings. Those of the role come before the role: the login role may be
    /// allowed to set what the caller's may not.
    fn configured<'t>(
        &'t self,
        plan: &'t Plan,
        search_path: &'t str,
        sent: Option<&'t Sent>,
    ) -> Transaction<'t> {
        let request = self.request;
        let mut transaction = Transaction::anonymous().setting("search_path", search_path);
        for (name, value) in self.cache.role_settings(&self.identity.role) {
            transaction = match isolation(name, value) {
                Some(level) => transaction.isolation(level),
                None => transaction.setting(name, value.as_str()),
            };
        }
        transaction = transaction
            .setting("role", self.identity.role.as_str())
            .setting("request.jwt.claims", self.identity.claims.as_str());
        if let Some(sent) = sent {
            transaction = transaction
                .setting("request.method", request.method.as_str())
                .setting("request.path", request.path.as_str())
                .setting("request.headers", sent.headers.as_str())
                .setting("request.cookies", &*sent.cookies);
            for (name, value) in &self.settings.app_settings {
                transaction = transaction.setting(name, value.as_str());
            }
        }
        if let Some(zone) = &request.preferences.timezone {
            transaction = transaction.setting("timezone", zone.as_str());
        }
        if let Plan::Call(call) = plan {
            for (name, value) in &call.settings {
                transaction = match isolation(name, value) {
                    Some(level) => transaction.isolation(level),
                    None => transaction.setting(name, value.as_str()),
                };
            }
        }
        if !is_read_only(plan) {
            return transaction;
        }
        let transaction = transaction.read_only();
        let interval = self.settings.db_read_sticky_interval;
        if self.writers.have_written(&self.identity.claims, interval) {
            transaction.on_primary()
        } else {
            transaction
        }
    }

    fn search_path(&self) -> String {
        let mut path = String::with_capacity(64);
        push_identifier(&mut path, &self.request.schema);
        for schema in &self.settings.db_extra_search_path {
            path.push_str(", ");
            push_identifier(&mut path, schema);
        }
        path
    }

    fn is_rolled_back(&self) -> bool {
        match self.request.preferences.transaction {
            Some(TransactionEnd::Rollback) => true,
            Some(TransactionEnd::Commit) => false,
            None => self.settings.db_tx_end.is_rollback(),
        }
    }

    /// The total by the planner's estimate: always, or where counting gave up at `db-max-rows`.
    fn estimated(&self, counted: Option<i64>, explained: Option<&[u8]>) -> Option<i64> {
        let estimate = explained.and_then(plan_rows);
        if self.request.preferences.count == Some(Count::Planned) {
            return estimate;
        }
        match (counted, self.settings.db_max_rows) {
            (Some(counted), Some(limit)) if counted > limit => Some(counted.max(estimate.unwrap_or(0))),
            _ => counted,
        }
    }
}

/// Whether nothing is written, so that a replica may answer.
const fn is_read_only(plan: &Plan) -> bool {
    match plan {
        Plan::Read(_) | Plan::Describe(_) | Plan::Info(_) => true,
        Plan::Mutate(_) => false,
        Plan::Call(call) => call.is_read_only,
    }
}

fn add<'t>(transaction: Transaction<'t>, statement: &'t Statement<'_>) -> Transaction<'t> {
    transaction.statement(&*statement.sql, borrowed(&statement.parameters))
}

fn borrowed<'t>(parameters: &'t [Option<Cow<'_, [u8]>>]) -> Vec<Option<Cow<'t, [u8]>>> {
    parameters.iter().map(|value| value.as_deref().map(Cow::Borrowed)).collect()
}

/// `SELECT` of a function called `name` or `schema.name`.
fn pre_request(name: &str) -> String {
    let parts: Vec<String> = name.splitn(2, '.').map(quote_identifier).collect();
    format!("SELECT {}()", parts.join("."))
}

fn isolation(name: &str, value: &str) -> Option<Isolation> {
    match (name, value.to_ascii_lowercase().as_str()) {
        (ISOLATION, "serializable") => Some(Isolation::Serializable),
        (ISOLATION, "repeatable read") => Some(Isolation::RepeatableRead),
        (ISOLATION, _) => Some(Isolation::ReadCommitted),
        _ => None,
    }
}

/// At the level at which the request itself is logged.
fn log_query(sql: &str, error: Option<&Error>) {
    match error {
        Some(error) if error.status().is_server_error() => tracing::error!(target: "access", sql),
        Some(_) => tracing::warn!(target: "access", sql),
        None => tracing::info!(target: "access", sql),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_say_their_isolation_level() {
        assert_eq!(isolation(ISOLATION, "SERIALIZABLE"), Some(Isolation::Serializable));
        assert_eq!(isolation("statement_timeout", "1s"), None);
    }

    #[test]
    fn the_pre_request_function_is_quoted() {
        assert_eq!(pre_request("api.check it"), "SELECT \"api\".\"check it\"()");
    }
}
