//! A file to be run: its division into transactions, and how each of its statements is run.

use bytes::Bytes;
use futures_util::SinkExt as _;
use tokio_postgres::types::Type;
use tokio_postgres::{CopyInSink, GenericClient, Transaction};

use super::error::{Error, StatementError};
use super::privileged::Privileged;
use super::split::{Statement, line_at, split};
use super::{holds, kept_extension, newer_dump};

/// Extensions that hosted Supabase creates in every project, so that every schema pulled from there contains statements
/// that create them, and that stock Postgres does not have.
const HOSTED_EXTENSIONS: &[&str] = &["pg_graphql", "pg_net", "pgjwt", "pgsodium", "supabase_vault"];

/// The role to which extensions of a project belong on hosted Supabase, where supautils creates them.
const EXTENSION_OWNER: &str = "supabase_admin";

/// Returns the setting `role` of the session, if the roles that are logged in and in force and `supabase_admin` are all
/// superusers, so that a change to the latter is possible and gives no rights.
const ROLE_OF_SUPERUSER: &str = "
select pg_catalog.current_setting('role')
 where not exists (
   select from pg_catalog.unnest(array[session_user, current_user, $1::name]) as needed (name)
     left join pg_catalog.pg_roles r on r.rolname = needed.name
    where r.rolsuper is not true)";

/// The operation in errors of statements.
const RUNNING: &str = "run a migration's statement";

/// The size in bytes of the pieces in which rows of `copy … from stdin` are sent.
const COPY_CHUNK: usize = 64 * 1024;

/// A file to be run: its name for messages, its text and its statements.
pub(super) struct File<'a> {
    pub(super) name: &'a str,
    pub(super) sql: &'a str,
    pub(super) statements: Vec<Statement<'a>>,
    /// Whether this is a file of a project, whose extensions belong to [`EXTENSION_OWNER`].
    pub(super) is_project: bool,
    /// Whether this file declares what there should be: an extension that exists is as good as one that is created.
    pub(super) is_declared: bool,
}

/// Statements that are run in one transaction, or one that Postgres does not run in a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step<'f> {
    InTransaction(&'f [Statement<'f>]),
    WithoutTransaction(&'f Statement<'f>),
}

impl<'f> Step<'f> {
    pub(super) fn statements(self) -> &'f [Statement<'f>] {
        match self {
            Self::InTransaction(statements) => statements,
            Self::WithoutTransaction(statement) => std::slice::from_ref(statement),
        }
    }
}

impl<'a> File<'a> {
    /// Parses the text of a file. Errors: [`Error::Unsuitable`] with the line of what cannot be run.
    pub(super) fn parse(name: &'a str, sql: &'a str) -> Result<Self, Error> {
        let unsuitable = |offset, problem, hint: &str| Error::Unsuitable {
            file: name.to_owned(),
            line: line_at(sql, offset),
            problem,
            hint: hint.to_owned(),
        };
        let statements =
            split(sql).map_err(|refused| unsuitable(refused.offset, refused.problem, refused.hint))?;
        for statement in &statements {
            if transaction_control(statement) == TransactionControl::Forbidden {
                return Err(unsuitable(
                    statement.first_token,
                    format!(
                        "{}, which would undo or change the transaction that the statements around it are in",
                        statement.words[0]
                    ),
                    "Remove it.",
                ));
            }
        }
        Ok(Self { name, sql, statements, is_project: false, is_declared: false })
    }

