//! Sign-in at an external provider: the user leaves with a state, which is a row of `auth.flow_state`, and comes back
//! with it once.

use postgres::Database;
use uuid::Uuid;

use crate::checks::redirects;
use crate::flows::account::{self, ProviderLogin, ResolvedAccount};
use crate::flows::pkce::Challenge;
use crate::flows::services::ProviderSignIns;
use crate::flows::session::{self, SignIn};
use crate::flows::{Context, identities};
use crate::providers::{
    AuthenticationError, Connection, Credentials, Provider, ProviderUser, Providers, apple_name,
    code_verifier,
};
use crate::store::flow_states::{self, FlowState, NewFlowState};
use crate::store::model::client::Client;
use crate::store::one_time_tokens::{self, Kind};
use crate::store::{self, Work, custom_providers, oauth_client_states};
use crate::{Code, Error, Secret, Settings};

/// How long a provider that uses PKCE may take to send the user back, in seconds.
const CLIENT_STATE_LIFE: f64 = 300.0;

/// A request to sign in at a provider.
pub(crate) struct AuthorizeRequest<'a> {
    pub(crate) provider: &'a str,
    /// Scopes to ask for, separated by commas; for custom providers by spaces.
    pub(crate) scopes: &'a str,
    /// What the client exchanges the code with in the end; `None` for a session in the fragment.
    pub(crate) challenge: Result<Option<Challenge>, Error>,
    /// The hash of an invitation that the user accepts.
    pub(crate) invite_token: &'a str,
    /// Further parameters for the provider.
    pub(crate) parameters: Vec<(String, String)>,
    /// The user who wants to link an identity.
    pub(crate) target: Option<Uuid>,
}

/// Begins a sign-in; returns the URL at the provider to send the user to.
///
/// Errors: `validation_failed` for a provider that cannot be used, `user_not_found` (404) for an unknown invitation.
pub(crate) async fn authorize(
    context: &Context<'_, ProviderSignIns>,
    authorize: AuthorizeRequest<'_>,
) -> Result<String, Error> {
    let ProviderSignIns { database, settings, providers, .. } = context.services;
    let connection = connect(database, settings, providers, authorize.provider, authorize.scopes).await;
    let connection = connection.map_err(|reason| unsupported(Code::ValidationFailed, reason))?;
    if !authorize.invite_token.is_empty() {
        // No text in Postgres contains a NUL.
        let token = authorize.invite_token;
        let invited = match token.contains('\0') {
            true => None,
            false => one_time_tokens::find_user(database, &[Kind::Confirmation], token).await?,
        };
        invited.ok_or_else(|| Code::UserNotFound.because("User identified by token not found"))?;
    }
    let verifier = connection.wants_pkce().then(code_verifier);
    let client_state = match &verifier {
        Some(verifier) => Some(oauth_client_states::create(database, &connection.name, verifier).await?),
        None => None,
    };
    let challenge = authorize.challenge?;
    let challenge = challenge.as_ref();
    let new = NewFlowState {
        code_challenge: challenge.map_or("", Challenge::text),
        code_challenge_method: challenge.map_or("", Challenge::method),
        provider_type: &connection.name,
        authentication_method: "oauth",
        invite_token: authorize.invite_token,
        referrer: &context.redirect_to,
        oauth_client_state_id: client_state,
        linking_target_id: authorize.target,
        email_optional: connection.email_optional,
        ..NewFlowState::default()
    };
    let state = flow_states::create(database, &new).await?.id.to_string();
    let url = providers.authorize_url(&connection, &state, verifier.as_deref(), authorize.parameters).await;
    url.map_err(|error| failed("Unable to begin the sign-in at the external provider", &error))
}

