//! The service over HTTP, on a real Postgres and a folder of files; with `BASALT_TEST_STORAGE_BACKEND=s3` on an S3
//! store.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on can only fail")]

mod anew;
mod buckets;
mod codings;
mod confinement;
mod exchange;
mod lifecycles;
mod memory;
mod names;
mod objects;
mod policies;
mod public;
mod render;
mod render_cache;
mod resumable;
mod resumable_parts;
mod routes;
mod rules;
mod s3;
mod s3_address;
mod s3_client;
mod s3_form;
mod s3_multipart;
mod s3_store;
mod s3_versions;
mod seeding;
mod signatures;
mod support;
mod sweeping;
mod transfers;
mod uploads;
mod vector;
mod vector_load;
mod versions;
mod versions_by_s3;
mod versions_guarded;
mod versions_of_writers;
