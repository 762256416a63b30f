//! What makes a login work again whose password somebody has changed.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::error::Error;

/// The SQLSTATE of a login with a wrong password.
const WRONG_PASSWORD: &str = "28P01";
/// How long a repair may take.
const LIMIT: Duration = Duration::from_secs(10);

/// Sets the password of a login role to the one that is used here, and reports whether it has done so.
#[derive(Clone)]
pub struct Repair(Arc<dyn Fn() -> BoxFuture<'static, bool> + Send + Sync>);

impl Repair {
    /// Returns the repair that `work` does.
    pub fn new(work: impl Fn() -> BoxFuture<'static, bool> + Send + Sync + 'static) -> Self {
        Self(Arc::new(work))
    }

    /// Reports whether the login that `error` has refused can be tried again.
    pub(crate) async fn of(repair: Option<&Self>, error: &Error) -> bool {
        let is_refused = error.server().is_some_and(|refusal| refusal.code == WRONG_PASSWORD);
        match repair.filter(|_| is_refused) {
            Some(Self(work)) => tokio::time::timeout(LIMIT, work()).await.unwrap_or(false),
            None => false,
        }
    }
}

impl fmt::Debug for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Repair")
    }
}
