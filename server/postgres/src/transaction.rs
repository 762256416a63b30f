//! A transaction as a value: its role, settings and statements.

use std::borrow::Cow;
use std::time::Duration;

use crate::lsn::Lsn;

/// The initial capacity for settings, enough for those of an HTTP request.
const SETTINGS_CAPACITY: usize = 12;

/// The setting that makes a transaction refuse writes.
const READ_ONLY: &str = "transaction_read_only";

/// A parameter in Postgres' text format; `None` is NULL.
pub type Parameter<'a> = Option<Cow<'a, [u8]>>;

/// Returns `value` as a parameter.
pub fn text(value: &str) -> Parameter<'_> {
    Some(Cow::Borrowed(value.as_bytes()))
}

/// A statement and its parameters.
#[derive(Debug, Clone)]
pub(crate) struct Statement<'a> {
    pub(crate) sql: Cow<'a, str>,
    pub(crate) parameters: Vec<Parameter<'a>>,
    /// Whether its rows are written as JSON.
    pub(crate) as_json: bool,
}

/// An isolation level. Source: PostgreSQL documentation, section 13.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Each statement sees what was committed before the statement began.
    ReadCommitted,
    /// All statements see what was committed before the first of them began.
    RepeatableRead,
    /// The result is as if transactions ran one after another; may fail with SQLSTATE 40001.
    Serializable,
}

impl Isolation {
    /// Returns the statement that opens a transaction block.
    pub(crate) const fn opening(self, is_read_only: bool) -> &'static str {
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

/// A transaction to be run by [`crate::database::Database::run`].
///
/// All settings apply to this transaction only. If a setting fails (because of an unknown role, for example), none of
/// the statements is run.
#[derive(Debug, Clone)]
pub struct Transaction<'a> {
    settings: Vec<(&'a str, Cow<'a, str>)>,
    isolation: Option<Isolation>,
    rollback: bool,
    on_primary: bool,
    must_see: Lsn,
    statements: Vec<Statement<'a>>,
    timeout: Option<Duration>,
    leaves_session_unchanged: bool,
}

impl<'a> Transaction<'a> {
    /// Returns a transaction that runs as `role`, which the login role must be a member of.
    pub fn new(role: &'a str) -> Self {
        Self::anonymous().setting("role", role)
    }

    /// Returns a transaction that runs as the login role itself.
    pub fn anonymous() -> Self {
        Self {
            settings: Vec::with_capacity(SETTINGS_CAPACITY),
            isolation: None,
            rollback: false,
            on_primary: false,
            must_see: Lsn::default(),
            statements: Vec::new(),
            timeout: None,
            leaves_session_unchanged: false,
        }
    }

    /// Sets the configuration parameter `name` to `value` until the transaction ends, as `set_config(name, value,
    /// true)` does. Settings take effect in the order of these calls, all before the first statement.
    #[must_use]
    pub fn setting(mut self, name: &'a str, value: impl Into<Cow<'a, str>>) -> Self {
        self.settings.push((name, value.into()));
        self
    }

    /// Makes Postgres refuse writes with SQLSTATE 25006. Only a read-only transaction may be repeated after its
    /// connection broke, and only such a transaction may run on a replica.
    #[must_use]
    pub fn read_only(self) -> Self {
        self.setting(READ_ONLY, "on")
    }

    /// Runs a read-only transaction on the primary, as long as there is one, so that it sees what has just been
    /// written.
    #[must_use]
    pub const fn on_primary(mut self) -> Self {
        self.on_primary = true;
        self
    }

    /// Runs a read-only transaction where everything up to `position` of the write-ahead log is seen: on a replica that
    /// has replayed it, else on the primary, as long as there is one.
    #[must_use]
    pub const fn sees(mut self, position: Lsn) -> Self {
        self.must_see = position;
        self
    }

