//! A database that does not respond.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use postgres::Database;

use crate::check::Check;
use crate::problem::Finding;

/// The name of the problem.
pub const UNREACHABLE: &str = "database_unreachable";

/// Asks the database for a sign of life.
pub struct Ping(Database);

impl Ping {
    /// Asks the primary of `database`, which has no replicas. Pings wait behind no other work.
    pub const fn new(database: Database) -> Self {
        Self(database)
    }
}

impl Check for Ping {
    fn name(&self) -> &'static str {
        "the connection to the database"
    }

    fn look(&mut self) -> BoxFuture<'_, Result<Vec<Finding>, String>> {
        async {
            Ok(match self.0.ping().await {
                Ok(()) => Vec::new(),
                Err(error) => {
                    let what = format!("The database does not respond: {error}");
                    let remedy =
                        "See the log of Postgres, and whether its machine or its process runs".to_owned();
                    vec![Finding::critical(UNREACHABLE, "database", [what, remedy])]
                }
            })
        }
        .boxed()
    }
}
