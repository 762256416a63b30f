//! The account of a user who was authenticated elsewhere: by an OAuth provider, an ID token, a wallet, or an identity
//! provider of single sign-on.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::error::refusals;
use crate::flows::linking::{self, LinkingDecision};
use crate::flows::services::Accounts;
use crate::flows::{Context, deliver, sign_up};
use crate::providers::Profile;
use crate::store::accounts;
use crate::store::audit::{Action, Actor};
use crate::store::identities::{self, NewIdentity};
use crate::store::one_time_tokens::{self, Kind};
use crate::store::users::{self, Account, Changes, NewUser};
use crate::store::{Executor, Work};
use crate::{Code, Error, HookName, MailKind};

/// A login at a provider, before it belongs to an account.
pub(crate) struct ProviderLogin<'a> {
    pub(crate) context: &'a Context<'a, Accounts>,
    /// The provider that identities are stored with.
    pub(crate) provider: &'a str,
    pub(crate) profile: &'a Profile,
    /// Whether a user without any address is taken.
    pub(crate) email_optional: bool,
    /// Details of the login for the audit log, in addition to the provider; an object or null.
    pub(crate) traits: Value,
}

/// The account of a login.
pub(crate) struct ResolvedAccount {
    pub(crate) account: Account,
    /// Whether it is new.
    pub(crate) created: bool,
    /// Why the user gets no session. The changes of the account are kept nevertheless.
    pub(crate) refusal: Option<Error>,
}

impl ProviderLogin<'_> {
    fn data(&self) -> Value {
        self.profile.identity_data().into()
    }

    pub(crate) fn addresses(&self) -> Vec<&str> {
        self.profile.emails.iter().map(|email| email.address.as_str()).collect()
    }

    /// Returns whether the user of an unconfirmed account has to confirm an address: wallets have none, and some
    /// providers need not give one.
    fn must_prove(&self, account: &Account) -> bool {
        self.provider != "web3" && !(self.email_optional && account.user.email.is_empty())
    }

    /// Returns whether the provider has verified the address of the account.
    fn proves(&self, account: &Account, autoconfirm: bool) -> bool {
        let verified = linking::verified_addresses(self.profile, autoconfirm);
        let address = match account.user.email.as_str() {
            "" => linking::candidate_address(self.profile),
            own => own,
        };
        verified.iter().any(|known| known == address)
    }

    async fn decide(&self, executor: &impl Executor) -> Result<LinkingDecision, Error> {
        let Context { services, audience, .. } = self.context;
        let settings = &services.settings;
        let autoconfirm = settings.mail.autoconfirm;
        let verified = linking::verified_addresses(self.profile, autoconfirm);
        let address = linking::candidate_address(self.profile);
        let whom = (self.provider, self.profile.subject());
        let candidates = accounts::find(executor, whom, &verified, address, audience).await?;
        let rules = (autoconfirm, &settings.providers.linking_domains);
        Ok(linking::decide(candidates, self.provider, self.profile, audience, rules))
    }

    fn new_user(&self, address: String) -> NewUser {
        let Context { services, audience, .. } = self.context;
        let domains = &services.settings.providers.linking_domains;
        NewUser {
            id: Uuid::new_v4(),
            audience: audience.to_string(),
            role: services.settings.token.default_role.clone(),
            email: address,
            user_metadata: self.data(),
            app_metadata: json!({ "provider": self.provider, "providers": [self.provider] }),
            // Users of other linking domains may share addresses, which the table allows to those of single sign-on.
            is_sso_user: linking::domain(self.provider, domains) != linking::DEFAULT_DOMAIN,
            ..NewUser::default()
        }
    }
}

/// Asks the project's hook about the user if one would be created. To be called before a transaction begins, so that
/// none waits for the hook.
///
/// Errors: `signup_disabled`; those of the hook.
pub(crate) async fn call_before_user_created(login: &ProviderLogin<'_>) -> Result<(), Error> {
    let services = login.context.services;
    require_subject(login.profile)?;
    if !services.hooks.is_on(HookName::BeforeUserCreated) {
        return Ok(());
    }
    let LinkingDecision::Create { address } = login.decide(&services.database).await? else { return Ok(()) };
    if services.settings.disable_signup {
        return Err(refusals::signup_disabled());
    }
    let user = login.new_user(address).preview();
    services.hooks.before_user_created(&user, &login.context.client).await
}

/// Checks that the provider gave an id of its user.
///
/// Errors: 500 if it did not.
pub(crate) fn require_subject(profile: &Profile) -> Result<(), Error> {
    if profile.subject().is_empty() {
        return Err(Error::Internal("a provider told no id of its user".to_owned()));
    }
    Ok(())
}

