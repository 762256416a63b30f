//! External providers (OAuth 1, OAuth 2, OpenID Connect): one client for all of them, driven by a table.

mod custom;
mod id_token;
mod mapping;
mod oauth1;
mod oauth2;
mod oidc;
mod profile;
mod table;
pub(crate) mod third_party;
pub(crate) mod web3;

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use http::StatusCode;
use reqwest::header::ACCEPT;
use reqwest::{Method, RequestBuilder};
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::Sha256;

pub(crate) use custom::{CustomProvider, ProviderType, with_openid};
pub(crate) use id_token::IdTokenFormat;
pub(crate) use mapping::apple_name;
pub(crate) use oauth2::code_verifier;
pub(crate) use oidc::{Discovery, IdToken, IssuerAddress, Issuers, KnownIssuers, claimed_issuer};
pub(crate) use profile::{Claims, Email, Profile};
pub(crate) use table::{
    APPLE_ISSUERS, FACEBOOK, GOOGLE, KAKAO, Provider, SNAPCHAT, VERCEL_MARKETPLACE, is_azure, is_azure_ciam,
    trim,
};

use crate::http_client::{HttpClient, HttpError, Reach};
use crate::{OauthProvider, ProviderSettings, Secret};
use mapping::Documents;
use oauth1::Consumer;
use oauth2::{Client, Tokens};
use table::{RequestExtra, Source};

/// The version of Notion's API that the mapping was written for.
const NOTION_VERSION: &str = "2021-08-16";

/// Why a request to a provider has failed, or what is wrong with its response. For the log: it names addresses and
/// codes, but no tokens.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProviderError {
    #[error("request to {url} failed: {cause}")]
    Http { url: String, cause: HttpError },
    #[error("{url} responded with status {status}")]
    Status { url: String, status: StatusCode },
    #[error("{url} refused: {error}")]
    Refused { url: String, error: String },
    #[error("{0}")]
    Unexpected(String),
}

/// A user as a provider describes them, and the provider's tokens.
pub(crate) struct ProviderUser {
    pub(crate) profile: Profile,
    pub(crate) access_token: String,
    /// Empty if the provider gave none.
    pub(crate) refresh_token: String,
}

/// The client of all providers.
pub(crate) struct Providers {
    http: HttpClient,
    pub(crate) issuers: Issuers,
    /// Whether custom providers may be in private networks.
    custom_anywhere: bool,
}

/// A provider that is ready for users.
pub(crate) struct Connection {
    /// What identities call it.
    pub(crate) name: String,
    /// Whether users without an e-mail address are accepted.
    pub(crate) email_optional: bool,
    client: Client,
    kind: Kind,
}

enum Kind {
    Known { provider: &'static Provider, url: String },
    Custom(Box<CustomProvider>),
}

impl Providers {
    pub(crate) fn new(http: HttpClient, settings: &ProviderSettings, known: KnownIssuers) -> Self {
        Self {
            issuers: Issuers::new(http.clone(), settings.discovery_cache, known),
            http,
            custom_anywhere: settings.custom_oauth_private_addresses,
        }
    }

    /// Returns the provider of the table with its `settings`. `scopes`, separated by commas, are asked for in extra.
    ///
    /// Errors: what the settings lack, as upstream says it.
    pub(crate) fn known(
        &self,
        provider: &'static Provider,
        settings: Option<&OauthProvider>,
        scopes: &str,
        callback: &str,
    ) -> Result<Connection, &'static str> {
        let settings = settings.ok_or("provider is not enabled")?;
        let id = settings.client_ids.first().filter(|id| !id.is_empty()).ok_or("missing OAuth client ID")?;
        if settings.secret.is_empty() {
            return Err("missing OAuth secret");
        }
        if settings.url.is_empty() && provider.authorize.host.is_empty() {
            return Err("unable to find URL for the Keycloak provider");
        }
        let requested = scopes.split(',').filter(|scope| provider.takes_scopes && !scope.is_empty());
        let scopes = provider.scopes.iter().copied().chain(requested).map(str::to_owned).collect();
        let redirect_uri = if settings.redirect_uri.is_empty() { callback } else { &settings.redirect_uri };
        let client = Client {
            id: id.clone(),
            secret: settings.secret.clone(),
            redirect_uri: redirect_uri.to_owned(),
            authorize_url: provider.authorize.below(&settings.url),
            token_url: provider.token.below(&settings.url),
            scopes,
            authentication: provider.authentication,
            reach: settings.reach(),
        };
        Ok(Connection {
            name: provider.name.to_owned(),
            email_optional: settings.email_optional,
            client,
            kind: Kind::Known { provider, url: settings.url.clone() },
        })
    }

