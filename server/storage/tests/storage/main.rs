//! The service over HTTP, on a real Postgres and a folder of files.

mod objects;
mod seeding;
mod support;
