//! Schemas that are not the project's, as the Supabase CLI lists them, and Basalt's own.
//!
//! Source: the Supabase CLI 3.1, `pkg/migration/dump.go` and its successor in TypeScript.

/// The schemas whose definition belongs to the platform or to an extension. `*` stands for any characters.
pub(super) const INTERNAL: &[&str] = &[
    "information_schema",
    "pg_*",
    "_analytics",
    "_realtime",
    "_supavisor",
    "auth",
    "basalt",
    "basalt_platform",
    "etl",
    "extensions",
    "pgbouncer",
    "realtime",
    "storage",
    "storage_vectors",
    "supabase_functions",
    "supabase_migrations",
    "cron",
    "dbdev",
    "graphql",
    "graphql_public",
    "net",
    "pgmq",
    "pgsodium",
    "pgsodium_masks",
    "pgtle",
    "repack",
    "tiger",
    "tiger_data",
    "timescaledb_*",
    "_timescaledb_*",
    "topology",
    "vault",
];

/// The schemas whose rows stay in the database. Users, buckets, jobs and queues move with a project.
pub(super) const WITHOUT_DATA: &[&str] = &[
    "information_schema",
    "pg_*",
    "graphql",
    "graphql_public",
    "pgsodium",
    "pgsodium_masks",
    "pgtle",
    "repack",
    "tiger",
    "tiger_data",
    "timescaledb_*",
    "_timescaledb_*",
    "topology",
    "vault",
    "basalt",
    "basalt_platform",
    "etl",
    "extensions",
    "pgbouncer",
    "realtime",
    "supabase_migrations",
    "_analytics",
    "_realtime",
    "_supavisor",
];

/// Reports whether `name` is one of `patterns`.
pub(super) fn is_one_of(patterns: &[&str], name: &str) -> bool {
    patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => *pattern == name,
    })
}
