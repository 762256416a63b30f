//! Where vectors are: the tables of indexes, and how statements reach them.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use postgres::{Parameter, Reply, Transaction};
use serde_json::Value;

use crate::caller::TIME_LIMIT;
use crate::error::Error;
use crate::row::text;
use crate::store::Rows;

/// Buckets or indexes on one page of a listing. Source: upstream's schemas.
pub(crate) const MAX_LISTED: u64 = 500;
/// Numbers that a vector may have.
pub(crate) const MAX_DIMENSION: usize = 4096;

::settings::words! {
    /// How far two vectors are from each other, by the name in the interface.
    pub(crate) enum Metric {
        /// One minus the cosine of the angle between them.
        Cosine = "cosine",
        /// The length of the straight line between them.
        Euclidean = "euclidean",
    }
}

impl Metric {
    /// Returns pgvector's operator.
    pub(super) const fn operator(self) -> &'static str {
        match self {
            Self::Cosine => "<=>",
            Self::Euclidean => "<->",
        }
    }

    /// Returns the end of the name of pgvector's operator class for graphs.
    pub(super) const fn operator_class(self) -> &'static str {
        match self {
            Self::Cosine => "cosine_ops",
            Self::Euclidean => "l2_ops",
        }
    }
}

/// Where vectors are, and how many buckets and indexes of them there may be.
#[derive(Debug, Clone)]
pub(crate) struct Vectors {
    pub(crate) rows: Rows,
    /// Whether the database is known to have pgvector.
    pub(crate) are_available: Arc<AtomicBool>,
    pub(crate) max_buckets: u64,
    pub(crate) max_indexes: u64,
}

/// An index, as its row describes it, and where its vectors are.
#[derive(Debug, Clone)]
pub(super) struct Index {
    /// The table's name for SQL, with its schema.
    pub(super) table: String,
    /// Whether the table has a graph for the approximate search.
    pub(super) has_graph: bool,
    pub(super) dimension: usize,
    pub(super) metric: Metric,
    /// Keys of metadata that filters may not use.
    pub(super) unfiltered: Vec<String>,
    /// Schemas that pgvector's names are found in.
    search_path: String,
}

impl Index {
    /// Finds index `name` of `bucket`.
    ///
    /// Errors: [`Error::VectorResourceNotFound`]; [`Error::FeatureNotEnabled`] without pgvector.
    pub(super) async fn find(vectors: &Vectors, bucket: &str, name: &str) -> Result<Self, Error> {
        const LOOKUP: &str = "select i.id, i.dimension, i.distance_metric, i.metadata_configuration, \
               (select quote_ident(n.nspname) from pg_catalog.pg_extension e \
                  join pg_catalog.pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'), \
               to_regclass(format('storage_vectors.%I', 'index_' || i.id || '_graph')) is not null \
             from storage.vector_indexes i where i.bucket_id = $1 and i.name = $2";
        let reply = look_up(vectors, LOOKUP, vec![text(bucket), text(name)]).await?;
        let row = reply.row();
        let row = row.ok_or_else(|| Error::VectorResourceNotFound(name.to_owned()))?;
        let schema = row.text(4).ok_or(NOT_CONFIGURED)?;
        let configuration: Value =
            row.get(3).and_then(|json| serde_json::from_slice(json).ok()).unwrap_or_default();
        let unfiltered = configuration["nonFilterableMetadataKeys"].as_array().into_iter().flatten();
        Ok(Self {
            table: table(row.text(0).unwrap_or_default()),
            has_graph: row.get(5) == Some(b"t"),
            dimension: row.text(1).and_then(|number| number.parse().ok()).unwrap_or_default(),
            metric: row.text(2).and_then(Metric::of_name).unwrap_or(Metric::Cosine),
            unfiltered: unfiltered.filter_map(Value::as_str).map(str::to_owned).collect(),
            search_path: format!("{schema}, pg_catalog"),
        })
    }

