//! Settings by their upstream names, as the environment and the database have them.

use std::str::FromStr;
use std::time::Duration;

use super::{Secret, Settings};

/// Schemas that belong to Postgres and are never exposed.
const SYSTEM_SCHEMAS: [&str; 2] = ["pg_catalog", "information_schema"];

/// A setting that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {reason}")]
pub struct InvalidSetting {
    /// Its name.
    pub name: String,
    /// What was expected, and what was found instead; never a secret.
    pub reason: String,
}

impl Settings {
    /// Sets what upstream calls `name`, with dashes or underscores (`db-schemas`, `db_schemas`). An empty text is no
    /// value and changes nothing, but for `db-extra-search-path` and `app.settings.*`. Returns whether there is such a
    /// setting here.
    ///
    /// Errors: [`InvalidSetting`] for a value that the setting does not take; nothing is changed then.
    pub fn set(&mut self, name: &str, value: &str) -> Result<bool, InvalidSetting> {
        let lower = name.to_ascii_lowercase();
        if let Some(own) = lower.strip_prefix("app_settings_").or_else(|| lower.strip_prefix("app.settings."))
        {
            let name = format!("app.settings.{own}");
            self.app_settings.retain(|(known, _)| *known != name);
            self.app_settings.push((name, value.to_owned()));
            return Ok(true);
        }
        let name = lower.replace('-', "_");
        if value.is_empty() && name != "db_extra_search_path" {
            return Ok(true);
        }
        let outcome = match self.set_of_database(&name, value) {
            Ok(false) => self.set_of_server(&name, value),
            outcome => outcome,
        };
        outcome.map_err(|reason| InvalidSetting { name: name.replace('_', "-"), reason })
    }