    /// Sets the isolation level. Without this call it is [`Isolation::ReadCommitted`], even if the session's default
    /// differs.
    #[must_use]
    pub const fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = Some(isolation);
        self
    }

    /// Rolls everything back at the end; the reply is the same as if it had been committed.
    #[must_use]
    pub const fn rollback(mut self) -> Self {
        self.rollback = true;
        self
    }

    /// Appends a statement. `parameters` are in text format; Postgres infers their types.
    #[must_use]
    pub fn statement(mut self, sql: impl Into<Cow<'a, str>>, parameters: Vec<Parameter<'a>>) -> Self {
        self.statements.push(Statement { sql: sql.into(), parameters, as_json: false });
        self
    }

    /// Appends a statement whose rows are returned as the JSON array that `json_agg` would make of them; see
    /// [`crate::reply::Rows::json`]. For long lists this costs several times less than letting Postgres write the JSON.
    #[must_use]
    pub fn json_statement(mut self, sql: impl Into<Cow<'a, str>>, parameters: Vec<Parameter<'a>>) -> Self {
        self.statements.push(Statement { sql: sql.into(), parameters, as_json: true });
        self
    }

    /// Declares that the transaction changes nothing in the session that remains after it, so that the session is not
    /// reset afterwards. The caller guarantees that it runs no code of the database's users (triggers, policies,
    /// functions) that could do so.
    #[must_use]
    pub const fn leaves_session_unchanged(mut self) -> Self {
        self.leaves_session_unchanged = true;
        self
    }

    /// Cancels the transaction when it has taken this long.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Returns the SQL of all statements.
    pub(crate) fn sql(&self) -> Cow<'_, str> {
        match &*self.statements {
            [only] => Cow::Borrowed(&only.sql),
            all => all.iter().map(|statement| &*statement.sql).collect::<Vec<_>>().join("; ").into(),
        }
    }

    pub(crate) fn time_limit(&self) -> Option<Duration> {
        self.timeout
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.settings.iter().any(|(name, value)| *name == READ_ONLY && value == "on")
    }

    /// Reports whether a replica may run it.
    pub(crate) fn may_run_on_replica(&self) -> bool {
        !self.on_primary && self.is_read_only()
    }

    pub(crate) const fn must_see(&self) -> Lsn {
        self.must_see
    }

    pub(crate) fn role(&self) -> &str {
        self.settings.iter().rev().find(|(name, _)| *name == "role").map_or("", |(_, value)| value)
    }

    pub(crate) fn statements(&self) -> &[Statement<'a>] {
        &self.statements
    }

    /// Reports whether the session has to be reset afterwards.
    pub(crate) fn may_change_session(&self) -> bool {
        !self.leaves_session_unchanged
    }

    /// Reports whether it needs an explicit transaction block.
    ///
    /// Without one, Postgres treats everything up to the `Sync` as one transaction, which saves two statements. A block
    /// is needed to set an isolation level before the first query, and for a rollback to end.
    pub(crate) const fn needs_block(&self) -> bool {
        self.isolation.is_some() || self.rollback
    }

    /// Returns the statement that opens an explicit transaction block.
    pub(crate) fn opening(&self) -> &'static str {
        self.isolation.unwrap_or(Isolation::ReadCommitted).opening(self.is_read_only())
    }

    /// Returns the statement that ends an explicit transaction block.
    pub(crate) const fn closing(&self) -> &'static str {
        if self.rollback { "rollback" } else { "commit" }
    }

    pub(crate) fn settings(&self) -> &[(&'a str, Cow<'a, str>)] {
        &self.settings
    }

    /// Returns the values of the settings: the parameters of [`settings_sql`] of their names.
    pub(crate) fn setting_values(&self) -> Vec<Parameter<'_>> {
        self.settings.iter().map(|(_, value)| Some(Cow::Borrowed(value.as_bytes()))).collect()
    }
}

/// Isolation level and access mode of a transaction without an explicit block, as conditions of [`settings_sql`]. At
/// that point they cannot be changed, only confirmed: if the session has other defaults, they fail with SQLSTATE 25001
/// before anything is run.
const READ_COMMITTED: &str = " or set_config('transaction_isolation', 'read committed', true) is null";
const READ_WRITE: &str = " or set_config('transaction_read_only', 'off', true) is null";

/// Returns one statement that sets all of `names`: five statements cost 9 µs more than one.
///
/// A select list would send every value back, claims and headers included, which costs 2 to 3 µs; conditions send no
/// row. `set_config` returns the value it was given, never null, so all of them are evaluated, in the order of the
/// text.
///
/// The statement also sets isolation level and access mode, unless the opening of an explicit block has
/// (`is_in_block`).
pub(crate) fn settings_sql<'n>(names: impl Iterator<Item = &'n str>, is_in_block: bool) -> String {
    let mut sql = String::new();
    let mut is_read_only = false;
    for (index, name) in names.enumerate() {
        is_read_only |= name == READ_ONLY;
        sql.push_str(if index == 0 { "select where set_config(" } else { " or set_config(" });
        crate::identifier::push_literal(&mut sql, name);
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
    fn isolation_level_and_access_mode_are_set() {
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
