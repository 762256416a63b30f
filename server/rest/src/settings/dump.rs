//! Settings as text, under upstream's names.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{OpenApiMode, Secret, Settings, TxEnd, Verbosity};

impl Settings {
    /// Names and values as a configuration file has them: texts in quotes. Secrets are `"…"`.
    pub fn named(&self) -> Vec<(String, String)> {
        let mut named: Vec<(String, String)> = self.texts().into_iter().chain(self.others()).collect();
        named.extend(self.app_settings.iter().map(|(name, _)| (name.clone(), quoted("…"))));
        named
    }

    /// As [`Self::named`], with the secrets: a file that sets all of this again. Not for logs.
    pub fn dumped(&self) -> Vec<(String, String)> {
        let bytes = self.jwt_secret.as_ref().map(Secret::expose).unwrap_or_default();
        let encoded = std::str::from_utf8(bytes).map_or_else(|_| Some(STANDARD.encode(bytes)), |_| None);
        let secret = encoded.clone().unwrap_or_else(|| String::from_utf8_lossy(bytes).into_owned());
        let mut dumped = self.named();
        for (name, value) in &mut dumped {
            let own = self.app_settings.iter().find(|(known, _)| known == name);
            match (name.as_str(), own) {
                (_, Some((_, own))) => *value = quoted(own),
                ("jwt-secret", _) => *value = quoted(&secret),
                ("jwt-secret-is-base64", _) if encoded.is_some() => *value = true.to_string(),
                _ => {}
            }
        }
        dumped
    }

    fn texts(&self) -> Vec<(String, String)> {
        let optional = |value: &Option<String>| value.clone().unwrap_or_default();
        let proxy = self.openapi_server_proxy_uri.as_ref().map(ToString::to_string);
        let trace = self.server_trace_header.as_ref().map(ToString::to_string);
        let secret = self.jwt_secret.as_ref().map(|_| "…".to_owned());
        let texts = [
            ("client-error-verbosity", self.client_error_verbosity.as_str().to_owned()),
            ("db-anon-role", optional(&self.db_anon_role)),
            ("db-extra-search-path", self.db_extra_search_path.join(",")),
            ("db-hoisted-tx-settings", self.db_hoisted_tx_settings.join(",")),
            ("db-pre-config", optional(&self.db_pre_config)),
            ("db-pre-request", optional(&self.db_pre_request)),
            ("db-root-spec", optional(&self.db_root_spec)),
            ("db-schemas", self.db_schemas.join(",")),
            ("db-tx-end", self.db_tx_end.as_str().to_owned()),
            ("jwt-aud", optional(&self.jwt_aud)),
            ("jwt-role-claim-key", self.jwt_role_claim_key.as_str().to_owned()),
            ("jwt-secret", optional(&secret)),
            ("openapi-mode", self.openapi_mode.as_str().to_owned()),
            ("openapi-server-proxy-uri", optional(&proxy)),
            ("server-cors-allowed-origins", self.server_cors_allowed_origins.join(",")),
            ("server-host", self.server_host.clone()),
            ("server-trace-header", optional(&trace)),
        ];
        texts.into_iter().map(|(name, value)| (name.to_owned(), quoted(&value))).collect()
    }

    fn others(&self) -> Vec<(String, String)> {
        let number = |value: Option<String>| value.unwrap_or_else(|| quoted(""));
        let others = [
            ("db-aggregates-enabled", self.db_aggregates_enabled.to_string()),
            ("db-config", self.db_config.to_string()),
            ("db-max-rows", number(self.db_max_rows.map(|rows| rows.to_string()))),
            ("db-plan-enabled", self.db_plan_enabled.to_string()),
            ("db-read-sticky-interval", self.db_read_sticky_interval.as_secs().to_string()),
            ("db-safe-update", self.db_safe_update.to_string()),
            ("jwt-cache-max-entries", number(self.jwt_cache_entries().map(|entries| entries.to_string()))),
            ("jwt-secret-is-base64", self.jwt_secret_is_base64.to_string()),
            ("log-query", self.log_query.to_string()),
            ("openapi-security-active", self.openapi_security_active.to_string()),
            ("server-max-body-size", self.max_body_size.to_string()),
            ("server-port", self.server_port.to_string()),
            ("server-timing-enabled", self.server_timing_enabled.to_string()),
            ("url-use-legacy-target-names", self.url_use_legacy_target_names.to_string()),
        ];
        others.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

impl TxEnd {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::CommitAllowOverride => "commit-allow-override",
            Self::Rollback => "rollback",
            Self::RollbackAllowOverride => "rollback-allow-override",
        }
    }
}

impl OpenApiMode {
    const fn as_str(self) -> &'static str {
        match self {
            Self::FollowPrivileges => "follow-privileges",
            Self::IgnorePrivileges => "ignore-privileges",
            Self::Disabled => "disabled",
        }
    }
}

impl Verbosity {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Verbose => "verbose",
            Self::Minimal => "minimal",
        }
    }
}

/// `text` as a configuration file has it, where a dollar sign is doubled.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '$' => quoted.push_str("$$"),
            control if control.is_control() => {
                quoted.push_str(&format!("\\u{:04X}", u32::from(control)));
            }
            plain => quoted.push(plain),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dumped_can_be_set_again() {
        let mut settings = Settings::default();
        for (name, value) in [
            ("db-schemas", "a,b"),
            ("db-max-rows", "5"),
            ("db-read-sticky-interval", "7"),
            ("db-safe-update", "true"),
            ("log-query", "true"),
            ("openapi-server-proxy-uri", "https://h:1/p"),
            ("server-trace-header", "x-a"),
            ("jwt-role-claim-key", "$.a[?@ == \"b\"]"),
        ] {
            settings.set(name, value).unwrap();
        }
        let mut again = Settings::default();
        for (name, value) in settings.named() {
            let value = value.trim_matches('"').replace("\\\"", "\"").replace("$$", "$");
            assert!(again.set(&name, &value).unwrap(), "{name}");
        }
        assert_eq!(again, settings);
    }

    #[test]
    fn the_room_for_tokens_is_dumped_as_it_holds() {
        let room = |settings: &Settings| {
            let named = settings.named();
            named.into_iter().find(|(name, _)| name == "jwt-cache-max-entries").map(|(_, value)| value)
        };
        let mut settings = Settings::default();
        assert_eq!(room(&settings).as_deref(), Some("\"\""));
        settings.set("jwt-secret", "hunter2hunter2hunter2hunter2hunter2").unwrap();
        assert_eq!(room(&settings).as_deref(), Some("1000"));
        settings.set("jwt-cache-max-entries", "7").unwrap();
        assert_eq!(room(&settings).as_deref(), Some("7"));
    }

    #[test]
    fn secrets_are_not_dumped() {
        let mut settings = Settings::default();
        settings.set("jwt-secret", "hunter2hunter2hunter2hunter2hunter2").unwrap();
        settings.set("app_settings_key", "hunter2").unwrap();
        assert!(!format!("{:?}", settings.named()).contains("hunter2"));
    }
}
