//! Client authentication, and the exchange of codes and refresh tokens (RFC 6749, sections 2.3, 4.1.3 and 6).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use postgres::Database;
use serde_json::json;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use uuid::Uuid;

use super::{claims, clients};
use crate::flows::access_token::Session;
use crate::flows::services::Sessions;
use crate::flows::session::{self, SignIn};
use crate::flows::{Context, pkce};
use crate::store::audit::{Action, Actor};
use crate::store::oauth_authorizations::{self, Authorization};
use crate::store::oauth_clients::{self, AuthMethod, OauthClient};
use crate::store::{self, sessions, users};
use crate::{Code, Error};

/// The entry of claim `amr` of clients' sessions.
const METHOD: &str = "oauth_provider/authorization_code";

/// Who a client says it is.
pub(crate) struct Credentials {
    id: String,
    secret: String,
    method: AuthMethod,
}

impl Credentials {
    /// Reads what follows `Basic` in header `Authorization`.
    ///
    /// Errors: `invalid_credentials`.
    pub(crate) fn of_header(encoded: &str) -> Result<Self, Error> {
        let decoded = STANDARD.decode(encoded.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let decoded =
            decoded.ok_or_else(|| refuse("Invalid client credentials: invalid basic auth encoding"))?;
        let (id, secret) = decoded
            .split_once(':')
            .ok_or_else(|| refuse("Invalid client credentials: invalid basic auth format"))?;
        Ok(Self { id: id.to_owned(), secret: secret.to_owned(), method: AuthMethod::ClientSecretBasic })
    }

    /// Reads the fields of a body.
    ///
    /// Errors: `invalid_credentials` without an id.
    pub(crate) fn of_body(id: &str, secret: &str) -> Result<Self, Error> {
        if id.is_empty() {
            return Err(refuse("Invalid client credentials: client_id is required"));
        }
        let method = if secret.is_empty() { AuthMethod::None } else { AuthMethod::ClientSecretPost };
        Ok(Self { id: id.to_owned(), secret: secret.to_owned(), method })
    }
}

fn refuse(message: &'static str) -> Error {
    Code::InvalidCredentials.because(message)
}

/// Returns the client that has proved who it is, in the one way that it is registered for.
///
/// Errors: `invalid_credentials`.
pub(crate) async fn authenticate(
    database: &Database,
    credentials: &Credentials,
) -> Result<OauthClient, Error> {
    let id = Uuid::parse_str(&credentials.id).map_err(|_| refuse("Invalid client_id format"))?;
    let client = oauth_clients::find(database, id).await?;
    let client = client.ok_or_else(|| refuse("Invalid client credentials"))?;
    let registered = client.token_endpoint_auth_method;
    if credentials.method != registered {
        return Err(Code::InvalidCredentials.because(format!(
            "invalid authentication method: client is registered for '{}' but '{}' was used",
            registered.name(),
            credentials.method.name(),
        )));
    }
    if registered == AuthMethod::None {
        return Ok(client);
    }
    let expected = client.client_secret_hash.as_deref().unwrap_or_default();
    if bool::from(clients::hash(&credentials.secret).as_bytes().ct_eq(expected.as_bytes())) {
        return Ok(client);
    }
    Err(refuse("Invalid client credentials"))
}

/// Checks that `client` may use the grant.
///
/// Errors: OAuth-style for a grant that is missing or that it may not use.
pub(crate) fn check_grant_type(client: &OauthClient, grant_type: &str) -> Result<(), Error> {
    if grant_type.is_empty() {
        return Err(Error::oauth("invalid_request", "grant_type is required"));
    }
    if client.grant_types().any(|allowed| allowed.trim() == grant_type) {
        return Ok(());
    }
    let message = format!("Client is not allowed to use grant type: {grant_type}");
    Err(Error::oauth("unsupported_grant_type", message))
}

/// What a client exchanges for a session; missing fields are empty.
pub(crate) struct CodeGrant {
    pub(crate) code: String,
    pub(crate) redirect_uri: String,
    pub(crate) code_verifier: String,
    pub(crate) resource: String,
}

/// A client's session, with an ID token if the client may have one.
pub(crate) struct ClientSession {
    pub(crate) session: Session,
    pub(crate) id_token: Option<String>,
}

/// Exchanges a code for a session of `client`. Of several exchanges of one code, one wins; but then somebody else has
/// the code, too, and the session ends (RFC 6749, sections 4.1.2 and 10.5).
///
/// A refused exchange uses the code up, too, whatever was wrong with it: the client, the redirect URI, the resource or
/// the verifier. The client that the code was issued for knows all of them. Who does not has got the code from
/// elsewhere, and must not try one after the other. This is stricter than upstream, where the code stays. OAuth 2.1,
/// section 4.1.3, demands the checks and leaves open what becomes of the code.
///
/// Errors: OAuth-style; `access_denied` for the banned and a defect if an ID token is due and cannot be signed, both
/// before the code is used up.
pub(crate) async fn exchange(
    context: &Context<'_, Sessions>,
    client: &OauthClient,
    grant: &CodeGrant,
) -> Result<ClientSession, Error> {
    if grant.code.is_empty() {
        return Err(Error::oauth("invalid_request", "code is required for authorization_code grant"));
    }
    let invalid = |description: &'static str| Error::oauth("invalid_grant", description);
    // No text in Postgres contains a NUL.
    if grant.code.contains('\0') {
        return Err(invalid("Invalid authorization code"));
    }
    let services = context.services;
    let work = store::begin(&services.database).await?;
    let Some(authorization) = oauth_authorizations::find_by_code(&work, &grant.code).await? else {
        sessions::end_of_client(&work, session_of(&grant.code)).await?;
        work.commit().await?;
        return Err(invalid("Invalid authorization code"));
    };
    if let Err(error) = check(client, grant, &authorization) {
        oauth_authorizations::delete(&work, &authorization.authorization_id).await?;
        work.commit().await?;
        return Err(error);
    }
    let user = authorization.user_id.ok_or_else(|| invalid("Authorization code has no associated user"))?;
    let account = users::find(&work, user).await?;
    if account.ok_or_else(|| invalid("User not found for authorization code"))?.banned {
        return Err(Error::oauth("access_denied", "User is banned"));
    }
    let needs_id_token = claims::needs_id_token(&services.keys, &authorization.scope)?;
    let traits = json!({ "provider_type": "oauth_provider_authorization_code", "client_id": client.id });
    context.log(&work, Actor::User(user), Action::Login, traits).await?;
    let sign_in = SignIn {
        method: METHOD,
        oauth_client: Some((client.id, &authorization.scope)),
        id: Some(session_of(&grant.code)),
        ..SignIn::default()
    };
    let session = session::begin(services, &work, user, sign_in, &context.client).await?;
    let (issuer, nonce) = (services.settings.issuer(), authorization.nonce.as_deref());
    let user = session.user();
    let id_token = needs_id_token
        .then(|| claims::id_token(&services.keys, issuer, user, client.id, &authorization.scope, nonce))
        .transpose()?;
    oauth_authorizations::delete(&work, &authorization.authorization_id).await?;
    work.commit().await?;
    Ok(ClientSession { session, id_token })
}

/// Returns the id of the session that `code` is exchanged for. It follows from the code, so that a used code, of which
/// nothing is stored, still leads to what it gave.
fn session_of(code: &str) -> Uuid {
    let digest =
        Sha256::new().chain_update("session of an authorization code\0").chain_update(code).finalize();
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(digest).for_each(|(byte, digest)| *byte = digest);
    uuid::Builder::from_random_bytes(bytes).into_uuid()
}

/// Checks that `client` may exchange the code of `authorization`.
///
/// Errors: `invalid_grant`.
fn check(client: &OauthClient, grant: &CodeGrant, authorization: &Authorization) -> Result<(), Error> {
    let invalid = |description: &'static str| Err(Error::oauth("invalid_grant", description));
    if authorization.is_expired {
        return invalid("Authorization code has expired");
    }
    if authorization.client_id != client.id {
        return invalid("Authorization code was not issued for this client");
    }
    let resource = authorization.resource.as_deref().unwrap_or_default();
    if !grant.resource.is_empty() && grant.resource != resource {
        return invalid("Authorization code resource does not match the resource parameter");
    }
    if !grant.redirect_uri.is_empty() && grant.redirect_uri != authorization.redirect_uri {
        return invalid("Invalid redirect_uri");
    }
    let challenge = authorization.code_challenge.as_deref().unwrap_or_default();
    let method = authorization.code_challenge_method.as_deref().unwrap_or_default();
    pkce::verify(challenge, method, &grant.code_verifier)
        .map_err(|error| Error::oauth("invalid_grant", format!("PKCE verification failed: {error}")))
}
