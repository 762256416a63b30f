//! Login roles for the command line, which expire.

use std::sync::Arc;

use poem::Request;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use serde_json::json;

use super::Context;
use super::payload::Created;
use crate::access::Scope;
use crate::{Error, READER};

/// The beginning of the names, by which the Supabase CLI knows that it has to become `postgres`.
const PREFIX: &str = "cli_login_";
/// How long a role can log in after it was made, in seconds.
const LIFETIME: i64 = 300;
/// How many connections a role may have.
const CONNECTIONS: u32 = 10;

pub(super) struct LoginRolesApi(pub(super) Arc<Context>);

/// Which role is wanted.
#[derive(Object)]
struct Wanted {
    /// Whether it may only read.
    read_only: bool,
}

/// A role that can log in.
#[derive(Object)]
struct LoginRole {
    role: String,
    password: String,
    /// How long it can log in, in seconds.
    ttl_seconds: i64,
}

/// That it is done.
#[derive(Object)]
struct Message {
    message: String,
}

#[OpenApi]
impl LoginRolesApi {
    /// Makes a role that can log in for five minutes, as the project's administrator or as one that only reads.
    #[oai(path = "/projects/:project/cli/login-role", method = "post")]
    async fn create(
        &self,
        request: &Request,
        project: Path<String>,
        wanted: Json<Wanted>,
    ) -> Result<Created<LoginRole>, Error> {
        let scope = if wanted.read_only { Scope::DatabaseRead } else { Scope::DatabaseWrite };
        let operator = self.0.enter(request, &project, scope)?;
        let store = &self.0.inner().store;
        let role = format!("{PREFIX}{}", uuid::Uuid::new_v4().simple());
        let password = data_encoding::HEXLOWER.encode(&rand::random::<[u8; 24]>());
        let group = if wanted.read_only { READER } else { "postgres" };
        store
            .client()
            .await?
            .batch_execute(&statements(&role, &password, group))
            .await
            .map_err(postgres::Error::from)?;
        let detail = json!({ "role": role, "read_only": wanted.read_only });
        self.0.audit(&operator, "database.login_role.create", detail).await?;
        Ok(Created::of(LoginRole { role, password, ttl_seconds: LIFETIME }))
    }

    /// Removes the roles that were made here.
    #[oai(path = "/projects/:project/cli/login-role", method = "delete")]
    async fn delete(&self, request: &Request, project: Path<String>) -> Result<Json<Message>, Error> {
        let operator = self.0.enter(request, &project, Scope::DatabaseWrite)?;
        let client = self.0.inner().store.client().await?;
        client.batch_execute(&removal("true")).await.map_err(postgres::Error::from)?;
        self.0.audit(&operator, "database.login_role.delete", json!({})).await?;
        Ok(Json(Message { message: "ok".to_owned() }))
    }
}

/// Returns the statements that make `role`, which works as `group` from the beginning of each session. Only the verifier
/// of its password is sent, so that no log has the password. Roles that have expired are removed.
fn statements(role: &str, password: &str, group: &str) -> String {
    let verifier = postgres::quote_literal(&postgres::password_verifier(password));
    let role = postgres::quote_identifier(role);
    let read_only = if group == READER { "on" } else { "off" };
    format!(
        "{removal}
        create role {role} login noinherit password {verifier} connection limit {CONNECTIONS} in role {group};
        alter role {role} set role = '{group}';
        alter role {role} set default_transaction_read_only = {read_only};
        do $$ begin execute pg_catalog.format('alter role {role} valid until %L',
          pg_catalog.now() + interval '{LIFETIME} seconds'); end $$;",
        removal = removal("r.rolvaliduntil < pg_catalog.now() - interval '1 hour'"),
    )
}

/// Returns the statement that removes the roles for which `condition` is true. What they own becomes the
/// administrator's.
fn removal(condition: &str) -> String {
    format!(
        "do $$ declare name text; begin
          for name in select r.rolname from pg_catalog.pg_roles r
            where pg_catalog.starts_with(r.rolname::text, '{PREFIX}') and ({condition}) loop
            execute pg_catalog.format('reassign owned by %I to postgres', name);
            execute pg_catalog.format('drop owned by %I', name);
            execute pg_catalog.format('drop role %I', name);
          end loop;
        end $$;"
    )
}
