//! Administration of users' second factors and passkeys.

use poem::Request;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use serde::Deserialize;

use super::body::Body;
use super::callers::Callers;
use super::contexts::Contexts;
use super::passkeys::PasskeyItem;
use super::shared_responses::Done;
use crate::Error;
use crate::flows;
use crate::flows::factors;
use crate::flows::factors::admin::{self, FactorChange};
use crate::flows::passkeys;
use crate::flows::services::{Factors, Passkeys};
use crate::store;
use crate::store::model::user::{Factor, User};

pub(super) struct AdminFactorsApi {
    pub(super) callers: Callers,
    pub(super) contexts: Contexts,
    pub(super) factors: Factors,
    pub(super) passkeys: Passkeys,
}

/// Changes of a factor; missing and empty fields are not changed.
#[derive(Object, Deserialize)]
struct FactorFields {
    friendly_name: Option<String>,
    /// The number of a phone factor, with its country code.
    phone: Option<String>,
}

#[OpenApi]
impl AdminFactorsApi {
    /// Returns the second factors of a user, oldest first.
    #[oai(path = "/admin/users/:user_id/factors", method = "get")]
    async fn factors(&self, request: &Request, user_id: Path<String>) -> Result<Json<Vec<Factor>>, Error> {
        self.callers.admin(request).await?;
        Ok(Json(self.user(&user_id.0).await?.factors))
    }

    /// Changes a second factor of a user.
    #[oai(path = "/admin/users/:user_id/factors/:factor_id", method = "put")]
    async fn update_factor(
        &self,
        request: &Request,
        user_id: Path<String>,
        factor_id: Path<String>,
        body: Body<FactorFields>,
    ) -> Result<Json<Factor>, Error> {
        let admin = self.callers.admin(request).await?;
        let user = self.user(&user_id.0).await?;
        let factor = factors::find(&user, &factor_id.0)?;
        let fields = body.read()?;
        let change = FactorChange {
            friendly_name: fields.friendly_name.unwrap_or_default(),
            phone: fields.phone.unwrap_or_default(),
        };
        let context = self.contexts.of(&self.factors, request, None)?;
        admin::update(&context, &admin, &user, factor, &change).await.map(Json)
    }

    /// Removes a second factor of a user.
    #[oai(path = "/admin/users/:user_id/factors/:factor_id", method = "delete")]
    async fn delete_factor(
        &self,
        request: &Request,
        user_id: Path<String>,
        factor_id: Path<String>,
    ) -> Result<Json<Factor>, Error> {
        self.callers.admin(request).await?;
        let user = self.user(&user_id.0).await?;
        let factor = factors::find(&user, &factor_id.0)?;
        let context = self.contexts.of(&self.factors, request, None)?;
        admin::delete(&context, &user, factor).await.map(Json)
    }

    /// Returns the passkeys of a user, oldest first.
    #[oai(path = "/admin/users/:user_id/passkeys", method = "get")]
    async fn passkeys(
        &self,
        request: &Request,
        user_id: Path<String>,
    ) -> Result<Json<Vec<PasskeyItem>>, Error> {
        self.callers.admin(request).await?;
        let user = self.user(&user_id.0).await?;
        let list = store::passkeys::list(&self.factors.database, user.id).await?;
        Ok(Json(list.into_iter().map(PasskeyItem::from).collect()))
    }

    /// Removes a passkey of a user.
    #[oai(path = "/admin/users/:user_id/passkeys/:passkey_id", method = "delete")]
    async fn delete_passkey(
        &self,
        request: &Request,
        user_id: Path<String>,
        passkey_id: Path<String>,
    ) -> Result<Done, Error> {
        let admin = self.callers.admin(request).await?;
        let user = self.user(&user_id.0).await?;
        let context = self.contexts.of(&self.passkeys, request, None)?;
        passkeys::delete_of(&context, &admin, user.id, &passkey_id.0).await?;
        Ok(Done::NoContent)
    }
}

impl AdminFactorsApi {
    /// Returns the user with the id in a path.
    ///
    /// Errors: `validation_failed` (404) for text that is not a UUID, `user_not_found`.
    async fn user(&self, id: &str) -> Result<User, Error> {
        Ok(flows::admin::find(&self.factors.database, id).await?.user)
    }
}
