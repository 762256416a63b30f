//! The check whether Postgres responds, which decides whether the process is ready.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use parking_lot::Mutex;

use crate::error::Error;
use crate::pool::Pool;
use crate::transaction::Transaction;

/// How long Postgres may take to respond.
const TIMEOUT: Duration = Duration::from_secs(2);

type Outcome = BoxFuture<'static, Result<(), Error>>;

/// The check. Anybody may ask for it at any rate, so those who ask at the same time share one statement.
pub(crate) struct Ping {
    reserved: Arc<Pool>,
    batches: Arc<Pool>,
    running: Mutex<Option<WeakShared<Outcome>>>,
}

impl Ping {
    /// Returns the check, which uses the `reserved` connections. `batches` are those of callers.
    pub(crate) fn new(reserved: &Arc<Pool>, batches: &Arc<Pool>) -> Self {
        Self { reserved: Arc::clone(reserved), batches: Arc::clone(batches), running: Mutex::new(None) }
    }

    /// Checks that Postgres responds to a statement.
    pub(crate) async fn ping(&self) -> Result<(), Error> {
        let shared = {
            let mut running = self.running.lock();
            let joined = running.as_ref().and_then(WeakShared::upgrade).filter(|one| one.peek().is_none());
            joined.unwrap_or_else(|| {
                let new = self.start();
                *running = new.downgrade();
                new
            })
        };
        shared.await
    }

    fn start(&self) -> Shared<Outcome> {
        let (reserved, batches) = (Arc::clone(&self.reserved), Arc::clone(&self.batches));
        let ping = async move {
            let transaction = Transaction::anonymous().read_only().statement("select 1", Vec::new());
            match reserved.run(&transaction.leaves_session_unchanged().timeout(TIMEOUT)).await {
                // Postgres runs, and transactions get a reply on the connections that are open.
                Err(Error::TooManyConnections(_)) if batches.has_connections() => Ok(()),
                reply => reply.map(drop),
            }
        };
        ping.boxed().shared()
    }
}
