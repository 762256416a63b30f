//! Statements of a project that hosted Supabase carries out for `postgres`, which may not run them itself: those about
//! extensions, event triggers, publications of all tables and libraries that a role preloads.
//!
//! On hosted Supabase the module supautils does this. Here, functions of schema `basalt` do it, which belong to the
//! superuser and check what they are asked for (`schema/platform/0027_project_administrator.sql`). Where the session
//! has a superuser's rights, or the database does not have these functions, the statement is run as it is.

mod replaced;
mod tokens;

use postgres::quote_literal;
use tokio_postgres::GenericClient;

use super::error::Error;
use super::holds;
use super::split::Statement;
use tokens::{Tokens, tokenize};

pub use replaced::{with_privileges, with_privileges_or_as_it_is};

/// A statement that needs more rights than `postgres` has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Privileged {
    CreateExtension {
        name: String,
        schema: Option<String>,
        version: Option<String>,
        cascade: bool,
        /// Whether it is no error if there is one already.
        if_not_exists: bool,
    },
    ChangeExtension {
        names: Vec<String>,
        change: &'static str,
        value: Option<String>,
    },
    CreateEventTrigger {
        name: String,
        event: String,
        tags: Option<Vec<String>>,
        /// The function's name, quoted where it has to be.
        function: String,
    },
    ChangeEventTrigger {
        name: String,
        change: &'static str,
        /// Whether it is no error if there is none of that name.
        if_exists: bool,
    },
    /// `alter event trigger … owner to …`, as in dumps. Only superusers can own event triggers.
    OwnEventTrigger,
    PublishAllTables {
        name: String,
        parameters: Vec<String>,
    },
    PreloadLibraries {
        role: String,
        libraries: Vec<String>,
    },
}

impl Privileged {
    /// Returns what `statement` is; `None` for any other statement, and for a form that is not known here.
    pub(super) fn recognize(statement: &Statement<'_>) -> Option<Self> {
        let words: Vec<&str> = statement.words.iter().take(3).map(String::as_str).collect();
        let parse = match words[..] {
            ["CREATE", "EXTENSION", ..] => create_extension,
            ["ALTER" | "DROP", "EXTENSION", ..] | ["COMMENT", "ON", "EXTENSION"] => change_extension,
            ["CREATE", "EVENT", "TRIGGER"] => create_event_trigger,
            ["ALTER" | "DROP", "EVENT", "TRIGGER"] => change_event_trigger,
            ["CREATE", "PUBLICATION", ..] => publish_all_tables,
            ["ALTER", "ROLE" | "USER", _] => preload_libraries,
            _ => return None,
        };
        let text = statement.text.get(statement.first_token - statement.offset..)?;
        let mut tokens = Tokens(tokenize(text)?.into_iter().peekable());
        let parsed = parse(&mut tokens)?;
        tokens.0.next().is_none().then_some(parsed)
    }

    /// Reports whether the session may not run the statement itself, and the database has the function that does.
    pub(super) async fn is_needed(&self, client: &impl GenericClient) -> Result<bool, Error> {
        holds(client, &self.condition(), &[], "look for the rights of the role").await
    }

    /// Returns the condition, as SQL, under which [`is_needed`](Self::is_needed) holds.
    fn condition(&self) -> String {
        let rights = "(select not rolsuper from pg_catalog.pg_roles where rolname = current_user) and exists ( \
             select from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace \
              where n.nspname = 'basalt' and p.proname = 'create_extension' \
                and pg_catalog.has_schema_privilege(n.oid, 'usage') \
                and pg_catalog.has_function_privilege(p.oid, 'execute'))";
        match self {
            Self::CreateExtension { name, .. } => {
                let name = text(name);
                format!(
                    "{rights} and not exists (select from pg_catalog.pg_extension where extname = {name}) and exists ( \
                       select from pg_catalog.pg_available_extension_versions \
                        where name = {name} and superuser and not trusted)"
                )
            }
            // Postgres itself says that there is none.
            Self::ChangeExtension { names, .. } => {
                let names = list(names);
                format!(
                    "{rights} and pg_catalog.cardinality({names}) = ( \
                       select count(*) from pg_catalog.pg_extension where extname = any ({names}))"
                )
            }
            _ => rights.to_owned(),
        }
    }

