//! Rows of `auth.flow_state`: sign-ins that end elsewhere than they began.

use serde::Deserialize;
use uuid::Uuid;

use super::{Executor, Parameter, documents, owned, text, text_unless_empty};
use crate::Error;

/// A sign-in that is under way.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct FlowState {
    pub(crate) id: Uuid,
    /// Who signs in, as soon as it is known.
    pub(crate) user_id: Option<Uuid>,
    /// What a client that uses PKCE exchanges for the session.
    pub(crate) auth_code: Option<String>,
    /// Empty without PKCE.
    #[serde(default)]
    pub(crate) code_challenge: Option<String>,
    /// `s256` or `plain`.
    pub(crate) code_challenge_method: Option<String>,
    pub(crate) provider_type: String,
    /// Empty or `None` if the provider gave none; likewise below.
    pub(crate) provider_access_token: Option<String>,
    pub(crate) provider_refresh_token: Option<String>,
    pub(crate) authentication_method: String,
    pub(crate) invite_token: Option<String>,
    /// Where the user is sent in the end.
    pub(crate) referrer: Option<String>,
    pub(crate) oauth_client_state_id: Option<Uuid>,
    /// The user whom a new identity is linked to.
    pub(crate) linking_target_id: Option<Uuid>,
    pub(crate) email_optional: bool,
    /// Seconds since the flow began.
    pub(crate) age: f64,
    /// Seconds since the code was issued, if it was.
    pub(crate) code_age: Option<f64>,
}

/// What is known of a flow when it begins. Empty texts are stored as null; the provider's tokens, which are not known
/// yet, as empty texts, since upstream cannot read null there.
#[derive(Debug, Clone, Default)]
pub(crate) struct NewFlowState<'a> {
    pub(crate) user_id: Option<Uuid>,
    pub(crate) code_challenge: &'a str,
    /// `s256` or `plain`; empty without PKCE.
    pub(crate) code_challenge_method: &'a str,
    pub(crate) provider_type: &'a str,
    pub(crate) authentication_method: &'a str,
    pub(crate) invite_token: &'a str,
    pub(crate) referrer: &'a str,
    pub(crate) oauth_client_state_id: Option<Uuid>,
    pub(crate) linking_target_id: Option<Uuid>,
    pub(crate) email_optional: bool,
}

/// Begins a flow. It has an `auth_code` from the start exactly if it uses PKCE.
pub(crate) async fn create(executor: &impl Executor, new: &NewFlowState<'_>) -> Result<FlowState, Error> {
    let sql = format!(
        "insert into auth.flow_state as f (id, user_id, auth_code, code_challenge, code_challenge_method, provider_type,
           authentication_method, invite_token, referrer, oauth_client_state_id, linking_target_id, email_optional,
           provider_access_token, provider_refresh_token, created_at, updated_at)
         values (gen_random_uuid(), $1::uuid, $2, $3, $4::auth.code_challenge_method, $5, $6, $7, $8, $9::uuid,
           $10::uuid, $11::boolean, '', '', now(), now())
         returning {document}",
        document = documents::flow_state("f"),
    );
    let code = (!new.code_challenge.is_empty()).then(Uuid::new_v4);
    let parameters = vec![
        new.user_id.and_then(owned),
        code.and_then(owned),
        text_unless_empty(new.code_challenge),
        text_unless_empty(new.code_challenge_method),
        text(new.provider_type),
        text(new.authentication_method),
        text_unless_empty(new.invite_token),
        text_unless_empty(new.referrer),
        new.oauth_client_state_id.and_then(owned),
        new.linking_target_id.and_then(owned),
        owned(new.email_optional),
    ];
    let created = executor.change_returning(&sql, parameters).await?;
    created.ok_or_else(|| Error::Internal("a flow was not stored".to_owned()))
}

async fn find(
    executor: &impl Executor,
    condition: &str,
    parameters: Vec<Parameter<'_>>,
) -> Result<Option<FlowState>, Error> {
    let document = documents::flow_state("f");
    let sql = format!("select {document} from auth.flow_state f where {condition} for update of f");
    executor.change_returning(&sql, parameters).await
}

/// Returns the flow `id`, locked until the transaction ends.
pub(crate) async fn find_by_id(executor: &impl Executor, id: Uuid) -> Result<Option<FlowState>, Error> {
    find(executor, "f.id = $1::uuid", vec![owned(id)]).await
}

/// Returns the flow whose code is `code`, locked until the transaction ends, so that one exchange of the code wins.
pub(crate) async fn find_by_code(executor: &impl Executor, code: &str) -> Result<Option<FlowState>, Error> {
    find(executor, "f.auth_code = $1", vec![text(code)]).await
}

/// Returns the newest flow of user `id` that signs in by `method`, locked until the transaction ends.
pub(crate) async fn find_newest(
    executor: &impl Executor,
    id: Uuid,
    method: &str,
) -> Result<Option<FlowState>, Error> {
    // The user's flows are written out first, since the planner may prefer to scan all users' flows backwards.
    let condition = "f.id = (
        with own as materialized (
          select n.id, n.created_at from auth.flow_state n
          where n.user_id = $1::uuid and n.authentication_method = $2
        )
        select id from own order by created_at desc limit 1
      )";
    find(executor, condition, vec![owned(id), text(method)]).await
}

/// Notes who has signed in, what the provider gave, and that the code may be exchanged from now on.
pub(crate) async fn complete(
    executor: &impl Executor,
    id: Uuid,
    user_id: Uuid,
    (access_token, refresh_token): (&str, &str),
) -> Result<(), Error> {
    let sql =
        "update auth.flow_state set user_id = $2::uuid, auth_code_issued_at = now(), updated_at = now(),
        provider_access_token = coalesce($3, provider_access_token),
        provider_refresh_token = coalesce($4, provider_refresh_token)
      where id = $1::uuid";
    let parameters =
        vec![owned(id), owned(user_id), text_unless_empty(access_token), text_unless_empty(refresh_token)];
    executor.change(sql, parameters).await.map(drop)
}

/// Ends a flow.
pub(crate) async fn delete(executor: &impl Executor, id: Uuid) -> Result<(), Error> {
    let sql = "delete from auth.flow_state where id = $1::uuid";
    executor.change(sql, vec![owned(id)]).await.map(drop)
}
