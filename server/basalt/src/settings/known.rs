//! Keys of the Supabase CLI's `config.toml` that Basalt knows of but has no use for: those of services that it
//! does not run, or that it does not run like this. A file that the CLI made must not draw warnings.
//!
//! Source: the CLI's configuration reference. `*` stands for one name, a trailing `**` for any depth.

const KEYS: &[&str] = &[
    "api.auto_expose_new_tables",
    "api.tls.**",
    "auth.signing_keys_path",
    "auth.sms.test_otp.**",
    "analytics.**",
    "db.health_timeout",
    "db.migrations.schema_paths",
    "db.network_restrictions.**",
    "db.pooler.**",
    "db.root_key",
    "db.settings.**",
    "db.shadow_port",
    "db.ssl_enforcement.**",
    "db.vault.**",
    "edge_runtime.deno_version",
    "edge_runtime.inspector_port",
    "edge_runtime.policy",
    "experimental.**",
    "inbucket.admin_email",
    "inbucket.pop3_port",
    "inbucket.sender_name",
    "inbucket.smtp_port",
    "local_smtp.admin_email",
    "local_smtp.pop3_port",
    "local_smtp.sender_name",
    "local_smtp.smtp_port",
    "realtime.ip_version",
    "remotes.**",
    "storage.analytics.**",
    "storage.image_transformation.**",
    "storage.s3_protocol.**",
    "storage.vector.**",
    "studio.**",
];

/// Switches of things that this release does not do. Somebody who turns one on has to hear about it.
const SWITCHES: &[&str] = &[
    "api.tls.enabled",
    "db.network_restrictions.enabled",
    "db.ssl_enforcement.enabled",
    "storage.analytics.enabled",
    "storage.image_transformation.enabled",
    "storage.vector.enabled",
];

/// Whether the key at `path` switches something on that this release does not do.
pub(super) fn is_missing_feature(path: &[&str]) -> bool {
    SWITCHES.iter().any(|pattern| matches(&pattern.split('.').collect::<Vec<_>>(), path))
}

/// Whether the CLI knows the key at `path`.
pub(super) fn is_known(path: &[&str]) -> bool {
    KEYS.iter().any(|pattern| matches(&pattern.split('.').collect::<Vec<_>>(), path))
}

/// The keys without wildcards, as candidates for what a misspelt one meant.
pub(super) fn exact<'a>() -> impl Iterator<Item = &'a str> {
    KEYS.iter().copied().filter(|pattern| !pattern.contains('*'))
}

fn matches(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern, path) {
        (["**"], [_, ..]) => true,
        ([], []) => true,
        ([first, pattern @ ..], [name, path @ ..]) => {
            (*first == "*" || first == name) && matches(pattern, path)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_by_name_and_depth() {
        assert!(is_known(&["db", "shadow_port"]));
        assert!(is_known(&["remotes", "production", "api"]));
        assert!(!is_known(&["db", "shadow_port", "x"]));
        assert!(!is_known(&["studio"]));
    }
}
