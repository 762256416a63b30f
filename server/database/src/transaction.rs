//! A transaction as a value: whose it is, what is set for it, what it runs.

use std::borrow::Cow;
use std::time::Duration;

/// How many settings a transaction has room for before it has to be moved: those of a request over HTTP.
const SETTINGS: usize = 12;

/// A parameter in Postgres' text format; `None` is NULL.
pub(crate) type Parameter<'a> = Option<Cow<'a, [u8]>>;

/// A statement and its parameters.
#[derive(Debug, Clone)]
pub(crate) struct Statement<'a> {
    pub(crate) sql: Cow<'a, str>,
    pub(crate) parameters: Vec<Parameter<'a>>,
    /// Whether its rows are written as JSON.
    pub(crate) as_json: bool,
}

/// How much a transaction sees of others. Source: PostgreSQL documentation, section 13.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Each statement sees what was committed before it began.
    ReadCommitted,
    /// All statements see what was committed before the first began.
    RepeatableRead,
    /// As if transactions ran one after another; may fail with SQLSTATE 40001.
    Serializable,
}

impl Isolation {
    const fn as_sql(self) -> &'static str {
        match self {
            Self::ReadCommitted => "begin isolation level read committed",
            Self::RepeatableRead => "begin isolation level repeatable read",
            Self::Serializable => "begin isolation level serializable",
        }
    }
}

/// A transaction to be run by [`crate::Database::run`].
///
/// All that is set holds for this transaction only. When the settings fail (an unknown role, say), no statement
/// of it is run.
#[derive(Debug, Clone)]
pub struct Transaction<'a> {
    settings: Vec<(&'a str, Cow<'a, str>)>,
    isolation: Option<Isolation>,
    rollback: bool,
    on_primary: bool,
    statements: Vec<Statement<'a>>,
    timeout: Option<Duration>,
}

impl<'a> Transaction<'a> {
    /// A transaction that runs as `role`, which the login role must be a member of.
    pub fn new(role: &'a str) -> Self {
        Self::anonymous().setting("role", role)
    }

    /// A transaction that runs as the login role itself.
    pub fn anonymous() -> Self {
        Self {
            settings: Vec::with_capacity(SETTINGS),
            isolation: None,
            rollback: false,
            on_primary: false,
            statements: Vec::new(),
            timeout: None,
        }
    }

    /// Sets the configuration parameter `name` to `value` until the transaction ends, as `set_config(name, value,
    /// true)` does. Settings take effect in the order of these calls, all before the first statement.
    #[must_use]
    pub fn setting(mut self, name: &'a str, value: impl Into<Cow<'a, str>>) -> Self {
        self.settings.push((name, value.into()));
        self
    }

    /// Refuses writes with SQLSTATE 25006. Only a read-only transaction may be tried again after a broken
    /// connection, and only that may be answered by a replica.
    #[must_use]
    pub fn read_only(self) -> Self {
        self.setting("transaction_read_only", "on")
    }

    /// Keeps a read-only transaction off the replicas, so that it sees what has just been written.
    #[must_use]
    pub const fn on_primary(mut self) -> Self {
        self.on_primary = true;
        self
    }