    /// Returns a transaction that finds pgvector's names.
    pub(super) fn transaction(&self, operation: &'static str) -> Transaction<'_> {
        transaction(operation).setting("search_path", &*self.search_path)
    }

    /// Returns `numbers` as pgvector writes a vector.
    ///
    /// Errors: [`Error::InvalidValue`] for one that this index cannot hold; `whose` says where it came from.
    pub(super) fn vector(&self, numbers: &[Value], whose: &str) -> Result<String, Error> {
        let invalid = |reason: String| Err(Error::InvalidValue(format!("{whose}: {reason}")));
        if numbers.len() != self.dimension {
            let (expected, found) = (self.dimension, numbers.len());
            return invalid(format!("vector must have length {expected}, but has length {found}"));
        }
        let mut vector = String::with_capacity(numbers.len() * 12);
        let mut is_zero = true;
        for number in numbers {
            let Some(number) =
                number.as_f64().map(|number| number as f32).filter(|number| number.is_finite())
            else {
                return invalid("vector must hold finite numbers of 32 bits".to_owned());
            };
            is_zero &= number == 0.0;
            // Writing into a string cannot fail.
            let _ = write!(vector, "{}{number:?}", if vector.is_empty() { '[' } else { ',' });
        }
        if is_zero && self.metric == Metric::Cosine {
            return invalid("vector must not be zero with distance metric cosine".to_owned());
        }
        vector.push(']');
        Ok(vector)
    }
}

/// The refusal of a service whose database has no pgvector, in upstream's words.
pub(super) const NOT_CONFIGURED: Error = Error::FeatureNotEnabled("Vector service not configured");

/// Returns the name for SQL of the table of the index with this id.
pub(super) fn table(id: &str) -> String {
    format!("storage_vectors.{}", postgres::quote_identifier(&format!("index_{id}")))
}

/// Returns what a query finds on the primary as the service's login, which owns the tables of the vectors. It runs no
/// code of the database's users.
pub(super) async fn look_up<'a>(
    vectors: &Vectors,
    sql: &'a str,
    parameters: Vec<Parameter<'a>>,
) -> Result<Reply, Error> {
    let query = Transaction::anonymous().read_only().on_primary().leaves_session_unchanged();
    let query = query.timeout(TIME_LIMIT).statement(sql, parameters);
    Ok(vectors.rows.run(&query).await?)
}

/// Returns a transaction of the service's login.
pub(super) fn transaction(operation: &'static str) -> Transaction<'static> {
    Transaction::anonymous().setting("storage.operation", operation).timeout(TIME_LIMIT)
}

/// Returns the error for the caller where a statement on the vectors of index `name` failed.
pub(super) fn refusal(error: postgres::Error, name: &str) -> Error {
    match error.server() {
        // Another request has deleted the index in the meantime, or another service keeps its vectors.
        Some(server) if server.code == "42P01" => Error::VectorResourceNotFound(name.to_owned()),
        Some(server)
            if matches!(&*server.code, "22000" | "22003" | "22023" | "22P02" | "22P05" | "54000") =>
        {
            Error::InvalidValue(server.message.clone())
        }
        _ => error.into(),
    }
}

/// Checks that the database has pgvector or can have it.
///
/// Errors: [`Error::FeatureNotEnabled`].
pub(crate) async fn check_available(vectors: &Vectors) -> Result<(), Error> {
    if vectors.are_available.load(Relaxed) {
        return Ok(());
    }
    const LOOKUP: &str = "select from pg_catalog.pg_available_extensions where name = 'vector'";
    if look_up(vectors, LOOKUP, Vec::new()).await?.row().is_none() {
        return Err(NOT_CONFIGURED);
    }
    vectors.are_available.store(true, Relaxed);
    Ok(())
}

/// Ends a page of `limit` entries of which `entries` has one more if others follow, and returns the token of the next
/// one: the name of the last entry.
pub(super) fn page<T>(entries: &mut Vec<T>, limit: usize, name: impl Fn(&T) -> String) -> Option<String> {
    let has_more = entries.len() > limit;
    entries.truncate(limit);
    entries.last().filter(|_| has_more).map(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn index(metric: Metric) -> Index {
        Index {
            table: table("1"),
            has_graph: true,
            dimension: 3,
            metric,
            unfiltered: Vec::new(),
            search_path: String::new(),
        }
    }

    fn vector(metric: Metric, numbers: Value) -> Result<String, String> {
        let numbers = numbers.as_array().unwrap();
        index(metric).vector(numbers, "it").map_err(|error| error.to_string())
    }

    #[test]
    fn vectors_keep_32_bits_of_their_numbers() {
        let written = vector(Metric::Cosine, json!([0.1, -2, 1e-40])).unwrap();
        assert_eq!(written, "[0.1,-2.0,1e-40]");
        let read: Vec<f32> = serde_json::from_str(&written).unwrap();
        assert_eq!(read, [0.1, -2.0, 1e-40]);
    }

    #[test]
    fn vectors_that_an_index_cannot_hold_are_refused() {
        assert_eq!(
            vector(Metric::Euclidean, json!([1])).unwrap_err(),
            "it: vector must have length 3, but has length 1"
        );
        assert!(vector(Metric::Euclidean, json!([1, 2, 1e39])).unwrap_err().contains("finite"));
        assert!(vector(Metric::Cosine, json!([0, 0.0, 1e-60])).unwrap_err().contains("zero"));
        assert_eq!(vector(Metric::Euclidean, json!([0, 0, 0])).unwrap(), "[0.0,0.0,0.0]");
    }

    #[test]
    fn names_of_tables_are_quoted() {
        assert_eq!(table("a\"b"), "storage_vectors.\"index_a\"\"b\"");
    }
}
