//! What is tried when a transaction fails for a reason that is not its own. There are three rungs, each inside the
//! next:
//!
//! 1. *Prepare again*: the connection has kept something that is outdated. It is changed, and the transaction runs on
//!    it once more (`batch::Connection::prepares_retry`, called by `pool::Pool::run`).
//! 2. *New connection*: the connection is dead or not what it seemed, so it is closed, and the transaction runs on
//!    another one (`pool::Pool::run`).
//! 3. *Other server*: a replica that cannot respond leaves a read to the primary, and the primary to a replica
//!    (`Database::run`).
//!
//! Nothing runs twice that may have changed something: on the first two rungs Postgres has refused the transaction
//! before it ran, or it is read-only; the third has reads only. Opening a connection is no rung: it takes the first
//! server of the connection string that may be used, as libpq does (`connect::Target::open`).

use crate::error::Error;

/// Where a transaction that has failed in a pool is run again: the first two rungs.
pub(crate) enum Rung {
    /// On the same connection, whose state has been changed for it.
    PrepareAgain,
    /// On another connection, since this one is not to be used any more.
    NewConnection,
}

/// Reports whether a changed catalog may be the reason why a statement that was prepared earlier fails with `code`:
/// unsupported features (a result of another type), values read by an earlier definition of a type, names and types,
/// and types that no longer exist. Missing privileges (42501) are not among them, since Postgres checks them at each
/// execution.
pub(crate) fn may_be_outdated(code: &str) -> bool {
    code != "42501" && ["0A", "22", "42", "XX"].iter().any(|class| code.starts_with(class))
}

/// Reports whether one of our prepared statements is missing (26000) or exists already (42P05). Nothing has been run
/// then. The cause is a connection pooler that shares one server connection among clients, or code of the database's
/// users that has run on the same connection. The same codes raised by a function have a context.
pub(crate) fn is_statement_mismatch(error: &Error) -> bool {
    error.server().is_some_and(|error| matches!(&*error.code, "26000" | "42P05") && error.context.is_none())
}

/// Reports whether a prepared statement is missing.
pub(crate) fn is_statement_missing(error: &Error) -> bool {
    error.server().is_some_and(|error| error.code == "26000")
}

/// Reports whether a replica failed for a reason that the primary does not have.
pub(crate) fn is_of_replica(error: &Error) -> bool {
    is_recovery_conflict(error) || may_be_unreplayed(error)
}

/// Reports whether a standby cancelled the read because it blocked replay. The primary has no such conflicts.
/// Source: PostgreSQL documentation, section 27.4.2.
fn is_recovery_conflict(error: &Error) -> bool {
    error.server().is_some_and(|error| {
        matches!(&*error.code, "40001" | "40P01") && error.message.contains("conflict with recovery")
    })
}

/// Reports whether names or types are unknown, which the primary may have and the replica may not have replayed yet.
fn may_be_unreplayed(error: &Error) -> bool {
    error
        .server()
        .is_some_and(|error| error.code.starts_with("42") && error.code != "42501" && error.context.is_none())
}
