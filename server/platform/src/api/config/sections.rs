//! The sections of settings, with every key that tools insist on.

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::managed::{Section, ServiceConfig};

/// The keys of the settings of auth, each with the value that it has if the server has no such setting.
const AUTH: &str = include_str!("auth_fields.txt");

/// Returns a section of the settings of the project `reference`. Secrets are shown as their HMAC, with the reference as
/// the key: by it, tools notice whether a secret has the value that they know.
pub(super) fn shown(section: Section, config: &ServiceConfig, reference: &str) -> Value {
    let mut shown = base(section);
    for field in config.of(section) {
        let value = match &field.secret {
            Some(secret) => Value::String(digest(secret.expose(), reference)),
            None => whole(&field.value),
        };
        if let Some(place) = shown.pointer_mut(&pointer(&field.name)) {
            *place = value;
        }
    }
    shown
}

/// Returns a number without a fraction as an integer: clients that are typed read no `30.0` where they expect one.
fn whole(value: &Value) -> Value {
    let number = value.as_f64().filter(|number| value.is_f64() && number.fract() == 0.0);
    let integer = number.and_then(|number| format!("{number:.0}").parse::<i64>().ok());
    integer.map_or_else(|| value.clone(), Value::from)
}

/// Returns where the setting that is called `name` is in a section (RFC 6901).
pub(super) fn pointer(name: &str) -> String {
    format!("/{}", name.replace('.', "/"))
}

/// Returns what is shown of a secret.
pub(super) fn digest(secret: &str, reference: &str) -> String {
    // HMAC takes keys of any length.
    let mac = Hmac::<Sha256>::new_from_slice(reference.as_bytes());
    mac.map(|mac| HEXLOWER.encode(&mac.chain_update(secret).finalize().into_bytes())).unwrap_or_default()
}

/// Returns a section with every key that tools insist on, and the values of what this server has no setting for.
fn base(section: Section) -> Value {
    match section {
        Section::Rest => json!({
            "db_schema": "",
            "max_rows": 0,
            "db_extra_search_path": "",
            "db_pool": null,
            "db_pool_acquisition_timeout": null,
            "db_pool_max_idletime": null,
            "db_pool_max_lifetime": null,
        }),
        Section::Auth => {
            let fields = AUTH.lines().filter_map(|line| line.split_once(' '));
            let read = |value: &str| serde_json::from_str(value).unwrap_or(Value::Null);
            Value::Object(fields.map(|(name, value)| (name.to_owned(), read(value))).collect())
        }
        Section::Storage => json!({
            "fileSizeLimit": 0,
            "features": {
                "imageTransformation": { "enabled": false },
                "s3Protocol": { "enabled": false },
                "purgeCache": { "enabled": true },
                "icebergCatalog": { "enabled": false, "maxNamespaces": 0, "maxTables": 0, "maxCatalogs": 0 },
                "vectorBuckets": { "enabled": false, "maxBuckets": 0, "maxIndexes": 0 },
            },
            "capabilities": { "list_v2": true, "iceberg_catalog": false, "object_versioning": true },
            "external": { "upstreamTarget": "main" },
            "migrationVersion": "",
            "databasePoolMode": "session",
        }),
        Section::Realtime => json!({
            "private_only": null,
            "connection_pool": null,
            "max_concurrent_users": null,
            "max_events_per_second": null,
            "max_bytes_per_second": null,
            "max_channels_per_client": null,
            "max_joins_per_second": null,
            "max_presence_events_per_second": null,
            "max_payload_size_in_kb": null,
            "suspend": false,
            "presence_enabled": true,
        }),
    }
}

/// Returns all sections, as version 2 of the interface has them, of the project `reference` on a server whose Postgres
/// is of version `engine`, and whose port of the database is open to the `networks`, encrypted if `is_ssl_enforced`.
pub(in super::super) fn all(
    (config, reference): (&ServiceConfig, &str),
    engine: &str,
    networks: &[Value],
    is_ssl_enforced: bool,
) -> Value {
    let of = |section| shown(section, config, reference);
    let storage = of(Section::Storage);
    let (features, capabilities) = (&storage["features"], &storage["capabilities"]);
    json!({
        "database": {
            "major_version": engine.parse::<i64>().unwrap_or_default(),
            "ssl_enforced": is_ssl_enforced,
            "network_restrictions": {
                "entitlement": "allowed",
                "status": "applied",
                "allowed_cidrs": networks,
            },
            "postgres_settings": {},
        },
        "pooler": {
            "pool_mode": "session",
            "ignore_startup_parameters": "",
            "server_idle_timeout": 0,
            "server_lifetime": 0,
            "query_wait_timeout": 0,
            "reserve_pool_size": 0,
            "default_pool_size": 0,
            "max_client_conn": 0,
        },
        "auth": of(Section::Auth),
        "api": of(Section::Rest),
        "realtime": of(Section::Realtime),
        "storage": {
            "file_size_limit": storage["fileSizeLimit"],
            "features": {
                "image_transformation": features["imageTransformation"],
                "s3_protocol": features["s3Protocol"],
                "purge_cache": features["purgeCache"],
                "iceberg_catalog": {
                    "enabled": false, "max_namespaces": 0, "max_tables": 0, "max_catalogs": 0,
                },
                "vector_buckets": {
                    "enabled": features["vectorBuckets"]["enabled"],
                    "max_buckets": features["vectorBuckets"]["maxBuckets"],
                    "max_indexes": features["vectorBuckets"]["maxIndexes"],
                },
            },
            "capabilities": capabilities,
            "upstream_target": "main",
            "migration_version": storage["migrationVersion"],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::managed::{Field, Form};

    #[test]
    fn what_the_server_has_stands_in_place_of_what_tools_expect() {
        let field = |name: &str, value| Field::new(name, "a.key", Form::Text, value);
        let secret = Field::secret("smtp_pass", "a.key", Some("hunter2".into()));
        let config = ServiceConfig {
            auth: vec![
                field("site_url", json!("https://example.org")),
                field("rate_limit_otp", json!(30.0)),
                field("sessions_timebox", json!(1.5)),
                secret,
            ],
            storage: vec![field("features.s3Protocol.enabled", json!(true))],
            ..ServiceConfig::default()
        };
        let auth = shown(Section::Auth, &config, "abcdefghijklmnopqrst");
        assert_eq!(auth["site_url"], "https://example.org");
        assert_eq!((&auth["sms_otp_length"], &auth["smtp_host"]), (&json!(6), &Value::Null));
        assert_eq!(json!([auth["rate_limit_otp"], auth["sessions_timebox"]]).to_string(), "[30,1.5]");
        assert_eq!(auth.as_object().unwrap().len(), AUTH.lines().count());
        // printf hunter2 | openssl dgst -sha256 -hmac abcdefghijklmnopqrst
        assert_eq!(auth["smtp_pass"], "0ec8dce6afbd5c2f55eddd8622292f96aff2198856c2d17d290eed51d859c39f");
        let storage = shown(Section::Storage, &config, "");
        assert_eq!(storage["features"]["s3Protocol"], json!({ "enabled": true }));
    }
}
