//! Keys of the Supabase CLI's `config.toml` that are known but not read. A file that the CLI has created must not cause
//! warnings, except for keys whose value would change something that is not supported.
//!
//! Source: the CLI's configuration reference.

use settings::KnownKeys;

/// The known keys of all crates.
pub(super) const KNOWN: &[KnownKeys] = &[
    KnownKeys {
        silent: SILENT,
        without_effect: WITHOUT_EFFECT,
        prefixes: &["BASALT_"],
        // Read before the settings, or by programs around the server: the log's level, and settings of the tests and of
        // the client's dev server.
        read_elsewhere: &["BASALT_LOG", "BASALT_BINARY", "BASALT_TEST_", "BASALT_URL"],
        ..KnownKeys::NONE
    },
    rest::KNOWN_KEYS,
    auth::KNOWN_KEYS,
    storage::KNOWN_KEYS,
    realtime::KNOWN_KEYS,
    functions::KNOWN_KEYS,
];

/// Keys without a meaning here: those of the CLI's own commands, of containers, of the hosted platform, and of services
/// that every project's file mentions but that are not part of this server. The crates of the services list their own
/// keys.
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
    "experimental.inspect.**",
    "experimental.pgdelta.**",
    "experimental.s3_access_key",
    "experimental.s3_host",
    "experimental.s3_region",
    "experimental.s3_secret_key",
    // The trigger function of webhooks is in every database.
    "experimental.webhooks.enabled",
    "remotes.**",
    "studio.**",
];

/// Keys of features that are not supported: each with the value that disables the feature, if there is one, and the
/// reason why any other value has no effect.
const WITHOUT_EFFECT: &[(&str, &str, &str)] = &[
    ("api.tls.enabled", "false", "let a proxy in front of the server take HTTPS"),
    ("db.network_restrictions.enabled", "false", "firewalls decide who reaches the database"),
    ("db.pooler.enabled", "false", "there is no pooler: connect to the database itself"),
    ("db.root_key", "", "the vault makes a key of its own, which lies in the data folder"),
    (
        "db.settings.**",
        "",
        "the cluster's postgresql.conf, in the data folder, takes what Postgres is set to",
    ),
    ("db.ssl_enforcement.enabled", "false", "the embedded Postgres is reached from this machine alone"),
    ("db.orioledb_version", "\"\"", "tables are stored as Postgres stores them"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn is_known(path: &[&str]) -> bool {
        KNOWN.iter().any(|known| known.is_known(path))
    }

    #[test]
    fn patterns_match_by_name_and_depth() {
        assert!(is_known(&["db", "shadow_port"]));
        assert!(is_known(&["remotes", "production", "api"]));
        assert!(!is_known(&["db", "shadow_port", "x"]));
        assert!(!is_known(&["studio"]));
    }
}