/// Returns the provider `name`, ready for users.
async fn connect(
    database: &Database,
    settings: &Settings,
    providers: &Providers,
    name: &str,
    scopes: &str,
) -> Result<Connection, String> {
    let name = name.to_lowercase();
    let callback = |base: &str| format!("{}/callback", base.trim_end_matches('/'));
    if name.starts_with("custom:") {
        if !settings.providers.custom_oauth {
            return Err("custom OAuth providers are disabled".to_owned());
        }
        if name.contains('\0') {
            return Err("custom provider not found".to_owned());
        }
        let found = custom_providers::find(database, &name).await;
        let found = found.map_err(|_| format!("error finding custom provider {name}"))?;
        let custom = found.ok_or_else(|| format!("custom provider {name} not found"))?;
        if !custom.enabled {
            return Err(format!("custom provider {name} is disabled"));
        }
        let secret = settings.encryption.open(custom.id, custom.client_secret.expose());
        let secret = secret.map_err(|error| {
            tracing::error!(provider = name, cause = ?error, "the secret of a custom provider cannot be read");
            format!("custom provider {name} is not set up correctly")
        })?;
        let secret = Secret::from(secret.text.into_owned());
        let base = match settings.providers.custom_oauth_external_url.as_str() {
            "" => settings.external_url.as_str(),
            own => own,
        };
        let connection = providers.custom(custom, secret, scopes, &callback(base)).await;
        return connection.map_err(|error| {
            tracing::warn!(provider = name, %error, "a custom provider cannot be used");
            format!("custom provider {name} cannot be reached or is not set up correctly")
        });
    }
    let provider = Provider::find(&name).ok_or_else(|| format!("Provider {name} could not be found"))?;
    let configured = settings.providers.oauth.get(&name);
    let callback = callback(&settings.external_url);
    providers.known(provider, configured, scopes, &callback).map_err(str::to_owned)
}

fn unsupported(code: Code, reason: String) -> Error {
    code.because(format!("Unsupported provider: {reason}"))
}

/// Returns the error for a failure of a provider. The user gets a general message, the log has the details.
fn failed(message: impl Into<std::borrow::Cow<'static, str>>, cause: &dyn std::fmt::Display) -> Error {
    let message = message.into();
    tracing::warn!(%cause, "{message}");
    Code::UnexpectedFailure.because(message)
}

/// The parameters of a provider's redirect to the callback; absent ones are empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProviderCallback {
    pub(crate) state: String,
    pub(crate) code: String,
    pub(crate) error: String,
    pub(crate) error_description: String,
    pub(crate) oauth_token: String,
    pub(crate) oauth_verifier: String,
    /// Apple's description of the user, at the first sign-in only.
    pub(crate) user: String,
}

/// The redirect in response to a callback.
pub(crate) struct CallbackRedirect {
    pub(crate) url: String,
    /// Whether the user's sign-in is unknown, so that the user is sent to the site itself with the error (303, not
    /// 302).
    pub(crate) is_lost: bool,
    /// What went wrong on this side, for the log.
    pub(crate) error: Option<Error>,
}

/// The reason why a callback does not sign the user in.
enum CallbackFailure {
    /// The error is the provider's.
    Provider {
        error: String,
        description: String,
    },
    Ours(Error),
}

impl<E: Into<Error>> From<E> for CallbackFailure {
    fn from(error: E) -> Self {
        Self::Ours(error.into())
    }
}

impl CallbackFailure {
    /// Returns the members of the redirect that describe it.
    fn members(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Provider { error, description } => {
                vec![("error", error.clone()), ("error_description", description.clone())]
            }
            Self::Ours(error) => error_members(error),
        }
    }
}

/// Returns the members of a redirect that describe `error`. Unlike the links of mails, it always has a member `error`.
pub(crate) fn error_members(error: &Error) -> Vec<(&'static str, String)> {
    let denied = [Code::SignupDisabled, Code::UserBanned, Code::ProviderEmailNeedsVerification];
    let mut members = redirects::error_members(error);
    if let Some((_, description)) = members.iter_mut().find(|(name, _)| *name == "error_description")
        && let Some((_, raised)) = error.raised()
    {
        description.clone_from(&raised.message);
    }
    let is_denied = error.code().is_some_and(|code| denied.contains(&code));
    match members.iter_mut().find(|(name, _)| *name == "error") {
        Some((_, kind)) if is_denied => "access_denied".clone_into(kind),
        Some(_) => {}
        None => {
            let kind = if is_denied { "access_denied" } else { "server_error" };
            members.push(("error", kind.to_owned()));
        }
    }
    members
}

