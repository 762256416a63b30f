//! The user's consent to a client's authorization request.

use postgres::Database;
use uuid::Uuid;

use super::{authorize, scopes};
use crate::checks::redirects;
use crate::checks::redirects::Redirects;
use crate::flows::bearer::Bearer;
use crate::store::oauth_authorizations::{self, Authorization, Status};
use crate::store::oauth_clients::OauthClient;
use crate::store::{self, Work, oauth_consents};
use crate::{Code, Error};

::settings::words! {
    /// The user's decision.
    pub(crate) enum ConsentDecision {
        Approve = "approve",
        Deny = "deny",
    }
}

impl ConsentDecision {
    /// Parses a decision.
    ///
    /// Errors: `validation_failed` for an unknown name.
    pub(crate) fn parse(name: &str) -> Result<Self, Error> {
        Self::of_name(name).ok_or_else(|| Error::validation("action must be 'approve' or 'deny'"))
    }
}

/// The next step of the consent page.
#[expect(clippy::large_enum_variant, reason = "made once, to be written out at once")]
pub(crate) enum ConsentStep {
    /// Ask the user.
    Ask(Authorization, OauthClient),
    /// Send the user there: the client was granted the same scopes before.
    Granted(String),
}

/// Checks that a request comes from a page of the site. Without header `Origin` it comes from no page at all.
///
/// Errors: `validation_failed`.
pub(crate) fn check_origin(redirects: &Redirects, origin: Option<&str>) -> Result<(), Error> {
    match origin {
        Some(origin) if !redirects.allows(origin) => Err(Error::validation("unauthorized request origin")),
        _ => Ok(()),
    }
}

/// Returns what request `id` is about. The request is then assigned to the first user who views it; no other user sees
/// it.
///
/// Errors: `oauth_authorization_not_found` for what is unknown, too old or another user's; `validation_failed` for what
/// is decided.
pub(crate) async fn view(database: &Database, bearer: &Bearer, id: &str) -> Result<ConsentStep, Error> {
    let message = "authorization request cannot be processed";
    let (work, request, client) = find_pending(store::begin(database).await?, id, message).await?;
    let user = bearer.user.id;
    match request.user_id {
        Some(owner) if owner == user => return Ok(ConsentStep::Ask(request, client)),
        Some(_) => return Err(not_found()),
        None => oauth_authorizations::assign(&work, id, user).await?,
    }
    let granted = oauth_consents::scopes(&work, user, client.id).await?;
    let question = if granted.is_some_and(|granted| scopes::covers(&granted, &request.scope)) {
        ConsentStep::Granted(approve(&work, &request).await?)
    } else {
        ConsentStep::Ask(request, client)
    };
    work.commit().await?;
    Ok(question)
}

/// Applies the user's decision on request `id`, and returns where the browser goes next: back to the client, with a
/// code or with an error.
///
/// Errors: as [`view`]; also `oauth_authorization_not_found` for a user who has not viewed the request.
pub(crate) async fn decide(
    database: &Database,
    bearer: &Bearer,
    id: &str,
    decision: ConsentDecision,
) -> Result<String, Error> {
    let message = "authorization request is no longer pending";
    let (work, request, client) = find_pending(store::begin(database).await?, id, message).await?;
    let user = bearer.user.id;
    if request.user_id != Some(user) {
        return Err(not_found());
    }
    let target = match decision {
        ConsentDecision::Approve => {
            oauth_consents::grant(&work, user, client.id, &request.scope).await?;
            approve(&work, &request).await?
        }
        ConsentDecision::Deny => {
            oauth_authorizations::deny(&work, id).await?;
            let state = request.state.as_deref().unwrap_or_default();
            authorize::refusal(&request.redirect_uri, "access_denied", "User denied the request", state)?
        }
    };
    work.commit().await?;
    Ok(target)
}

/// Returns the request `id` and its client, locked until `work` ends; of several who decide at once, the first does.
///
/// Errors: `oauth_authorization_not_found`, `validation_failed` with `message` for a request that is decided.
async fn find_pending(
    work: Work,
    id: &str,
    message: &'static str,
) -> Result<(Work, Authorization, OauthClient), Error> {
    // No text in Postgres contains a NUL.
    if id.contains('\0') {
        return Err(not_found());
    }
    let mut request = oauth_authorizations::find(&work, id).await?.ok_or_else(not_found)?;
    if request.is_expired {
        oauth_authorizations::expire(&work, id).await?;
        work.commit().await?;
        return Err(not_found());
    }
    if request.status != Status::Pending {
        return Err(Error::validation(message));
    }
    let client = request.client.take().ok_or_else(not_found)?;
    Ok((work, request, client))
}

/// Returns where the client gets its code (RFC 6749, section 4.1.2).
async fn approve(work: &Work, request: &Authorization) -> Result<String, Error> {
    let code = Uuid::new_v4();
    oauth_authorizations::approve(work, &request.authorization_id, code).await?;
    let mut members = vec![("code", code.to_string())];
    members.extend(request.state.clone().map(|state| ("state", state)));
    redirects::extend(&request.redirect_uri, &members, &[])
}

fn not_found() -> Error {
    Code::OauthAuthorizationNotFound.because("authorization not found")
}