    /// Runs at `isolation` instead of the database's default.
    #[must_use]
    pub const fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = Some(isolation);
        self
    }

    /// Rolls everything back at the end; the answer is the same as if it had been committed.
    #[must_use]
    pub const fn rollback(mut self) -> Self {
        self.rollback = true;
        self
    }

    /// Appends a statement. `parameters` are in text format; Postgres infers their types.
    #[must_use]
    pub fn statement(mut self, sql: impl Into<Cow<'a, str>>, parameters: Vec<Option<Cow<'a, [u8]>>>) -> Self {
        self.statements.push(Statement { sql: sql.into(), parameters, as_json: false });
        self
    }

    /// As [`Self::statement`], but its rows are written as the JSON array that `json_agg` of them would be; see
    /// [`crate::Rows::json`]. For long lists this is several times cheaper than having Postgres write it.
    #[must_use]
    pub fn json_statement(
        mut self,
        sql: impl Into<Cow<'a, str>>,
        parameters: Vec<Option<Cow<'a, [u8]>>>,
    ) -> Self {
        self.statements.push(Statement { sql: sql.into(), parameters, as_json: true });
        self
    }

    /// Cancels the transaction when it has taken this long.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    pub(crate) fn time_limit(&self) -> Option<Duration> {
        self.timeout
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.settings.iter().any(|(name, value)| *name == "transaction_read_only" && value == "on")
    }

    /// Whether a replica may answer.
    pub(crate) fn may_be_late(&self) -> bool {
        !self.on_primary && self.is_read_only()
    }

    pub(crate) fn role(&self) -> &str {
        self.settings.iter().rev().find(|(name, _)| *name == "role").map_or("", |(_, value)| value)
    }

    pub(crate) fn statements(&self) -> &[Statement<'a>] {
        &self.statements
    }

    /// The statement that opens an explicit transaction block, if one is needed.
    ///
    /// Without one, Postgres treats everything up to the `Sync` as one transaction, which saves two statements.
    /// An isolation level must precede every query, and a rollback needs a block to end.
    pub(crate) fn opening(&self) -> Option<&'static str> {
        match (self.isolation, self.rollback) {
            (Some(isolation), _) => Some(isolation.as_sql()),
            (None, true) => Some("begin"),
            (None, false) => None,
        }
    }

    /// The statement that ends the block opened by [`Self::opening`].
    pub(crate) fn closing(&self) -> Option<&'static str> {
        self.opening().map(|_| if self.rollback { "rollback" } else { "commit" })
    }

    pub(crate) fn settings(&self) -> &[(&'a str, Cow<'a, str>)] {
        &self.settings
    }

    /// The values of the settings, for [`settings_sql`] of their names.
    pub(crate) fn setting_values(&self) -> Vec<Parameter<'_>> {
        self.settings.iter().map(|(_, value)| Some(Cow::Borrowed(value.as_bytes()))).collect()
    }
}

/// One statement for all of `names`: five statements instead of one cost 9 µs more.
///
/// A select list would send every value back, claims and headers included, which costs 2 to 3 µs: conditions give no
/// row at all. `set_config` answers with what it was given, never null, so each is evaluated, in the order of the text.
pub(crate) fn settings_sql<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut sql = String::new();
    for (index, name) in names.enumerate() {
        sql.push_str(if index == 0 { "select where set_config(" } else { " or set_config(" });
        crate::push_literal(&mut sql, name);
        sql.push_str(&format!(", ${}, true) is null", index + 1));
    }
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_become_one_statement_in_their_order() {
        let transaction = Transaction::new("anon").setting("request.jwt.claims", "{}").read_only();
        assert_eq!(
            settings_sql(transaction.settings().iter().map(|(name, _)| *name)),
            "select where set_config('role', $1, true) is null \
             or set_config('request.jwt.claims', $2, true) is null \
             or set_config('transaction_read_only', $3, true) is null"
        );
        assert_eq!(transaction.setting_values().len(), 3);
        assert_eq!(transaction.role(), "anon");
        assert!(transaction.is_read_only());
    }

    #[test]
    fn a_block_is_opened_only_where_one_is_needed() {
        assert_eq!(Transaction::new("anon").opening(), None);
        assert_eq!(Transaction::new("anon").rollback().opening(), Some("begin"));
        assert_eq!(Transaction::new("anon").rollback().closing(), Some("rollback"));
        let serializable = Transaction::new("anon").isolation(Isolation::Serializable);
        assert_eq!(serializable.opening(), Some("begin isolation level serializable"));
        assert_eq!(serializable.closing(), Some("commit"));
    }
}
