//! Sign-in at identity providers of single sign-on (SAML 2.0). A user leaves with a relay state, which is a row of
//! `auth.saml_relay_states`, and comes back with it once; or comes from the provider's own page, without one.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use postgres::Database;
use serde_json::Value;
use time::OffsetDateTime;
use url::Url;
use uuid::Uuid;

use crate::checks::redirects;
use crate::flows::Context;
use crate::flows::account::{self, ProviderLogin};
use crate::flows::external::error_members;
use crate::flows::pkce::Challenge;
use crate::flows::services::SingleSignOn;
use crate::flows::session::{self, SignIn};
use crate::providers::{Claims, Email, Profile};
use crate::sso::IdentityProviderClient;
use crate::sso::{self, Assertion, IdentityProvider, LONGEST_USE, Response, ServiceProvider};
use crate::store::flow_states::{self, FlowState, NewFlowState};
use crate::store::saml_relay_states::{self, NewRelayState};
use crate::store::sso_providers::{self, Lookup, SsoProvider};
use crate::store::{self, Work};
use crate::{Code, Error, Settings};

/// The authentication method of its sessions.
const METHOD: &str = "sso/saml";

/// The remaining validity below which a warning is logged about metadata that cannot be renewed.
const SOON: time::Duration = time::Duration::hours(12);

/// A request to sign in.
pub(crate) struct SsoRequest<'a> {
    pub(crate) provider_id: Option<Uuid>,
    /// The domain of the user's e-mail address; empty if the provider is named.
    pub(crate) domain: &'a str,
    /// Where the user is sent in the end.
    pub(crate) redirect_to: &'a str,
    pub(crate) code_challenge: Option<&'a str>,
    pub(crate) code_challenge_method: Option<&'a str>,
}

/// Returns the service provider.
///
/// Errors: `saml_provider_disabled`.
pub(crate) fn require_enabled(saml: Option<&ServiceProvider>) -> Result<&ServiceProvider, Error> {
    saml.ok_or_else(|| Code::SamlProviderDisabled.because("SAML 2.0 is disabled"))
}

/// Begins a sign-in; returns the URL at the identity provider to send the user to.
///
/// Errors: `validation_failed`, `sso_provider_not_found`, `sso_provider_disabled`.
pub(crate) async fn begin_sign_in(services: &SingleSignOn, sso: SsoRequest<'_>) -> Result<String, Error> {
    let service = require_enabled(services.saml.as_ref())?;
    let provider = find(&services.database, &sso).await?;
    if provider.is_disabled() {
        return Err(Code::SsoProviderDisabled.because("SSO Provider is currently disabled"));
    }
    let challenge = Challenge::parse(sso.code_challenge, sso.code_challenge_method)?;
    let known = metadata(&provider)?;
    let relay_state = Uuid::new_v4();
    let name_format = provider.saml.name_id_format.as_deref();
    let request = service.request(&known, name_format, relay_state)?;
    let redirect_to = Some(sso.redirect_to).filter(|url| services.redirects.allows(url)).unwrap_or_default();
    let flow = NewFlowState {
        code_challenge: challenge.as_ref().map_or("", Challenge::text),
        code_challenge_method: challenge.as_ref().map_or("", Challenge::method),
        provider_type: METHOD,
        authentication_method: METHOD,
        referrer: redirect_to,
        ..NewFlowState::default()
    };
    let flow = flow_states::create(&services.database, &flow).await?;
    let new = NewRelayState {
        id: relay_state,
        sso_provider_id: provider.id,
        request_id: &request.id,
        redirect_to,
        flow_state_id: flow.id,
    };
    saml_relay_states::create(&services.database, &new).await?;
    Ok(request.url)
}

async fn find(database: &Database, sso: &SsoRequest<'_>) -> Result<SsoProvider, Error> {
    let (lookup, message) = match (sso.provider_id.filter(|id| !id.is_nil()), sso.domain) {
        (Some(id), "") => (Lookup::Id(id), "No such SSO provider"),
        (None, "") => return Err(Error::validation("A provider_id or domain needs to be provided")),
        (None, domain) => (Lookup::Domain(domain), "No SSO provider assigned for this domain"),
        (Some(_), _) => return Err(Error::validation("Only one of provider_id or domain supported")),
    };
    let found = sso_providers::find(database, lookup).await?;
    found.ok_or_else(|| Code::SsoProviderNotFound.because(message))
}

