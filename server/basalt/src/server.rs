//! What `basalt serve`, `basalt postgrest` and `basalt gotrue` share: how a server begins, listens, waits until it is
//! ready, serves, is told to stop, and drains.

mod listener;
mod signals;

use std::time::Duration;

use poem::listener::Acceptor;
use poem::{Endpoint, Request};
use tokio_util::sync::CancellationToken;

use crate::accept::{self, Limits};
use crate::error::Error;

pub(crate) use listener::{BoundEndpoint, BoundListener, listen};
pub(crate) use signals::stop_on_signals;

/// The limits of every port.
pub(crate) const LIMITS: Limits = Limits {
    // Enough for the largest head on a slow connection.
    head: Duration::from_secs(15),
    // Longer than load balancers keep connections open (60 s by default on AWS and in nginx); otherwise they would send
    // requests on closed connections.
    idle: Duration::from_secs(90),
    // Longer than the slowest response may take to begin (an edge function, 400 s on hosted Supabase).
    silence: Duration::from_secs(420),
    drain: Duration::from_secs(10),
    connections: accept::MAX_CONNECTIONS,
    // Of a project's public port alone, and if no proxy is in front.
    network_shares: false,
};

/// How long a start waits for the schema cache.
const READY_LIMIT: Duration = Duration::from_secs(5);

/// Prepares the process for a server. Returns a token that SIGINT or SIGTERM cancels. Must be called inside a Tokio
/// runtime.
pub(crate) fn begin() -> Result<CancellationToken, Error> {
    accept::raise_file_limit();
    stop_on_signals()
}

/// Waits until the schema cache is `ready`, but no longer than a start may wait. Returns whether it is.
pub(crate) async fn is_ready_in_time(ready: impl Future<Output = ()>) -> bool {
    tokio::time::timeout(READY_LIMIT, ready).await.is_ok()
}

/// Serves `routes` until `stop`, then lets the running requests end, within [`LIMITS`]. Requests for which
/// `must_finish` returns true are completed even if their client disconnects.
pub(crate) async fn serve(
    acceptor: impl Acceptor,
    routes: impl Endpoint + 'static,
    must_finish: fn(&Request) -> bool,
    stop: &CancellationToken,
) {
    accept::serve(acceptor, routes, must_finish, stop.clone(), LIMITS).await;
}
