//! Settings of each service, under the names that they have upstream.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use database::conninfo::Conninfo;

use super::value::{Bytes, Value};
use super::{Invalid, Project, Reader};

/// A part of Basalt that can be run or left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Service {
    /// `/rest/v1`: tables, views and functions.
    Rest,
    /// `/auth/v1`: users, sessions, tokens.
    Auth,
    /// `/storage/v1`: buckets and objects.
    Storage,
    /// `/realtime/v1`: channels.
    Realtime,
    /// `/functions/v1`: edge functions.
    Functions,
    /// `/`: the site.
    Site,
}

/// Settings of the services; `None` for one that is switched off.
#[derive(Debug, Clone)]
pub(crate) struct Services {
    /// `[api]`, `PGRST_*`.
    pub(crate) rest: Option<rest::Settings>,
    /// `[auth]`, `GOTRUE_*`.
    pub(crate) auth: Option<auth::Settings>,
    /// `[storage]`.
    pub(crate) storage: Option<storage::Settings>,
    /// `[realtime]`.
    pub(crate) realtime: Option<realtime::Settings>,
    /// `[edge_runtime]`, `[functions.*]`.
    pub(crate) functions: Option<functions::Settings>,
    /// Connections of `rest`.
    pub(crate) pool: Pool,
    /// Issuers whose tokens all services but `auth` take. `[auth.third_party]`. Default: none.
    pub(crate) third_parties: Vec<String>,
}

/// How many connections `rest` uses and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pool {
    /// At most. `PGRST_DB_POOL`. Default: 10.
    pub(crate) size: usize,
    /// How long a request waits for one. `PGRST_DB_POOL_ACQUISITION_TIMEOUT`, seconds. Default: 10.
    pub(crate) acquisition_timeout: Duration,
    /// Whether statements are prepared. `PGRST_DB_PREPARED_STATEMENTS`. Default: true.
    pub(crate) prepared_statements: bool,
    /// Where notices ask for the schema cache to be read again: `PGRST_DB_CHANNEL`, default `pgrst`. `None` with
    /// `PGRST_DB_CHANNEL_ENABLED=false`, which poolers in transaction mode need.
    pub(crate) channel: Option<String>,
    /// Standbys that reads go to. `PGRST_DB_READ_URIS`, separated by commas. Default: none.
    pub(crate) replicas: Vec<Conninfo>,
}

/// Parses the URIs of a list that is separated by commas. What has no scheme is a further host of the URI before it.
///
/// Errors: [`Invalid`] for one that cannot be understood.
pub(super) fn uris(list: &str) -> Result<Vec<Conninfo>, Invalid> {
    let mut uris: Vec<String> = Vec::new();
    for part in list.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match uris.last_mut() {
            Some(uri) if !part.contains("://") => uri.extend([",", part]),
            _ => uris.push(part.to_owned()),
        }
    }
    let invalid = |error: database::Error| Invalid::new("PGRST_DB_READ_URIS", Conninfo::EXPECTED, &error);
    uris.iter().map(|uri| uri.parse().map_err(invalid)).collect()
}

impl Services {
    /// Reads all of them. `api_url` is where clients reach the API; relative paths lie in `project`, state in
    /// `data_dir`.
    pub(super) fn read(
        reader: &mut Reader<'_>,
        project: &Project,
        data_dir: &Path,
        api_url: &str,
    ) -> Result<Self, Invalid> {
        let mut enabled = |key: &str| Ok(reader.get(key, &[])?.unwrap_or(true));
        let (rest_on, auth_on, storage_on) =
            (enabled("api.enabled")?, enabled("auth.enabled")?, enabled("storage.enabled")?);
        let (realtime_on, functions_on) = (enabled("realtime.enabled")?, enabled("edge_runtime.enabled")?);
        // Every section is read even where it is switched off, so that its keys count as known and are checked.
        let places = super::auth::Places { project, data_dir, api_url };
        let (rest, auth) = (rest(reader, api_url)?, super::auth::read(reader, places)?);
        let (storage, realtime) = (storage(reader, project, data_dir)?, realtime(reader)?);
        let functions = super::functions::read(reader, project, data_dir)?;
        Ok(Self {
            rest: rest_on.then_some(rest),
            auth: auth_on.then_some(auth),
            storage: storage_on.then_some(storage),
            realtime: realtime_on.then_some(realtime),
            functions: functions_on.then_some(functions),
            pool: pool(reader)?,
            third_parties: super::auth::third_party::read(reader)?,
        })
    }

