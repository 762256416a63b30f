//! The caller's own account.

use std::sync::Arc;

use poem::Request;
use poem_openapi::param::Query;
use poem_openapi::payload::Json;
use poem_openapi::{ApiResponse, OpenApi};

use super::request;
use crate::flows::{Scope, sign_out};
use crate::user::User;
use crate::{Auth, Error};

pub(super) struct UserApi {
    pub(super) auth: Arc<Auth>,
}

/// Done, and there is nothing to tell.
#[derive(ApiResponse)]
enum Done {
    #[oai(status = 204)]
    NoContent,
}

#[OpenApi]
impl UserApi {
    /// The user whose access token the request carries.
    #[oai(path = "/user", method = "get")]
    async fn get(&self, request: &Request) -> Result<Json<User>, Error> {
        let bearer = request::bearer(&self.auth, request).await?;
        if bearer.audience() != Some(request::audience(&self.auth, request, Some(&bearer))) {
            return Err(Error::validation("Token audience doesn't match request audience"));
        }
        Ok(Json(bearer.user))
    }

    /// Ends sessions of the user whose access token the request carries.
    #[oai(path = "/logout", method = "post")]
    async fn logout(
        &self,
        request: &Request,
        /// `global` (the default): all; `local`: this one; `others`: all but this one.
        scope: Query<Option<String>>,
    ) -> Result<Done, Error> {
        let bearer = request::bearer(&self.auth, request).await?;
        let scope = Scope::parse(scope.0.as_deref())?;
        sign_out::sign_out(&self.auth, &bearer, scope, &request::client(request)?).await?;
        Ok(Done::NoContent)
    }
}