fn metadata(provider: &SsoProvider) -> Result<IdentityProvider, Error> {
    let xml = provider.saml.metadata_xml.as_deref().unwrap_or_default();
    sso::parse_metadata(xml)
        .map_err(|error| Error::Internal(format!("stored metadata of SSO provider {}: {error}", provider.id)))
}

/// The fields that a browser posts for an identity provider; absent ones are empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct SamlCallback {
    pub(crate) relay_state: String,
    /// A response in base64.
    pub(crate) response: String,
    /// A reference to a response, in place of one.
    pub(crate) artifact: String,
}

/// The sign-in that a user comes back from.
struct Origin {
    provider: SsoProvider,
    /// The request that the response belongs to; `None` if the identity provider has begun.
    request_id: Option<String>,
    redirect_to: String,
    flow_state_id: Option<Uuid>,
}

/// Signs in a user who comes back, or comes from an identity provider's own page; returns where to send them on.
///
/// Errors: those of a response that does not count (`validation_failed`, `saml_idp_not_found`,
/// `saml_relay_state_not_found`, `saml_relay_state_expired`, `sso_provider_disabled`, `saml_assertion_no_user_id`,
/// `saml_assertion_no_email`), of the user's account, and of hooks.
pub(crate) async fn finish_sign_in(
    context: &Context<'_, SingleSignOn>,
    callback: &SamlCallback,
) -> Result<String, Error> {
    let services = context.services;
    let service = require_enabled(services.saml.as_ref())?;
    let message = SamlMessage::of(callback)?;
    let origin = origin(&services.database, &services.settings, &callback.relay_state, &message).await?;
    if origin.provider.is_disabled() {
        let message = "SSO Provider assigned for this domain is currently disabled";
        return Err(Code::SsoProviderDisabled.because(message));
    }
    let provider = current_metadata(&services.database, &services.saml_remote, &origin.provider).await?;
    let issuer = provider.entity_id().to_owned();
    let (xml, resolve_id) = match message {
        SamlMessage::Response(xml) => (xml, None),
        SamlMessage::Artifact(artifact) => {
            let resolved = resolve(&services.saml_remote, service, &provider, &artifact).await;
            let (id, xml) = resolved.map_err(|reason| refused(&origin.provider, &reason))?;
            (xml, Some(id))
        }
    };
    let response = Response { xml, resolve_id, provider, request_id: origin.request_id.clone() };
    let assertion = service.accept(response).await?.map_err(|reason| refused(&origin.provider, &reason))?;
    let name = format!("{}\n{}", issuer, assertion.id());
    if !services.accounts.limits.is_first_use(&name, LONGEST_USE).await? {
        return Err(refused(&origin.provider, "the assertion was used before"));
    }
    let profile = profile(&assertion, &origin.provider, &issuer)?;
    sign_in(context, &origin, &assertion, &profile).await
}

/// Asks `provider` for what `artifact` refers to. Returns the id of the message, which the response has to name, and
/// the response, of which nothing is checked yet.
///
/// Errors: a sentence for the log.
async fn resolve(
    remote: &IdentityProviderClient,
    service: &ServiceProvider,
    provider: &IdentityProvider,
    artifact: &str,
) -> Result<(String, String), String> {
    let resolve = service.artifact_resolve(provider, artifact)?;
    let response = remote.call(&resolve.url, resolve.message).await;
    let response = response.map_err(|error| format!("the artifact was not resolved: {error}"))?;
    Ok((resolve.id, response))
}

/// Returns the redirect for a user whose sign-in has failed: to the site, with the error.
///
/// Errors: a site whose URL is none.
pub(crate) fn failed(settings: &Settings, error: &Error) -> Result<String, Error> {
    redirects::extend(&settings.site_url, &error_members(error), &[])
}

/// Logs why a response is refused, and returns an error without the reason for the user: the reason may quote the
/// response, or reveal encrypted content.
fn refused(provider: &SsoProvider, reason: &str) -> Error {
    tracing::warn!(sso_provider_id = %provider.id, reason, "a SAML response was refused");
    Error::validation("SAML Assertion is not valid")
}