    /// Switches off what is not in `only`.
    pub(crate) fn restrict(&mut self, only: &[Service]) {
        self.rest.take_if(|_| !only.contains(&Service::Rest));
        self.auth.take_if(|_| !only.contains(&Service::Auth));
        self.storage.take_if(|_| !only.contains(&Service::Storage));
        self.realtime.take_if(|_| !only.contains(&Service::Realtime));
        self.functions.take_if(|_| !only.contains(&Service::Functions));
    }
}

/// Keys that settings name in place of generated ones.
pub(super) fn keys(reader: &mut Reader<'_>, project: &Project) -> Result<tokens::KeyOverrides, Invalid> {
    Ok(tokens::KeyOverrides {
        jwt_secret: reader.get("auth.jwt_secret", &["JWT_SECRET", "GOTRUE_JWT_SECRET"])?,
        secret_is_base64: reader.get("", &["PGRST_JWT_SECRET_IS_BASE64"])?.unwrap_or(false),
        key_id: reader.get("", &["GOTRUE_JWT_KEY_ID"])?,
        jwt_keys: reader.get("", &["GOTRUE_JWT_KEYS"])?,
        signing_keys: signing_keys(reader, project)?,
        verification_keys: reader.get("", &["PGRST_JWT_SECRET"])?,
        anon_key: reader.get("auth.anon_key", &["ANON_KEY", "SUPABASE_ANON_KEY"])?,
        service_role_key: reader
            .get("auth.service_role_key", &["SERVICE_ROLE_KEY", "SUPABASE_SERVICE_ROLE_KEY"])?,
        publishable_key: reader.get("auth.publishable_key", &["SUPABASE_PUBLISHABLE_KEY"])?,
        secret_key: reader.get("auth.secret_key", &["SUPABASE_SECRET_KEY"])?,
        project: reader.get("project_id", &[])?,
    })
}

/// The content of the file that `auth.signing_keys_path` names, which `supabase gen signing-key` makes. As in the CLI,
/// nobody misses it where auth is off.
fn signing_keys(reader: &mut Reader<'_>, project: &Project) -> Result<Option<String>, Invalid> {
    let key = "auth.signing_keys_path";
    let path: Option<PathBuf> = reader.get(key, &[])?;
    let auth: Option<bool> = reader.get("auth.enabled", &[])?;
    let Some(path) = path.filter(|_| auth != Some(false)) else { return Ok(None) };
    let path = project.resolve(path);
    let text = std::fs::read_to_string(&path);
    text.map(Some).map_err(|error| {
        let found = format!("{}: {error}", path.display());
        Invalid::new(key, "a file with a JSON array of private JWKs", &found)
    })
}

/// What all services share.
pub(super) fn gateway(reader: &mut Reader<'_>) -> Result<gateway::Settings, Invalid> {
    let default = gateway::Settings::default();
    let limit: Option<Bytes> = reader.get("basalt.body_limit", &["BASALT_BODY_LIMIT"])?;
    Ok(gateway::Settings {
        trusted_proxies: reader
            .get("basalt.trusted_proxies", &["BASALT_TRUSTED_PROXIES"])?
            .unwrap_or(default.trusted_proxies),
        body_limit: limit.map_or(default.body_limit, |Bytes(bytes)| bytes),
    })
}

fn pool(reader: &mut Reader<'_>) -> Result<Pool, Invalid> {
    let channel: Option<String> = reader.get("", &["PGRST_DB_CHANNEL"])?;
    let listens: bool = reader.get("", &["PGRST_DB_CHANNEL_ENABLED"])?.unwrap_or(true);
    Ok(Pool {
        size: reader.get("", &["PGRST_DB_POOL"])?.unwrap_or(10),
        acquisition_timeout: reader
            .get("", &["PGRST_DB_POOL_ACQUISITION_TIMEOUT"])?
            .unwrap_or(Duration::from_secs(10)),
        prepared_statements: reader.get("", &["PGRST_DB_PREPARED_STATEMENTS"])?.unwrap_or(true),
        channel: listens.then(|| channel.unwrap_or_else(|| "pgrst".to_owned())),
        replicas: uris(&reader.get::<String>("", &["PGRST_DB_READ_URIS"])?.unwrap_or_default())?,
    })
}

