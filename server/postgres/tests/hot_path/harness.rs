//! Helpers of the hot path's tests.

use std::borrow::Cow;

use postgres::{Database, Settings, Transaction};

/// A test database and a [`Database`] that uses it as superuser.
pub(crate) struct Harness {
    /// A plain client of the superuser, to check the effects.
    pub(crate) admin: tokio_postgres::Client,
    /// The value under test.
    pub(crate) database: Database,
    /// The superuser's URI.
    pub(crate) uri: String,
    _test_database: testkit::Database,
}

impl Harness {
    /// Returns a harness with `change` applied to the default settings.
    pub(crate) async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let test_database = testkit::Database::create().await;
        let uri = test_database.uri();
        let mut settings = Settings::new(uri.parse().unwrap());
        change(&mut settings);
        Self {
            admin: test_database.client().await,
            database: Database::connect(settings).await.unwrap(),
            uri,
            _test_database: test_database,
        }
    }

    /// Returns a harness with the default settings.
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// Runs a statement on a connection of the pool.
    pub(crate) async fn use_pool(&self) {
        let select = Transaction::anonymous().read_only().statement("select 1", Vec::new());
        self.database.run(&select.leaves_session_unchanged()).await.unwrap();
    }

    /// Runs `sql` as superuser.
    pub(crate) async fn admin(&self, sql: &str) {
        self.admin.batch_execute(sql).await.unwrap();
    }

    /// Returns the first column of the first row of `sql`, as text.
    pub(crate) async fn query(&self, sql: &str) -> Option<String> {
        for message in self.admin.simple_query(sql).await.unwrap() {
            if let tokio_postgres::SimpleQueryMessage::Row(row) = message {
                return row.get(0).map(str::to_owned);
            }
        }
        None
    }
}

/// Returns `value` as a parameter of a statement.
pub(crate) fn text(value: &str) -> Option<Cow<'_, [u8]>> {
    Some(Cow::Borrowed(value.as_bytes()))
}
