//! Keys of the Supabase CLI's `config.toml` that are known but not read. A file that the CLI has created must not cause
//! warnings, except for keys whose value would change something that is not supported.
//!
//! Source: the CLI's configuration reference.

use settings::KnownKeys;

/// All known keys.
pub(super) const KNOWN: KnownKeys = KnownKeys {
    silent: SILENT,
    without_effect: WITHOUT_EFFECT,
    off_by_default: auth::OFF_BY_DEFAULT,
    kept_references: auth::KEPT_REFERENCES,
    prefixes: &["BASALT_", "PGRST_", "GOTRUE_"],
    // Read before the settings, or by programs around the server: the log's level, and settings of the tests and of the
    // client's dev server.
    read_elsewhere: &[
        "BASALT_LOG",
        "BASALT_LOG_FORMAT",
        "BASALT_BINARY",
        "BASALT_TEST_",
        "BASALT_URL",
        "PGRST_LOG_LEVEL",
    ],
};

/// Keys without a meaning here: those of the CLI's own commands, of containers, of the hosted platform, and of services
/// that are in every project's file and not part of this server.
const SILENT: &[&str] = &[
    "analytics.**",
    "api.tls.cert_path",
    "api.tls.key_path",
    "db.health_timeout",
    "db.network_restrictions.allowed_cidrs",
    "db.network_restrictions.allowed_cidrs_v6",
    "db.pooler.default_pool_size",
    "db.pooler.max_client_conn",
    "db.pooler.pool_mode",
    "db.pooler.port",
    "db.shadow_port",
    "edge_runtime.inspector_port",
    "edge_runtime.policy",
    "experimental.inspect.**",
    "experimental.pgdelta.**",
    "experimental.s3_access_key",
    "experimental.s3_host",
    "experimental.s3_region",
    "experimental.s3_secret_key",
    // Their trigger function is in every database.
    "experimental.webhooks.enabled",
    "inbucket.admin_email",
    "inbucket.sender_name",
    "local_smtp.admin_email",
    "local_smtp.sender_name",
    "realtime.ip_version",
    "remotes.**",
    "storage.analytics.**",
    "storage.vector.buckets.**",
    "studio.**",
];

const NO_SMTP: &str = "mails are shown on a page, and taken from the services alone";

/// Keys of features that are not supported: each with the value that disables the feature, if there is one, and the
/// reason why any other value has no effect.
const WITHOUT_EFFECT: &[(&str, &str, &str)] = &[
    (
        "api.auto_expose_new_tables",
        "true",
        "the API's roles may use new tables of public until a migration revokes it",
    ),
    ("api.tls.enabled", "false", "let a proxy in front of the server take HTTPS"),
    (
        "db.migrations.schema_paths",
        "[]",
        "migrations alone are applied; `supabase db diff` makes them of declared schemas",
    ),
    ("db.network_restrictions.enabled", "false", "firewalls decide who reaches the database"),
    ("db.pooler.enabled", "false", "there is no pooler: connect to the database itself"),
    ("db.root_key", "", "the vault makes a key of its own, which lies in the data folder"),
    (
        "db.settings.**",
        "",
        "the cluster's postgresql.conf, in the data folder, takes what Postgres is set to",
    ),
    ("db.ssl_enforcement.enabled", "false", "the embedded Postgres is reached from this machine alone"),
    ("edge_runtime.deno_version", "2", "functions run on the Deno that is installed, which is a 2"),
    ("experimental.orioledb_version", "\"\"", "tables are stored as Postgres stores them"),
    ("inbucket.pop3_port", "", NO_SMTP),
    ("inbucket.smtp_port", "", NO_SMTP),
    ("local_smtp.pop3_port", "", NO_SMTP),
    ("local_smtp.smtp_port", "", NO_SMTP),
    ("storage.analytics.enabled", "false", "there are no analytics buckets"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_by_name_and_depth() {
        assert!(KNOWN.is_known(&["db", "shadow_port"]));
        assert!(KNOWN.is_known(&["remotes", "production", "api"]));
        assert!(!KNOWN.is_known(&["db", "shadow_port", "x"]));
        assert!(!KNOWN.is_known(&["studio"]));
    }
}
