//! Settings of the platform interface, and what it tells about the other services' settings.

mod auth;

use ::platform::{Field, Form, ServiceConfig, Settings};
use serde_json::json;
use settings::{Invalid, Reader};

use super::{Project, Server, Services};

/// The folder of snippets, as the Supabase CLI has it.
const SNIPPETS: &str = "snippets";

/// Reads the settings. The name of the project is, by default, `project_id` or that of its folder.
pub(super) fn read(
    reader: &mut Reader<'_>,
    project: &Project,
    server: &Server,
    services: &Services,
) -> Result<Settings, Invalid> {
    let mut settings: Settings = reader.read()?;
    let id: Option<String> = reader.get("project_id", &[])?;
    if settings.project_ref.is_none() {
        // A project that was linked to hosted Supabase keeps its reference.
        settings.project_ref = id.clone().filter(|id| is_reference(id));
    }
    let folder = || project.root.file_name().map(|name| name.to_string_lossy().into_owned());
    settings.name = settings.name.take().or(id).or_else(folder);
    settings.is_local = server.host.is_loopback();
    settings.snippets = project.base.join(SNIPPETS);
    settings.config = config(reader, services)?;
    Ok(settings)
}

fn is_reference(text: &str) -> bool {
    text.len() == 20 && text.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Returns what the interface tells about the settings of `services`, and what a change of each sets; nothing about a
/// service that is off.
fn config(reader: &mut Reader<'_>, services: &Services) -> Result<ServiceConfig, Invalid> {
    let connections = &services.connections;
    Ok(ServiceConfig {
        rest: services.rest.as_ref().map(|rest| self::rest(rest, connections)).unwrap_or_default(),
        auth: services.auth.as_ref().map(|auth| auth::fields(reader, auth)).transpose()?.unwrap_or_default(),
        storage: services.storage.as_ref().map(storage).unwrap_or_default(),
        realtime: services.realtime.as_ref().map(realtime).unwrap_or_default(),
        overruled: reader.overruled().clone(),
        third_parties: services.third_parties.clone(),
    })
}

fn rest(settings: &rest::Settings, connections: &rest::Connections) -> Vec<Field> {
    let (schemas, path) = (settings.db_schemas.join(","), settings.db_extra_search_path.join(","));
    vec![
        Field::new("db_schema", "api.schemas", Form::List, json!(schemas)),
        Field::new("db_extra_search_path", "api.extra_search_path", Form::List, json!(path)),
        // 0 stands for no limit.
        Field::new("max_rows", "api.max_rows", Form::Number, json!(settings.db_max_rows.unwrap_or(0))),
        Field::new("db_pool", "PGRST_DB_POOL", Form::Number, json!(connections.pool)),
    ]
}

fn storage(settings: &storage::Settings) -> Vec<Field> {
    let on = |name: &str, setting: &str, value: bool| Field::new(name, setting, Form::Flag, json!(value));
    let number =
        |name: &str, setting: &str, value: u64| Field::new(name, setting, Form::Number, json!(value));
    let (image, s3) = ("storage.image_transformation.enabled", "storage.s3_protocol.enabled");
    let (vectors, most) =
        ("features.vectorBuckets", (settings.max_vector_buckets, settings.max_vector_indexes));
    vec![
        number("fileSizeLimit", "storage.file_size_limit", settings.file_size_limit.0),
        on("features.imageTransformation.enabled", image, settings.image_transformation),
        on("features.s3Protocol.enabled", s3, settings.s3_enabled),
        on(&format!("{vectors}.enabled"), "storage.vector.enabled", settings.vectors_enabled),
        number(&format!("{vectors}.maxBuckets"), "storage.vector.max_buckets", most.0),
        number(&format!("{vectors}.maxIndexes"), "storage.vector.max_indexes", most.1),
    ]
}

fn realtime(settings: &realtime::Settings) -> Vec<Field> {
    let number = |name: &str, setting: &str, value: u32| {
        Field::new(name, format!("basalt.realtime.{setting}"), Form::Positive, json!(value))
    };
    vec![
        Field::new("private_only", "basalt.realtime.private_only", Form::Flag, json!(settings.private_only)),
        number("connection_pool", "pool_size", settings.pool_size),
        number("max_concurrent_users", "max_concurrent_users", settings.max_concurrent_users),
        number("max_events_per_second", "max_events_per_second", settings.max_events_per_second),
        number("max_channels_per_client", "max_channels_per_client", settings.max_channels_per_client),
        number("max_joins_per_second", "max_joins_per_second", settings.max_joins_per_second),
        number(
            "max_presence_events_per_second",
            "max_presence_events_per_second",
            settings.max_presence_events_per_second,
        ),
        number("max_payload_size_in_kb", "max_payload_size_kb", settings.max_payload_size_kb),
    ]
}
