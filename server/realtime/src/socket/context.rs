//! What sockets work with.

use std::sync::Arc;

use postgres::Database;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::authorize::Authorizer;
use crate::changes::Changes;
use crate::hub::Hub;
use crate::limits::Rates;
use crate::metrics::Metrics;
use crate::publisher::Publisher;
use crate::settings::Settings;
use crate::token::Tokens;

/// What the sockets of one service share. They keep its settings until they are closed.
pub(crate) struct SocketContext {
    pub(crate) settings: Arc<Settings>,
    pub(crate) tokens: Tokens,
    pub(crate) database: Database,
    pub(crate) authorizer: Authorizer,
    pub(crate) hub: Arc<Hub>,
    pub(crate) publisher: Publisher,
    pub(crate) changes: Arc<Changes>,
    pub(crate) rates: Arc<Rates>,
    pub(crate) metrics: Metrics,
    /// The tasks that have to end before the process does.
    pub(crate) tasks: TaskTracker,
    /// Cancelled when the process shuts down.
    pub(crate) draining: CancellationToken,
}
