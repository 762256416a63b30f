//! Indexes: rows of `storage.vector_indexes`, each with a table for its vectors.

use serde_json::{Value, json};

use super::bucket_rows::{name_of, seconds, with_token};
use super::tables::{MAX_LISTED, Metric, NOT_CONFIGURED, Vectors, look_up, page, table};
use crate::error::Error;
use crate::row::{display, optional, text};

/// The largest dimension that pgvector has graphs (HNSW) for, of numbers of 32 bits.
pub(super) const MAX_DIMENSION_OF_GRAPHS: usize = 2000;
/// The same of numbers of 16 bits, which suffice to find candidates.
const MAX_DIMENSION_OF_HALF_GRAPHS: usize = 4000;

/// Limits the time of the statements that follow in a transaction, waiting for others included.
const TIME_LIMIT: &str = "set local statement_timeout = '30s'";

/// An index that is to be created.
#[derive(Debug)]
pub(crate) struct NewIndex<'a> {
    pub(crate) bucket: &'a str,
    pub(crate) name: &'a str,
    pub(crate) dimension: usize,
    pub(crate) metric: Metric,
    /// What the request says of metadata.
    pub(crate) configuration: Option<&'a Value>,
}

/// Creates an index and the table of its vectors.
///
/// Errors: [`Error::VectorResourceNotFound`] without the bucket, [`Error::VectorResourceExists`],
/// [`Error::TooManyVectorIndexes`]; [`Error::FeatureNotEnabled`] where pgvector cannot be had.
pub(crate) async fn create_index(vectors: &Vectors, new: &NewIndex<'_>) -> Result<(), Error> {
    let mut client = vectors.rows.database().client().await?;
    let transaction = client.transaction().await.map_err(failure)?;
    transaction.batch_execute(TIME_LIMIT).await.map_err(failure)?;
    // After this the bucket neither goes away nor gets another index until the transaction ends.
    let bucket = "select from storage.buckets_vectors where id = $1 for update";
    if transaction.query_opt(bucket, &[&new.bucket]).await.map_err(failure)?.is_none() {
        return Err(Error::VectorResourceNotFound(new.bucket.to_owned()));
    }
    let counts =
        "select count(*), count(*) filter (where name = $2) from storage.vector_indexes where bucket_id = $1";
    let counts = transaction.query_one(counts, &[&new.bucket, &new.name]).await.map_err(failure)?;
    let limit = vectors.max_indexes;
    if counts.get::<_, i64>(1) > 0 {
        return Err(Error::VectorResourceExists { kind: "vector index", name: new.name.to_owned() });
    }
    if counts.get::<_, i64>(0).unsigned_abs() >= limit {
        return Err(Error::TooManyVectorIndexes(limit));
    }
    let extension = "select p.schema_name, p.has_iterative_scans from basalt.prepare_vectors() p";
    let extension = transaction.query_opt(extension, &[]).await.map_err(failure)?.ok_or(NOT_CONFIGURED)?;
    let insert = "insert into storage.vector_indexes \
                  (bucket_id, name, data_type, dimension, distance_metric, metadata_configuration) \
                  values ($1, $2, 'float32', $3, $4, ($5::text)::jsonb) returning id";
    let configuration = new.configuration.map(Value::to_string);
    let dimension = i32::try_from(new.dimension).unwrap_or(i32::MAX);
    let metric = new.metric.name();
    let row = transaction
        .query_one(insert, &[&new.bucket, &new.name, &dimension, &metric, &configuration])
        .await
        .map_err(failure)?;
    let statements = definition(new, row.get(0), extension.get(0), extension.get(1));
    transaction.batch_execute(&statements).await.map_err(failure)?;
    transaction.commit().await.map_err(failure)
}

/// Returns the statements that make the table of the index `new`, with the id that its row has got.
///
/// A graph is made only where pgvector goes on searching in it until enough has been found, which it can since version
/// 0.8: older ones leave out what follows many deleted vectors.
fn definition(new: &NewIndex<'_>, id: &str, schema: &str, has_iterative_scans: bool) -> String {
    let table = table(id);
    let schema = postgres::quote_identifier(schema);
    let graph = postgres::quote_identifier(&format!("index_{id}_graph"));
    let (dimension, class) = (new.dimension, new.metric.operator_class());
    let column = if !has_iterative_scans || dimension > MAX_DIMENSION_OF_HALF_GRAPHS {
        None
    } else if dimension > MAX_DIMENSION_OF_GRAPHS {
        Some(format!("(embedding::{schema}.halfvec({dimension})) {schema}.halfvec_{class}"))
    } else {
        Some(format!("embedding {schema}.vector_{class}"))
    };
    let mut statements = format!(
        "create table {table} (key text collate \"C\" primary key, embedding {schema}.vector({dimension}) not null, \
         metadata jsonb not null);"
    );
    if let Some(column) = column {
        statements.push_str(&format!("create index {graph} on {table} using hnsw ({column});"));
    }
    statements
}

