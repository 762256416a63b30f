//! What the caller's role may use of a schema, as one JSON object.

use std::borrow::Cow;

use super::Statement;
use super::sql::Sql;
use crate::plan::DescribePlan;

/// Relations that the role owns or has any privilege on. A name is enough: the schema is given.
const RELATIONS: &str = "(SELECT json_agg(c.relname) FROM pg_catalog.pg_class c \
    WHERE c.relnamespace = n.oid AND c.relkind IN ('r', 'v', 'm', 'f', 'p') AND NOT c.relispartition \
    AND (pg_catalog.pg_has_role(c.relowner, 'USAGE') \
    OR pg_catalog.has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER') \
    OR pg_catalog.has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE, REFERENCES')))";

/// Functions that the role may call, each with the types of its arguments as the request's search path has them.
const FUNCTIONS: &str = "(SELECT json_object_agg(p.oid::bigint, \
    (SELECT coalesce(json_agg(type::regtype::text ORDER BY position), '[]') \
    FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY AS argument (type, position))) FROM pg_catalog.pg_proc p \
    WHERE p.pronamespace = n.oid AND pg_catalog.has_function_privilege(p.oid, 'execute'))";

/// Returns the statement of `plan`. Its body is null where privileges do not matter: the transaction then only shows
/// that the caller's role exists and that the function before requests lets it pass.
pub(super) fn statement(plan: &DescribePlan) -> Statement<'_> {
    let mut sql = Sql::default();
    sql.push("SELECT NULL::bigint AS total, 0::bigint AS rows, ");
    if !plan.follows_privileges {
        sql.push("NULL::json AS body");
        return sql.into();
    }
    sql.push("json_build_object('relations', coalesce(").push(RELATIONS);
    sql.push(", '[]'), 'functions', coalesce(").push(FUNCTIONS);
    sql.push(", '{}')) AS body FROM (SELECT (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = ");
    sql.parameter(Some(Cow::Borrowed(plan.schema.as_bytes()))).push(") AS oid) AS n");
    sql.into()
}
