//! Vector buckets: indexes of vectors with metadata, and the search for the nearest of them.
//!
//! Buckets and indexes are rows of `storage.buckets_vectors` and `storage.vector_indexes`, as upstream's. The vectors
//! of an index are a table of its own in schema `storage_vectors`, named after the index's id, with pgvector's type
//! `vector`: 32 bits for each number, unchanged. Only the service role has access, so everything runs as the service's
//! login.

mod bucket_rows;
mod entries;
mod filter;
mod indexes;
mod query;
mod tables;

pub(crate) use bucket_rows::{create_bucket, delete_bucket, get_bucket, list_buckets};
pub(crate) use entries::{NewVector, Page, Segment, VectorFields, delete, get, list, put};
pub(crate) use filter::Filter;
pub(crate) use indexes::{NewIndex, create_index, delete_index, get_index, list_indexes};
pub(crate) use query::{Query, query};
pub(crate) use tables::{MAX_DIMENSION, MAX_LISTED, Metric, Vectors, check_available};
