//! Who sends a request: a user or an administrator, as the access token says.

use std::sync::Arc;

use gateway::{BearerSource, Caller};
use http::StatusCode;
use http::header::AUTHORIZATION;
use poem::Request;
use postgres::Database;
use tokens::Verifier;

use super::request::caller;
use crate::flows::bearer::{self, Admin, Bearer};
use crate::{Code, Error, Settings};

/// Verifies the access tokens of requests.
#[derive(Clone)]
pub(super) struct Callers {
    pub(super) verifier: Verifier,
    pub(super) database: Database,
    pub(super) settings: Arc<Settings>,
}

impl Callers {
    /// Returns the user who has sent the request: the access token is the user's own, not that of an OAuth client,
    /// which may only do what [`any_bearer`](Self::any_bearer) is for. This is stricter than upstream.
    ///
    /// Errors: as [`any_bearer`](Self::any_bearer); `no_authorization` (403).
    pub(super) async fn bearer(&self, request: &Request) -> Result<Bearer, Error> {
        let bearer = self.any_bearer(request).await?;
        if bearer.is_oauth_client() {
            let message = "This endpoint requires the user's own session, not that of an OAuth client";
            return Err(Code::NoAuthorization.at(StatusCode::FORBIDDEN, message));
        }
        Ok(bearer)
    }

    /// Returns the user whose access token is in the request, be it that of an OAuth client: for endpoints that change
    /// nothing but the session. Errors as [`bearer::authenticate`].
    pub(super) async fn any_bearer(&self, request: &Request) -> Result<Bearer, Error> {
        let caller = caller(request)?;
        // An API key identifies the project, never a user.
        let token = match caller.bearer_source {
            BearerSource::Authorization => authorization(request, caller),
            BearerSource::LegacyKey | BearerSource::OpaqueKey => None,
        };
        bearer::authenticate(&self.verifier, &self.database, token).await
    }

    /// Returns the administrator who has sent this request; errors as [`bearer::authorize_admin`].
    pub(super) async fn admin(&self, request: &Request) -> Result<Admin, Error> {
        let caller = caller(request)?;
        // Supabase's gateway writes the token of an opaque key into `Authorization`, and does not change legacy keys.
        let token = match caller.bearer_source {
            BearerSource::Authorization => authorization(request, caller),
            BearerSource::OpaqueKey => caller.bearer.as_deref(),
            BearerSource::LegacyKey => None,
        };
        bearer::authorize_admin(&self.verifier, &self.database, &self.settings, token).await
    }
}

/// Returns the token in `Authorization`, if the header has upstream's form: `Bearer`, one space, and a text without
/// spaces.
fn authorization<'a>(request: &Request, caller: &'a Caller) -> Option<&'a str> {
    let token = caller.bearer.as_deref()?;
    let header = request.headers().get(AUTHORIZATION)?;
    let is_one_word = !token.is_empty() && !token.contains(char::is_whitespace);
    (is_one_word && header.len() == "Bearer ".len() + token.len()).then_some(token)
}
