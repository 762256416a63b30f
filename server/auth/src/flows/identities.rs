//! Linking identities to an account, and unlinking them, at the user's request.

use serde_json::json;
use uuid::Uuid;

use crate::error::refusals;
use crate::flows::account::{self, ProviderLogin, ResolvedAccount};
use crate::flows::bearer::Bearer;
use crate::flows::services::Accounts;
use crate::flows::{Context, deliver, sign_up};
use crate::store::audit::{Action, Actor};
use crate::store::model::address::Address;
use crate::store::model::user::{Identity, User};
use crate::store::users::{self, Account, Changes};
use crate::store::{self, Work, accounts, identities, one_time_tokens};
use crate::{Code, Error, MailKind};

/// Checks that linking identities by hand is on.
///
/// Errors: `manual_linking_disabled`.
pub(crate) fn require_manual_linking(context: &Context<'_, Accounts>) -> Result<(), Error> {
    if context.services.settings.security.manual_linking {
        return Ok(());
    }
    Err(Code::ManualLinkingDisabled.because("Manual linking is disabled"))
}

/// Links the identity that `login` is about to user `target`. A user without an e-mail address gets the
/// identity's, and is no longer anonymous once that is confirmed.
///
/// Errors: `identity_already_exists`, `email_exists`, `user_not_found` (422). `email_not_confirmed` (422) is in the
/// result, because the identity and the mail that it was sent stay.
pub(crate) async fn link_to(
    work: &Work,
    target: Uuid,
    login: &ProviderLogin<'_>,
) -> Result<ResolvedAccount, Error> {
    let (context, provider) = (login.context, login.provider);
    let subject = login.profile.subject();
    account::require_subject(login.profile)?;
    accounts::lock(work, (provider, subject), &login.addresses()).await?;
    let user = users::find(work, target).await?.ok_or_else(|| {
        Code::UserNotFound.at(http::StatusCode::UNPROCESSABLE_ENTITY, "Linking target user not found")
    })?;
    if let Some(known) = identities::find(work, provider, subject).await? {
        let whose = if known.user_id == target { "" } else { " to another user" };
        return Err(Code::IdentityAlreadyExists.because(format!("Identity is already linked{whose}")));
    }
    account::link(work, target, login).await?;
    let mut resolved = ResolvedAccount { account: user, created: false, refusal: None };
    if resolved.account.user.email.is_empty() {
        resolved = take_address(work, target, login).await?;
    }
    if resolved.refusal.is_none() {
        resolved.account = users::derive_providers(work, target).await?;
        deliver::notify(&context.delivery(), &resolved.account, MailKind::IdentityLinked, provider).await;
    }
    Ok(resolved)
}

/// Gives a user without an address that of the identity that was just linked.
async fn take_address(work: &Work, user: Uuid, login: &ProviderLogin<'_>) -> Result<ResolvedAccount, Error> {
    let (context, provider) = (login.context, login.provider);
    let before = find(work, user).await?;
    let promoted = promote_address(context, work, before).await?;
    let account = promoted.ok_or_else(|| {
        Code::EmailExists.at(http::StatusCode::BAD_REQUEST, refusals::email_exists().to_string())
    })?;
    if account.user.email.is_empty() {
        return Ok(ResolvedAccount { account, created: false, refusal: None });
    }
    if !login.profile.email().is_some_and(|email| email.verified) {
        let account =
            deliver::mail(&context.delivery(), work, account, MailKind::Confirmation, false).await?;
        let message = format!(
            "Unverified email with {provider}. A confirmation email has been sent to your {provider} email"
        );
        let refusal = Code::EmailNotConfirmed.at(http::StatusCode::UNPROCESSABLE_ENTITY, message);
        return Ok(ResolvedAccount { account, created: false, refusal: Some(refusal) });
    }
    sign_up::confirm_email(work, user).await?;
    let account = Changes::new().anonymous(false).apply(work, user).await?;
    Ok(ResolvedAccount { account, created: false, refusal: None })
}

async fn find(work: &Work, user: Uuid) -> Result<Account, Error> {
    let account = users::find(work, user).await?;
    account.ok_or_else(|| Error::Internal("a user whose identities change is gone".to_owned()))
}

