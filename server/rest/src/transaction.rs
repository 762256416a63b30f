//! One round trip: the settings of the request, then its statements, as the caller's role.
//!
//! Source: PostgREST's documentation, "Transactions".

mod outcome;
mod results;

use http::HeaderMap;
use postgres::Lsn;
use postgres::{Database, Isolation, Transaction, push_identifier};

pub(crate) use outcome::Outcome;
use outcome::plan_rows;
use results::{Batch, Results};

use crate::caller::Identity;
use crate::error::Error;
use crate::freshness::WritePositions;
use crate::plan::{Body, Plan, ServerTask};
use crate::request::{Count, HeaderSettings, Request, TransactionEnd};
use crate::schema_cache::SchemaCache;
use crate::settings::Settings;
use crate::statement::{MainResult, Statements};

/// The setting of a function that says at which isolation level it is to be called.
const ISOLATION: &str = "default_transaction_isolation";

/// Everything that a request's transaction needs.
pub(crate) struct Context<'a> {
    /// The request.
    pub(crate) request: &'a Request,
    /// The headers that it came with.
    pub(crate) headers: &'a HeaderMap,
    /// What it was planned against.
    pub(crate) cache: &'a SchemaCache,
    /// Whether the catalog has not changed since, as far as is known.
    pub(crate) is_cache_fresh: bool,
    /// The service's settings.
    pub(crate) settings: &'a Settings,
    /// Who calls.
    pub(crate) identity: &'a Identity,
    /// The positions up to which authors have written.
    pub(crate) write_positions: &'a WritePositions,
}

/// How running the statements of a plan ended, if not with an error.
#[derive(Debug)]
pub(crate) enum Attempt {
    /// The request is carried out.
    Done(Outcome),
    /// The server could not do this part of the plan. Nothing has been changed, and the plan is to be run a second time
    /// with the task left to Postgres ([`Plan::leave_to_postgres`]).
    LeftToPostgres(ServerTask),
}

impl Context<'_> {
    /// Runs the `statements` of `plan` in one transaction and one round trip.
    ///
    /// Errors: what Postgres refused, under its SQLSTATE; `PGRST116`, `PGRST124` and `PGRST115` when the number of
    /// rows is not what it must be, in which case nothing is changed; `PGRST000` to `PGRST003`.
    pub(crate) async fn run(
        &self,
        plan: &Plan,
        statements: &Statements<'_>,
        database: &Database,
    ) -> Result<Attempt, Error> {
        // Settings that no code can read are not sent, and those that no code can set are not read.
        let is_seen = plan.sees_request() || !self.is_cache_fresh;
        let search_path = self.search_path();
        let sent = is_seen.then(|| HeaderSettings::new(self.headers));
        let batch = Batch::new(statements, is_seen, self.settings.db_pre_request.as_deref());
        let mut transaction = batch.append_to(self.with_settings(plan, &search_path, sent.as_ref()));
        if self.is_rolled_back() {
            // Deferred constraints would otherwise never be checked.
            transaction = transaction.statement("SET CONSTRAINTS ALL IMMEDIATE", Vec::new()).rollback();
        }
        if !is_seen {
            // Code that cannot set anything for the response cannot set anything for the session.
            transaction = transaction.leaves_session_unchanged();
        }
        let reply = database.run(&transaction).await;
        let reply = reply.map_err(|error| Error::from_database(error, self.identity.is_authenticated));
        if self.settings.log_query {
            log_query(&statements.main.sql, reply.as_ref().err());
        }
        match reply {
            Ok(reply) => {
                let written_to = if plan.is_read_only() { None } else { self.written_to(database).await };
                let mut attempt = self.attempt(plan, &batch.results(&reply)?, statements.main_result)?;
                if let Attempt::Done(outcome) = &mut attempt {
                    outcome.written_to = written_to;
                }
                Ok(attempt)
            }
            // Postgres has to say what is wrong with the payload, if anything is.
            Err(error) if error.is_about_values() && plan.reads_payload() => {
                Ok(Attempt::LeftToPostgres(ServerTask::ReadPayload))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the position in the write-ahead log after a write that has been committed, and notes it, where reads may
    /// go to replicas.
    async fn written_to(&self, database: &Database) -> Option<Lsn> {
        if !database.has_replicas() {
            return None;
        }
        // If the primary is gone by now, a replica replays everything that it has received before it accepts writes.
        let position = database.write_position().await.ok()?;
        self.write_positions.note(self.identity.author, position);
        Some(position)
    }

    /// Returns the outcome of the `results` of the statements of `plan`.
    fn attempt(&self, plan: &Plan, results: &Results<'_>, main_result: MainResult) -> Result<Attempt, Error> {
        if plan.body().and_then(Body::explain).is_some() {
            return Ok(Attempt::Done(Outcome::of_explanation(results)));
        }
        let mut outcome = match main_result {
            MainResult::Page => Outcome::of_page(results)?,
            MainResult::RowCount => Outcome::of_count(results),
            MainResult::PlainRows => match results.main.json() {
                Some(list) => Outcome::of_rows(list, results, plan, self.request.preferences.count),
                None if plan.is_read_only() => return Ok(Attempt::LeftToPostgres(ServerTask::WriteRows)),
                // Changes are committed by now: their plans see to it that the server can write their rows.
                None => return Err(Error::Client("the changed rows could not be written".to_owned())),
            },
        };
        if let Some(estimate) = results.estimate {
            outcome.total = self.estimated_total(outcome.total, estimate.get(0));
        }
        Ok(Attempt::Done(outcome))
    }

    /// Returns the transaction with all its settings. Those of the role come before the role: the login role may be
    /// allowed to set what the caller's may not.
    fn with_settings<'t>(
        &'t self,
        plan: &'t Plan,
        search_path: &'t str,
        sent: Option<&'t HeaderSettings>,
    ) -> Transaction<'t> {
        let request = self.request;
        let mut transaction = Transaction::anonymous().setting("search_path", search_path);
        for (name, value) in self.cache.role_settings(&self.identity.role) {
            transaction = with_setting(transaction, name, value);
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
                transaction = transaction.setting(name, value.expose());
            }
        }
        if let Some(zone) = &request.preferences.timezone {
            transaction = transaction.setting("timezone", zone.as_str());
        }
        if let Plan::Call(call) = plan {
            for (name, value) in &call.settings {
                transaction = with_setting(transaction, name, value);
            }
        }
        if !plan.is_read_only() {
            return transaction;
        }
        transaction.read_only().sees(self.write_positions.of(self.identity.author, self.headers))
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

    /// Returns the total by the planner's estimate: always, or where counting gave up at `db-max-rows`.
    fn estimated_total(&self, counted: Option<i64>, explained: Option<&[u8]>) -> Option<i64> {
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

/// Returns `transaction` with one more setting, of which one is the isolation level.
fn with_setting<'t>(transaction: Transaction<'t>, name: &'t str, value: &'t str) -> Transaction<'t> {
    match isolation(name, value) {
        Some(level) => transaction.isolation(level),
        None => transaction.setting(name, value),
    }
}

fn isolation(name: &str, value: &str) -> Option<Isolation> {
    match (name, value.to_ascii_lowercase().as_str()) {
        (ISOLATION, "serializable") => Some(Isolation::Serializable),
        (ISOLATION, "repeatable read") => Some(Isolation::RepeatableRead),
        (ISOLATION, _) => Some(Isolation::ReadCommitted),
        _ => None,
    }
}

/// Logs `sql` at the level at which the request itself is logged.
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
}