/// Handles the return of a user from a provider; returns where to redirect the user to.
///
/// Errors: only a defect that leaves nowhere to send the user to.
pub(crate) async fn handle_callback(
    services: &ProviderSignIns,
    client: Client<'_>,
    callback: &ProviderCallback,
) -> Result<CallbackRedirect, Error> {
    let site = &services.settings.site_url;
    let flow = match find_flow(&services.database, &services.settings, &callback.state).await {
        Ok(flow) => flow,
        Err(error) => {
            let url = redirects::extend(site, &error_members(&error), &[])?;
            return Ok(CallbackRedirect { url, is_lost: true, error: Some(error) });
        }
    };
    let target = match services.settings.providers.redirect_url.as_str() {
        "" => flow.referrer.clone().unwrap_or_else(|| site.clone()),
        set => set.to_owned(),
    };
    let settings = &*services.settings;
    let (audience, redirect_to) = (settings.token.audience.as_str().into(), target.as_str().into());
    let context = Context { services, settings, client, audience, redirect_to };
    let failure = match receive(&context, &flow, callback).await {
        Ok(Outcome::Code(code)) => {
            let url = redirects::extend(&target, &[("code", code)], &[])?;
            return Ok(CallbackRedirect { url, is_lost: false, error: None });
        }
        Ok(Outcome::Session(members)) => {
            let url = redirects::extend(&target, &[], &members)?;
            return Ok(CallbackRedirect { url, is_lost: false, error: None });
        }
        Err(failure) => failure,
    };
    let members = failure.members();
    let fragment = [members.as_slice(), &[("sb", String::new())]].concat();
    let url = redirects::extend(&target, &members, &fragment)?;
    let error = match failure {
        CallbackFailure::Provider { .. } => None,
        CallbackFailure::Ours(error) => Some(error),
    };
    Ok(CallbackRedirect { url, is_lost: false, error })
}

async fn find_flow(database: &Database, settings: &Settings, state: &str) -> Result<FlowState, Error> {
    if state.is_empty() {
        return Err(Code::BadOauthCallback.because("OAuth state parameter missing"));
    }
    let id = Uuid::parse_str(state)
        .map_err(|_| Code::BadOauthState.because("OAuth state parameter is invalid"))?;
    let flow = flow_states::find_by_id(database, id).await?.ok_or_else(unknown_state)?;
    if flow.age > settings.providers.flow_state_expiry.as_secs_f64() {
        return Err(Code::BadOauthState.because("OAuth state has expired"));
    }
    require_unused(&flow)?;
    Ok(flow)
}

fn unknown_state() -> Error {
    Code::BadOauthState.because("OAuth state not found or expired")
}

/// Checks that `flow` has not been completed. With PKCE, it has a user then; without, it is gone.
fn require_unused(flow: &FlowState) -> Result<(), Error> {
    if flow.user_id.is_some() {
        return Err(Code::FlowStateAlreadyUsed.because("State has already been used"));
    }
    Ok(())
}