/// A response, or a reference to one.
enum SamlMessage {
    Response(String),
    Artifact(String),
}

impl SamlMessage {
    /// Reads the message of a callback.
    ///
    /// Errors: `validation_failed`.
    fn of(callback: &SamlCallback) -> Result<Self, Error> {
        match (callback.artifact.as_str(), callback.response.as_str()) {
            ("", "") => Err(Error::validation("SAMLResponse is missing")),
            ("", response) => decode(response).map(SamlMessage::Response),
            (artifact, _) => Ok(Self::Artifact(artifact.to_owned())),
        }
    }
}

fn decode(response: &str) -> Result<String, Error> {
    let mut text = response.to_owned();
    text.retain(|character| !character.is_ascii_whitespace());
    let bytes =
        STANDARD.decode(text).map_err(|_| Error::validation("SAMLResponse is not a valid Base64 string"))?;
    String::from_utf8(bytes).map_err(|_| Error::validation("SAMLResponse is not a valid XML SAML assertion"))
}

/// Returns what a relay state says of a user who left with it; or what a response says of a user who has not.
async fn origin(
    database: &Database,
    settings: &Settings,
    relay_state: &str,
    message: &SamlMessage,
) -> Result<Origin, Error> {
    let id = Uuid::parse_str(relay_state).ok().filter(|id| !id.is_nil());
    let Some(id) = id else { return unsolicited(database, relay_state, message).await };
    let state = saml_relay_states::take(database, id).await?.ok_or_else(|| {
        Code::SamlRelayStateNotFound.because("SAML RelayState does not exist, try logging in again?")
    })?;
    if state.age >= settings.saml.relay_state_validity.as_secs_f64() {
        let message = "SAML RelayState has expired. Try logging in again?";
        return Err(Code::SamlRelayStateExpired.because(message));
    }
    let provider = sso_providers::find(database, Lookup::Id(state.sso_provider_id)).await?;
    let gone = || Error::Internal("the SSO provider of a relay state is gone".to_owned());
    Ok(Origin {
        provider: provider.ok_or_else(gone)?,
        request_id: Some(state.request_id),
        redirect_to: state.redirect_to.unwrap_or_default(),
        flow_state_id: state.flow_state_id,
    })
}

/// Returns where a sign-in comes from that the identity provider has begun; its relay state may say where the user
/// wants to go.
async fn unsolicited(database: &Database, relay_state: &str, message: &SamlMessage) -> Result<Origin, Error> {
    let is_place = relay_state.is_empty() || relay_state.starts_with('/') || Url::parse(relay_state).is_ok();
    if !is_place {
        return Err(Error::validation("SAML RelayState is not a valid UUID or URL"));
    }
    let SamlMessage::Response(response) = message else {
        let message = "SAML Artifact response can only be used with SP initiated flow";
        return Err(Error::validation(message));
    };
    let issuer = sso::issuer(response)?;
    let provider = sso_providers::find(database, Lookup::EntityId(&issuer)).await?;
    let message = "A SAML connection has not been established with this Identity Provider";
    Ok(Origin {
        provider: provider.ok_or_else(|| Code::SamlIdpNotFound.because(message))?,
        request_id: None,
        redirect_to: relay_state.to_owned(),
        flow_state_id: None,
    })
}

/// Returns the provider's metadata, fetched again if it has a URL and is due.
async fn current_metadata(
    database: &Database,
    remote: &IdentityProviderClient,
    provider: &SsoProvider,
) -> Result<IdentityProvider, Error> {
    let known = metadata(provider)?;
    let (now, saml) = (OffsetDateTime::now_utc(), &provider.saml);
    let Some(url) = saml.metadata_url.as_deref().filter(|url| !url.is_empty()) else {
        if known.remaining(now).is_some_and(|remaining| remaining <= SOON) {
            tracing::warn!(
                sso_provider_id = %provider.id,
                "a provider's SAML metadata ends soon, or has; update its metadata_xml"
            );
        }
        return Ok(known);
    };
    let age =
        saml.age.map_or(std::time::Duration::MAX, |age| std::time::Duration::from_secs_f64(age.max(0.0)));
    if !known.is_stale(age, now) {
        return Ok(known);
    }
    let Some((xml, renewed)) = remote.renew(provider.id, url, &known).await else {
        return Ok(known);
    };
    sso_providers::renew_metadata(database, provider.id, &xml).await?;
    Ok(renewed)
}