    /// Has the statement carried out.
    pub(super) async fn run(&self, client: &impl GenericClient) -> Result<(), tokio_postgres::Error> {
        match self.call() {
            Some(call) => client.batch_execute(&format!("select {call}")).await,
            None => Ok(()),
        }
    }

    /// Returns what follows `select` in the call that carries the statement out; `None` if there is nothing to do.
    pub(super) fn call(&self) -> Option<String> {
        let optional =
            |value: &Option<String>| value.as_deref().map_or_else(|| "null::text".to_owned(), text);
        Some(match self {
            Self::CreateExtension { name, schema, version, cascade, .. } => {
                let (name, schema, version) = (text(name), optional(schema), optional(version));
                // Without a schema it is the first of the file's search path, unless the extension has one of its own.
                format!(
                    "basalt.create_extension({name}, coalesce({schema}, case when not exists ( \
                       select from pg_catalog.pg_available_extension_versions \
                        where name = {name} and schema is not null) then current_schema() end), {version}, {cascade})"
                )
            }
            Self::ChangeExtension { names, change, value } => {
                let (names, change, value) = (list(names), text(change), optional(value));
                format!(
                    "basalt.change_extension(name, {change}, {value}) from pg_catalog.unnest({names}) as name"
                )
            }
            Self::CreateEventTrigger { name, event, tags, function } => {
                let tags = tags.as_deref().map_or_else(|| "null::text[]".to_owned(), list);
                // The function's name is resolved with the search path of the file.
                let function = text(&format!("{function}()"));
                format!(
                    "basalt.create_event_trigger({}, {}, {tags}, {function}::regprocedure)",
                    text(name),
                    text(event)
                )
            }
            Self::ChangeEventTrigger { name, change, if_exists } => {
                let (name, change) = (text(name), text(change));
                format!(
                    "basalt.change_event_trigger({name}, {change}) where not {if_exists} \
                      or exists (select from pg_catalog.pg_event_trigger where evtname = {name})"
                )
            }
            Self::OwnEventTrigger => return None,
            Self::PublishAllTables { name, parameters } => {
                format!("basalt.publish_all_tables({}, {})", text(name), list(parameters))
            }
            Self::PreloadLibraries { role, libraries } => {
                format!("basalt.preload_libraries({}, {})", text(role), list(libraries))
            }
        })
    }
}

/// Returns `value` as SQL of type `text`.
fn text(value: &str) -> String {
    format!("{}::text", quote_literal(value))
}

/// Returns `values` as SQL of type `text[]`.
fn list(values: &[String]) -> String {
    let values: Vec<String> = values.iter().map(|value| quote_literal(value)).collect();
    format!("array[{}]::text[]", values.join(", "))
}

fn create_extension(tokens: &mut Tokens) -> Option<Privileged> {
    tokens.skip("create extension");
    let if_not_exists = tokens.skip("if not exists");
    let name = tokens.name()?;
    tokens.skip("with");
    let (mut schema, mut version, mut cascade) = (None, None, false);
    loop {
        if tokens.skip("schema") {
            schema = Some(tokens.name()?);
        } else if tokens.skip("version") {
            version = Some(tokens.value()?);
        } else if tokens.skip("cascade") {
            cascade = true;
        } else {
            return Some(Privileged::CreateExtension { name, schema, version, cascade, if_not_exists });
        }
    }
}