/// Finds, links or creates the account that `login` is about, and confirms its address if that is verified.
///
/// The first verified login on an unconfirmed account takes it over: its password and its other identities go, because
/// their owner has not proved to own the address.
///
/// Errors: `signup_disabled`, `user_banned`; 500 if the verified addresses are several users'. Nothing is done then.
/// `provider_email_needs_verification` is in the result, because the account and the mail that it was sent stay.
pub(crate) async fn resolve(work: &Work, login: &ProviderLogin<'_>) -> Result<ResolvedAccount, Error> {
    let services = login.context.services;
    accounts::lock(work, (login.provider, login.profile.subject()), &login.addresses()).await?;
    let data = login.data();
    let (account, identity, created) = match login.decide(work).await? {
        LinkingDecision::Known(identity) => {
            identities::replace(work, identity.identity_id, &data).await?;
            let account = refresh_metadata(work, identity.user_id, &data).await?;
            (account, identity.identity_id, false)
        }
        LinkingDecision::Link(user) => {
            let identity = link(work, user, login).await?;
            (refresh_metadata(work, user, &data).await?, identity, false)
        }
        LinkingDecision::Create { address } => {
            if services.settings.disable_signup {
                return Err(refusals::signup_disabled());
            }
            let user = login.new_user(address);
            user.create(work).await?;
            let identity = store_identity(work, user.id, login).await?;
            (find(work, user.id).await?, identity, true)
        }
        LinkingDecision::Ambiguous => {
            return Err(Error::Internal(format!(
                "several accounts have one of the addresses that {} vouches for",
                login.provider
            )));
        }
    };
    if account.banned {
        return Err(refusals::user_banned());
    }
    if account.user.email_confirmed_at.is_some() || !login.must_prove(&account) {
        log(work, &account, Action::Login, login).await?;
        return Ok(ResolvedAccount { account, created, refusal: None });
    }
    let account = take_over(work, account.id(), identity, &data).await?;
    if login.proves(&account, services.settings.mail.autoconfirm) {
        log(work, &account, Action::UserSignedUp, login).await?;
        let account = sign_up::confirm_email(work, account.id()).await?;
        return Ok(ResolvedAccount { account, created, refusal: None });
    }
    let (account, refusal) = demand_proof(work, account, login).await?;
    Ok(ResolvedAccount { account, created, refusal })
}

async fn find(work: &Work, id: Uuid) -> Result<Account, Error> {
    let account = users::find(work, id).await?;
    account.ok_or_else(|| Error::Internal("the user of an identity is gone".to_owned()))
}

/// Stores the identity of a user whom a provider has authenticated.
async fn store_identity(work: &Work, user: Uuid, login: &ProviderLogin<'_>) -> Result<Uuid, Error> {
    let data = login.data();
    let subject = login.profile.subject();
    let new = NewIdentity { user_id: user, subject, provider: login.provider, data: &data };
    Ok(identities::create(work, &new).await?.identity_id)
}

/// Stores a further identity of `user` and logs that; returns its id.
pub(crate) async fn link(work: &Work, user: Uuid, login: &ProviderLogin<'_>) -> Result<Uuid, Error> {
    let identity = store_identity(work, user, login).await?;
    let traits = json!({
        "identity_id": identity,
        "provider": login.provider,
        "provider_id": login.profile.subject(),
    });
    let actor = Actor::User(user);
    login.context.log(work, actor, Action::IdentityLinked, traits).await?;
    Ok(identity)
}

/// Takes over what a provider says of a user, and which providers the user has.
pub(crate) async fn refresh_metadata(work: &Work, user: Uuid, data: &Value) -> Result<Account, Error> {
    Changes::new().merge_user_metadata(data).apply(work, user).await?;
    users::derive_providers(work, user).await
}

/// Removes everything from an unconfirmed account except `identity`, the only one whose owner was authenticated.
pub(crate) async fn take_over(
    work: &Work,
    user: Uuid,
    identity: Uuid,
    data: &Value,
) -> Result<Account, Error> {
    identities::delete_others(work, user, identity).await?;
    Changes::new().encrypted_password("").replace_user_metadata(data).apply(work, user).await?;
    users::derive_providers(work, user).await
}

async fn log(work: &Work, account: &Account, action: Action, login: &ProviderLogin<'_>) -> Result<(), Error> {
    let mut traits = json!({ "provider": login.provider });
    if let (Value::Object(all), Value::Object(more)) = (&mut traits, login.traits.clone()) {
        all.extend(more);
    }
    login.context.log(work, Actor::User(account.id()), action, traits).await
}

/// Sends a mail that confirms the account's address, if it has one, and returns the reason why there is no session,
/// unless the settings allow unverified addresses.
async fn demand_proof(
    work: &Work,
    account: Account,
    login: &ProviderLogin<'_>,
) -> Result<(Account, Option<Error>), Error> {
    let (context, provider) = (login.context, login.provider);
    let sent = !account.user.email.is_empty();
    let account = if sent {
        deliver::mail(&context.delivery(), work, account, MailKind::Confirmation, false).await?
    } else {
        account
    };
    if context.services.settings.mail.allow_unverified_sign_ins {
        return Ok((account, None));
    }
    let next = if sent {
        format!("A confirmation email has been sent to your {provider} email")
    } else {
        format!("Verify the email with {provider} in order to sign in")
    };
    let message = format!("Unverified email with {provider}. {next}");
    Ok((account, Some(Code::ProviderEmailNeedsVerification.because(message))))
}

/// Makes the identity that `login` is about the only one of the user who was invited with `token`, and confirms the
/// user's address: who follows an invitation has received it.
///
/// Errors: `invite_not_found`; `validation_failed` if the provider does not have the invited address.
pub(crate) async fn accept_invitation(
    work: &Work,
    token: &str,
    login: &ProviderLogin<'_>,
) -> Result<ResolvedAccount, Error> {
    require_subject(login.profile)?;
    let invited = one_time_tokens::find_user(work, &[Kind::Confirmation], token).await?;
    let invited = invited.ok_or_else(|| Code::InviteNotFound.because("Invite not found"))?;
    if !login.addresses().contains(&invited.user.email.as_str()) {
        let message = "Invited email does not match emails from external provider";
        return Err(Error::validation(message));
    }
    let data = login.data();
    let identity = store_identity(work, invited.id(), login).await?;
    let account = take_over(work, invited.id(), identity, &data).await?;
    log(work, &account, Action::InviteAccepted, login).await?;
    let account = sign_up::confirm_email(work, invited.id()).await?;
    Ok(ResolvedAccount { account, created: false, refusal: None })
}
