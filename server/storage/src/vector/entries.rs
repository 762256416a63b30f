//! Vectors of an index: written, read, listed and deleted by their keys.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::bucket_rows::name_of;
use super::tables::{Index, Vectors, refusal};
use crate::error::Error;
use crate::row::{display, names, optional};

/// Bytes of a key: what fits into an index of Postgres. A key of 1,024 characters, which is upstream's limit, has room
/// unless most of them take three bytes or more.
const MAX_KEY_LENGTH: usize = 2600;
/// Limits of metadata. Source: upstream's, which are those of S3 Vectors.
const MAX_METADATA_KEYS: usize = 50;
const MAX_METADATA_LENGTH: usize = 40 * 1024;
const MAX_FILTERABLE_LENGTH: usize = 2048;
/// Bytes of a page of vectors beyond which the rest is left to the next page.
const MAX_PAGE_LENGTH: usize = 8 << 20;

/// How long it may take to write vectors: each is also put into the graph, which takes milliseconds.
const WRITE_LIMIT: Duration = Duration::from_secs(120);

/// A vector that is to be written.
#[derive(Debug)]
pub(crate) struct NewVector<'a> {
    pub(crate) key: &'a str,
    pub(crate) numbers: &'a [Value],
    pub(crate) metadata: Option<&'a Map<String, Value>>,
}

/// The part of an index that is listed: one of so many, which together are all of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) count: u64,
    pub(crate) index: u64,
}

/// The fields of each vector that are returned in addition to its key.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct VectorFields {
    pub(crate) data: bool,
    pub(crate) metadata: bool,
}

impl VectorFields {
    /// Returns the SQL of the document that describes a vector.
    fn document(self) -> String {
        let data =
            if self.data { ", 'data', json_build_object('float32', embedding::text::json)" } else { "" };
        let metadata = if self.metadata { ", 'metadata', metadata" } else { "" };
        format!("json_build_object('key', key{data}{metadata})")
    }
}

/// Writes vectors, in place of those that have their keys.
///
/// Errors: [`Error::InvalidValue`] for what the index cannot hold, in which case nothing is written;
/// [`Error::VectorResourceNotFound`].
pub(crate) async fn put(
    vectors: &Vectors,
    bucket: &str,
    name: &str,
    new: &[NewVector<'_>],
) -> Result<(), Error> {
    let mut keys = HashSet::new();
    if !new.iter().all(|vector| keys.insert(vector.key)) {
        return Err(Error::InvalidValue("Request must not contain duplicate keys".to_owned()));
    }
    let index = Index::find(vectors, bucket, name).await?;
    let mut records = new.iter().map(|vector| record(&index, vector)).collect::<Result<Vec<_>, _>>()?;
    // Requests that write the same keys at once wait for each other in the same order.
    records.sort_unstable_by_key(|record| name_of(record, "key"));
    let sql = format!(
        "insert into {} (key, embedding, metadata) \
         select key, embedding::vector, metadata \
           from jsonb_to_recordset($1::jsonb) r (key text, embedding text, metadata jsonb) \
         on conflict (key) do update set embedding = excluded.embedding, metadata = excluded.metadata",
        index.table
    );
    let records = vec![display(Value::Array(records))];
    let write = index.transaction("storage.vector.vectors.put").statement(sql, records).timeout(WRITE_LIMIT);
    vectors.rows.run(&write).await.map(drop).map_err(|error| refusal(error, name))
}

/// Returns `vector` as the statement takes it, after checking it.
fn record(index: &Index, vector: &NewVector<'_>) -> Result<Value, Error> {
    let NewVector { key, numbers, metadata } = *vector;
    let whose = format!("Invalid record for key '{key}'");
    let invalid = |reason: String| Err(Error::InvalidValue(format!("{whose}: {reason}")));
    if key.len() > MAX_KEY_LENGTH {
        return invalid(format!("Key must have at most {MAX_KEY_LENGTH} bytes"));
    }
    let embedding = index.vector(numbers, &whose)?;
    let empty = Map::new();
    let metadata = metadata.unwrap_or(&empty);
    if metadata.len() > MAX_METADATA_KEYS {
        return invalid(format!("Metadata must have at most {MAX_METADATA_KEYS} keys"));
    }
    // A pair is two quotes, a colon and a comma more than its parts; the braces take the last comma's place and one
    // more.
    let length_of =
        |(key, value): (&String, &Value)| Value::from(&**key).to_string().len() + value.to_string().len() + 2;
    let total = 2 + metadata.iter().map(length_of).sum::<usize>().saturating_sub(1);
    if total > MAX_METADATA_LENGTH {
        return invalid(format!("Total metadata must have at most {MAX_METADATA_LENGTH} bytes"));
    }
    let filterable = metadata.iter().filter(|(key, _)| !index.unfiltered.contains(key));
    let filterable = 2 + filterable.map(length_of).sum::<usize>().saturating_sub(1);
    if filterable > MAX_FILTERABLE_LENGTH {
        return invalid(format!("Filterable metadata must have at most {MAX_FILTERABLE_LENGTH} bytes"));
    }
    Ok(json!({ "key": key, "embedding": embedding, "metadata": metadata }))
}

/// Returns those of the vectors called `keys` that there are.
///
/// Errors: [`Error::VectorResourceNotFound`] without the index.
pub(crate) async fn get(
    vectors: &Vectors,
    bucket: &str,
    name: &str,
    keys: &[&str],
    parts: VectorFields,
) -> Result<String, Error> {
    let index = Index::find(vectors, bucket, name).await?;
    let sql = format!(
        "select {} from {} where key in (select jsonb_array_elements_text($1::jsonb)) order by key",
        parts.document(),
        index.table
    );
    let lookup = index.transaction("storage.vector.vectors.get").read_only().on_primary();
    let lookup = lookup.statement(sql, vec![names(keys.iter().copied())]);
    let reply = vectors.rows.run(&lookup).await.map_err(|error| refusal(error, name))?;
    let documents = crate::row::json_array(reply.rows());
    Ok(format!("{{\"vectors\":{documents}}}"))
}

/// Which vectors a page of a listing has.
#[derive(Debug)]
pub(crate) struct Page<'a> {
    pub(crate) limit: u64,
    /// The key after which the page begins.
    pub(crate) after: Option<&'a str>,
    pub(crate) segment: Option<Segment>,
}

