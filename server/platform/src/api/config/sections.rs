//! The sections of settings, with every key that tools insist on.

use serde_json::{Map, Value, json};

use crate::ServiceConfig;

/// The keys of the settings of auth, each with the value that it has if the server has no such setting.
const AUTH: &str = include_str!("auth_fields.txt");

/// Returns `base` with the values of `given` in place of its own.
fn with(base: Value, given: &Map<String, Value>) -> Value {
    let Value::Object(mut base) = base else { return base };
    for (name, value) in given {
        base.insert(name.clone(), value.clone());
    }
    Value::Object(base)
}

/// Returns the settings of REST.
pub(super) fn rest(config: &ServiceConfig) -> Value {
    let base = json!({
        "db_schema": "",
        "max_rows": 0,
        "db_extra_search_path": "",
        "db_pool": null,
        "db_pool_acquisition_timeout": null,
        "db_pool_max_idletime": null,
        "db_pool_max_lifetime": null,
    });
    with(base, &config.rest)
}

/// Returns the settings of auth.
pub(in super::super) fn auth(config: &ServiceConfig) -> Value {
    let fields = AUTH.lines().filter_map(|line| line.split_once(' '));
    let fields =
        fields.map(|(name, value)| (name.to_owned(), serde_json::from_str(value).unwrap_or(Value::Null)));
    with(Value::Object(fields.collect()), &config.auth)
}

/// Returns the settings of storage.
pub(super) fn storage(config: &ServiceConfig) -> Value {
    let given = &config.storage;
    let is_on = |name: &str| given.get(name).and_then(Value::as_bool).unwrap_or(false);
    let number = |name: &str| given.get(name).and_then(Value::as_i64).unwrap_or_default();
    json!({
        "fileSizeLimit": number("file_size_limit"),
        "features": {
            "imageTransformation": { "enabled": is_on("image_transformation") },
            "s3Protocol": { "enabled": is_on("s3_protocol") },
            "purgeCache": { "enabled": true },
            "icebergCatalog": { "enabled": false, "maxNamespaces": 0, "maxTables": 0, "maxCatalogs": 0 },
            "vectorBuckets": {
                "enabled": is_on("vectors"),
                "maxBuckets": number("max_vector_buckets"),
                "maxIndexes": number("max_vector_indexes"),
            },
        },
        "capabilities": { "list_v2": true, "iceberg_catalog": false, "object_versioning": true },
        "external": { "upstreamTarget": "main" },
        "migrationVersion": "",
        "databasePoolMode": "session",
    })
}

/// Returns the settings of realtime.
pub(super) fn realtime(config: &ServiceConfig) -> Value {
    let base = json!({
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
    });
    with(base, &config.realtime)
}

/// Returns all sections, as version 2 of the interface has them, of a server whose Postgres is of version `engine`, and
/// whose port of the database is open to the `networks`, encrypted if `is_ssl_enforced`.
pub(in super::super) fn all(
    config: &ServiceConfig,
    engine: &str,
    networks: &[Value],
    is_ssl_enforced: bool,
) -> Value {
    let storage = storage(config);
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
        "auth": auth(config),
        "api": rest(config),
        "realtime": realtime(config),
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

    #[test]
    fn what_the_server_has_stands_in_place_of_what_tools_expect() {
        let auth_settings = json!({ "site_url": "https://example.org" }).as_object().cloned().unwrap();
        let config = ServiceConfig { auth: auth_settings, ..ServiceConfig::default() };
        let shown = auth(&config);
        assert_eq!(shown["site_url"], "https://example.org");
        assert_eq!((&shown["sms_otp_length"], &shown["smtp_host"]), (&json!(6), &Value::Null));
        assert_eq!(shown.as_object().unwrap().len(), AUTH.lines().count());
    }
}
