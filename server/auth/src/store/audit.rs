//! The audit log, written in the same statement as what it reports.

use super::NO_INSTANCE;

/// What happened, as upstream names it.
#[derive(Clone, Copy)]
pub(crate) enum Action {
    Login,
    Logout,
    TokenRevoked,
    TokenRefreshed,
}

impl Action {
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Action::Login => ("login", "account"),
            Action::Logout => ("logout", "account"),
            Action::TokenRevoked => ("token_revoked", "token"),
            Action::TokenRefreshed => ("token_refreshed", "token"),
        }
    }
}

/// A data-modifying CTE `name` that logs `action` for each row of `actors` (rows of `auth.users`) unless the boolean
/// parameter `disabled` is true. `address` and `traits` (null for none) are SQL expressions.
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
          )), now(), {address}
          from {actors} as actor where not {disabled}
        )"
    )
}
