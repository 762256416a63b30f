//! A transaction as a value: whose it is, what is set for it, what it runs.

use std::borrow::Cow;
use std::time::Duration;

/// How many settings a transaction has room for before it has to be moved: those of a request over HTTP.
const SETTINGS: usize = 12;

/// The setting that makes a transaction refuse writes.
const READ_ONLY: &str = "transaction_read_only";

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
    const fn opening(self, is_read_only: bool) -> &'static str {
        match (self, is_read_only) {
            (Self::ReadCommitted, false) => "begin isolation level read committed read write",
            (Self::ReadCommitted, true) => "begin isolation level read committed read only",
            (Self::RepeatableRead, false) => "begin isolation level repeatable read read write",
            (Self::RepeatableRead, true) => "begin isolation level repeatable read read only",
            (Self::Serializable, false) => "begin isolation level serializable read write",
            (Self::Serializable, true) => "begin isolation level serializable read only",
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
    leaves_nothing: bool,
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
            leaves_nothing: false,
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
        self.setting(READ_ONLY, "on")
    }

    /// Keeps a read-only transaction off the replicas, so that it sees what has just been written.
    #[must_use]
    pub const fn on_primary(mut self) -> Self {
        self.on_primary = true;
        self
    }

    /// Runs at `isolation` instead of [`Isolation::ReadCommitted`], whatever the session's default is.
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

    /// Promises that it changes nothing of the session that would outlive it, so that nothing has to be set right
    /// afterwards: it runs no code of the database's users (triggers, policies, functions) that could.
    #[must_use]
    pub const fn leaves_nothing(mut self) -> Self {
        self.leaves_nothing = true;
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
        self.settings.iter().any(|(name, value)| *name == READ_ONLY && value == "on")
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

    /// Whether the session has to be set right afterwards.
    pub(crate) fn may_leave_something(&self) -> bool {
        !self.leaves_nothing
    }

    /// Whether it runs in an explicit transaction block.
    ///
    /// Without one, Postgres treats everything up to the `Sync` as one transaction, which saves two statements.
    /// An isolation level must precede every query, and a rollback needs a block to end.
    pub(crate) const fn needs_block(&self) -> bool {
        self.isolation.is_some() || self.rollback
    }

    /// The statement that opens an explicit transaction block.
    pub(crate) fn opening(&self) -> &'static str {
        self.isolation.unwrap_or(Isolation::ReadCommitted).opening(self.is_read_only())
    }

    /// The statement that ends an explicit transaction block.
    pub(crate) const fn closing(&self) -> &'static str {
        if self.rollback { "rollback" } else { "commit" }
    }

    pub(crate) fn settings(&self) -> &[(&'a str, Cow<'a, str>)] {
        &self.settings
    }

    /// The values of the settings, for [`settings_sql`] of their names.
    pub(crate) fn setting_values(&self) -> Vec<Parameter<'_>> {
        self.settings.iter().map(|(_, value)| Some(Cow::Borrowed(value.as_bytes()))).collect()
    }
}

/// What a transaction without an explicit block is run as, in the form of the conditions of [`settings_sql`]. Both
/// take effect only if they are so already: where the session has other defaults, they fail with SQLSTATE 25001
/// before anything was done.
const READ_COMMITTED: &str = " or set_config('transaction_isolation', 'read committed', true) is null";
const READ_WRITE: &str = " or set_config('transaction_read_only', 'off', true) is null";

/// One statement for all of `names`: five statements instead of one cost 9 µs more.
///
/// A select list would send every value back, claims and headers included, which costs 2 to 3 µs: conditions give no
/// row at all. `set_config` answers with what it was given, never null, so each is evaluated, in the order of the text.
///
/// Unless a block has been opened with them (`is_in_block`), it also names the isolation level and the access mode.
pub(crate) fn settings_sql<'n>(names: impl Iterator<Item = &'n str>, is_in_block: bool) -> String {
    let mut sql = String::new();
    let mut is_read_only = false;
    for (index, name) in names.enumerate() {
        is_read_only |= name == READ_ONLY;
        sql.push_str(if index == 0 { "select where set_config(" } else { " or set_config(" });
        crate::push_literal(&mut sql, name);
        sql.push_str(&format!(", ${}, true) is null", index + 1));
    }
    if !is_in_block {
        sql.push_str(READ_COMMITTED);
        sql.push_str(if is_read_only { "" } else { READ_WRITE });
    }
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names<'t>(transaction: &'t Transaction<'_>) -> impl Iterator<Item = &'t str> {
        transaction.settings().iter().map(|(name, _)| *name)
    }

    #[test]
    fn settings_become_one_statement_in_their_order() {
        let transaction = Transaction::new("anon").setting("request.jwt.claims", "{}").read_only();
        let settings = "select where set_config('role', $1, true) is null \
                        or set_config('request.jwt.claims', $2, true) is null \
                        or set_config('transaction_read_only', $3, true) is null";
        assert_eq!(settings_sql(names(&transaction), true), settings);
        assert_eq!(settings_sql(names(&transaction), false), format!("{settings}{READ_COMMITTED}"));
        assert_eq!(transaction.setting_values().len(), 3);
        assert_eq!(transaction.role(), "anon");
        assert!(transaction.is_read_only());
    }

    #[test]
    fn isolation_level_and_access_mode_are_named() {
        assert_eq!(
            settings_sql(names(&Transaction::new("anon")), false),
            format!("select where set_config('role', $1, true) is null{READ_COMMITTED}{READ_WRITE}")
        );
        assert!(!Transaction::new("anon").needs_block());
        let rolled_back = Transaction::new("anon").rollback();
        assert!(rolled_back.needs_block());
        assert_eq!(rolled_back.opening(), "begin isolation level read committed read write");
        assert_eq!(rolled_back.closing(), "rollback");
        let serializable = Transaction::new("anon").isolation(Isolation::Serializable).read_only();
        assert!(serializable.needs_block());
        assert_eq!(serializable.opening(), "begin isolation level serializable read only");
        assert_eq!(serializable.closing(), "commit");
    }
}