    /// Returns the steps before the last, and the statements of the last, in whose transaction the file is recorded.
    ///
    /// A file is one step, unless it has a statement that cannot be run in a transaction, or commits before its end: a
    /// `commit` belongs to the step that it ends.
    pub(super) fn steps(&self) -> (Vec<Step<'_>>, &[Statement<'_>]) {
        let (mut steps, mut start) = (Vec::new(), 0);
        for (index, statement) in self.statements.iter().enumerate() {
            let is_single = refuses_transactions(statement);
            let is_border = transaction_control(statement) == TransactionControl::Commit
                && does_work(&self.statements[index..]);
            if !is_single && !is_border {
                continue;
            }
            let end = if is_border { index + 1 } else { index };
            let before = &self.statements[start..end];
            if does_work(before) {
                steps.push(Step::InTransaction(before));
            }
            if is_single {
                steps.push(Step::WithoutTransaction(statement));
            }
            start = index + 1;
        }
        (steps, &self.statements[start..])
    }

    /// Runs `statements`, which are some of this file's, in order. Extensions of the hosted platform that they create
    /// and this Postgres does not have are skipped and added to `missing_extensions`.
    pub(super) async fn run(
        &self,
        client: &impl GenericClient,
        statements: &[Statement<'_>],
        missing_extensions: &mut Vec<String>,
    ) -> Result<(), Error> {
        for statement in statements {
            if transaction_control(statement) != TransactionControl::None {
                continue;
            }
            if let Some(extension) = hosted_extension(statement)
                && !is_available(client, extension).await?
            {
                missing_extensions.push(extension.to_owned());
                continue;
            }
            if sets_transaction_timeout(statement) && !has_transaction_timeout(client).await? {
                continue;
            }
            if let Some(role) = created_role(statement)
                && has_role(client, &role).await?
            {
                tracing::warn!(
                    file = self.name,
                    role,
                    "the role exists already, since roles belong to the whole server"
                );
                continue;
            }
            if self.is_declared && is_there(client, statement).await? {
                continue;
            }
            if let Some(check) = newer_dump::check_of_empty_copy(statement) {
                self.warn_if_refused(client, statement, &check).await?;
                continue;
            }
            let privileged = if self.is_project { Privileged::recognize(statement) } else { None };
            if let Some(privileged) = &privileged
                && kept_extension::is_kept(client, privileged).await?
            {
                let result = kept_extension::run(client, privileged).await;
                result.map_err(|error| self.error(statement, RUNNING, error))?;
            } else if let Some(privileged) = &privileged
                && privileged.is_needed(client).await?
            {
                let result = privileged.run(client).await;
                result.map_err(|error| self.error(statement, RUNNING, error))?;
            } else if self.is_project && changes_extension(statement) {
                self.run_as_extension_owner(client, statement).await?;
            } else {
                self.run_one(client, statement).await?;
            }
        }
        Ok(())
    }

    /// Runs a statement about an extension as the role that owns extensions, if the database has that role and the
    /// current one is a superuser, too. Otherwise default privileges of the current role, such as `revoke execute on
    /// functions from public`, would apply to the functions of extensions.
    async fn run_as_extension_owner(
        &self,
        client: &impl GenericClient,
        statement: &Statement<'_>,
    ) -> Result<(), Error> {
        let owner = EXTENSION_OWNER;
        let former = client.query_typed_opt(ROLE_OF_SUPERUSER, &[(&owner, Type::TEXT)]).await;
        let Some(row) = former.map_err(Error::database("look for the owner of extensions"))? else {
            return self.run_one(client, statement).await;
        };
        set_local_role(client, owner).await?;
        self.run_one(client, statement).await?;
        set_local_role(client, row.get(0)).await
    }

    /// Logs that `statement`, which has no rows, is skipped, if Postgres refuses `check`.
    async fn warn_if_refused(
        &self,
        client: &impl GenericClient,
        statement: &Statement<'_>,
        check: &str,
    ) -> Result<(), Error> {
        let doing = "check a copy without rows";
        client.batch_execute("savepoint checked").await.map_err(Error::database(doing))?;
        if let Err(error) = client.batch_execute(check).await {
            let Some(refusal) = error.as_db_error() else {
                return Err(Error::Database { doing, source: error });
            };
            let line = line_at(self.sql, statement.first_token);
            tracing::warn!(file = self.name, line, "a copy without rows is skipped: {}", refusal.message());
        }
        let end = "rollback to checked; release checked";
        client.batch_execute(end).await.map_err(Error::database(doing))
    }

    async fn run_one(&self, client: &impl GenericClient, statement: &Statement<'_>) -> Result<(), Error> {
        let result = match statement.data {
            None => client.batch_execute(statement.text).await,
            Some(rows) => copy(client, statement.text, rows).await,
        };
        result.map_err(|error| self.error(statement, RUNNING, error))
    }

    /// Commits the transaction in which `statements` were run. What Postgres refuses only then, such as a row that
    /// violates a deferred constraint, is an error of the last of them: usually `commit`.
    pub(super) async fn commit(
        &self,
        transaction: Transaction<'_>,
        statements: &[Statement<'_>],
    ) -> Result<(), Error> {
        let doing = "commit a file";
        let last = statements.iter().rfind(|statement| !statement.is_comment());
        transaction.commit().await.map_err(|error| match last {
            Some(last) => self.error(last, doing, error),
            None => Error::Database { doing, source: error },
        })
    }

    fn error(&self, statement: &Statement<'_>, doing: &'static str, error: tokio_postgres::Error) -> Error {
        match error.as_db_error() {
            Some(refusal) => {
                Error::Statement(Box::new(StatementError::new(self.name, self.sql, statement, refusal)))
            }
            None => Error::Database { doing, source: error },
        }
    }
}

/// Sets the role until the end of the transaction; `none` is the one that is logged in.
async fn set_local_role(client: &impl GenericClient, role: &str) -> Result<(), Error> {
    let sql = "select pg_catalog.set_config('role', $1, true)";
    let result = client.query_typed_one(sql, &[(&role, Type::TEXT)]).await;
    result.map(drop).map_err(Error::database("change the role for an extension"))
}

/// Runs `copy … from stdin` with `rows`.
async fn copy(client: &impl GenericClient, sql: &str, rows: &str) -> Result<(), tokio_postgres::Error> {
    let sink: CopyInSink<Bytes> = client.client().copy_in(sql).await?;
    let mut sink = std::pin::pin!(sink);
    for chunk in rows.as_bytes().chunks(COPY_CHUNK) {
        sink.send(Bytes::copy_from_slice(chunk)).await?;
    }
    sink.finish().await.map(drop)
}

/// Reports whether the statement creates an extension or runs scripts of a newer version of it.
fn changes_extension(statement: &Statement<'_>) -> bool {
    matches!(words(statement).as_slice(), ["CREATE" | "ALTER", "EXTENSION", ..])
}

/// Returns the extension that `create extension if not exists …` creates, if it is one that every hosted project has.
fn hosted_extension(statement: &Statement<'_>) -> Option<&'static str> {
    let words: Vec<&str> = statement.words.iter().take(5).map(String::as_str).collect();
    if words != ["CREATE", "EXTENSION", "IF", "NOT", "EXISTS"] {
        return None;
    }
    // If the name is quoted, it is not one of the words.
    let name =
        statement.text.split_whitespace().skip_while(|word| !word.eq_ignore_ascii_case("exists")).nth(1)?;
    let name = name.trim_matches('"');
    HOSTED_EXTENSIONS.iter().copied().find(|hosted| *hosted == name)
}

async fn is_available(client: &impl GenericClient, extension: &str) -> Result<bool, Error> {
    let condition = "exists (select from pg_catalog.pg_available_extensions where name = $1)";
    holds(client, condition, &[(&extension, Type::TEXT)], "look for an extension").await
}

/// Reports whether the statement creates something that the platform has, as exports of schemas do: an extension that
/// exists, or a trigger of this server.
async fn is_there(client: &impl GenericClient, statement: &Statement<'_>) -> Result<bool, Error> {
    let Some(Privileged::CreateExtension { name, .. }) = Privileged::recognize(statement) else {
        return Ok(creates_own_trigger(statement));
    };
    let condition = "exists (select from pg_catalog.pg_extension where extname = $1::text)";
    holds(client, condition, &[(&name, Type::TEXT)], "look for an extension").await
}

/// Reports whether the statement creates a trigger with a function of schema `basalt`: one that this server has on
/// tables of the platform.
pub fn creates_own_trigger(statement: &Statement<'_>) -> bool {
    matches!(words(statement).as_slice(), ["CREATE", "TRIGGER", ..])
        && statement.text.contains("EXECUTE FUNCTION basalt.")
}

/// Returns the role that the statement creates. It may exist already: created by another database of the server, or by
/// this one before it was reset.
fn created_role(statement: &Statement<'_>) -> Option<String> {
    match words(statement).as_slice() {
        ["CREATE", "USER", "MAPPING", ..] => return None,
        ["CREATE", "ROLE" | "USER" | "GROUP", ..] => {}
        _ => return None,
    }
    let name = statement.text.get(statement.first_token - statement.offset..)?.split_whitespace().nth(2)?;
    Some(match name.strip_prefix('"') {
        Some(quoted) => quoted.strip_suffix('"')?.replace("\"\"", "\""),
        None => name.to_ascii_lowercase(),
    })
}

async fn has_role(client: &impl GenericClient, role: &str) -> Result<bool, Error> {
    let condition = "exists (select from pg_catalog.pg_roles where rolname = $1::text)";
    holds(client, condition, &[(&role, Type::TEXT)], "look for a role").await
}

/// Reports whether this is the setting that dumps of Postgres 17 begin with and that older servers do not have.
fn sets_transaction_timeout(statement: &Statement<'_>) -> bool {
    matches!(words(statement).as_slice(), ["SET", "TRANSACTION_TIMEOUT", ..])
}

async fn has_transaction_timeout(client: &impl GenericClient) -> Result<bool, Error> {
    let condition = "exists (select from pg_catalog.pg_settings where name = 'transaction_timeout')";
    holds(client, condition, &[], "look for a setting").await
}

#[derive(PartialEq, Eq)]
enum TransactionControl {
    /// An ordinary statement.
    None,
    /// A plain `begin`, which is skipped: the statements around it are in a transaction anyway.
    Begin,
    /// A plain `commit`, which ends a [`Step`] and is not run itself.
    Commit,
    /// Any statement that would undo a transaction or change its mode.
    Forbidden,
}

fn words<'s>(statement: &'s Statement<'_>) -> Vec<&'s str> {
    statement.words.iter().map(String::as_str).collect()
}

fn transaction_control(statement: &Statement<'_>) -> TransactionControl {
    use TransactionControl::{Begin, Commit, Forbidden, None};
    match words(statement).as_slice() {
        ["BEGIN"] | ["BEGIN", "WORK" | "TRANSACTION"] | ["START", "TRANSACTION"] => Begin,
        ["COMMIT" | "END"] | ["COMMIT" | "END", "WORK" | "TRANSACTION"] => Commit,
        ["ROLLBACK", "TO", ..] | ["ROLLBACK", "WORK" | "TRANSACTION", "TO", ..] => None,
        ["BEGIN" | "COMMIT" | "END" | "ROLLBACK" | "ABORT", ..] => Forbidden,
        ["START" | "PREPARE", "TRANSACTION", ..] => Forbidden,
        _ => None,
    }
}

/// Reports whether `statements` has more than `begin`, `commit` and comments.
fn does_work(statements: &[Statement<'_>]) -> bool {
    let works = |statement| transaction_control(statement) == TransactionControl::None;
    statements.iter().any(|statement| works(statement) && !statement.is_comment())
}

/// Reports whether Postgres runs the statement only outside of transactions.
fn refuses_transactions(statement: &Statement<'_>) -> bool {
    let words = words(statement);
    let is_concurrent = words.contains(&"CONCURRENTLY");
    match words.as_slice() {
        ["CREATE", "INDEX", ..] | ["CREATE", "UNIQUE", "INDEX", ..] | ["DROP", "INDEX", ..] => is_concurrent,
        ["REINDEX", "SCHEMA" | "DATABASE" | "SYSTEM", ..] => true,
        ["REINDEX", ..] => is_concurrent || statement.text.to_ascii_uppercase().contains("CONCURRENTLY"),
        ["ALTER", "TABLE", ..] => is_concurrent && words.contains(&"DETACH"),
        ["VACUUM", ..] | ["ALTER", "SYSTEM", ..] => true,
        ["CREATE" | "DROP", "DATABASE" | "TABLESPACE", ..] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_begin_and_commit_but_not_end_its_transaction_otherwise() {
        for fine in
            ["begin; select 1; commit;", "START TRANSACTION; END", "savepoint a; rollback to a; release a"]
        {
            assert!(File::parse("x.sql", fine).is_ok(), "{fine}");
        }
        for (forbidden, line) in [
            ("select 1;\nrollback;", 2),
            ("begin isolation level serializable", 1),
            ("\n\nprepare transaction 'x'", 3),
        ] {
            let error = File::parse("x.sql", forbidden).err().unwrap().to_string();
            assert!(error.starts_with(&format!("x.sql, line {line}: found ")), "{error}");
        }
    }

    #[test]
    fn the_created_role_is_recognized() {
        for (sql, role) in [
            ("-- who\ncreate role \"Report\"\"er\" nologin", Some("Report\"er")),
            ("CREATE USER Someone\nWITH password 'x'", Some("someone")),
            ("alter role a login", None),
            ("create user mapping for a server b", None),
        ] {
            let file = File::parse("x.sql", sql).unwrap();
            assert_eq!(created_role(&file.statements[0]).as_deref(), role, "{sql}");
        }
    }

    /// Returns the number of statements of each step, the last step included; 0 for one without a transaction.
    fn steps(sql: &str) -> Vec<usize> {
        let file = File::parse("x.sql", sql).unwrap();
        let (earlier, last) = file.steps();
        let counts = earlier.iter().map(|step| match step {
            Step::InTransaction(statements) => statements.len(),
            Step::WithoutTransaction(_) => 0,
        });
        counts.chain([last.len()]).collect()
    }

    #[test]
    fn a_file_is_one_step_unless_it_commits_or_postgres_forbids_it() {
        for one in [
            "",
            "create table a (b int); create index on a (b); vacuum_log()",
            "begin; select 1; commit; -- done",
            "begin; select 1; commit; /* all of it */;\n-- really",
            "select 1; begin transaction; select 2; end work; begin; commit;",
            "begin; commit; select 1",
            "create function f() returns int begin atomic select 1; end; select 2",
            "refresh materialized view concurrently m",
        ] {
            assert_eq!(steps(one).len(), 1, "{one}");
        }
        assert_eq!(steps("create unique index concurrently if not exists i on t (a)"), [0, 0]);
        assert_eq!(steps("select 1; drop index concurrently i; vacuum analyze t; select 2"), [1, 0, 0, 1]);
        assert_eq!(steps("begin; select 1; commit; begin; select 2; commit; commit; (select 3)"), [3, 3, 1]);
        assert_eq!(steps("select 1; commit; -- the rest\nselect 2"), [2, 1]);
        assert_eq!(steps("select 1; commit; create index concurrently i on t (a); end; select 2"), [2, 0, 1]);
        assert_eq!(steps("reindex (verbose, concurrently) index i; reindex table t"), [0, 1]);
        assert_eq!(steps("alter table p detach partition q concurrently"), [0, 0]);
    }
}