    /// Returns an administrator's provider, with its `secret` in the clear. `scopes`, separated by spaces, are asked
    /// for instead of the configured ones.
    pub(crate) async fn custom(
        &self,
        custom: CustomProvider,
        secret: Secret,
        scopes: &str,
        callback: &str,
    ) -> Result<Connection, ProviderError> {
        Ok(Connection {
            name: custom.identifier.clone(),
            email_optional: custom.email_optional,
            client: self.custom_client(&custom, secret, scopes, callback.to_owned()).await?,
            kind: Kind::Custom(Box::new(custom)),
        })
    }

    /// Returns where to send a user, with `state` to come back with, and `verifier` where the provider wants a
    /// challenge. `parameters` come from the client.
    pub(crate) async fn authorize_url(
        &self,
        connection: &Connection,
        state: &str,
        verifier: Option<&str>,
        parameters: Vec<(String, String)>,
    ) -> Result<String, ProviderError> {
        let parameters = match &connection.kind {
            Kind::Known { provider, url } => {
                if let Source::Oauth1 { path, .. } = provider.source {
                    return self.oauth1_url(connection, provider, &[url, path], state).await;
                }
                let fixed = provider.parameters.iter();
                let fixed = fixed.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
                let forwarded = if provider.forwards { parameters } else { Vec::new() };
                forwarded.into_iter().chain(fixed).collect()
            }
            Kind::Custom(custom) => parameters.into_iter().chain(custom.parameters()).collect::<Vec<_>>(),
        };
        connection.client.authorize_url(state, verifier, &parameters)
    }

    async fn oauth1_url(
        &self,
        connection: &Connection,
        provider: &Provider,
        [url, path]: &[&str; 2],
        state: &str,
    ) -> Result<String, ProviderError> {
        let callback = format!("{}?state={state}", connection.client.redirect_uri);
        let address = table::EndpointUrl { path: "", ..provider.token }.below(url);
        let token =
            connection.consumer().request_token(&self.http, &format!("{address}{path}"), &callback).await?;
        let query: String = url::form_urlencoded::byte_serialize(token.token.as_bytes()).collect();
        Ok(format!("{}?oauth_token={query}", connection.client.authorize_url))
    }

    /// Exchanges what a user came back with for the user's profile.
    pub(crate) async fn authenticate(
        &self,
        connection: &Connection,
        credentials: Credentials<'_>,
    ) -> Result<ProviderUser, AuthenticationError> {
        let (code, verifier) = match credentials {
            Credentials::Code { code, verifier } => (code, verifier),
            Credentials::Oauth1 { token, verifier } => {
                return self.oauth1_authenticate(connection, (token, verifier)).await;
            }
        };
        let tokens = connection.client.exchange(&self.http, code, verifier).await;
        let tokens = tokens.map_err(AuthenticationError::Exchange)?;
        let profile = match &connection.kind {
            Kind::Known { provider, url } => self.profile(connection, provider, url, &tokens).await,
            Kind::Custom(custom) => self.custom_profile(custom, &tokens).await,
        };
        let profile = profile.map_err(AuthenticationError::Profile)?;
        Ok(ProviderUser { profile, access_token: tokens.access, refresh_token: tokens.refresh })
    }

    async fn profile(
        &self,
        connection: &Connection,
        provider: &Provider,
        url: &str,
        tokens: &Tokens,
    ) -> Result<Profile, ProviderError> {
        let base = provider.api_base(url);
        let read = |documents: &[Value], mapping: mapping::Mapping| {
            let issuer = &base;
            mapping(&Documents { issuer, documents }).map_err(ProviderError::Unexpected)
        };
        match provider.source {
            Source::TokenResponse { mapping } => read(std::slice::from_ref(&tokens.response), mapping),
            Source::Documents { paths, mapping, extra } => {
                let mut documents = Vec::with_capacity(paths.len());
                for path in paths {
                    let add = |request| connection.add_extra(extra, request, &tokens.access);
                    let url = format!("{base}{path}");
                    documents.push(self.document(&url, connection.client.reach, &tokens.access, add).await?);
                }
                read(&documents, mapping)
            }
            Source::IdToken { fallback: Some((endpoint, mapping)), .. } if tokens.id.is_empty() => {
                let address = endpoint.below(url);
                let reach = connection.client.reach;
                let document = self.document(&address, reach, &tokens.access, |request| request).await?;
                let documents = [document];
                mapping(&Documents { issuer: &address, documents: &documents })
                    .map_err(ProviderError::Unexpected)
            }
            Source::IdToken { issuer, format, .. } => {
                let address = issuer_address(provider, issuer, url, &tokens.id)?;
                let address = IssuerAddress { reach: connection.client.reach, ..address };
                let token = self.issuers.verify(&address, &tokens.id).await?;
                if !token.audiences().contains(&connection.client.id) {
                    let reason = "the ID token is not for this client";
                    return Err(ProviderError::Unexpected(reason.to_owned()));
                }
                if !token.belongs_to(&tokens.access) {
                    let reason = "the access token is not the one that the ID token was issued with";
                    return Err(ProviderError::Unexpected(reason.to_owned()));
                }
                format.profile(&token.claims).map_err(ProviderError::Unexpected)
            }
            Source::Oauth1 { .. } => {
                Err(ProviderError::Unexpected("the provider speaks OAuth 1.0a alone".to_owned()))
            }
        }
    }

