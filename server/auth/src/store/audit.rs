//! The audit log. It is written in the same statement or transaction as what it reports.

use std::net::IpAddr;

use poem_openapi::Object;
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::{Executor, NO_INSTANCE, owned, text};
use crate::store::model::user::timestamp;
use crate::{Error, Settings};

/// What happened, as upstream names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Login,
    Logout,
    InviteAccepted,
    UserSignedUp,
    UserInvited,
    UserDeleted,
    TokenRevoked,
    TokenRefreshed,
    UserModified,
    UserRecoveryRequested,
    UserReauthenticateRequested,
    UserConfirmationRequested,
    UserRepeatedSignup,
    UserUpdatedPassword,
    IdentityLinked,
    IdentityUnlinked,
    PasskeyCreated,
    PasskeyUpdated,
    PasskeyDeleted,
    FactorInProgress,
    FactorUnenrolled,
    ChallengeCreated,
    VerificationAttempted,
    FactorDeleted,
    FactorUpdated,
    RecoveryCodesGenerated,
    RecoveryCodesRegenerated,
    RecoveryCodesVerified,
    RecoveryCodesDeleted,
}

impl Action {
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Login => ("login", "account"),
            Self::Logout => ("logout", "account"),
            Self::InviteAccepted => ("invite_accepted", "account"),
            Self::UserSignedUp => ("user_signedup", "team"),
            Self::UserInvited => ("user_invited", "team"),
            Self::UserDeleted => ("user_deleted", "team"),
            Self::TokenRevoked => ("token_revoked", "token"),
            Self::TokenRefreshed => ("token_refreshed", "token"),
            Self::UserModified => ("user_modified", "user"),
            Self::UserRecoveryRequested => ("user_recovery_requested", "user"),
            Self::UserReauthenticateRequested => ("user_reauthenticate_requested", "user"),
            Self::UserConfirmationRequested => ("user_confirmation_requested", "user"),
            Self::UserRepeatedSignup => ("user_repeated_signup", "user"),
            Self::UserUpdatedPassword => ("user_updated_password", "user"),
            Self::IdentityLinked => ("identity_linked", "user"),
            Self::IdentityUnlinked => ("identity_unlinked", "user"),
            Self::PasskeyCreated => ("passkey_created", "user"),
            Self::PasskeyUpdated => ("passkey_updated", "user"),
            Self::PasskeyDeleted => ("passkey_deleted", "user"),
            Self::FactorInProgress => ("factor_in_progress", "factor"),
            Self::FactorUnenrolled => ("factor_unenrolled", "factor"),
            Self::ChallengeCreated => ("challenge_created", "factor"),
            Self::VerificationAttempted => ("verification_attempted", "factor"),
            Self::FactorDeleted => ("factor_deleted", "factor"),
            Self::FactorUpdated => ("factor_updated", "factor"),
            Self::RecoveryCodesGenerated => ("recovery_codes_generated", "factor"),
            Self::RecoveryCodesRegenerated => ("recovery_codes_regenerated", "factor"),
            Self::RecoveryCodesVerified => ("recovery_codes_verified", "factor"),
            Self::RecoveryCodesDeleted => ("recovery_codes_deleted", "factor"),
        }
    }
}

/// Returns a data-modifying CTE `name` that logs `action` for each row of `actors` (rows of `auth.users`) unless the
/// boolean parameter `disabled` is true. `address` and `traits` (null for none) are SQL expressions.
pub(crate) fn entry(
    name: &str,
    action: Action,
    actors: &str,
    disabled: &str,
    address: &str,
    traits: &str,
) -> String {
    let (action, kind) = action.names();
    format!(
        "{name} as (
          insert into auth.audit_log_entries (instance_id, id, payload, created_at, ip_address)
          select {NO_INSTANCE}, gen_random_uuid(), json_strip_nulls(json_build_object(
            'actor_id', actor.id,
            'actor_username', coalesce(nullif(actor.phone, ''), actor.email, ''),
            'actor_name', actor.raw_user_meta_data -> 'full_name',
            'actor_via_sso', actor.is_sso_user,
            'action', '{action}',
            'log_type', '{kind}',
            'traits', {traits}
          )), clock_timestamp(), {address}
          from {actors} as actor where not {disabled}
        )"
    )
}

