//! The platform interface: Supabase's Management API, by which its command line, its MCP server and other tools manage a
//! server.
//!
//! A request goes through `access` (who it is), `api` (what the endpoint takes and returns) and the rules: `console`
//! (SQL of operators), `logs`, `deployments` (functions), `advisors`, `project`. `store` has the SQL of schema
//! `basalt_platform`. `mcp` serves agents with the same endpoints, `oauth` lets them get a token, `meta` is the
//! interface of postgres-meta. The service knows no other one: what it needs of them comes with [`Parts`] and
//! [`ServiceConfig`], and with [`Handles::set_auth`] and [`Handles::set_rest`].

mod access;
mod advisors;
mod api;
mod backups;
mod console;
mod deployments;
mod error;
mod gate;
mod handles;
mod logs;
mod managed;
mod mcp;
mod meta;
mod oauth;
mod parts;
mod postgres_settings;
mod project;
mod redaction;
mod restore_point_commands;
mod runtime;
mod seal;
mod services;
mod settings;
mod settings_commands;
mod store;
mod token_commands;

use std::sync::Arc;

use poem::{Endpoint, Response};

pub use access::Scope;
pub use advisors::{Category, advise, open_to_strangers};
pub use backups::{BackupEntry, Backups};
pub use gate::{DatabaseGate, GateRules};
pub use handles::{Handles, Health, Parts, ProblemList, ServiceHealth};
pub use logs::{LogParts, READER as LOGS_READER};
pub use managed::{Configurable, Field, Form, ServiceConfig};
pub use postgres_settings::{PostgresRefusal, PostgresSettings};
pub use restore_point_commands::create_restore_point;
pub use runtime::{FunctionRuntime, TakeCalls, Version};
pub use services::ServiceEndpoint;
pub use settings::{Access, Settings};
pub use settings_commands::{list_settings, managed_settings, reset_settings};
pub use store::CHANNEL;
pub use store::restore_points::RestorePoint;
pub use store::settings::ManagedSetting;
pub use store::tokens::AccessToken;
pub use token_commands::{create_token, list_tokens, revoke_tokens, scopes_of};

pub(crate) use error::Error;

/// The login that queries which only read have.
pub const READER: &str = "supabase_read_only_user";

/// The paths below which the service is served: the path of a request is relative to the one that it begins with.
pub const PREFIXES: [&str; 2] = ["/v1", "/v2"];

/// The path of the Model Context Protocol.
pub const MCP: &str = "/mcp";

/// Returns the endpoint of the Model Context Protocol, for agents. Expects a [`gateway::Caller`] in every request's
/// extensions.
pub fn mcp(settings: Settings, handles: &Handles) -> impl Endpoint<Output = Response> + use<> {
    mcp::Mcp::new(Arc::new(api::Context::new(settings, handles.clone())))
}

/// Returns the authorization server for agents, to be mounted at [`OAUTH`].
pub fn oauth(settings: Settings, handles: &Handles) -> impl Endpoint<Output = Response> + use<> {
    oauth::endpoint(Arc::new(api::Context::new(settings, handles.clone())))
}

/// The path of the authorization server for agents.
pub const OAUTH: &str = oauth::PATH;

/// Returns the metadata of `/mcp` as a protected resource (RFC 9728), and that of the authorization server for agents
/// (RFC 8414).
pub fn oauth_metadata(
    settings: Settings,
    handles: &Handles,
) -> (impl Endpoint<Output = Response> + use<>, impl Endpoint<Output = Response> + use<>) {
    let context = Arc::new(api::Context::new(settings, handles.clone()));
    (oauth::resource_metadata(Arc::clone(&context)), oauth::server_metadata(context))
}

/// The path below which the interface of postgres-meta is served.
pub const META: &str = "/pg";

/// Returns the interface of postgres-meta. Mount it so that only holders of a secret API key reach it.
pub fn meta(settings: Settings, handles: &Handles) -> impl Endpoint<Output = Response> + use<> {
    meta::endpoint(Arc::new(api::Context::new(settings, handles.clone())))
}

/// Returns the service of `settings` for the requests below `prefix`, one of [`PREFIXES`]. Expects a
/// [`gateway::Caller`] in every request's extensions.
pub fn service(
    settings: Settings,
    handles: &Handles,
    prefix: &str,
) -> impl Endpoint<Output = Response> + use<> {
    api::endpoint(Arc::new(api::Context::new(settings, handles.clone())), prefix)
}