    /// Settings on what is served and how.
    fn set_of_database(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "db_schemas" | "db_schema" => self.db_schemas = schemas(value)?,
            "db_extra_search_path" => self.db_extra_search_path = list(value),
            "db_anon_role" => self.db_anon_role = Some(value.to_owned()),
            "db_max_rows" | "max_rows" => self.db_max_rows = Some(number(value)?),
            "db_pre_request" | "pre_request" => self.db_pre_request = Some(value.to_owned()),
            "db_hoisted_tx_settings" => self.db_hoisted_tx_settings = list(value),
            "db_safe_update" => self.db_safe_update = boolean(value)?,
            "db_tx_end" => self.db_tx_end = value.parse()?,
            "db_root_spec" | "root_spec" => {
                // The function is looked for in the schema of the request.
                let function = value.rsplit_once('.').map_or(value, |(_, function)| function);
                self.db_root_spec = Some(function.to_owned());
            }
            "db_aggregates_enabled" => self.db_aggregates_enabled = boolean(value)?,
            "db_plan_enabled" => self.db_plan_enabled = boolean(value)?,
            "db_config" => self.db_config = boolean(value)?,
            "db_read_sticky_interval" => self.db_read_sticky_interval = Duration::from_secs(number(value)?),
            "db_pre_config" => self.db_pre_config = Some(value.to_owned()),
            "url_use_legacy_target_names" => self.url_use_legacy_target_names = boolean(value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Settings on tokens, headers and the document.
    fn set_of_server(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "jwt_secret" => self.jwt_secret = Some(Secret::from(value)),
            "jwt_secret_is_base64" | "secret_is_base64" => self.jwt_secret_is_base64 = boolean(value)?,
            "jwt_aud" => self.jwt_aud = Some(audience(value)?),
            "jwt_role_claim_key" | "role_claim_key" => self.jwt_role_claim_key = value.parse()?,
            "jwt_cache_max_entries" => self.jwt_cache_max_entries = Some(number(value)?),
            "client_error_verbosity" => self.client_error_verbosity = value.parse()?,
            "log_query" => self.log_query = boolean(value)?,
            "openapi_mode" => self.openapi_mode = value.parse()?,
            "openapi_security_active" => self.openapi_security_active = boolean(value)?,
            "openapi_server_proxy_uri" => self.openapi_server_proxy_uri = Some(value.parse()?),
            "server_host" => self.server_host = value.to_owned(),
            "server_max_body_size" => self.max_body_size = number(value)?,
            "server_port" => self.server_port = number(value)?,
            "server_timing_enabled" => self.server_timing_enabled = boolean(value)?,
            "server_trace_header" => {
                let header =
                    value.parse().map_err(|_| format!("expected a header's name, found `{value}`"))?;
                self.server_trace_header = Some(header);
            }
            "server_cors_allowed_origins" => self.server_cors_allowed_origins = list(value),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Items between commas.
fn list(value: &str) -> Vec<String> {
    value.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
}

fn schemas(value: &str) -> Result<Vec<String>, String> {
    let schemas = list(value);
    if let Some(system) = schemas.iter().find(|schema| SYSTEM_SCHEMAS.contains(&schema.as_str())) {
        return Err(format!("expected schemas of your own, found `{system}`"));
    }
    if schemas.is_empty() { Err("expected at least one schema".to_owned()) } else { Ok(schemas) }
}

fn number<T: FromStr>(value: &str) -> Result<T, String> {
    value.trim().parse().map_err(|_| format!("expected a whole number, found `{value}`"))
}

/// Upstream takes `true` and `false` in any case, and numbers, of which those above 0 are true.
fn boolean(value: &str) -> Result<bool, String> {
    match value.trim().to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        other => {
            let number =
                other.parse::<i64>().map_err(|_| format!("expected true or false, found `{value}`"))?;
            Ok(number > 0)
        }
    }
}

/// A text with a colon in it has to be a URI (RFC 7519, section 2, StringOrURI).
fn audience(value: &str) -> Result<String, String> {
    let is_uri = value.split_once(':').is_none_or(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
            && !value.contains(char::is_whitespace)
    });
    if is_uri { Ok(value.to_owned()) } else { Err(format!("expected a text or a URI, found `{value}`")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{OpenApiMode, TxEnd, Verbosity};

    fn set(pairs: &[(&str, &str)]) -> Settings {
        let mut settings = Settings::default();
        for (name, value) in pairs {
            assert!(settings.set(name, value).unwrap(), "{name}");
        }
        settings
    }

    #[test]
    fn names_are_upstreams() {
        let settings = set(&[
            ("DB_SCHEMAS", "api, other"),
            ("db-extra-search-path", ""),
            ("db_anon_role", "web"),
            ("max-rows", "10"),
            ("db-tx-end", "rollback"),
            ("root-spec", "api.root"),
            ("openapi-mode", "disabled"),
            ("client-error-verbosity", "minimal"),
            ("server-timing-enabled", "1"),
            ("db-read-sticky-interval", "0"),
            ("log-query", "true"),
            ("server-max-body-size", "1048576"),
            ("server-trace-header", "X-Request-Id"),
            ("app_settings_key", "v"),
            ("jwt-secret-is-base64", "TRUE"),
        ]);
        assert_eq!(settings.db_schemas, ["api", "other"]);
        assert!(settings.db_extra_search_path.is_empty());
        assert_eq!(settings.db_anon_role.as_deref(), Some("web"));
        assert_eq!(settings.db_max_rows, Some(10));
        assert_eq!(settings.db_tx_end, TxEnd::Rollback);
        assert_eq!(settings.db_root_spec.as_deref(), Some("root"));
        assert_eq!(settings.openapi_mode, OpenApiMode::Disabled);
        assert_eq!(settings.client_error_verbosity, Verbosity::Minimal);
        assert!(settings.server_timing_enabled && settings.jwt_secret_is_base64 && settings.log_query);
        assert_eq!(settings.db_read_sticky_interval, Duration::ZERO);
        assert_eq!(settings.max_body_size, 1 << 20);
        assert_eq!(settings.server_trace_header.unwrap(), "x-request-id");
        assert_eq!(settings.app_settings, [("app.settings.key".to_owned(), "v".to_owned())]);
    }

    #[test]
    fn empty_values_change_nothing() {
        assert_eq!(set(&[("db-schemas", ""), ("jwt-aud", ""), ("db-max-rows", "")]), Settings::default());
    }

    #[test]
    fn mistakes_are_named() {
        for (name, value) in [
            ("db-schemas", "api, pg_catalog"),
            ("db-schemas", ","),
            ("db-max-rows", "many"),
            ("db-read-sticky-interval", "10s"),
            ("db-config", "perhaps"),
            ("jwt-aud", "not a: uri"),
            ("server-trace-header", "a b"),
            ("server-max-body-size", "50MiB"),
            ("openapi-mode", "on"),
            ("openapi-server-proxy-uri", "example.com"),
            ("jwt-role-claim-key", "role"),
        ] {
            let error = Settings::default().set(name, value).unwrap_err();
            assert!(error.to_string().starts_with(&format!("{name}: expected")), "{error}");
        }
        assert_eq!(Settings::default().set("db-channel", "x"), Ok(false));
    }

    #[test]
    fn secrets_are_not_shown() {
        let settings = set(&[("jwt-secret", "hunter2hunter2hunter2hunter2hunter2")]);
        assert!(!format!("{settings:?}").contains("hunter2"));
    }
}
