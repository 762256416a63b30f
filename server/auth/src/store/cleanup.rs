//! Deletion of expired rows.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use postgres::Database;
use tokio::sync::Mutex;

use super::{Parameter, interval, transaction};
use crate::Settings;

/// Longest time that a request may spend on it.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Deletes what has expired, a little with each request that changes something. Rows that others hold are passed over.
pub(crate) struct Cleanup {
    statements: Vec<Statement>,
    next: AtomicUsize,
    /// Held by the request that cleans up; others do not wait for it.
    running: Mutex<()>,
}

struct Statement {
    sql: String,
    /// The age that its setting allows, if it has one.
    period: Option<Duration>,
}

impl Cleanup {
    /// Prepares the statements; none unless the settings ask for them.
    pub(crate) fn new(settings: &Settings) -> Self {
        let statements = if settings.cleanup_enabled { statements(settings) } else { Vec::new() };
        Self { statements, next: AtomicUsize::new(0), running: Mutex::new(()) }
    }

    /// Runs the next of the statements, unless another request is running one. A failure is logged and does not fail
    /// the request.
    pub(crate) async fn run(&self, database: &Database) {
        let Ok(_running) = self.running.try_lock() else { return };
        let turn = self.next.fetch_add(1, Ordering::Relaxed).checked_rem(self.statements.len());
        let Some(statement) = turn.and_then(|turn| self.statements.get(turn)) else { return };
        let parameters: Vec<Parameter<'_>> =
            statement.period.map(|period| interval(Some(period))).into_iter().collect();
        let transaction = transaction().timeout(TIMEOUT).statement(statement.sql.as_str(), parameters);
        if let Err(error) = database.run(&transaction).await {
            tracing::warn!(%error, "expired rows were not deleted; the next requests will try again");
        }
    }
}

/// Returns what is deleted when, and how much at once: upstream's rules, except the last of the plain ones.
fn statements(settings: &Settings) -> Vec<Statement> {
    let day_old = |table| stale(table, "created_at < now() - interval '24 hours'", 100);
    let mut plain = vec![
        stale("refresh_tokens", "revoked and updated_at < now() - interval '24 hours'", 100),
        "update auth.refresh_tokens set revoked = true, updated_at = now() where id in (
           select r.id from auth.refresh_tokens r join auth.sessions s on s.id = r.session_id
           where s.not_after < now() - interval '24 hours' and not r.revoked limit 100 for update of r skip locked
         )"
        .to_owned(),
        // Few at once: their tokens go with them.
        stale("sessions", "not_after < now() - interval '72 hours'", 10),
        day_old("saml_relay_states"),
        day_old("flow_state"),
        day_old("oauth_client_states"),
        day_old("mfa_challenges"),
        stale("mfa_factors", "status = 'unverified' and created_at < now() - interval '24 hours'", 100),
        stale("webauthn_challenges", "expires_at < now()", 100),
        // Upstream keeps these for ever, although any client can create them.
        stale("oauth_authorizations", "expires_at < now() - interval '24 hours'", 100),
    ];
    if settings.providers.anonymous_users {
        plain.push(stale("users", "is_anonymous and created_at < now() - interval '30 days'", 100));
    }
    let mut statements: Vec<_> = plain.into_iter().map(|sql| Statement { sql, period: None }).collect();
    let sessions = &settings.sessions;
    let mut ended = |period: Option<Duration>, condition: &str| {
        let condition = format!("{condition} + $1::interval < now() - interval '24 hours'");
        if period.is_some_and(|period| !period.is_zero()) {
            statements.push(Statement { sql: stale("sessions", &condition, 100), period });
        }
    };
    ended(sessions.timebox, "created_at");
    ended(sessions.inactivity_timeout, "refreshed_at at time zone 'utc'");
    ended(
        sessions.inactivity_timeout,
        "refreshed_at is null and coalesce((
           select max(r.updated_at) from auth.refresh_tokens r where r.session_id = sessions.id and not r.revoked
         ), created_at)",
    );
    statements
}

fn stale(table: &str, condition: &str, limit: u32) -> String {
    format!(
        "delete from auth.{table} where id in (
           select id from auth.{table} where {condition} limit {limit} for update skip locked
         )"
    )
}
