//! Verification of codes and links that were sent.

use std::sync::Arc;

use poem::Request;
use poem_openapi::param::Query;
use poem_openapi::payload::{Json, Response};
use poem_openapi::{ApiResponse, Object, OpenApi, Union};
use serde::Deserialize;

use super::abuse_protection::AbuseProtection;
use super::body::Body;
use super::contexts::Contexts;
use super::{error_response, session_response};
use crate::Error;
use crate::checks::limits::Bucket;
use crate::checks::redirects;
use crate::flows::access_token::Session;
use crate::flows::metrics::SignInMetrics;
use crate::flows::pkce;
use crate::flows::services::Accounts;
use crate::flows::verify::{self, HALF_CONFIRMED, Proof, VerificationResult};

pub(super) struct VerifyApi {
    pub(super) contexts: Contexts,
    pub(super) protection: AbuseProtection,
    pub(super) accounts: Accounts,
    pub(super) sign_in_metrics: Arc<SignInMetrics>,
}

/// A code together with the address that it was sent to, or only the hash of a link.
#[derive(Object, Deserialize)]
struct VerifyFields {
    /// `signup`, `invite`, `magiclink`, `recovery`, `email`, `email_change`, `sms` or `phone_change`.
    #[oai(rename = "type")]
    #[serde(rename = "type")]
    kind: Option<String>,
    /// The code.
    token: Option<String>,
    /// The hash in a link.
    token_hash: Option<String>,
    email: Option<String>,
    /// The phone number, with its country code.
    phone: Option<String>,
    redirect_to: Option<String>,
}

/// The change is confirmed by one of two addresses.
#[derive(Object)]
struct PartialConfirmation {
    /// The next step.
    msg: String,
    /// Always `200`.
    code: String,
}

/// A session; or a message, if another address has to confirm, too.
#[derive(Union)]
#[expect(clippy::large_enum_variant, reason = "made once, to be written out at once")]
enum SessionOrConfirmation {
    Session(Session),
    PartialConfirmation(PartialConfirmation),
}

/// A redirect.
#[derive(ApiResponse)]
enum VerifyRedirect {
    /// Redirects the browser to this URL.
    #[oai(status = 303)]
    SeeOther(
        /// The URL; contains the session, the code or the error.
        #[oai(header = "location")]
        String,
    ),
}

/// Paths that need no API key: links in mails lead to them.
pub(super) const KEYLESS: &[&str] = &["/verify"];

#[OpenApi]
impl VerifyApi {
    /// Verifies a code, which can be used only once, and signs its user in.
    #[oai(path = "/verify", method = "post")]
    async fn verify(
        &self,
        request: &Request,
        body: Body<VerifyFields>,
    ) -> Result<Response<Json<SessionOrConfirmation>>, Error> {
        self.protection.limit(request, Bucket::Verify).await?;
        let fields = body.read()?;
        let kind = required_kind(fields.kind)?;
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        let proof = Proof::from_fields(
            (&text(&fields.token), &text(&fields.token_hash)),
            (&text(&fields.email), &text(&fields.phone)),
            &text(&fields.redirect_to),
        )?;
        let context = self.contexts.of(&self.accounts, request, None)?;
        let verified = verify::verify(&context, &kind, &proof).await;
        self.sign_in_metrics.count("code", &verified);
        Ok(match verified? {
            VerificationResult::Session(session) => {
                session_response::wrap(*session, SessionOrConfirmation::Session)
            }
            VerificationResult::PartialConfirmation | VerificationResult::Code(_) => {
                Response::new(Json(SessionOrConfirmation::PartialConfirmation(PartialConfirmation {
                    msg: HALF_CONFIRMED.to_owned(),
                    code: "200".to_owned(),
                })))
            }
        })
    }

    /// Verifies a link from a mail, and redirects the browser to the client.
    #[oai(path = "/verify", method = "get")]
    async fn follow(
        &self,
        request: &Request,
        /// The hash in the link.
        token: Query<Option<String>>,
        /// The kind of the link.
        #[oai(name = "type")]
        kind: Query<Option<String>>,
    ) -> Result<VerifyRedirect, Error> {
        self.protection.limit(request, Bucket::Verify).await?;
        let kind = required_kind(kind.0)?;
        let token = token.0.filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| Error::validation("Verify requires a token or a token hash"))?;
        let context = self.contexts.of(&self.accounts, request, None)?;
        let target = &context.redirect_to;
        let uses_pkce = token.starts_with(pkce::PREFIX);
        let in_query =
            |members: &[(&'static str, String)]| if uses_pkce { members.to_vec() } else { Vec::new() };
        let sb = ("sb", String::new());
        let verified = verify::follow(&context, &kind, &token).await;
        self.sign_in_metrics.count("link", &verified);
        let location = match verified {
            Ok((VerificationResult::Session(session), purpose)) => {
                let mut fragment = session.fragment();
                fragment.push(("type", purpose.to_owned()));
                redirects::extend(target, &[], &fragment)?
            }
            Ok((VerificationResult::Code(code), _)) => redirects::extend(target, &[("code", code)], &[])?,
            Ok((VerificationResult::PartialConfirmation, _)) => {
                let message = [("message", HALF_CONFIRMED.to_owned())];
                redirects::extend(target, &in_query(&message), &[message.as_slice(), &[sb]].concat())?
            }
            Err(error) => {
                error_response::log(&error, request);
                let members = redirects::error_members(&error);
                redirects::extend(target, &in_query(&members), &[members.as_slice(), &[sb]].concat())?
            }
        };
        Ok(VerifyRedirect::SeeOther(location))
    }
}

fn required_kind(kind: Option<String>) -> Result<String, Error> {
    let kind = kind.filter(|kind| !kind.is_empty());
    kind.ok_or_else(|| Error::validation("Verify requires a verification type"))
}
