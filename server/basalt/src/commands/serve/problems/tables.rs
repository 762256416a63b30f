//! Tables that strangers can read, by the lints of the advisors.

use std::sync::Arc;
use std::time::Duration;

use ::health::{Check, Finding, Scope};
use ::platform::{ServiceConfig, open_to_strangers};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::RwLock;
use postgres::Database;
use serde_json::Value;

/// How often is looked: the lints read the catalog, and tables are rarely made.
const PERIOD: Duration = Duration::from_secs(300);
/// The most tables that are listed.
const MOST: usize = 100;

/// Looks at the tables that the API serves.
pub(super) struct OpenTables {
    database: Database,
    /// Has the schemas that the API serves.
    config: Arc<RwLock<ServiceConfig>>,
}

impl OpenTables {
    /// Looks at the tables of `database`, whose login can read everything.
    pub(super) const fn new(database: Database, config: Arc<RwLock<ServiceConfig>>) -> Self {
        Self { database, config }
    }
}

impl Check for OpenTables {
    fn name(&self) -> &'static str {
        "the tables of the API"
    }

    fn scope(&self) -> Scope {
        Scope::Database
    }

    fn period(&self) -> Duration {
        PERIOD
    }

    fn look(&mut self) -> BoxFuture<'_, Result<Vec<Finding>, String>> {
        async {
            let config = self.config.read().clone();
            let lints =
                open_to_strangers(&self.database, &config).await.map_err(|error| error.to_string())?;
            Ok(lints.iter().take(MOST).filter_map(finding).collect())
        }
        .boxed()
    }
}

/// Returns the finding that `lint` reports.
fn finding(lint: &Value) -> Option<Finding> {
    let of = |name: &str| lint["metadata"][name].as_str().unwrap_or_default();
    let subject = format!("{}.{}", of("schema"), of("name"));
    let (name, what, remedy) = match lint["name"].as_str()? {
        "rls_disabled_in_public" => (
            "rls_disabled_in_public",
            "Whoever has the publishable key, which is public, can read this table: it has no row-level security",
            format!(
                "alter table {subject} enable row level security, and create policies for what may be read"
            ),
        ),
        "auth_users_exposed" => (
            "auth_users_exposed",
            "Whoever has the publishable key, which is public, can read users of auth through this view",
            format!("revoke select on {subject} from anon, authenticated, or leave the users out of it"),
        ),
        _ => return None,
    };
    Some(Finding::critical(name, subject, [what.to_owned(), remedy]).of_public())
}
