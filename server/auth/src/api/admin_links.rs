//! Links for mails, for administrators.

use std::sync::Arc;

use poem::Request;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use serde::Deserialize;
use serde_json::Value;

use super::body::Body;
use super::callers::Callers;
use super::contexts::Contexts;
use super::fields::object;
use crate::Error;
use crate::checks::redirects::Redirects;
use crate::flows::admin::link::{self, LinkRequest, LinkType};
use crate::flows::services::Accounts;
use crate::store::model::address;
use crate::store::model::user::User;

pub(super) struct AdminLinksApi {
    pub(super) callers: Callers,
    pub(super) contexts: Contexts,
    pub(super) redirects: Arc<Redirects>,
    pub(super) accounts: Accounts,
}

/// The link to create.
#[derive(Object, Deserialize)]
struct LinkFields {
    /// `signup`, `invite`, `magiclink`, `recovery`, `email_change_current` or `email_change_new`.
    #[oai(rename = "type")]
    #[serde(rename = "type")]
    kind: Option<String>,
    /// The address of the user that the link is for.
    email: Option<String>,
    /// For changes of the address: the new address.
    new_email: Option<String>,
    /// For sign-ups: the password of the new user.
    password: Option<String>,
    /// An object that becomes the metadata of a new user.
    data: Option<Value>,
    /// The URL that the link finally redirects to.
    redirect_to: Option<String>,
}

/// A user, and a link for that user.
#[derive(Object)]
struct GeneratedLink {
    #[oai(flatten)]
    user: User,
    /// The link.
    action_link: String,
    /// The code that can be entered instead.
    email_otp: String,
    /// The hash in the link.
    hashed_token: String,
    /// The kind of the link. For unknown users, it may differ from the requested one.
    verification_type: String,
    /// The URL that the link finally redirects to.
    redirect_to: String,
}

#[OpenApi]
impl AdminLinksApi {
    /// Creates a link without sending a mail.
    #[oai(path = "/admin/generate_link", method = "post")]
    async fn generate(
        &self,
        request: &Request,
        body: Body<LinkFields>,
    ) -> Result<Json<GeneratedLink>, Error> {
        let admin = self.callers.admin(request).await?;
        let fields = body.read()?;
        let link_request = LinkRequest {
            email: address::email(&fields.email.unwrap_or_default())?,
            kind: LinkType::parse(&fields.kind.unwrap_or_default())?,
            new_email: fields.new_email.unwrap_or_default(),
            password: fields.password.unwrap_or_default(),
            data: object("data", fields.data)?,
        };
        let mut context = self.contexts.of(&self.accounts, request, None)?;
        if let Some(target) = fields.redirect_to.filter(|target| self.redirects.allows(target)) {
            context.redirect_to = target.into();
        }
        let link = link::generate(&context, &admin, link_request).await?;
        Ok(Json(GeneratedLink {
            user: link.user,
            action_link: link.url,
            email_otp: link.code.code,
            hashed_token: link.code.hash,
            verification_type: link.kind.name().to_owned(),
            redirect_to: context.redirect_to.into_owned(),
        }))
    }
}
