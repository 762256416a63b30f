//! The search for the nearest vectors of an index.

use serde_json::Value;

use super::filter::Filter;
use super::indexes::MAX_DIMENSION_OF_GRAPHS;
use super::tables::{Index, Vectors, refusal};
use crate::error::Error;
use crate::row::{Parameter, display, json_array};

/// Candidates that pgvector keeps while it searches a graph: twice as many as can be requested, so that few of the
/// nearest are missed.
const SEARCH_BREADTH: &str = "200";
/// Candidates for each result where the graph knows only 16 bits of each number.
const CANDIDATES: u64 = 4;

/// A search.
#[derive(Debug)]
pub(crate) struct Query<'a> {
    pub(crate) numbers: &'a [Value],
    /// The number of results.
    pub(crate) count: u64,
    pub(crate) filter: Option<&'a Filter>,
    pub(crate) returns_distance: bool,
    pub(crate) returns_metadata: bool,
}

/// Returns the vectors of an index that are nearest to the one of `query`, the nearest first.
///
/// Without a filter it is approximate where the index has a graph. With one, all vectors that satisfy it are compared:
/// a graph would find the nearest first and might find none of these among them.
///
/// Errors: [`Error::VectorResourceNotFound`], [`Error::InvalidValue`].
pub(crate) async fn query(
    vectors: &Vectors,
    bucket: &str,
    name: &str,
    query: &Query<'_>,
) -> Result<String, Error> {
    let index = Index::find(vectors, bucket, name).await?;
    if let Some(filter) = query.filter {
        filter.check_fields(&index.unfiltered)?;
    }
    let mut parameters =
        vec![display(index.vector(query.numbers, "Invalid query vector")?), display(query.count)];
    let sql = statement(&index, query, &mut parameters);
    let mut search = index.transaction("storage.vector.vectors.query").read_only().on_primary();
    if index.has_graph {
        search =
            search.setting("hnsw.ef_search", SEARCH_BREADTH).setting("hnsw.iterative_scan", "strict_order");
    }
    let reply =
        vectors.rows.run(&search.statement(sql, parameters)).await.map_err(|error| refusal(error, name))?;
    let vectors = json_array(reply.rows());
    Ok(format!("{{\"vectors\":{vectors},\"distanceMetric\":\"{}\"}}", index.metric.name()))
}

/// Returns the statement of a search. Its first parameter is the vector, the second how many are wanted.
fn statement(index: &Index, query: &Query<'_>, parameters: &mut Vec<Parameter<'static>>) -> String {
    let Index { table, dimension, metric, .. } = index;
    let operator = metric.operator();
    let distance = if query.returns_distance { ", 'distance', distance" } else { "" };
    let metadata = if query.returns_metadata { ", 'metadata', metadata" } else { "" };
    let candidates = match query.filter {
        // "offset 0" keeps Postgres from ordering by the graph.
        Some(filter) => format!("where {} offset 0", filter.condition(parameters)),
        None if !index.has_graph => "offset 0".to_owned(),
        None if *dimension <= MAX_DIMENSION_OF_GRAPHS => {
            format!("order by embedding {operator} $1::vector limit $2::bigint")
        }
        None => format!(
            "order by embedding::halfvec({dimension}) {operator} $1::vector::halfvec({dimension}) \
             limit {CANDIDATES} * $2::bigint"
        ),
    };
    format!(
        "select json_build_object('key', key{distance}{metadata}) from ( \
           select key, metadata, embedding {operator} $1::vector as distance from {table} {candidates} \
         ) candidates order by distance, key limit $2::bigint"
    )
}