/// Settings of REST that have upstream's default, without the prefix `PGRST_` of their variables.
const REST_ONLY: [&str; 16] = [
    "client_error_verbosity",
    "db_config",
    "db_pre_config",
    "db_read_sticky_interval",
    "db_root_spec",
    "jwt_aud",
    "jwt_cache_max_entries",
    "jwt_role_claim_key",
    "log_query",
    "openapi_mode",
    "openapi_security_active",
    "openapi_server_proxy_uri",
    "server_max_body_size",
    "server_timing_enabled",
    "server_trace_header",
    "url_use_legacy_target_names",
];

/// Defaults are those of the Supabase CLI's template where it has the key; clients reach the API at `api_url`.
fn rest(reader: &mut Reader<'_>, api_url: &str) -> Result<rest::Settings, Invalid> {
    let default = rest::Settings::default();
    let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let max_rows: u32 = reader.get("api.max_rows", &["PGRST_DB_MAX_ROWS"])?.unwrap_or(1000);
    let tx_end: Option<Parsed<rest::TxEnd>> = reader.get("", &["PGRST_DB_TX_END"])?;
    let mut settings = rest::Settings {
        db_schemas: reader.get("api.schemas", &["PGRST_DB_SCHEMAS"])?.unwrap_or(default.db_schemas),
        db_extra_search_path: reader
            .get("api.extra_search_path", &["PGRST_DB_EXTRA_SEARCH_PATH"])?
            .unwrap_or_else(|| list(&["public", "extensions"])),
        db_anon_role: Some(reader.get("", &["PGRST_DB_ANON_ROLE"])?.unwrap_or_else(|| "anon".to_owned())),
        db_max_rows: (max_rows > 0).then(|| i64::from(max_rows)),
        db_aggregates_enabled: reader
            .get("", &["PGRST_DB_AGGREGATES_ENABLED"])?
            .unwrap_or(default.db_aggregates_enabled),
        db_pre_request: reader.get("", &["PGRST_DB_PRE_REQUEST"])?,
        db_plan_enabled: reader.get("", &["PGRST_DB_PLAN_ENABLED"])?.unwrap_or(default.db_plan_enabled),
        db_hoisted_tx_settings: reader
            .get("", &["PGRST_DB_HOISTED_TX_SETTINGS"])?
            .unwrap_or(default.db_hoisted_tx_settings),
        db_safe_update: reader.get("basalt.safe_update", &["PGRST_DB_SAFE_UPDATE"])?.unwrap_or(true),
        db_tx_end: tx_end.map_or(default.db_tx_end, |Parsed(value)| value),
        openapi_server_proxy_uri: format!("{api_url}/rest/v1").parse().ok(),
        ..default
    };
    for name in REST_ONLY {
        let variable = format!("PGRST_{}", name.to_ascii_uppercase());
        if let Some(value) = reader.get::<String>("", &[&variable])? {
            super::drop_in::set(&mut settings, name, &value)?;
        }
    }
    for (name, value) in reader.prefixed("PGRST_APP_SETTINGS_") {
        super::drop_in::set(&mut settings, &format!("app_settings_{name}"), value)?;
    }
    Ok(settings)
}

/// A type that its service knows how to read.
struct Parsed<T>(T);

impl Value for Parsed<rest::TxEnd> {
    const EXPECTED: &'static str = "commit, commit-allow-override, rollback or rollback-allow-override";

    fn from_text(text: &str) -> Option<Self> {
        rest::TxEnd::from_str(text).ok().map(Self)
    }
}

fn storage(
    reader: &mut Reader<'_>,
    project: &Project,
    data_dir: &Path,
) -> Result<storage::Settings, Invalid> {
    let default = storage::Settings::default();
    let path: Option<PathBuf> =
        reader.get("", &["STORAGE_FILE_BACKEND_PATH", "FILE_STORAGE_BACKEND_PATH"])?;
    let limit: Option<Bytes> =
        reader.get("storage.file_size_limit", &["UPLOAD_FILE_SIZE_LIMIT", "FILE_SIZE_LIMIT"])?;
    Ok(storage::Settings {
        path: path.map_or_else(|| data_dir.join("objects"), |path| project.resolve(path)),
        file_size_limit: limit.map_or(default.file_size_limit, |Bytes(bytes)| bytes),
    })
}

fn realtime(reader: &mut Reader<'_>) -> Result<realtime::Settings, Invalid> {
    let default = realtime::Settings::default();
    Ok(realtime::Settings {
        max_header_length: reader
            .get("realtime.max_header_length", &["MAX_HEADER_LENGTH"])?
            .unwrap_or(default.max_header_length),
    })
}
