//! Providers that administrators define.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;
use uuid::Uuid;

use super::mapping;
use super::oauth2::{Client, Tokens};
use super::oidc::{Discovery, IssuerAddress};
use super::profile::{Claims, Profile};
use super::table::Authentication;
use super::{ProviderError, Providers};
use crate::Secret;
use crate::http_client::{Reach, resolve_public};

::settings::words! {
    /// What a custom provider speaks.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub(crate) enum ProviderType {
        Oauth2 = "oauth2",
        Oidc = "oidc",
    }
}

/// A row of `auth.custom_oauth_providers`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct CustomProvider {
    pub(crate) id: Uuid,
    pub(crate) provider_type: ProviderType,
    /// With the prefix `custom:`.
    pub(crate) identifier: String,
    pub(crate) name: String,
    pub(crate) client_id: String,
    /// As it is stored: encrypted if the project has a key for that.
    #[serde(deserialize_with = "secret")]
    pub(crate) client_secret: Secret,
    /// Further audiences of ID tokens.
    pub(crate) acceptable_client_ids: Vec<String>,
    pub(crate) scopes: Vec<String>,
    pub(crate) pkce_enabled: bool,
    pub(crate) attribute_mapping: Map<String, Value>,
    /// Claims that identities keep beside the usual ones.
    pub(crate) custom_claims_allowlist: Vec<String>,
    pub(crate) authorization_params: Map<String, Value>,
    pub(crate) enabled: bool,
    pub(crate) email_optional: bool,
    /// Of OpenID Connect alone.
    pub(crate) issuer: Option<String>,
    pub(crate) discovery_url: Option<String>,
    pub(crate) skip_nonce_check: bool,
    pub(crate) cached_discovery: Option<Discovery>,
    /// Of OAuth 2 alone.
    pub(crate) authorization_url: Option<String>,
    pub(crate) token_url: Option<String>,
    pub(crate) userinfo_url: Option<String>,
    pub(crate) jwks_uri: Option<String>,
}

fn secret<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
    String::deserialize(deserializer).map(Secret::from)
}

impl CustomProvider {
    /// Returns where its issuer is; `None` for one that speaks OAuth 2 alone.
    pub(crate) fn issuer_address(&self, reach: Reach) -> Option<IssuerAddress> {
        let issuer = self.issuer.clone().filter(|_| self.provider_type == ProviderType::Oidc)?;
        let discovery_url = self.discovery_url.clone().filter(|url| !url.is_empty());
        Some(IssuerAddress { issuer, discovery_url, reach, any_name: false })
    }

    /// Returns whether an ID token for `audiences` is meant for this project.
    pub(crate) fn accepts(&self, audiences: &[String]) -> bool {
        audiences.iter().any(|name| *name == self.client_id || self.acceptable_client_ids.contains(name))
    }

    /// Returns the parameters that users are always sent with.
    pub(super) fn parameters(&self) -> Vec<(String, String)> {
        let texts = self.authorization_params.iter();
        texts.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
    }

    /// Returns the claims as the administrator wants them.
    fn customize(&self, claims: Claims, document: &Map<String, Value>) -> Claims {
        mapping::customize(claims, document, &self.custom_claims_allowlist, &self.attribute_mapping)
    }
}

/// Adds the scope that makes a request one of OpenID Connect (Core 1.0, section 3.1.2.1).
pub(crate) fn with_openid(mut scopes: Vec<String>) -> Vec<String> {
    if !scopes.iter().any(|scope| scope == "openid") {
        scopes.insert(0, "openid".to_owned());
    }
    scopes
}

impl Providers {
    /// Returns how far requests to custom providers may go.
    pub(crate) fn custom_reach(&self) -> Reach {
        if self.custom_anywhere { Reach::Anywhere } else { Reach::Public }
    }

    /// Checks an address that an administrator sends: https, and nothing but public addresses behind the name.
    ///
    /// Errors: a sentence for the administrator.
    pub(crate) async fn check_custom_url(&self, url: &str) -> Result<(), &'static str> {
        let url = Url::parse(url).map_err(|_| "Invalid URL format")?;
        if self.custom_anywhere { Ok(()) } else { resolve_public(&url).await }
    }

    /// Returns this project as the client of `custom`, with its `secret`. `scopes`, separated by spaces, replace the
    /// configured ones.
    pub(super) async fn custom_client(
        &self,
        custom: &CustomProvider,
        secret: Secret,
        scopes: &str,
        redirect_uri: String,
    ) -> Result<Client, ProviderError> {
        let reach = self.custom_reach();
        let requested: Vec<String> = scopes.split_whitespace().map(str::to_owned).collect();
        let scopes = if requested.is_empty() { custom.scopes.clone() } else { requested };
        let (authorize_url, token_url, scopes) = match custom.issuer_address(reach) {
            Some(address) => {
                let document = self.issuers.get(&address).await?.document.clone();
                (document.authorization_endpoint, document.token_endpoint, with_openid(scopes))
            }
            None => {
                let missing = || {
                    let name = &custom.identifier;
                    ProviderError::Unexpected(format!("OAuth2 provider {name} missing required endpoints"))
                };
                let authorize = custom.authorization_url.clone().ok_or_else(missing)?;
                (authorize, custom.token_url.clone().ok_or_else(missing)?, scopes)
            }
        };
        Ok(Client {
            id: custom.client_id.clone(),
            secret,
            redirect_uri,
            authorize_url,
            token_url,
            scopes,
            authentication: Authentication::HeaderThenBody,
            reach,
        })
    }

    /// Returns the profile of the user whom `tokens` of `custom` belong to: from the ID token, or from the userinfo if
    /// there is none.
    pub(super) async fn custom_profile(
        &self,
        custom: &CustomProvider,
        tokens: &Tokens,
    ) -> Result<Profile, ProviderError> {
        let reach = self.custom_reach();
        let userinfo_url = match custom.issuer_address(reach) {
            Some(address) if !tokens.id.is_empty() => {
                let token = self.issuers.verify(&address, &tokens.id).await?;
                if !custom.accepts(&token.audiences()) {
                    let reason = "the ID token's audience does not match any acceptable client ID";
                    return Err(ProviderError::Unexpected(reason.to_owned()));
                }
                let profile = super::IdTokenFormat::of(&address.issuer).profile(&token.claims);
                let Profile { claims, emails } = profile.map_err(ProviderError::Unexpected)?;
                return Ok(Profile { claims: custom.customize(claims, &token.claims), emails });
            }
            Some(address) => self.issuers.get(&address).await?.document.userinfo_endpoint.clone(),
            None => custom.userinfo_url.clone().unwrap_or_default(),
        };
        if userinfo_url.is_empty() {
            let reason = "there is neither an ID token nor a userinfo endpoint";
            return Err(ProviderError::Unexpected(reason.to_owned()));
        }
        let document = self.document(&userinfo_url, reach, &tokens.access, |request| request).await?;
        let document = document.as_object().cloned().unwrap_or_default();
        let claims = Claims::standard(&document).map_err(ProviderError::Unexpected)?;
        Ok(mapping::of_standard_claims(custom.customize(claims, &document)))
    }
}