/// What a user gets in the end.
enum Outcome {
    /// To be exchanged for a session.
    Code(String),
    /// Members of the fragment.
    Session(Vec<(&'static str, String)>),
}

async fn receive(
    context: &Context<'_, ProviderSignIns>,
    flow: &FlowState,
    callback: &ProviderCallback,
) -> Result<Outcome, CallbackFailure> {
    let provider_user = authenticate(context.services, flow, callback).await?;
    if provider_user.profile.emails.is_empty() && !flow.email_optional {
        let cause = format!("{} told no address", flow.provider_type);
        return Err(failed("Error getting user email from external provider", &cause).into());
    }
    let accounts = context.with(&context.services.accounts);
    let login = ProviderLogin {
        context: &accounts,
        provider: &flow.provider_type,
        profile: &provider_user.profile,
        email_optional: flow.email_optional,
        traits: serde_json::Value::Null,
    };
    let invitation = flow.invite_token.as_deref().filter(|token| !token.is_empty());
    if flow.linking_target_id.is_none() && invitation.is_none() {
        account::call_before_user_created(&login).await?;
    }
    let work = store::begin(&context.services.database).await?;
    // Of several who come back with one state, the first holds its row until it is used up.
    let current = flow_states::find_by_id(&work, flow.id).await?.ok_or_else(unknown_state)?;
    require_unused(&current)?;
    let resolved = match (flow.linking_target_id, invitation) {
        (Some(target), _) => identities::link_to(&work, target, &login).await?,
        (None, Some(token)) => account::accept_invitation(&work, token, &login).await?,
        (None, None) => account::resolve(&work, &login).await?,
    };
    let ResolvedAccount { account, created, refusal } = resolved;
    if let Some(refusal) = refusal {
        work.commit().await?;
        return Err(refusal.into());
    }
    let outcome = finish(context, &work, flow, account.id(), provider_user).await?;
    work.commit().await?;
    if created {
        context.services.hooks.after_user_created(&account.user, &context.client).await?;
    }
    Ok(outcome)
}

/// Uses the flow up: its code may be exchanged from now on, or its session begins.
async fn finish(
    context: &Context<'_, ProviderSignIns>,
    work: &Work,
    flow: &FlowState,
    user: Uuid,
    provider_user: ProviderUser,
) -> Result<Outcome, Error> {
    if let Some(code) = flow.auth_code.clone().filter(|_| flow.code_challenge.is_some()) {
        let tokens = (provider_user.access_token.as_str(), provider_user.refresh_token.as_str());
        flow_states::complete(work, flow.id, user, tokens).await?;
        return Ok(Outcome::Code(code));
    }
    flow_states::delete(work, flow.id).await?;
    let sign_in = SignIn { method: "oauth", ..SignIn::default() };
    let session =
        session::begin(&context.services.accounts.sessions, work, user, sign_in, &context.client).await?;
    let session = session.with_provider_tokens(provider_user.access_token, provider_user.refresh_token);
    Ok(Outcome::Session(session.fragment()))
}

/// Exchanges the user's code at the provider for the user's profile.
async fn authenticate(
    services: &ProviderSignIns,
    flow: &FlowState,
    callback: &ProviderCallback,
) -> Result<ProviderUser, CallbackFailure> {
    let ProviderSignIns { database, settings, providers, .. } = services;
    let connection = connect(database, settings, providers, &flow.provider_type, "").await;
    let connection = connection.map_err(|reason| unsupported(Code::OauthProviderNotSupported, reason));
    if !callback.error.is_empty() {
        let (error, description) = (callback.error.clone(), callback.error_description.clone());
        return Err(CallbackFailure::Provider { error, description });
    }
    let connection = connection?;
    if connection.is_oauth1() {
        let credentials =
            Credentials::Oauth1 { token: &callback.oauth_token, verifier: &callback.oauth_verifier };
        return Ok(providers.authenticate(&connection, credentials).await.map_err(|error| match error {
            AuthenticationError::Exchange(cause) => failed("Unable to retrieve access token", &cause),
            AuthenticationError::Profile(cause) => {
                failed("Error getting user email from external provider", &cause)
            }
        })?);
    }
    if callback.code.is_empty() {
        let message = "OAuth callback with missing authorization code missing";
        return Err(Code::BadOauthCallback.because(message).into());
    }
    let verifier = take_verifier(database, flow, &connection).await?;
    let credentials = Credentials::Code { code: &callback.code, verifier: verifier.as_deref() };
    let provider_user =
        providers.authenticate(&connection, credentials).await.map_err(|error| match error {
            AuthenticationError::Exchange(cause) => {
                let beginning: String = callback.code.chars().take(4).collect();
                failed(format!("Unable to exchange external code: {beginning}"), &cause)
            }
            AuthenticationError::Profile(cause) => {
                failed("Error getting user profile from external provider", &cause)
            }
        })?;
    Ok(named_by_apple(flow, callback, provider_user)?)
}

fn named_by_apple(
    flow: &FlowState,
    callback: &ProviderCallback,
    mut provider_user: ProviderUser,
) -> Result<ProviderUser, Error> {
    if flow.provider_type == "apple" && !callback.user.is_empty() {
        let name = apple_name(&callback.user)
            .map_err(|cause| failed("Error getting user profile from external provider", &cause))?;
        provider_user.profile.claims = provider_user.profile.claims.with_name(&name);
    }
    Ok(provider_user)
}

/// Returns the code verifier that the user left with; each is good for one attempt.
async fn take_verifier(
    database: &Database,
    flow: &FlowState,
    connection: &Connection,
) -> Result<Option<String>, Error> {
    let Some(id) = flow.oauth_client_state_id else {
        if connection.wants_pkce() {
            return Err(Code::OauthInvalidState.because("OAuth PKCE code verifier missing"));
        }
        return Ok(None);
    };
    let state = oauth_client_states::take(database, id).await?;
    let state = state.ok_or_else(|| Code::OauthClientStateNotFound.because("OAuth state not found"))?;
    if state.provider_type != flow.provider_type {
        return Err(Code::OauthInvalidState.because("OAuth provider mismatch"));
    }
    if state.age > CLIENT_STATE_LIFE {
        return Err(Code::OauthClientStateExpired.because("OAuth state expired"));
    }
    Ok(state.code_verifier)
}