/// Returns index `name` of `bucket` as the interface describes it.
///
/// Errors: [`Error::VectorResourceNotFound`].
pub(crate) async fn get_index(vectors: &Vectors, bucket: &str, name: &str) -> Result<Value, Error> {
    let sql = "select json_build_object('indexName', name, 'dataType', data_type, 'dimension', dimension, \
         'distanceMetric', distance_metric, 'metadataConfiguration', metadata_configuration, \
         'vectorBucketName', bucket_id, 'creationTime', floor(extract(epoch from created_at))::bigint) \
         from storage.vector_indexes where bucket_id = $1 and name = $2";
    let reply = look_up(vectors, sql, vec![text(bucket), text(name)]).await?;
    let document = reply.row().and_then(|row| row.get(0));
    document
        .and_then(|json| serde_json::from_slice(json).ok())
        .ok_or_else(|| Error::VectorResourceNotFound(name.to_owned()))
}

/// Returns a page of the indexes of `bucket` whose names begin with `prefix`, after the one called `after`.
pub(crate) async fn list_indexes(
    vectors: &Vectors,
    bucket: &str,
    prefix: Option<&str>,
    after: Option<&str>,
    limit: u64,
) -> Result<Value, Error> {
    let limit = limit.clamp(1, MAX_LISTED);
    let sql = "select name, floor(extract(epoch from created_at))::bigint from storage.vector_indexes \
         where bucket_id = $1 and starts_with(name, coalesce($2, '')) and ($3::text is null or name > $3) \
         order by name limit $4::bigint";
    let reply = vectors
        .rows
        .look_up(sql, vec![text(bucket), optional(prefix), optional(after), display(limit + 1)])
        .await?;
    let rows = reply.rows().iter();
    let mut indexes: Vec<Value> = rows
        .map(|row| {
            json!({
                "indexName": row.text(0), "vectorBucketName": bucket, "creationTime": seconds(row.text(1)),
            })
        })
        .collect();
    let next = page(&mut indexes, limit as usize, |index| name_of(index, "indexName"));
    Ok(with_token(json!({ "indexes": indexes }), next))
}

/// Deletes index `name` of `bucket` with its vectors.
///
/// Errors: [`Error::VectorResourceNotFound`].
pub(crate) async fn delete_index(vectors: &Vectors, bucket: &str, name: &str) -> Result<(), Error> {
    let mut client = vectors.rows.database().client().await?;
    let transaction = client.transaction().await.map_err(failure)?;
    transaction.batch_execute(TIME_LIMIT).await.map_err(failure)?;
    let removal = "delete from storage.vector_indexes where bucket_id = $1 and name = $2 returning id";
    let row = transaction.query_opt(removal, &[&bucket, &name]).await.map_err(failure)?;
    let row = row.ok_or_else(|| Error::VectorResourceNotFound(name.to_owned()))?;
    let drop_table = format!("drop table if exists {}", table(row.get(0)));
    transaction.batch_execute(&drop_table).await.map_err(failure)?;
    transaction.commit().await.map_err(failure)
}

fn failure(error: impl Into<postgres::Error>) -> Error {
    Error::Database(error.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph_of(dimension: usize, has_iterative_scans: bool) -> Option<String> {
        let new = NewIndex { bucket: "b", name: "i", dimension, metric: Metric::Cosine, configuration: None };
        let statements = definition(&new, "7", "extensions", has_iterative_scans);
        let (_, graph) = statements.split_once(" using hnsw ")?;
        Some(graph.to_owned())
    }

    #[test]
    fn graphs_are_made_for_what_pgvector_has_them_for() {
        assert_eq!(graph_of(2000, true).unwrap(), "(embedding \"extensions\".vector_cosine_ops);");
        assert!(graph_of(2001, true).unwrap().contains("halfvec(2001)) \"extensions\".halfvec_cosine_ops"));
        assert_eq!(graph_of(4001, true), None);
        assert_eq!(graph_of(3, false), None, "an older pgvector");
    }
}
