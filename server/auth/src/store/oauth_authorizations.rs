//! Rows of `auth.oauth_authorizations`: clients' requests for access to a user's account, and the codes that follow.

use std::time::Duration;

use serde::Deserialize;
use uuid::Uuid;

use super::oauth_clients::OauthClient;
use super::{Executor, Work, documents, interval, owned, text, text_unless_empty};
use crate::Error;

/// How far a request has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    Pending,
    Approved,
    Denied,
    Expired,
}

/// A request for access.
#[derive(Debug, Deserialize)]
pub(crate) struct Authorization {
    pub(crate) authorization_id: String,
    /// Who asks; `None` if the client was deleted.
    pub(crate) client: Option<OauthClient>,
    pub(crate) client_id: Uuid,
    /// The user who decides: the first one who has viewed the request.
    pub(crate) user_id: Option<Uuid>,
    pub(crate) redirect_uri: String,
    /// Separated by blanks.
    pub(crate) scope: String,
    pub(crate) state: Option<String>,
    pub(crate) resource: Option<String>,
    pub(crate) code_challenge: Option<String>,
    /// `s256` or `plain`.
    pub(crate) code_challenge_method: Option<String>,
    pub(crate) nonce: Option<String>,
    pub(crate) status: Status,
    /// Whether its time is over, whatever the status says.
    pub(crate) is_expired: bool,
}

/// A request for access that begins. Empty texts are stored as null.
#[derive(Debug)]
pub(crate) struct NewAuthorization<'a> {
    /// Its id on the consent page.
    pub(crate) authorization_id: &'a str,
    pub(crate) client_id: Uuid,
    pub(crate) redirect_uri: &'a str,
    pub(crate) scope: &'a str,
    pub(crate) state: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) code_challenge: &'a str,
    /// `s256` or `plain`.
    pub(crate) code_challenge_method: &'a str,
    pub(crate) nonce: &'a str,
    /// How long it can be answered, and its code used.
    pub(crate) life: Duration,
}

/// Stores a new request.
pub(crate) async fn create(executor: &impl Executor, new: &NewAuthorization<'_>) -> Result<(), Error> {
    let sql =
        "insert into auth.oauth_authorizations (id, authorization_id, client_id, redirect_uri, scope, state,
        resource, code_challenge, code_challenge_method, nonce, created_at, expires_at)
      values (gen_random_uuid(), $1, $2::uuid, $3, $4, $5, $6, $7, $8::auth.code_challenge_method, $9, now(),
        now() + $10::interval)";
    let parameters = vec![
        text(new.authorization_id),
        owned(new.client_id),
        text(new.redirect_uri),
        text(new.scope),
        text_unless_empty(new.state),
        text_unless_empty(new.resource),
        text_unless_empty(new.code_challenge),
        text_unless_empty(new.code_challenge_method),
        text_unless_empty(new.nonce),
        interval(Some(new.life)),
    ];
    executor.change(sql, parameters).await.map(drop)
}

async fn find_where(work: &Work, condition: &str, value: &str) -> Result<Option<Authorization>, Error> {
    let document = documents::oauth_authorization("a");
    let sql = format!("select {document} from auth.oauth_authorizations a where {condition} for update of a");
    work.change_returning(&sql, vec![text(value)]).await
}

/// Returns the request that the consent page knows by `id`, locked until the transaction ends.
pub(crate) async fn find(work: &Work, id: &str) -> Result<Option<Authorization>, Error> {
    find_where(work, "a.authorization_id = $1", id).await
}

/// Returns the approved request whose code is `code`, locked until the transaction ends, so that one exchange of it
/// wins.
pub(crate) async fn find_by_code(work: &Work, code: &str) -> Result<Option<Authorization>, Error> {
    find_where(work, "a.authorization_code = $1 and a.status = 'approved'", code).await
}

/// Stores that user `user` decides on the request.
pub(crate) async fn assign(work: &Work, id: &str, user: Uuid) -> Result<(), Error> {
    let sql = "update auth.oauth_authorizations set user_id = $2::uuid where authorization_id = $1";
    work.change(sql, vec![text(id), owned(user)]).await.map(drop)
}

/// Notes that the user agrees. From now on the client may exchange `code`.
pub(crate) async fn approve(work: &Work, id: &str, code: Uuid) -> Result<(), Error> {
    let sql = "update auth.oauth_authorizations
       set status = 'approved', approved_at = now(), authorization_code = $2::uuid::text where authorization_id = $1";
    work.change(sql, vec![text(id), owned(code)]).await.map(drop)
}

/// Notes that the user does not agree.
pub(crate) async fn deny(work: &Work, id: &str) -> Result<(), Error> {
    let sql = "update auth.oauth_authorizations set status = 'denied' where authorization_id = $1";
    work.change(sql, vec![text(id)]).await.map(drop)
}

/// Marks the request as expired, if its time is over.
pub(crate) async fn expire(work: &Work, id: &str) -> Result<(), Error> {
    let sql = "update auth.oauth_authorizations set status = 'expired'
       where authorization_id = $1 and status = 'pending' and now() > expires_at";
    work.change(sql, vec![text(id)]).await.map(drop)
}

/// Removes the request; its code becomes invalid.
pub(crate) async fn delete(work: &Work, id: &str) -> Result<(), Error> {
    let sql = "delete from auth.oauth_authorizations where authorization_id = $1";
    work.change(sql, vec![text(id)]).await.map(drop)
}
