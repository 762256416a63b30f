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
use crate::store::login_roles;
use crate::{Error, READER};

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
    /// Makes a role that can log in for five minutes, as the project's administrator or as one that only reads. Its
    /// sessions end when the token is revoked.
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
        let password = data_encoding::HEXLOWER.encode(&rand::random::<[u8; 24]>());
        let group = if wanted.read_only { READER } else { "postgres" };
        let role = login_roles::create(store, operator.id(), &password, group).await?;
        let detail = json!({ "role": role, "read_only": wanted.read_only });
        self.0.audit(&operator, "database.login_role.create", detail).await?;
        Ok(Created::of(LoginRole { role, password, ttl_seconds: login_roles::LIFETIME }))
    }

    /// Removes the roles that were made here.
    #[oai(path = "/projects/:project/cli/login-role", method = "delete")]
    async fn delete(&self, request: &Request, project: Path<String>) -> Result<Json<Message>, Error> {
        let operator = self.0.enter(request, &project, Scope::DatabaseWrite)?;
        login_roles::remove(&self.0.inner().store).await?;
        self.0.audit(&operator, "database.login_role.delete", json!({})).await?;
        Ok(Json(Message { message: "ok".to_owned() }))
    }
}