fn change_extension(tokens: &mut Tokens) -> Option<Privileged> {
    if tokens.skip("drop") {
        tokens.skip("extension");
        tokens.skip("if exists");
        let mut names = vec![tokens.name()?];
        while tokens.symbol(',').is_some() {
            names.push(tokens.name()?);
        }
        let change = if tokens.skip("cascade") { "drop cascade" } else { "drop" };
        tokens.skip("restrict");
        return Some(Privileged::ChangeExtension { names, change, value: None });
    }
    if tokens.skip("comment") {
        tokens.skip("on extension");
        let names = vec![tokens.name()?];
        let value = tokens.skip("is").then(|| tokens.value())??;
        let value = Some(value).filter(|value| value != "null");
        return Some(Privileged::ChangeExtension { names, change: "comment", value });
    }
    tokens.skip("alter extension");
    let names = vec![tokens.name()?];
    if tokens.skip("update") {
        let value = if tokens.skip("to") { Some(tokens.value()?) } else { None };
        return Some(Privileged::ChangeExtension { names, change: "version", value });
    }
    let value = tokens.skip("set schema").then(|| tokens.name())??;
    Some(Privileged::ChangeExtension { names, change: "schema", value: Some(value) })
}

fn preload_libraries(tokens: &mut Tokens) -> Option<Privileged> {
    tokens.skip("alter");
    let _ = tokens.skip("role") || tokens.skip("user");
    let role = tokens.name()?;
    if !tokens.skip("set session_preload_libraries") || !(tokens.skip("to") || tokens.symbol('=').is_some()) {
        return None;
    }
    let mut libraries = vec![tokens.value()?];
    while tokens.symbol(',').is_some() {
        libraries.push(tokens.value()?);
    }
    (libraries != ["default"]).then_some(Privileged::PreloadLibraries { role, libraries })
}

fn create_event_trigger(tokens: &mut Tokens) -> Option<Privileged> {
    tokens.skip("create event trigger");
    let name = tokens.name()?;
    if !tokens.skip("on") {
        return None;
    }
    let event = tokens.name()?;
    let tags = match tokens.skip("when tag in") {
        true => Some(tokens.list(Tokens::text)?),
        false => None,
    };
    if !tokens.skip("execute") || !(tokens.skip("function") || tokens.skip("procedure")) {
        return None;
    }
    let mut function = postgres::shown_identifier(&tokens.name()?).into_owned();
    while tokens.symbol('.').is_some() {
        function.push('.');
        function.push_str(&postgres::shown_identifier(&tokens.name()?));
    }
    tokens.symbol('(')?;
    tokens.symbol(')')?;
    Some(Privileged::CreateEventTrigger { name, event, tags, function })
}

fn change_event_trigger(tokens: &mut Tokens) -> Option<Privileged> {
    if tokens.skip("drop") {
        tokens.skip("event trigger");
        let if_exists = tokens.skip("if exists");
        let name = tokens.name()?;
        // Nothing can depend on an event trigger.
        let _ = tokens.skip("cascade") || tokens.skip("restrict");
        return Some(Privileged::ChangeEventTrigger { name, change: "drop", if_exists });
    }
    tokens.skip("alter event trigger");
    let name = tokens.name()?;
    if tokens.skip("owner") {
        let _owner = tokens.skip("to").then(|| tokens.name())??;
        return Some(Privileged::OwnEventTrigger);
    }
    let change = if tokens.skip("enable") {
        "enable"
    } else if tokens.skip("disable") {
        "disable"
    } else {
        return None;
    };
    Some(Privileged::ChangeEventTrigger { name, change, if_exists: false })
}

