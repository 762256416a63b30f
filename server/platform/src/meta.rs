//! The interface of postgres-meta, which Supabase's Studio uses: `/query`, and what the database consists of.
//!
//! The statements in `meta/sql/` take the same seven parameters: schemas to include and to exclude, whether system schemas
//! are included, limit, offset, the id of one object, and whether columns are included. Each returns one JSON array. What
//! several of them share is in files whose names begin with `_`.

mod generators;
mod routes;

use std::sync::LazyLock;

use postgres::{Database, Transaction, text};
use serde_json::Value;

use crate::console::array_of;
use crate::error::Error;
use crate::parts::assembled;
use crate::store::optional;

pub(crate) use routes::endpoint;

/// How long a question about the catalog may take.
const TIME_LIMIT: std::time::Duration = std::time::Duration::from_secs(55);

/// What several statements share: the condition on the schema of an object, the description of a relation's columns, and
/// what stands before and after the fields of a kind of relation.
const PARTS: [(&str, &str); 4] = [
    ("schemas", include_str!("meta/sql/_schemas.sql")),
    ("columns", include_str!("meta/sql/_columns.sql")),
    ("relations_begin", include_str!("meta/sql/_relations_begin.sql")),
    ("relations_end", include_str!("meta/sql/_relations_end.sql")),
];

macro_rules! lists {
    ($($variant:ident = $name:literal),* $(,)?) => {
        /// What can be listed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum List {
            $(#[doc = $name] $variant,)*
        }

        impl List {
            const ALL: &'static [(Self, &'static str, &'static str)] =
                &[$((Self::$variant, $name, include_str!(concat!("meta/sql/", $name, ".sql")))),*];
        }
    };
}

lists! {
    ColumnPrivileges = "column-privileges",
    Columns = "columns",
    Config = "config",
    Extensions = "extensions",
    ForeignTables = "foreign-tables",
    Functions = "functions",
    Indexes = "indexes",
    MaterializedViews = "materialized-views",
    Policies = "policies",
    Publications = "publications",
    Roles = "roles",
    Schemas = "schemas",
    TablePrivileges = "table-privileges",
    Tables = "tables",
    Triggers = "triggers",
    Types = "types",
    Version = "version",
    Views = "views",
}

/// The statements, in the order of [`List::ALL`].
static STATEMENTS: LazyLock<Vec<String>> =
    LazyLock::new(|| List::ALL.iter().map(|(_, _, sql)| assembled(sql, &PARTS)).collect());

/// Which part of a list is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) included_schemas: Option<Vec<String>>,
    pub(crate) excluded_schemas: Option<Vec<String>>,
    pub(crate) include_system_schemas: bool,
    pub(crate) limit: Option<String>,
    pub(crate) offset: Option<String>,
    /// The id or the name of one object.
    pub(crate) id: Option<String>,
    pub(crate) include_columns: bool,
}

impl List {
    /// Returns the list that the first part of a path names.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known, _)| *known == name).map(|(list, _, _)| *list)
    }

    fn statement(self) -> &'static str {
        let index = Self::ALL.iter().position(|(list, _, _)| *list == self);
        index.and_then(|index| STATEMENTS.get(index)).map_or("", String::as_str)
    }

    /// Returns the objects that `filter` lets through.
    ///
    /// Errors: those of the database.
    pub(crate) async fn read(self, database: &Database, filter: &Filter) -> Result<Vec<Value>, Error> {
        let list = |values: &Option<Vec<String>>| values.as_deref().map(array_of);
        let (included, excluded) = (list(&filter.included_schemas), list(&filter.excluded_schemas));
        let flag = |value: bool| if value { "true" } else { "false" };
        let parameters = vec![
            optional(included.as_deref()),
            optional(excluded.as_deref()),
            text(flag(filter.include_system_schemas)),
            optional(filter.limit.as_deref()),
            optional(filter.offset.as_deref()),
            optional(filter.id.as_deref()),
            text(flag(filter.include_columns)),
        ];
        let transaction = Transaction::anonymous()
            .read_only()
            .setting("search_path", "\"$user\", public, extensions")
            .statement(self.statement(), parameters)
            .timeout(TIME_LIMIT);
        let reply = database.run(&transaction).await?;
        let rows = reply.row().and_then(|row| row.get(0)).unwrap_or(b"[]");
        serde_json::from_slice(rows).map_err(|error| Error::Internal(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_parts_are_put_into_the_statements() {
        for (list, name, _) in List::ALL {
            let statement = list.statement();
            assert!(PARTS.iter().all(|(part, _)| !statement.contains(&format!("{{{part}"))), "{name}");
            assert!(!statement.is_empty() && List::of_name(name) == Some(*list));
        }
    }
}
