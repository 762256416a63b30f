//! Headers, parameters and the caller of a request.

use gateway::{BearerSource, Caller};
use http::header::{AUTHORIZATION, REFERER, USER_AGENT};
use http::{HeaderMap, HeaderName, StatusCode};
use poem::Request;
use url::form_urlencoded;

use super::body::Body;
use super::fields::SecurityField;
use crate::checks::limits::Bucket;
use crate::flows::Context;
use crate::flows::bearer::{self, Admin, Bearer};
use crate::store::model::client::{Client, RequestedHost};
use crate::{Auth, Code, Error};

const AUDIENCE: HeaderName = HeaderName::from_static("x-jwt-aud");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
/// The maximum number of characters in the column of `auth.users`.
const LONGEST_AUDIENCE: usize = 255;
const REDIRECT_TO: &str = "redirect_to";

fn caller(request: &Request) -> Result<&Caller, Error> {
    request
        .extensions()
        .get()
        .ok_or_else(|| Error::Internal("there is no gateway in front of auth".to_owned()))
}

/// Returns the client that has sent the request.
pub(super) fn client(request: &Request) -> Result<Client<'_>, Error> {
    let headers = request.headers();
    let user_agent = headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok());
    let requested_host = RequestedHost {
        host: gateway::requested_host(request),
        is_plain: header(headers, &FORWARDED_PROTO) == Some("http"),
    };
    Ok(Client { user_agent, address: caller(request)?.address, requested_host })
}

/// Returns the user who has sent the request: the access token is the user's own, not that of an OAuth client, which may
/// only do what [`any_bearer`] is for. This is stricter than upstream.
///
/// Errors: as [`any_bearer`]; `no_authorization` (403).
pub(super) async fn bearer(auth: &Auth, request: &Request) -> Result<Bearer, Error> {
    let bearer = any_bearer(auth, request).await?;
    if bearer.is_oauth_client() {
        let message = "This endpoint requires the user's own session, not that of an OAuth client";
        return Err(Code::NoAuthorization.at(StatusCode::FORBIDDEN, message));
    }
    Ok(bearer)
}

/// Returns the user whose access token is in the request, be it that of an OAuth client: for endpoints that change
/// nothing but the session. Errors as [`bearer::authenticate`].
pub(super) async fn any_bearer(auth: &Auth, request: &Request) -> Result<Bearer, Error> {
    let caller = caller(request)?;
    // An API key identifies the project, never a user.
    let token = match caller.bearer_source {
        BearerSource::Authorization => authorization(request, caller),
        BearerSource::LegacyKey | BearerSource::OpaqueKey => None,
    };
    bearer::authenticate(&auth.verifier, &auth.database, token).await
}

/// Returns the administrator who has sent this request; errors as [`bearer::authorize_admin`].
pub(super) async fn admin(auth: &Auth, request: &Request) -> Result<Admin, Error> {
    let caller = caller(request)?;
    // Supabase's gateway writes the token of an opaque key into `Authorization`, and does not change legacy keys.
    let token = match caller.bearer_source {
        BearerSource::Authorization => authorization(request, caller),
        BearerSource::OpaqueKey => caller.bearer.as_deref(),
        BearerSource::LegacyKey => None,
    };
    bearer::authorize_admin(&auth.verifier, &auth.database, &auth.settings, token).await
}

/// Returns the token in `Authorization`, if the header has upstream's form: `Bearer`, one space, and a text without
/// spaces.
fn authorization<'a>(request: &Request, caller: &'a Caller) -> Option<&'a str> {
    let token = caller.bearer.as_deref()?;
    let header = request.headers().get(AUTHORIZATION)?;
    let is_one_word = !token.is_empty() && !token.contains(char::is_whitespace);
    (is_one_word && header.len() == "Bearer ".len() + token.len()).then_some(token)
}

/// Returns the audience of the request: header `X-JWT-AUD`, else that of the caller's token unless it is an
/// administrator's, else the configured one.
pub(super) fn audience<'a>(auth: &'a Auth, request: &'a Request, bearer: Option<&'a Bearer>) -> &'a str {
    let header = header(request.headers(), &AUDIENCE);
    let token = || bearer.filter(|bearer| !bearer.is_admin(&auth.settings)).and_then(Bearer::audience);
    let named = header.or_else(|| token().filter(|name| !name.is_empty()));
    named.unwrap_or(&auth.settings.token.audience)
}

/// Returns the data of the request that flows need, for a family that works with `services`.
///
/// Errors: `validation_failed` for an audience that no user can have.
pub(super) fn context<'a, S>(
    auth: &'a Auth,
    services: &'a S,
    request: &'a Request,
    bearer: Option<&'a Bearer>,
) -> Result<Context<'a, S>, Error> {
    let audience = audience(auth, request, bearer);
    if audience.chars().count() > LONGEST_AUDIENCE {
        return Err(Error::validation(format!(
            "The audience must not be longer than {LONGEST_AUDIENCE} characters"
        )));
    }
    Ok(Context {
        services,
        settings: &auth.settings,
        client: client(request)?,
        audience: audience.into(),
        redirect_to: redirect_to(auth, request).into(),
    })
}

/// Returns the URL to redirect the user to: that of the header `redirect_to`, else of the query parameter of this name,
/// if it is allowed; else the referring page, if that is allowed; else the site.
fn redirect_to(auth: &Auth, request: &Request) -> String {
    let parameter = parameter(request, REDIRECT_TO);
    let from_header = header(request.headers(), &HeaderName::from_static(REDIRECT_TO));
    let wanted = from_header.unwrap_or(&parameter);
    let referrer = header(request.headers(), &REFERER).unwrap_or_default();
    auth.redirects.resolve([wanted, referrer])
}

/// Returns the parameters of the query.
pub(super) fn query(request: &Request) -> impl Iterator<Item = (String, String)> {
    let query = request.uri().query().unwrap_or_default().as_bytes();
    form_urlencoded::parse(query).map(|(name, value)| (name.into_owned(), value.into_owned()))
}

/// Returns the first value of a parameter of the query; empty if there is none.
pub(super) fn parameter(request: &Request, name: &str) -> String {
    query(request).find(|(known, _)| known == name).map(|(_, value)| value).unwrap_or_default()
}

/// Counts the request against the client's limit of `bucket`. Errors: as [`Limits::take`](crate::checks::limits::Limits::take).
pub(super) async fn limit(auth: &Auth, request: &Request, bucket: Bucket) -> Result<(), Error> {
    let client = auth.limits.client(request.headers(), caller(request)?.address);
    auth.limits.take(bucket, client.as_deref()).await
}

/// Checks the captcha of the request, if the settings require one. Requests of administrators need none. If no captcha
/// is required, the body is not parsed.
///
/// Errors: `bad_json`; those of [`Captchas::check`](crate::checks::captcha::Captchas::check).
pub(super) async fn captcha<T>(auth: &Auth, request: &Request, body: &Body<T>) -> Result<(), Error> {
    if auth.settings.security.captcha.is_none() || admin(auth, request).await.is_ok() {
        return Ok(());
    }
    let token = body.read_as::<SecurityField>()?.token();
    auth.captchas.check(&token, client(request)?.address).await
}

/// Returns the value of a header, unless it is missing, empty or not text.
fn header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()).filter(|value| !value.is_empty())
}