fn publish_all_tables(tokens: &mut Tokens) -> Option<Privileged> {
    tokens.skip("create publication");
    let name = tokens.name()?;
    if !tokens.skip("for all tables") {
        return None;
    }
    let parameter = |tokens: &mut Tokens| {
        let name = tokens.name()?;
        tokens.symbol('=')?;
        Some(format!("{name}={}", tokens.value()?))
    };
    let parameters = if tokens.skip("with") { tokens.list(parameter)? } else { Vec::new() };
    Some(Privileged::PublishAllTables { name, parameters })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::split;

    fn recognized(sql: &str) -> Option<Privileged> {
        Privileged::recognize(&split(sql).unwrap()[0])
    }

    #[test]
    fn extensions_are_recognized_in_each_form() {
        let extension = |name: &str, schema: Option<&str>, version: Option<&str>, cascade, if_not_exists| {
            let [schema, version] = [schema, version].map(|part| part.map(str::to_owned));
            let name = name.to_owned();
            Some(Privileged::CreateExtension { name, schema, version, cascade, if_not_exists })
        };
        for (sql, expected) in [
            ("create extension postgis", extension("postgis", None, None, false, false)),
            (
                "-- maps\nCREATE EXTENSION IF NOT EXISTS \"uuid-ossp\" WITH SCHEMA \"extensions\"",
                extension("uuid-ossp", Some("extensions"), None, false, true),
            ),
            (
                "create extension Dblink version '1.2' schema a /* there */ cascade",
                extension("dblink", Some("a"), Some("1.2"), true, false),
            ),
            ("create extension postgis from unpackaged", None),
        ] {
            assert_eq!(recognized(sql), expected, "{sql}");
        }
    }

    #[test]
    fn changes_of_extensions_are_recognized_in_each_form() {
        let change = |names: &[&str], change, value: Option<&str>| {
            let names = names.iter().map(ToString::to_string).collect();
            Some(Privileged::ChangeExtension { names, change, value: value.map(str::to_owned) })
        };
        for (sql, expected) in [
            ("alter extension vector set schema \"Ext\"", change(&["vector"], "schema", Some("Ext"))),
            ("alter extension vector update", change(&["vector"], "version", None)),
            ("alter extension vector update to '0.8'", change(&["vector"], "version", Some("0.8"))),
            (
                "drop extension if exists \"uuid-ossp\", a cascade",
                change(&["uuid-ossp", "a"], "drop cascade", None),
            ),
            ("drop extension a restrict", change(&["a"], "drop", None)),
            ("comment on extension a is 'b'", change(&["a"], "comment", Some("b"))),
            ("comment on extension a is null", change(&["a"], "comment", None)),
            ("alter extension a add table b", None),
        ] {
            assert_eq!(recognized(sql), expected, "{sql}");
        }
    }

    #[test]
    fn event_triggers_are_recognized_in_each_form() {
        let function = "public.f".to_owned();
        let create = |tags: Option<&[&str]>| {
            let tags = tags.map(|tags| tags.iter().map(ToString::to_string).collect());
            let (name, event) = ("Watch".to_owned(), "ddl_command_end".to_owned());
            Some(Privileged::CreateEventTrigger { name, event, tags, function: function.clone() })
        };
        let change = |change| {
            let name = "watch".to_owned();
            Some(Privileged::ChangeEventTrigger { name, change, if_exists: false })
        };
        let name = "watch".to_owned();
        let if_exists = Privileged::ChangeEventTrigger { name, change: "drop", if_exists: true };
        for (sql, expected) in [
            ("create event trigger \"Watch\" on ddl_command_end execute procedure public.f()", create(None)),
            (
                "create event trigger \"Watch\" on ddl_command_end when tag in ('CREATE TABLE', 'SELECT INTO')
                 execute function public.F();",
                create(Some(&["CREATE TABLE", "SELECT INTO"])),
            ),
            ("drop event trigger watch", change("drop")),
            ("drop event trigger if exists watch cascade", Some(if_exists)),
            ("alter event trigger watch disable", change("disable")),
            ("alter event trigger watch enable", change("enable")),
            ("alter event trigger watch owner to \"postgres\"", Some(Privileged::OwnEventTrigger)),
            ("alter event trigger watch enable always", None),
            ("create event trigger a on ddl_command_end when tag in ($$x$$) execute function f()", None),
        ] {
            assert_eq!(recognized(sql), expected, "{sql}");
        }
    }

    #[test]
    fn publications_of_all_tables_are_recognized() {
        let publish = |parameters: &[&str]| {
            let parameters = parameters.iter().map(ToString::to_string).collect();
            Some(Privileged::PublishAllTables { name: "p".to_owned(), parameters })
        };
        for (sql, expected) in [
            ("create publication p for all tables", publish(&[])),
            (
                "create publication p for all tables with (publish = 'insert, update', publish_via_partition_root = true)",
                publish(&["publish=insert, update", "publish_via_partition_root=true"]),
            ),
            ("create publication p for table t", None),
            ("create publication p", None),
        ] {
            assert_eq!(recognized(sql), expected, "{sql}");
        }
    }
}
