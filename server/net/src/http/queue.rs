//! The tables of schema `basalt_http`.

use postgres::{Database, Error};
use serde_json::Value;
use tokio_postgres::types::Type;

/// A call that waits for a response.
pub(super) struct Call {
    /// A UUID.
    pub(super) id: String,
    pub(super) request: Value,
    pub(super) timeout_milliseconds: i32,
}

/// Reports whether the extension exists and is Basalt's own: by its comment, and because the schema of its parts is its
/// own, too.
pub(super) async fn is_ours(database: &Database) -> Result<bool, Error> {
    let sql = "select exists (
        select from pg_catalog.pg_extension e
        join pg_catalog.pg_depend d
          on d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass and d.refobjid = e.oid and d.deptype = 'e'
        join pg_catalog.pg_namespace n
          on d.classid = 'pg_catalog.pg_namespace'::pg_catalog.regclass and d.objid = n.oid
        where e.extname = 'http' and n.nspname = 'basalt_http'
          and pg_catalog.obj_description(e.oid, 'pg_extension') like '%(by Basalt)')";
    database.client().await?.query_typed(sql, &[]).await?.first().map_or(Ok(false), |row| Ok(row.try_get(0)?))
}

/// Makes the login by which calls reach the queue, if the cluster does not have it, as one into which the database was
/// copied. `create extension` has made it before.
pub(super) async fn prepare(database: &Database) -> Result<(), Error> {
    let sql = "select basalt_http.prepare() where pg_catalog.to_regrole(basalt_http.login()) is null";
    database.client().await?.query_typed(sql, &[]).await?;
    Ok(())
}

/// Takes up to `limit` requests out of the queue, oldest first, except those whose calls have ended by now.
pub(super) async fn take(database: &Database, limit: usize) -> Result<Vec<Call>, Error> {
    let sql = "delete from basalt_http.requests r
        using (
          select id from basalt_http.requests
          where created > now() - timeout_milliseconds * interval '1 millisecond'
          order by created limit $1 for update skip locked
        ) as next
        where r.id = next.id
        returning r.id::text, r.request, r.timeout_milliseconds";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = database.client().await?.query_typed(sql, &[(&limit, Type::INT8)]).await?;
    let calls = rows.iter().map(|row| {
        Ok(Call { id: row.try_get(0)?, request: row.try_get(1)?, timeout_milliseconds: row.try_get(2)? })
    });
    calls.collect()
}

/// Writes down the response to the request `id`.
pub(super) async fn record(database: &Database, id: &str, response: &Value) -> Result<(), Error> {
    let sql = "insert into basalt_http.answers (id, answer) values ($1::text::uuid, $2)";
    let client = database.client().await?;
    client.query_typed(sql, &[(&id, Type::TEXT), (response, Type::JSONB)]).await?;
    Ok(())
}

/// Removes what nobody waits for any more: a call may take five minutes.
pub(super) async fn expire(database: &Database) -> Result<(), Error> {
    let client = database.client().await?;
    for table in ["requests", "answers"] {
        let sql = format!("delete from basalt_http.{table} where created < now() - interval '10 minutes'");
        client.query_typed(&sql, &[]).await?;
    }
    Ok(())
}
