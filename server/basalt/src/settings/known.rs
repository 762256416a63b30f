//! Keys of the Supabase CLI's `config.toml` that Basalt knows of but has no use for: those of services that it
//! does not run, or that it does not run like this. A file that the CLI made must not draw warnings.
//!
//! Source: the CLI's configuration reference. `*` stands for one name, a trailing `**` for any depth.

const KEYS: &[&str] = &[
    "api.auto_expose_new_tables",
    "api.tls.**",
    "auth.additional_redirect_urls",
    "auth.captcha.**",
    "auth.email.**",
    "auth.enable_manual_linking",
    "auth.external.**",
    "auth.hook.**",
    "auth.mfa.**",
    "auth.oauth_server.**",
    "auth.passkey.**",
    "auth.rate_limit.**",
    "auth.signing_keys_path",
    "auth.site_url",
    "auth.sms.**",
    "auth.third_party.**",
    "auth.web3.**",
    "auth.webauthn.**",
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
    "edge_runtime.**",
    "experimental.**",
    "functions.*.entrypoint",
    "functions.*.import_map",
    "functions.*.static_files",
    "inbucket.**",
    "local_smtp.**",
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
    "auth.captcha.enabled",
    "auth.email.smtp.enabled",
    "auth.external.*.enabled",
    "auth.hook.*.enabled",
    "auth.mfa.*.enroll_enabled",
    "auth.oauth_server.enabled",
    "auth.passkey.enabled",
    "auth.sms.*.enabled",
    "auth.third_party.*.enabled",
    "auth.web3.*.enabled",
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
        assert!(is_known(&["auth", "external", "apple", "client_id"]));
        assert!(is_known(&["functions", "hello.world", "import_map"]));
        assert!(!is_known(&["functions", "hello", "imports"]));
        assert!(!is_known(&["db", "shadow_port", "x"]));
        assert!(!is_known(&["studio"]));
    }
}
