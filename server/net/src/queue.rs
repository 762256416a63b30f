//! The tables of schema `net`.

use postgres::{Database, Error};
use serde_json::Value;
use tokio_postgres::types::Type;

use crate::request::{Outcome, Request};

/// Reports whether the extension exists and is Basalt's own, by its comment.
pub(crate) async fn is_ours(database: &Database) -> Result<bool, Error> {
    let sql = "select exists (
        select from pg_catalog.pg_extension
        where extname = 'pg_net' and pg_catalog.obj_description(oid, 'pg_extension') like '%(by Basalt)')";
    database.client().await?.query_typed(sql, &[]).await?.first().map_or(Ok(false), |row| Ok(row.try_get(0)?))
}

/// Takes up to `limit` requests out of the queue, oldest first.
pub(crate) async fn take(database: &Database, limit: usize) -> Result<Vec<Request>, Error> {
    let sql = "delete from net.http_request_queue q
        using (select id from net.http_request_queue order by id limit $1 for update skip locked) as next
        where q.id = next.id
        returning q.id, q.method::text, q.url, q.headers, q.body, q.timeout_milliseconds";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = database.client().await?.query_typed(sql, &[(&limit, Type::INT8)]).await?;
    let mut requests = Vec::with_capacity(rows.len());
    for row in rows {
        requests.push(Request {
            id: row.try_get(0)?,
            method: row.try_get(1)?,
            url: row.try_get(2)?,
            headers: row.try_get::<_, Option<Value>>(3)?.unwrap_or(Value::Null),
            body: row.try_get(4)?,
            timeout_milliseconds: row.try_get(5)?,
        });
    }
    Ok(requests)
}

/// Records the outcome of the request `id`.
pub(crate) async fn record(database: &Database, id: i64, outcome: &Outcome) -> Result<(), Error> {
    let sql = "insert into net._http_response
          (id, status_code, content_type, headers, content, timed_out, error_msg)
        values ($1, $2, $3, $4, $5, $6, $7)";
    let Outcome { status, content_type, headers, content, timed_out, error } = outcome;
    let parameters: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 7] = [
        (&id, Type::INT8),
        (status, Type::INT4),
        (content_type, Type::TEXT),
        (headers, Type::JSONB),
        (content, Type::TEXT),
        (timed_out, Type::BOOL),
        (error, Type::TEXT),
    ];
    database.client().await?.query_typed(sql, &parameters).await?;
    Ok(())
}

/// Removes responses that are older than six hours, as hosted Supabase does.
pub(crate) async fn expire(database: &Database) -> Result<(), Error> {
    let sql = "delete from net._http_response where created < now() - interval '6 hours'";
    database.client().await?.query_typed(sql, &[]).await?;
    Ok(())
}