/// Removes identity `id` of the caller, who keeps at least one other. If the caller's address came with it, that of
/// the best remaining identity takes its place.
///
/// Errors: `unexpected_audience`, `single_identity_not_deletable`, `identity_not_found`,
/// `email_conflict_identity_not_deletable`.
pub(crate) async fn unlink(context: &Context<'_, Accounts>, bearer: &Bearer, id: Uuid) -> Result<(), Error> {
    if bearer.audience() != Some(&*context.audience) {
        return Err(Code::UnexpectedAudience.because("Token audience doesn't match request audience"));
    }
    let work = store::begin(&context.services.database).await?;
    // Under the lock of the user's row: two concurrent removals must not remove the last identity.
    let before = find(&work, bearer.user.id).await?;
    let identity = removable(&before.user, id)?;
    let traits = json!({
        "identity_id": identity.identity_id,
        "provider": identity.provider,
        "provider_id": identity.id,
    });
    let actor = Actor::User(bearer.user.id);
    context.log(&work, actor, Action::IdentityUnlinked, traits).await?;
    identities::delete(&work, id).await?;
    if identity.provider == "phone" {
        Changes::new().phone("").unconfirm_phone().apply(&work, bearer.user.id).await?;
    } else {
        let left = find(&work, bearer.user.id).await?;
        if promote_address(context, &work, left).await?.is_none() {
            return Err(Code::EmailConflictIdentityNotDeletable
                .because("Unable to unlink identity due to email conflict"));
        }
    }
    users::derive_providers(&work, bearer.user.id).await?;
    work.commit().await?;
    // To the previous address, which may not be the user's any more.
    deliver::notify(&context.delivery(), &before, MailKind::IdentityUnlinked, &identity.provider).await;
    Ok(())
}

fn removable(user: &User, id: Uuid) -> Result<&Identity, Error> {
    if user.identities.len() <= 1 {
        let message = "User must have at least 1 identity after unlinking";
        return Err(Code::SingleIdentityNotDeletable.because(message));
    }
    let identity = user.identities.iter().find(|identity| identity.identity_id == id);
    identity.ok_or_else(|| Code::IdentityNotFound.because("Identity doesn't exist"))
}

/// Gives the user the address of the best identity, unless one of the identities has the user's current one. Codes that
/// were sent before become invalid then. `None` if all that the identities offer are other users' addresses.
async fn promote_address(
    context: &Context<'_, Accounts>,
    work: &Work,
    account: Account,
) -> Result<Option<Account>, Error> {
    let user = &account.user;
    let current = user.email.as_str();
    let address = |identity: &Identity| identity.email.clone().unwrap_or_default();
    if user.identities.iter().any(|identity| !current.is_empty() && address(identity) == current) {
        return Ok(Some(account));
    }
    for identity in by_trust(&user.identities) {
        let address = address(identity);
        if !address.is_empty() {
            let owner = users::find_by_address(work, &Address::Email(address.clone()), &user.aud).await?;
            if owner.is_some_and(|owner| owner.id() != user.id) {
                continue;
            }
        }
        one_time_tokens::clear_all(work, user.id).await?;
        let confirmed = is_verified(identity) || context.services.settings.mail.autoconfirm;
        let mut changes = Changes::new().email(&address).email_change("", 0).phone_change("");
        let unverified = json!({ "email_verified": false });
        if address.is_empty() || !confirmed {
            changes = changes.unconfirm_email().merge_user_metadata(&unverified);
        }
        return changes.apply(work, user.id).await.map(Some);
    }
    Ok(None)
}

fn is_verified(identity: &Identity) -> bool {
    identity.identity_data.get("email_verified") == Some(&true.into())
}

/// Sorts identities: those with a verified address first, those without any last; of equals the oldest first.
fn by_trust(identities: &[Identity]) -> Vec<&Identity> {
    let mut sorted: Vec<&Identity> = identities.iter().collect();
    // They come oldest first, and the sort is stable.
    sorted.sort_by_key(|identity| match &identity.email {
        None => 2,
        Some(_) if !is_verified(identity) => 1,
        Some(_) => 0,
    });
    sorted
}
