//! Rights by the policies on `realtime.messages`: a transaction writes or reads rows, and is rolled back.
//!
//! After a restart, all clients join their private topics at once. They wait in line for a few connections, so that the
//! others and the processors are left to the row changes and to REST.

use std::time::Duration;

use fairness::FairSemaphore;
use postgres::{Database, Transaction, text};
use uuid::Uuid;

use crate::refusal::Refusal;
use crate::rights::{Right, Rights};
use crate::token::Access;

/// How long policies may take.
const TIME_LIMIT: Duration = Duration::from_secs(5);
/// Rights to read that are found out at the same time. One network gets all but one of these places.
const MAX_READING: usize = 2;
/// The maximum number of clients that wait for their rights to read, and how long each of them does. A stock client
/// gives up a join after 10 s, and tries again.
const MAX_WAITING: usize = 1 << 16;
const PLACE_LIMIT: Duration = Duration::from_secs(20);

/// Becomes the role `$1` with the claims `$2`. Only roles of clients are possible, whatever a token says: those that
/// `authenticator`, as which REST logs in, may become. The empty role is none, which is an error.
pub(crate) const BECOME: &str = "select set_config('role', coalesce((select rolname::text from pg_catalog.pg_roles \
     where rolname = $1 and pg_has_role('authenticator', oid, 'member')), ''), true), \
     set_config('request.jwt.claims', $2, true), set_config('request.jwt.claim.role', $1, true), \
     set_config('request.jwt.claim.sub', coalesce($2::jsonb ->> 'sub', ''), true)";

/// Asks the policies about private topics.
#[derive(Clone)]
pub(crate) struct Authorizer {
    database: Database,
    /// Those who may find out rights to read.
    permits: FairSemaphore,
}

impl Authorizer {
    /// Returns an authorizer. `database` must have logged in as a role that may write to `realtime.messages` whatever
    /// its policies say.
    pub(crate) fn new(database: Database) -> Self {
        Self { database, permits: FairSemaphore::new(MAX_READING, MAX_WAITING) }
    }

    /// Returns what `access` may read of private topic `name`: broadcasts, and presences if `with_presence`.
    ///
    /// Errors: the refusal of the join; [`Refusal::Unauthorized`] also where a policy fails.
    pub(crate) async fn read_rights(
        &self,
        access: &Access,
        name: &str,
        headers: &str,
        with_presence: bool,
    ) -> Result<Rights, Refusal> {
        let permit = self.permits.acquire(fairness::caller(), PLACE_LIMIT).await;
        let _permit = permit.map_err(|_| Refusal::PoolTooSmall)?;
        let rights: &[Right] =
            if with_presence { &[Right::Broadcast, Right::Presence] } else { &[Right::Broadcast] };
        let mut transaction = trial(name, headers);
        let rows: Vec<(String, Right)> =
            rights.iter().map(|right| (Uuid::new_v4().hyphenated().to_string(), *right)).collect();
        for (id, right) in &rows {
            transaction = transaction.statement(
                "insert into realtime.messages (id, topic, extension) values ($1::uuid, $2, $3)",
                vec![text(id), text(name), text(right.name())],
            );
        }
        let ids: Vec<&str> = rows.iter().map(|(id, _)| id.as_str()).collect();
        let ids = format!("{{{}}}", ids.join(","));
        let transaction =
            transaction.statement(BECOME, vec![text(access.role()), text(access.claims())]).statement(
                "select extension from realtime.messages where topic = $1 and id = any($2::uuid[])",
                vec![text(name), text(&ids)],
            );
        let reply = self.database.run(&transaction).await.map_err(|error| refusal(&error, name))?;
        let reads = |right: Right| reply.rows().iter().any(|row| row.text(0) == Some(right.name()));
        let presence = with_presence.then(|| reads(Right::Presence));
        Ok(Rights::reading(reads(Right::Broadcast), presence))
    }

    /// Reports whether `access` may write to private topic `name`.
    ///
    /// Errors: those of the database.
    pub(crate) async fn may_write(
        &self,
        access: &Access,
        name: &str,
        headers: &str,
        right: Right,
    ) -> Result<bool, postgres::Error> {
        let transaction = trial(name, headers)
            .statement(BECOME, vec![text(access.role()), text(access.claims())])
            .statement(
                "insert into realtime.messages (topic, extension) values ($1, $2)",
                vec![text(name), text(right.name())],
            );
        match self.database.run(&transaction).await {
            Ok(_) => Ok(true),
            Err(postgres::Error::Postgres(refusal)) if refusal.code == "42501" => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Returns a transaction that is rolled back at its end.
fn trial<'a>(topic: &'a str, headers: &'a str) -> Transaction<'a> {
    Transaction::anonymous()
        .setting("realtime.topic", topic)
        .setting("request.headers", headers)
        .rollback()
        .timeout(TIME_LIMIT)
}

/// Returns the refusal of a join whose rights could not be found out.
fn refusal(error: &postgres::Error, name: &str) -> Refusal {
    use postgres::Error;
    match error {
        Error::AcquireTimeout(_) => Refusal::PoolTooSmall,
        Error::Timeout(_) | Error::TooLarge(_) => Refusal::QueryCanceled,
        Error::Postgres(server) if server.code == "57014" => Refusal::QueryCanceled,
        Error::Postgres(server) if server.code == "23514" => Refusal::MissingPartition,
        Error::Postgres(server) => {
            tracing::error!(
                code = "RlsPolicyError",
                sqlstate = server.code,
                "the policies of a private channel failed: {}",
                server.message
            );
            Refusal::Unauthorized(name.to_owned())
        }
        Error::Unavailable(_)
        | Error::TooManyConnections(_)
        | Error::Configuration(_)
        | Error::Protocol(_) => Refusal::NoDatabase,
    }
}
