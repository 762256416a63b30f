//! A published table in the catalog, and the rights of a role to it.

use std::time::Duration;

use postgres::{Database, Parameter, Row, Transaction, text};

/// How long a query of the catalog may take.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(10);

/// A table that is published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) oid: u32,
    pub(crate) schema: String,
    pub(crate) name: String,
    /// In their order.
    pub(crate) columns: Vec<Column>,
    pub(crate) has_row_security: bool,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// The type that values are cast to, as SQL; of a domain, its base type. Values of any length fit, so it is
    /// `bpchar` and `"bit"` in place of `character` and `bit`.
    pub(crate) sql_type: String,
    /// `pg_type.typname`.
    pub(crate) type_name: String,
    /// The collation as SQL, if it is not the type's own.
    pub(crate) collation: Option<String>,
    /// The name of the type in messages.
    pub(crate) display_type: String,
    /// Whether it is part of the primary key.
    pub(crate) is_key: bool,
    /// Whether two values are equal if, and only if, their texts are.
    pub(crate) is_equal_by_text: bool,
    /// Whether changes tell its values: they are in the stream, or are computed (`generated.rs`). It is not so for
    /// virtual generated columns, and for stored ones before Postgres 18 of a table that is published with a list of
    /// columns.
    pub(crate) is_told: bool,
}

impl Column {
    /// Returns the SQL for a value of the column. `text` is the SQL for the value as text.
    pub(crate) fn value(&self, text: &str) -> String {
        match &self.collation {
            None => format!("{text}::{}", self.sql_type),
            Some(collation) => format!("({text}::{} collate {collation})", self.sql_type),
        }
    }
}

impl Table {
    /// Returns the column of this name.
    pub(crate) fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Reports whether it has a primary key.
    pub(crate) fn has_key(&self) -> bool {
        self.columns.iter().any(|column| column.is_key)
    }
}

/// The rights of a role to a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RoleRights {
    /// The columns that it may select, by name.
    pub(crate) columns: Vec<String>,
    /// Whether policies decide which rows it sees.
    pub(crate) has_row_security: bool,
}

/// Returns a transaction that queries the catalog.
pub(super) fn catalog_query<'a>(sql: &'a str, parameters: Vec<Parameter<'a>>) -> Transaction<'a> {
    let transaction = Transaction::anonymous().read_only().on_primary().timeout(TIME_LIMIT);
    transaction.leaves_session_unchanged().statement(sql, parameters)
}

/// Loads a table from the catalog; `None` if it is gone.
///
/// Errors: those of the database.
pub(crate) async fn load(database: &Database, oid: u32) -> Result<Option<Table>, postgres::Error> {
    let number = oid.to_string();
    let transaction = catalog_query(
        "select n.nspname, c.relname, c.relrowsecurity, a.attname, \
           pg_catalog.format_type(b.oid, -1), t.typname, pg_catalog.format_type(t.oid, null), \
           coalesce(a.attnum = any(i.indkey), false), \
           b.typname in ('int2', 'int4', 'int8', 'oid', 'uuid', 'text', 'varchar') \
             and coalesce(l.collisdeterministic, true) or b.typtype = 'e', \
           case when a.attcollation <> t.typcollation \
             then l.collnamespace::pg_catalog.regnamespace || '.' || pg_catalog.quote_ident(l.collname) end, \
           a.attgenerated = '' or a.attgenerated = 's' and not exists ( \
             select from pg_catalog.pg_publication p \
             join pg_catalog.pg_publication_rel r on r.prpubid = p.oid \
             where p.pubname = 'supabase_realtime' and r.prrelid = c.oid and r.prattrs is not null \
               and pg_catalog.to_jsonb(p) ->> 'pubgencols' is distinct from 's') \
         from pg_catalog.pg_class c \
         join pg_catalog.pg_namespace n on n.oid = c.relnamespace \
         join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped \
         join pg_catalog.pg_type t on t.oid = a.atttypid \
         join pg_catalog.pg_type b on b.oid = coalesce(nullif(t.typbasetype, 0), t.oid) \
         left join pg_catalog.pg_collation l on l.oid = a.attcollation \
         left join pg_catalog.pg_index i on i.indrelid = c.oid and i.indisprimary \
         where c.oid = $1::oid order by a.attnum",
        vec![text(&number)],
    );
    let reply = database.run(&transaction).await?;
    let Some((schema, name, has_row_security)) = reply
        .row()
        .and_then(|row| Some((row.text(0)?.to_owned(), row.text(1)?.to_owned(), row.text(2)? == "t")))
    else {
        return Ok(None);
    };
    let columns = reply.rows().iter().filter_map(column).collect();
    Ok(Some(Table { oid, schema, name, columns, has_row_security }))
}

fn column(row: &Row) -> Option<Column> {
    Some(Column {
        name: row.text(3)?.to_owned(),
        sql_type: row.text(4)?.to_owned(),
        type_name: row.text(5)?.to_owned(),
        display_type: row.text(6)?.to_owned(),
        is_key: row.text(7)? == "t",
        is_equal_by_text: row.text(8)? == "t",
        collation: row.text(9).map(str::to_owned),
        is_told: row.text(10)? == "t",
    })
}

/// Returns the rights of `role` to a table. A role that `authenticator` may not become, and clients therefore not
/// either, has none.
///
/// Source: Postgres' `check_enable_rls`.
///
/// Errors: those of the database.
pub(crate) async fn rights(
    database: &Database,
    role: &str,
    table: u32,
) -> Result<RoleRights, postgres::Error> {
    let number = table.to_string();
    let transaction = catalog_query(
        "select c.relrowsecurity and not r.rolsuper and not r.rolbypassrls \
               and (c.relforcerowsecurity or not pg_catalog.pg_has_role(r.oid, c.relowner, 'usage')), \
               (select coalesce(pg_catalog.json_agg(a.attname), '[]') from pg_catalog.pg_attribute a \
                where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped \
                  and pg_catalog.has_column_privilege(r.oid, a.attrelid, a.attnum, 'select')) \
             from pg_catalog.pg_class c, pg_catalog.pg_roles r where c.oid = $1::oid and r.rolname = $2 \
               and pg_catalog.pg_has_role('authenticator', r.oid, 'member')",
        vec![text(&number), text(role)],
    );
    let reply = database.run(&transaction).await?;
    let row = reply.row();
    let columns = row.and_then(|row| serde_json::from_slice(row.get(1)?).ok()).unwrap_or_default();
    Ok(RoleRights { columns, has_row_security: row.is_none_or(|row| row.text(0) == Some("t")) })
}

/// Returns the tables of publication `supabase_realtime` in `schema` (`*` for all), or the one named `table`.
///
/// Errors: those of the database.
pub(crate) async fn published(
    database: &Database,
    schema: &str,
    table: Option<&str>,
) -> Result<Vec<u32>, postgres::Error> {
    let transaction = catalog_query(
        "select c.oid from pg_catalog.pg_publication_tables p \
         join pg_catalog.pg_namespace n on n.nspname = p.schemaname \
         join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = p.tablename \
         where p.pubname = 'supabase_realtime' and ($1 = '*' or p.schemaname = $1) \
           and ($2::text is null or p.tablename = $2) order by c.oid",
        vec![text(schema), table.and_then(text)],
    );
    let reply = database.run(&transaction).await?;
    Ok(reply.rows().iter().filter_map(|row| row.text(0)?.parse().ok()).collect())
}