    /// Returns the JSON document at `url`, which `access` is allowed to see.
    pub(super) async fn document(
        &self,
        url: &str,
        reach: Reach,
        access: &str,
        add: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<Value, ProviderError> {
        get_json(&self.http, url, reach, |request| add(request.bearer_auth(access))).await
    }

    async fn oauth1_authenticate(
        &self,
        connection: &Connection,
        request: (&str, &str),
    ) -> Result<ProviderUser, AuthenticationError> {
        let Kind::Known { provider, url } = &connection.kind else {
            let reason = "custom providers do not speak OAuth 1.0a".to_owned();
            return Err(AuthenticationError::Exchange(ProviderError::Unexpected(reason)));
        };
        let consumer = connection.consumer();
        let token = consumer.access_token(&self.http, &connection.client.token_url, request).await;
        let token = token.map_err(AuthenticationError::Exchange)?;
        let profile = async {
            let base = provider.api_base(url);
            let query = [("include_entities", "false"), ("skip_status", "true"), ("include_email", "true")];
            let response = consumer.get(&self.http, &base, &query, &token).await?;
            let document = response.json();
            let document = document.map_err(|cause| ProviderError::Http { url: base.clone(), cause })?;
            let Source::Oauth1 { mapping, .. } = provider.source else {
                return Err(ProviderError::Unexpected("the provider does not speak OAuth 1.0a".to_owned()));
            };
            mapping(&Documents { issuer: &base, documents: &[document] }).map_err(ProviderError::Unexpected)
        };
        let profile = profile.await.map_err(AuthenticationError::Profile)?;
        Ok(ProviderUser { profile, access_token: token.token, refresh_token: String::new() })
    }
}

/// Returns the JSON document at `url`; `add` completes the request.
async fn get_json<T: DeserializeOwned>(
    http: &HttpClient,
    url: &str,
    reach: Reach,
    add: impl FnOnce(RequestBuilder) -> RequestBuilder,
) -> Result<T, ProviderError> {
    let failed = |cause| ProviderError::Http { url: url.to_owned(), cause };
    let request = http.request(Method::GET, url, reach).map_err(failed)?;
    let response = http.send(add(request).header(ACCEPT, "application/json")).await.map_err(failed)?;
    if !response.status.is_success() {
        return Err(ProviderError::Status { url: url.to_owned(), status: response.status });
    }
    response.json().map_err(failed)
}

/// What a user comes back from a provider with.
#[derive(Clone, Copy)]
pub(crate) enum Credentials<'a> {
    Code { code: &'a str, verifier: Option<&'a str> },
    Oauth1 { token: &'a str, verifier: &'a str },
}

/// The step at which authentication at a provider failed.
#[derive(Debug)]
pub(crate) enum AuthenticationError {
    Exchange(ProviderError),
    Profile(ProviderError),
}

impl Connection {
    /// Returns whether the provider wants a code challenge.
    pub(crate) fn wants_pkce(&self) -> bool {
        match &self.kind {
            Kind::Known { provider, .. } => provider.pkce,
            Kind::Custom(custom) => custom.pkce_enabled,
        }
    }

    /// Returns whether the provider speaks OAuth 1.0a.
    pub(crate) fn is_oauth1(&self) -> bool {
        matches!(&self.kind, Kind::Known { provider, .. } if matches!(provider.source, Source::Oauth1 { .. }))
    }

