//! Authorization requests of clients (RFC 6749, section 4.1.1).

use postgres::Database;
use rand::RngExt;
use rand::distr::Alphanumeric;
use url::Url;
use uuid::Uuid;

use super::scopes;
use crate::checks::redirects;
use crate::flows::pkce::Challenge;
use crate::store::oauth_authorizations::{self, NewAuthorization};
use crate::store::oauth_clients::{self, OauthClient};
use crate::{Code, Error, Settings};

/// Characters of the name that the consent page knows a request by.
const ID_LENGTH: usize = 32;
/// Longest parameters in characters.
const LONGEST_STATE: usize = 4096;
const LONGEST_RESOURCE: usize = 2048;
const LONGEST_NONCE: usize = 255;

/// What a client sends along with the user's browser; missing parameters are empty.
#[derive(Debug, Default)]
pub(crate) struct Request {
    pub(crate) client_id: String,
    pub(crate) redirect_uri: String,
    pub(crate) response_type: String,
    pub(crate) scope: String,
    pub(crate) state: String,
    /// What the token is meant for (RFC 8707).
    pub(crate) resource: String,
    pub(crate) code_challenge: String,
    pub(crate) code_challenge_method: String,
    /// Comes back in the ID token (OpenID Connect Core, section 3.1.2.1).
    pub(crate) nonce: String,
}

/// Stores the request and returns where the browser goes on: to the site's consent page, or, if the request cannot
/// be granted, back to the client (RFC 6749, section 4.1.2.1).
///
/// Errors (all 400): `validation_failed` and `oauth_client_not_found` as long as the client and its redirect URI are
/// not verified.
pub(crate) async fn begin(
    database: &Database,
    settings: &Settings,
    request: &Request,
) -> Result<String, Error> {
    let client = client(database, &request.client_id, &request.redirect_uri).await?;
    let redirect = match check(settings, request) {
        Ok(checked) => store(database, settings, client.id, request, &checked).await,
        Err(reason) => Err(("invalid_request", reason)),
    };
    redirect
        .or_else(|(error, description)| refusal(&request.redirect_uri, error, &description, &request.state))
}

/// Returns the redirect that reports a refusal to the client.
pub(super) fn refusal(
    redirect_uri: &str,
    error: &str,
    description: &str,
    state: &str,
) -> Result<String, Error> {
    let mut members = vec![("error", error.to_owned()), ("error_description", description.to_owned())];
    if !state.is_empty() {
        members.push(("state", state.to_owned()));
    }
    redirects::extend(redirect_uri, &members, &[])
}

async fn client(database: &Database, client_id: &str, redirect_uri: &str) -> Result<OauthClient, Error> {
    for (name, value) in [("client_id", client_id), ("redirect_uri", redirect_uri)] {
        if value.is_empty() {
            return Err(Error::validation(format!("{name} is required")));
        }
    }
    let unknown = |message| Code::OauthClientNotFound.at(http::StatusCode::BAD_REQUEST, message);
    let id = Uuid::parse_str(client_id).map_err(|_| unknown("invalid client_id format"))?;
    let client = oauth_clients::find(database, id).await?;
    let client = client.ok_or_else(|| unknown("invalid client_id"))?;
    // Exactly, character by character (OAuth 2.1, section 4.1.3): a similar URI may be another party's.
    if client.redirect_uris().all(|known| known != redirect_uri) {
        return Err(Error::validation("invalid redirect_uri"));
    }
    Ok(client)
}

/// The checked parameters of a request.
struct CheckedRequest {
    scope: String,
    challenge: Challenge,
}

/// Checks the fields of a request.
///
/// Errors: a sentence for the client's developer.
fn check(settings: &Settings, request: &Request) -> Result<CheckedRequest, String> {
    if !matches!(request.response_type.as_str(), "" | "code") {
        return Err("only response_type=code is supported".to_owned());
    }
    let scope = match request.scope.as_str() {
        "" => settings.oauth_server.default_scope.as_str(),
        named => named,
    };
    let scopes = scopes::parse(scope);
    if scopes.is_empty() {
        return Err("scope parameter cannot be empty".to_owned());
    }
    if let Some(unknown) = scopes.iter().find(|scope| !scopes::SUPPORTED.contains(scope)) {
        return Err(format!("unsupported scope: {unknown}"));
    }
    for (name, value, longest) in [
        ("state", &request.state, LONGEST_STATE),
        ("resource", &request.resource, LONGEST_RESOURCE),
        ("nonce", &request.nonce, LONGEST_NONCE),
    ] {
        if value.contains('\0') || value.chars().count() > longest {
            return Err(format!("{name} must be at most {longest} characters, without NUL"));
        }
    }
    check_resource(&request.resource)?;
    let (challenge, method) = (request.code_challenge.as_str(), request.code_challenge_method.as_str());
    let challenge = Challenge::parse(Some(challenge), Some(method)).map_err(|error| error.to_string())?;
    let challenge = challenge
        .ok_or_else(|| "PKCE flow requires both code_challenge and code_challenge_method".to_owned())?;
    Ok(CheckedRequest { scope: scopes.join(" "), challenge })
}

/// Checks that `resource` is an absolute URI without a fragment and without a query (RFC 8707, section 2, allows one
/// only if there is need, of which there is none).
fn check_resource(resource: &str) -> Result<(), String> {
    if resource.is_empty() {
        return Ok(());
    }
    let url = Url::parse(resource).map_err(|_| "resource must be an absolute URI".to_owned())?;
    if url.fragment().is_some() {
        return Err("resource must not include a fragment component".to_owned());
    }
    if url.query().is_some() {
        return Err("resource must not include a query component".to_owned());
    }
    Ok(())
}

async fn store(
    database: &Database,
    settings: &Settings,
    client: Uuid,
    request: &Request,
    checked: &CheckedRequest,
) -> Result<String, (&'static str, String)> {
    let server = &settings.oauth_server;
    if server.authorization_path.is_empty() {
        tracing::error!(
            "a client asks for access, but there is no page to ask for consent; set OAUTH_SERVER_AUTHORIZATION_PATH"
        );
        return Err(("server_error", "oauth authorization path not configured".to_owned()));
    }
    let id: String = rand::rng().sample_iter(Alphanumeric).take(ID_LENGTH).map(char::from).collect();
    let new = NewAuthorization {
        authorization_id: &id,
        client_id: client,
        redirect_uri: &request.redirect_uri,
        scope: &checked.scope,
        state: &request.state,
        resource: &request.resource,
        code_challenge: checked.challenge.text(),
        code_challenge_method: checked.challenge.method(),
        nonce: &request.nonce,
        life: server.authorization_ttl,
    };
    oauth_authorizations::create(database, &new).await.map_err(|error| {
        tracing::error!(cause = ?error, "a request for access was not stored");
        ("server_error", "error creating authorization".to_owned())
    })?;
    let (site, path) =
        (settings.site_url.trim_end_matches('/'), server.authorization_path.trim_start_matches('/'));
    Ok(format!("{site}/{path}?authorization_id={id}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_absolute_and_bare() {
        for resource in ["", "https://api.example.com", "https://api.example.com/v1", "urn:example:api"] {
            assert_eq!(check_resource(resource), Ok(()), "{resource}");
        }
        for resource in ["/v1", "api", "https://api.example.com/#a", "https://api.example.com/?a=b"] {
            assert!(check_resource(resource).is_err(), "{resource}");
        }
    }
}
