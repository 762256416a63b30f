//! Vector buckets: rows of `storage.buckets_vectors`.

use serde_json::{Value, json};

use super::tables::{MAX_LISTED, Vectors, look_up, page, transaction};
use crate::error::Error;
use crate::key;
use crate::row::{display, optional, text};

/// Number of the advisory lock under which buckets are counted; an arbitrary number.
const COUNT_LOCK: &str = "select pg_advisory_xact_lock(7020385104219637)";

/// Creates bucket `name`.
///
/// Errors: [`Error::InvalidBucketName`], [`Error::VectorResourceExists`], [`Error::TooManyVectorBuckets`].
pub(crate) async fn create_bucket(vectors: &Vectors, name: &str) -> Result<(), Error> {
    key::check_bucket(name)?;
    let limit = vectors.max_buckets;
    let creation = transaction("storage.vector.bucket.create").statement(COUNT_LOCK, Vec::new()).statement(
        "insert into storage.buckets_vectors (id) select $1 \
          where (select count(*) from storage.buckets_vectors) < $2::bigint \
             or exists (select from storage.buckets_vectors where id = $1) returning id",
        vec![text(name), display(limit)],
    );
    match vectors.rows.run(&creation).await {
        Ok(reply) if reply.row().is_some() => Ok(()),
        Ok(_) => Err(Error::TooManyVectorBuckets(limit)),
        Err(error) => Err(match error.server() {
            Some(server) if server.code == "23505" => {
                Error::VectorResourceExists { kind: "vector bucket", name: name.to_owned() }
            }
            _ => error.into(),
        }),
    }
}

/// Returns bucket `name` as the interface describes it.
///
/// Errors: [`Error::VectorResourceNotFound`].
pub(crate) async fn get_bucket(vectors: &Vectors, name: &str) -> Result<Value, Error> {
    let sql =
        "select floor(extract(epoch from created_at))::bigint from storage.buckets_vectors where id = $1";
    let reply = look_up(vectors, sql, vec![text(name)]).await?;
    let row = reply.row();
    let row = row.ok_or_else(|| Error::VectorResourceNotFound(name.to_owned()))?;
    Ok(json!({ "vectorBucketName": name, "creationTime": seconds(row.text(0)) }))
}

/// Returns a page of the buckets whose names begin with `prefix`, after the one called `after`.
pub(crate) async fn list_buckets(
    vectors: &Vectors,
    prefix: Option<&str>,
    after: Option<&str>,
    limit: u64,
) -> Result<Value, Error> {
    let limit = limit.clamp(1, MAX_LISTED);
    let sql = "select id, floor(extract(epoch from created_at))::bigint from storage.buckets_vectors \
         where starts_with(id, coalesce($1, '')) and ($2::text is null or id collate \"C\" > $2) \
         order by id collate \"C\" limit $3::bigint";
    let reply = look_up(vectors, sql, vec![optional(prefix), optional(after), display(limit + 1)]).await?;
    let rows = reply.rows().iter();
    let mut buckets: Vec<Value> = rows
        .map(|row| json!({ "vectorBucketName": row.text(0), "creationTime": seconds(row.text(1)) }))
        .collect();
    let next = page(&mut buckets, limit as usize, |bucket| name_of(bucket, "vectorBucketName"));
    Ok(with_token(json!({ "vectorBuckets": buckets }), next))
}

/// Deletes bucket `name`, if there is one.
///
/// Errors: [`Error::VectorBucketNotEmpty`].
pub(crate) async fn delete_bucket(vectors: &Vectors, name: &str) -> Result<(), Error> {
    let removal = transaction("storage.vector.bucket.delete")
        .statement("delete from storage.buckets_vectors where id = $1", vec![text(name)]);
    vectors.rows.run(&removal).await.map(drop).map_err(|error| match error.server() {
        // The foreign key of the indexes.
        Some(server) if server.code == "23503" => Error::VectorBucketNotEmpty(name.to_owned()),
        _ => error.into(),
    })
}

/// Reads a time in seconds since 1970.
pub(super) fn seconds(text: Option<&str>) -> Option<i64> {
    text.and_then(|text| text.parse().ok())
}

/// Returns the text in field `field` of an entry of a listing.
pub(super) fn name_of(entry: &Value, field: &str) -> String {
    entry[field].as_str().unwrap_or_default().to_owned()
}

/// Adds the token of the next page, if there is one.
pub(super) fn with_token(mut page: Value, next: Option<String>) -> Value {
    if let Some(next) = next {
        page["nextToken"] = next.into();
    }
    page
}