    fn consumer(&self) -> Consumer<'_> {
        Consumer { key: &self.client.id, secret: &self.client.secret }
    }

    fn add_extra(&self, extra: RequestExtra, request: RequestBuilder, access: &str) -> RequestBuilder {
        match extra {
            RequestExtra::None => request,
            RequestExtra::NotionVersion => request.header("Notion-Version", NOTION_VERSION),
            RequestExtra::ClientId => request.header("Client-Id", &self.client.id),
            RequestExtra::SecretProof => {
                let secret = self.client.secret.expose().as_bytes();
                // HMAC takes keys of any length.
                let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret) else { return request };
                mac.update(access.as_bytes());
                request.query(&[("appsecret_proof", HEXLOWER.encode(&mac.finalize().into_bytes()))])
            }
        }
    }
}

/// Returns whose keys an ID token that came with a code is checked with. `issuer` is the table's, empty where each
/// tenant has one of its own.
fn issuer_address(
    provider: &Provider,
    issuer: &str,
    url: &str,
    token: &str,
) -> Result<IssuerAddress, ProviderError> {
    let claimed = claimed_issuer(token)
        .ok_or_else(|| ProviderError::Unexpected("the provider sent no ID token".to_owned()))?;
    if provider.name == "azure" {
        return azure_issuer(url, &claimed);
    }
    let issuer = if url.is_empty() { issuer } else { trim(url) };
    Ok(IssuerAddress { any_name: provider.name == "apple", ..IssuerAddress::trusted(issuer) })
}

/// Returns the issuer that Azure's tokens count from. A configured tenant is the only one whose tokens count; otherwise
/// all tenants count, and what the configured host issues if that is not Azure's own.
fn azure_issuer(url: &str, claimed: &str) -> Result<IssuerAddress, ProviderError> {
    let expected = if url.is_empty() { String::new() } else { format!("{}/v2.0", trim(url)) };
    let is_tenant = (is_azure(&expected) || is_azure_ciam(&expected))
        && !["common", "organizations", "consumers"]
            .iter()
            .any(|all| expected == format!("https://login.microsoftonline.com/{all}/v2.0"));
    let accepted = if is_tenant {
        claimed == expected
    } else {
        let origin = |url: &str| url::Url::parse(url).ok().map(|url| url.origin());
        let elsewhere = !url.is_empty() && origin(url) == origin(claimed);
        is_azure(claimed) || elsewhere
    };
    if !accepted {
        return Err(ProviderError::Unexpected(format!("ID token issuer not valid {claimed:?}")));
    }
    Ok(IssuerAddress::trusted(claimed))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMON: &str = "https://login.microsoftonline.com/common";
    const TENANT: &str = "https://login.microsoftonline.com/tenant";

    fn accepts(url: &str, issuer: &str) -> bool {
        azure_issuer(url, issuer).is_ok_and(|address| address.issuer == issuer && !address.any_name)
    }

    #[test]
    fn azure_tenants_are_distinguished() {
        let of = |base: &str| format!("{base}/v2.0");
        for url in ["", COMMON, "https://login.microsoftonline.com/organizations/"] {
            assert!(accepts(url, &of(TENANT)), "{url}");
            assert!(!accepts(url, "https://evil.example/tenant/v2.0"), "{url}");
        }
        assert!(accepts(TENANT, &of(TENANT)) && accepts(&format!("{TENANT}/"), &of(TENANT)));
        assert!(!accepts(TENANT, "https://login.microsoftonline.com/other/v2.0"));
        let customers = "https://club.ciamlogin.com/tenant";
        assert!(accepts(customers, &of(customers)) && !accepts(customers, &of(TENANT)));
        let sovereign = "https://login.microsoftonline.us/tenant";
        assert!(accepts(sovereign, &of(sovereign)));
        assert!(!accepts(sovereign, "https://login.microsoftonline.us.evil.example/tenant/v2.0"));
    }

    #[test]
    fn every_provider_is_found_by_its_name_once() {
        for provider in &table::PROVIDERS {
            let found = Provider::find(provider.name).unwrap();
            assert!(std::ptr::eq(found, provider), "{}", provider.name);
            assert!(provider.authorize.path.starts_with('/') && provider.token.path.starts_with('/'));
        }
        assert!(Provider::find("").is_none() && Provider::find("GitHub").is_none());
    }

    #[test]
    fn the_public_hosts_are_the_providers_own() {
        let github = Provider::find("github").unwrap();
        assert_eq!(github.authorize.below(""), "https://github.com/login/oauth/authorize");
        assert_eq!(github.api_base(""), "https://api.github.com");
        assert_eq!(github.api_base("https://git.example/"), "https://git.example/api/v3");
        let azure = Provider::find("azure").unwrap();
        assert_eq!(azure.token.below(""), format!("{COMMON}/oauth2/v2.0/token"));
        let spotify = Provider::find("spotify").unwrap();
        assert_eq!(spotify.api_base(""), "https://api.spotify.com/v1");
    }
}