/// Returns the user as the provider's attributes, by its mapping, describe them.
fn profile(assertion: &Assertion, provider: &SsoProvider, issuer: &str) -> Result<Profile, Error> {
    let subject = assertion.user_id();
    if subject.is_empty() {
        let message = "SAML Assertion did not contain a persistent Subject Identifier attribute or Subject NameID \
            uniquely identifying this user";
        return Err(Code::SamlAssertionNoUserId.because(message));
    }
    let mut mapped = provider.saml.attribute_mapping.claims(|name| assertion.values(name));
    let email = mapped.get("email").and_then(Value::as_str).filter(|email| !email.is_empty());
    let email = email.unwrap_or_else(|| assertion.email()).to_owned();
    if email.is_empty() {
        return Err(Code::SamlAssertionNoEmail.because("SAML Assertion does not contain an email address"));
    }
    mapped.insert("email".to_owned(), email.clone().into());
    mapped.remove("custom_claims");
    let wrong =
        |cause| Error::Internal(format!("the attribute mapping of SSO provider {}: {cause}", provider.id));
    let claims = Claims::standard(&mapped).map_err(wrong)?;
    mapped.retain(|name, _| !claims.as_object().contains_key(name));
    let claims = claims.with("iss", issuer).with("sub", &subject).all_custom(mapped);
    Ok(Profile::with_email(claims, Email::primary(&email, true)))
}

async fn sign_in(
    context: &Context<'_, SingleSignOn>,
    origin: &Origin,
    assertion: &Assertion,
    profile: &Profile,
) -> Result<String, Error> {
    let services = context.services;
    let provider = format!("sso:{}", origin.provider.id);
    let accounts = context.with(&context.services.accounts);
    let login = ProviderLogin {
        context: &accounts,
        provider: &provider,
        profile,
        email_optional: false,
        traits: Value::Null,
    };
    account::call_before_user_created(&login).await?;
    let work = store::begin(&services.database).await?;
    let flow = unused_flow(&work, origin).await?;
    let resolved = account::resolve(&work, &login).await?;
    if let Some(refusal) = resolved.refusal {
        work.commit().await?;
        return Err(refusal);
    }
    let user = resolved.account.id();
    let target = services.redirects.resolve([origin.redirect_to.as_str()]);
    let code =
        flow.as_ref().and_then(|flow| flow.auth_code.clone().filter(|_| flow.code_challenge.is_some()));
    let url = match (flow, code) {
        (Some(flow), Some(code)) => {
            flow_states::complete(&work, flow.id, user, ("", "")).await?;
            redirects::extend(&target, &[("code", code)], &[])?
        }
        (flow, _) => {
            if let Some(flow) = flow {
                flow_states::delete(&work, flow.id).await?;
            }
            let end = assertion.session_end();
            let sign_in = SignIn { method: METHOD, not_after: end.as_deref(), ..SignIn::default() };
            let session =
                session::begin(&services.accounts.sessions, &work, user, sign_in, &context.client).await?;
            redirects::extend(&target, &[], &session.fragment())?
        }
    };
    work.commit().await?;
    if resolved.created {
        services.hooks.after_user_created(&resolved.account.user, &context.client).await?;
    }
    Ok(url)
}

/// Returns the flow that the user left with, locked; `None` if the identity provider has begun.
///
/// Errors: `flow_state_already_used`.
async fn unused_flow(work: &Work, origin: &Origin) -> Result<Option<FlowState>, Error> {
    let Some(id) = origin.flow_state_id else { return Ok(None) };
    let flow = flow_states::find_by_id(work, id).await?;
    if flow.as_ref().is_none_or(|flow| flow.user_id.is_some()) {
        return Err(Code::FlowStateAlreadyUsed.because("State has already been used"));
    }
    Ok(flow)
}