/// Returns a page of the vectors of an index by their keys. It has fewer than requested if these would be very long.
///
/// Errors: [`Error::VectorResourceNotFound`] without the index.
pub(crate) async fn list(
    vectors: &Vectors,
    bucket: &str,
    name: &str,
    wanted: &Page<'_>,
    parts: VectorFields,
) -> Result<String, Error> {
    let index = Index::find(vectors, bucket, name).await?;
    let segment = wanted.segment.unwrap_or(Segment { count: 1, index: 0 });
    let sql = format!(
        "with listed as ( \
           select key, {document}::text as document from {table} \
            where ($1::text is null or key > $1) \
              and ($2::bigint = 1 or mod(abs(hashtext(key)::bigint), $2::bigint) = $3::bigint) \
            order by key limit $4::bigint \
         ), measured as ( \
           select key, document, row_number() over up_to as position, \
                  sum(octet_length(document)) over up_to as length \
             from listed window up_to as (order by key) \
         ) \
         select key, document, (select count(*) from listed) from measured \
          where position < $4::bigint and (position = 1 or length <= {MAX_PAGE_LENGTH}) order by key",
        document = parts.document(),
        table = index.table,
    );
    let parameters = vec![
        optional(wanted.after),
        display(segment.count),
        display(segment.index),
        display(wanted.limit + 1),
    ];
    let lookup = index.transaction("storage.vector.vectors.list").read_only().on_primary();
    let reply = vectors.rows.run(&lookup.statement(sql, parameters)).await;
    let reply = reply.map_err(|error| refusal(error, name))?;
    let rows = reply.rows();
    let found = rows.last().and_then(|row| row.text(2)).and_then(|count| count.parse().ok()).unwrap_or(0);
    let documents: Vec<&str> = rows.iter().filter_map(|row| row.text(1)).collect();
    let vectors = documents.join(",");
    let next = rows.last().and_then(|row| row.text(0)).filter(|_| rows.len() < found);
    Ok(match next {
        Some(key) => format!("{{\"vectors\":[{vectors}],\"nextToken\":{}}}", Value::from(key)),
        None => format!("{{\"vectors\":[{vectors}]}}"),
    })
}

/// Deletes those of the vectors called `keys` that there are.
///
/// Errors: [`Error::VectorResourceNotFound`] without the index.
pub(crate) async fn delete(vectors: &Vectors, bucket: &str, name: &str, keys: &[&str]) -> Result<(), Error> {
    let index = Index::find(vectors, bucket, name).await?;
    let sql =
        format!("delete from {} where key in (select jsonb_array_elements_text($1::jsonb))", index.table);
    let removal = index.transaction("storage.vector.vectors.delete");
    let removal = removal.statement(sql, vec![names(keys.iter().copied())]);
    vectors.rows.run(&removal).await.map(drop).map_err(|error| refusal(error, name))
}