/// Who did something.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Actor<'a> {
    /// This user.
    User(Uuid),
    /// A token with this role and without a user.
    Role(&'a str),
}

/// Logs that `actor` did `action` from `address`. `traits` is an object with details, or null.
pub(crate) async fn write(
    executor: &impl Executor,
    settings: &Settings,
    actor: Actor<'_>,
    action: Action,
    address: IpAddr,
    traits: Value,
) -> Result<(), Error> {
    let traits = if traits.is_null() { None } else { owned(traits) };
    let (actors, actor) = match actor {
        Actor::User(id) => ("(select * from auth.users where id = $1::uuid)".to_owned(), owned(id)),
        Actor::Role(role) => (
            format!(
                "(select {NO_INSTANCE} as id, '' as phone, $1 as email, null::jsonb as raw_user_meta_data,
                   false as is_sso_user)"
            ),
            text(role),
        ),
    };
    let entry = entry("entry", action, &actors, "$2::boolean", "host($3::inet)", "$4::json");
    let parameters = vec![actor, owned(settings.audit_log_disabled), owned(address), traits];
    executor.change(&format!("with {entry} select"), parameters).await.map(drop)
}

::settings::words! {
    /// The fields that entries are searched by.
    pub(crate) enum Scope {
        Author = "author",
        Action = "action",
        Type = "type",
    }
}

impl Scope {
    /// Returns a SQL condition on entry `e`; the first parameter is a pattern.
    const fn condition(self) -> &'static str {
        match self {
            Self::Author => {
                "(e.payload ->> 'actor_username' ilike $1::text or e.payload ->> 'actor_name' ilike $1::text)"
            }
            Self::Action => "e.payload ->> 'action' ilike $1::text",
            Self::Type => "e.payload ->> 'log_type' ilike $1::text",
        }
    }
}

/// An entry of the audit log.
#[derive(Debug, Deserialize, Object)]
pub(crate) struct Entry {
    id: Uuid,
    /// The actor and the action: `actor_id`, `actor_username`, `actor_name`, `actor_via_sso`, `action`, `log_type`,
    /// `traits`.
    payload: Value,
    #[serde(deserialize_with = "timestamp")]
    created_at: Option<String>,
    /// The address that the request came from.
    ip_address: String,
}

/// Entries of one page, and how many there are on all pages.
#[derive(Deserialize)]
pub(crate) struct Page {
    pub(crate) entries: Vec<Entry>,
    pub(crate) total: u64,
}

/// Returns at most `limit` entries after the newest `offset`: all, or those in which a field of a scope contains a
/// text.
pub(crate) async fn page(
    executor: &impl Executor,
    query: Option<(Scope, &str)>,
    limit: i64,
    offset: i64,
) -> Result<Page, Error> {
    let condition = query.map_or("$1::text is null", |(scope, _)| scope.condition());
    let sql = format!(
        "select jsonb_build_object(
           'total', (select count(*) from auth.audit_log_entries e where {condition}),
           'entries', coalesce((
             select jsonb_agg(to_jsonb(p) - 'instance_id' order by p.created_at desc nulls last, p.id) from (
               select e.* from auth.audit_log_entries e where {condition}
               order by e.created_at desc nulls last, e.id limit $2::bigint offset $3::bigint
             ) p
           ), '[]')
         )"
    );
    let pattern = query.map(|(_, text)| format!("%{text}%"));
    let page = executor.read(&sql, vec![pattern.and_then(owned), owned(limit), owned(offset)]).await?;
    page.ok_or_else(|| Error::Internal("a page of the audit log was not returned".to_owned()))
}
