//! The providers: where they are, what they are asked for, where a profile comes from. Source: each provider's own
//! documentation, as Supabase Auth's providers state it.

use super::id_token::IdTokenFormat;
use super::mapping::{self, Mapping};

pub(crate) const APPLE_ISSUERS: [&str; 2] = ["https://appleid.apple.com", "https://account.apple.com"];
pub(crate) const FACEBOOK: &str = "https://www.facebook.com";
pub(crate) const GOOGLE: &str = "https://accounts.google.com";
pub(crate) const KAKAO: &str = "https://kauth.kakao.com";
pub(crate) const LINKEDIN: &str = "https://www.linkedin.com/oauth";
pub(crate) const SNAPCHAT: &str = "https://accounts.snapchat.com/accounts/oauth2/token";
pub(crate) const VERCEL_MARKETPLACE: &str = "https://marketplace.vercel.com";

/// Returns whether `issuer` is a tenant of Azure: `https://login.microsoftonline.com/<tenant>/v2.0`.
pub(crate) fn is_azure(issuer: &str) -> bool {
    issuer.strip_prefix("https://login.microsoftonline.com/").is_some_and(is_tenant)
}

/// Returns whether `issuer` is a tenant of Azure for customers: `https://<name>.ciamlogin.com/<tenant>/v2.0`.
pub(crate) fn is_azure_ciam(issuer: &str) -> bool {
    let Some((name, tenant)) =
        issuer.strip_prefix("https://").and_then(|rest| rest.split_once(".ciamlogin.com/"))
    else {
        return false;
    };
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.bytes().all(is_name) && is_tenant(tenant)
}

fn is_tenant(path: &str) -> bool {
    let path = path.strip_suffix('/').unwrap_or(path);
    path.strip_suffix("/v2.0").is_some_and(|tenant| !tenant.is_empty() && !tenant.contains('/'))
}

/// The URL of a provider's endpoint: a path below a host, or below the URL of a self-hosted provider.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndpointUrl {
    /// The public host, maybe with a path; empty for providers that exist only self-hosted.
    pub(crate) host: &'static str,
    pub(crate) path: &'static str,
}

const fn at(host: &'static str, path: &'static str) -> EndpointUrl {
    EndpointUrl { host, path }
}

impl EndpointUrl {
    /// Returns the address of the place, below `url` unless that is empty.
    pub(crate) fn below(&self, url: &str) -> String {
        let Self { host, path } = self;
        if url.is_empty() { format!("https://{host}{path}") } else { format!("{}{path}", trim(url)) }
    }
}

/// Returns `url` without a slash at its end.
pub(crate) fn trim(url: &str) -> &str {
    url.strip_suffix('/').unwrap_or(url)
}

/// How this project authenticates itself to a provider (RFC 6749, section 2.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Authentication {
    /// In header `Authorization`; and in the body if that is refused, as some providers know only that.
    HeaderThenBody,
    /// In the body.
    Body,
}

/// What a provider's request for a profile needs beyond the access token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestExtra {
    None,
    /// Header `Notion-Version`.
    NotionVersion,
    /// Header `Client-Id`.
    ClientId,
    /// Parameter `appsecret_proof`: HMAC-SHA256 of the access token with the client's secret.
    SecretProof,
}

/// Where a profile comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source {
    /// Documents below the API's base.
    Documents { paths: &'static [&'static str], mapping: Mapping, extra: RequestExtra },
    /// The response that carries the access token.
    TokenResponse { mapping: Mapping },
    /// The ID token beside the access token; or, if the provider sent none, the document at `fallback`.
    IdToken { issuer: &'static str, format: IdTokenFormat, fallback: Option<(EndpointUrl, Mapping)> },
    /// OAuth 1.0a: documents below the API's base, by signed requests.
    Oauth1 { path: &'static str, mapping: Mapping },
}

/// A provider.
#[derive(Debug)]
pub(crate) struct Provider {
    pub(crate) name: &'static str,
    /// Where users are sent.
    pub(crate) authorize: EndpointUrl,
    /// Where codes are exchanged.
    pub(crate) token: EndpointUrl,
    /// The base of its API.
    pub(crate) api: EndpointUrl,
    /// The API's path in a self-hosted provider, if it is another one.
    pub(crate) hosted_api_path: Option<&'static str>,
    pub(crate) scopes: &'static [&'static str],
    /// Whether clients may ask for more.
    pub(crate) takes_scopes: bool,
    /// Parameters that are always sent with users.
    pub(crate) parameters: &'static [(&'static str, &'static str)],
    /// Whether parameters of the client's request are handed on.
    pub(crate) forwards: bool,
    /// Whether it wants a code challenge (RFC 7636).
    pub(crate) pkce: bool,
    pub(crate) authentication: Authentication,
    pub(crate) source: Source,
}

impl Provider {
    /// Returns the provider of this lowercase name.
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        PROVIDERS.iter().find(|provider| provider.name == name)
    }

    /// Returns the base of the API, below `url` unless that is empty.
    pub(crate) fn api_base(&self, url: &str) -> String {
        let path = self.hosted_api_path.filter(|_| !url.is_empty()).unwrap_or(self.api.path);
        EndpointUrl { path, ..self.api }.below(url)
    }
}

const fn documents(paths: &'static [&'static str], mapping: Mapping) -> Source {
    Source::Documents { paths, mapping, extra: RequestExtra::None }
}

const fn id_token(issuer: &'static str, format: IdTokenFormat) -> Source {
    Source::IdToken { issuer, format, fallback: None }
}

/// What most providers have in common.
const COMMON: Provider = Provider {
    name: "",
    authorize: at("", ""),
    token: at("", ""),
    api: at("", ""),
    hosted_api_path: None,
    scopes: &[],
    takes_scopes: true,
    parameters: &[],
    forwards: true,
    pkce: false,
    authentication: Authentication::HeaderThenBody,
    source: documents(&[], mapping::figma),
};

const SNAPCHAT_QUERY: &str =
    "/v1/me?query=%7Bme+%7B+externalId+displayName+bitmoji+%7B+avatar+id+%7D+email+%7D+%7D";

/// All providers, by name.
pub(crate) static PROVIDERS: [Provider; 25] = [
    Provider {
        name: "apple",
        authorize: at("appleid.apple.com", "/auth/authorize"),
        token: at("appleid.apple.com", "/auth/token"),
        scopes: &["email", "name"],
        takes_scopes: false,
        parameters: &[("response_mode", "form_post")],
        forwards: false,
        authentication: Authentication::Body,
        source: id_token(APPLE_ISSUERS[0], IdTokenFormat::Apple),
        ..COMMON
    },
    Provider {
        name: "azure",
        authorize: at("login.microsoftonline.com/common", "/oauth2/v2.0/authorize"),
        token: at("login.microsoftonline.com/common", "/oauth2/v2.0/token"),
        scopes: &["openid"],
        authentication: Authentication::Body,
        source: id_token("", IdTokenFormat::Azure),
        ..COMMON
    },
    Provider {
        name: "bitbucket",
        authorize: at("bitbucket.org", "/site/oauth2/authorize"),
        token: at("bitbucket.org", "/site/oauth2/access_token"),
        api: at("api.bitbucket.org", "/2.0"),
        scopes: &["account", "email"],
        takes_scopes: false,
        source: documents(&["/user", "/user/emails"], mapping::bitbucket),
        ..COMMON
    },
    Provider {
        name: "discord",
        authorize: at("discord.com", "/api/oauth2/authorize"),
        token: at("discord.com", "/api/oauth2/token"),
        api: at("discord.com", "/api"),
        scopes: &["email", "identify"],
        source: documents(&["/users/@me"], mapping::discord),
        ..COMMON
    },
    Provider {
        name: "facebook",
        authorize: at("www.facebook.com", "/dialog/oauth"),
        token: at("graph.facebook.com", "/oauth/access_token"),
        api: at("graph.facebook.com", "/me?fields=email,first_name,last_name,name,picture"),
        scopes: &["email"],
        authentication: Authentication::Body,
        source: Source::Documents {
            paths: &[""],
            mapping: mapping::facebook,
            extra: RequestExtra::SecretProof,
        },
        ..COMMON
    },
    Provider {
        name: "figma",
        authorize: at("www.figma.com", "/oauth"),
        token: at("api.figma.com", "/v1/oauth/token"),
        api: at("api.figma.com", ""),
        scopes: &["current_user:read"],
        source: documents(&["/v1/me"], mapping::figma),
        ..COMMON
    },
    Provider {
        name: "fly",
        authorize: at("api.fly.io", "/oauth/authorize"),
        token: at("api.fly.io", "/oauth/token"),
        api: at("api.fly.io", ""),
        scopes: &["read"],
        source: documents(&["/oauth/token/info"], mapping::fly),
        ..COMMON
    },
    Provider {
        name: "github",
        authorize: at("github.com", "/login/oauth/authorize"),
        token: at("github.com", "/login/oauth/access_token"),
        api: at("api.github.com", ""),
        hosted_api_path: Some("/api/v3"),
        scopes: &["user:email"],
        authentication: Authentication::Body,
        source: documents(&["/user", "/user/emails"], mapping::github),
        ..COMMON
    },
    Provider {
        name: "gitlab",
        authorize: at("gitlab.com", "/oauth/authorize"),
        token: at("gitlab.com", "/oauth/token"),
        api: at("gitlab.com", ""),
        scopes: &["read_user"],
        authentication: Authentication::Body,
        source: documents(&["/api/v4/user", "/api/v4/user/emails"], mapping::gitlab),
        ..COMMON
    },
    Provider {
        name: "google",
        authorize: at("accounts.google.com", "/o/oauth2/v2/auth"),
        token: at("oauth2.googleapis.com", "/token"),
        scopes: &["email", "profile"],
        authentication: Authentication::Body,
        source: Source::IdToken {
            issuer: GOOGLE,
            format: IdTokenFormat::Google,
            fallback: Some((at("www.googleapis.com", "/userinfo/v2/me"), mapping::google)),
        },
        ..COMMON
    },
    Provider {
        name: "kakao",
        authorize: at("kauth.kakao.com", "/oauth/authorize"),
        token: at("kauth.kakao.com", "/oauth/token"),
        api: at("kapi.kakao.com", ""),
        scopes: &["account_email", "profile_image", "profile_nickname"],
        authentication: Authentication::Body,
        source: documents(&["/v2/user/me"], mapping::kakao),
        ..COMMON
    },
    Provider {
        name: "keycloak",
        authorize: at("", "/protocol/openid-connect/auth"),
        token: at("", "/protocol/openid-connect/token"),
        scopes: &["profile", "email"],
        source: documents(&["/protocol/openid-connect/userinfo"], mapping::keycloak),
        ..COMMON
    },
    Provider {
        name: "linkedin",
        authorize: at("api.linkedin.com", "/oauth/v2/authorization"),
        token: at("api.linkedin.com", "/oauth/v2/accessToken"),
        api: at("api.linkedin.com", ""),
        scopes: &["r_emailaddress", "r_liteprofile"],
        authentication: Authentication::Body,
        source: documents(
            &[
                "/v2/me?projection=(id,firstName,lastName,profilePicture(displayImage~:playableStreams))",
                "/v2/emailAddress?q=members&projection=(elements*(handle~))",
            ],
            mapping::linkedin,
        ),
        ..COMMON
    },
    Provider {
        name: "linkedin_oidc",
        authorize: at("api.linkedin.com", "/oauth/v2/authorization"),
        token: at("api.linkedin.com", "/oauth/v2/accessToken"),
        scopes: &["openid", "email", "profile"],
        authentication: Authentication::Body,
        source: id_token(LINKEDIN, IdTokenFormat::Linkedin),
        ..COMMON
    },
    Provider {
        name: "notion",
        authorize: at("api.notion.com", "/v1/oauth/authorize"),
        token: at("api.notion.com", "/v1/oauth/token"),
        api: at("api.notion.com", ""),
        takes_scopes: false,
        source: Source::Documents {
            paths: &["/v1/users/me"],
            mapping: mapping::notion,
            extra: RequestExtra::NotionVersion,
        },
        ..COMMON
    },
    Provider {
        name: "slack",
        authorize: at("slack.com", "/oauth/authorize"),
        token: at("slack.com", "/api/oauth.access"),
        api: at("slack.com", "/api"),
        scopes: &["profile", "email", "openid"],
        source: documents(&["/openid.connect.userInfo"], mapping::slack),
        ..COMMON
    },
    Provider {
        name: "slack_oidc",
        authorize: at("slack.com", "/openid/connect/authorize"),
        token: at("slack.com", "/api/openid.connect.token"),
        api: at("slack.com", "/api"),
        scopes: &["profile", "email", "openid"],
        source: documents(&["/openid.connect.userInfo"], mapping::slack_oidc),
        ..COMMON
    },
    Provider {
        name: "snapchat",
        authorize: at("accounts.snapchat.com", "/accounts/oauth2/auth"),
        token: at("accounts.snapchat.com", "/accounts/oauth2/token"),
        api: at("kit.snapchat.com", ""),
        scopes: &[
            "https://auth.snapchat.com/oauth2/api/user.external_id",
            "https://auth.snapchat.com/oauth2/api/user.display_name",
            "https://auth.snapchat.com/oauth2/api/user.bitmoji.avatar",
        ],
        source: documents(&[SNAPCHAT_QUERY], mapping::snapchat),
        ..COMMON
    },
    Provider {
        name: "spotify",
        authorize: at("accounts.spotify.com", "/authorize"),
        token: at("accounts.spotify.com", "/api/token"),
        api: at("api.spotify.com/v1", ""),
        scopes: &["user-read-email"],
        source: documents(&["/me"], mapping::spotify),
        ..COMMON
    },
    Provider {
        name: "twitch",
        authorize: at("id.twitch.tv", "/oauth2/authorize"),
        token: at("id.twitch.tv", "/oauth2/token"),
        api: at("api.twitch.tv", ""),
        scopes: &["user:read:email"],
        authentication: Authentication::Body,
        source: Source::Documents {
            paths: &["/helix/users"],
            mapping: mapping::twitch,
            extra: RequestExtra::ClientId,
        },
        ..COMMON
    },
    Provider {
        name: "twitter",
        authorize: at("api.twitter.com", "/oauth/authenticate"),
        token: at("api.twitter.com", "/oauth/access_token"),
        api: at("api.twitter.com", "/1.1/account/verify_credentials.json"),
        takes_scopes: false,
        forwards: false,
        source: Source::Oauth1 { path: "/oauth/request_token", mapping: mapping::twitter },
        ..COMMON
    },
    Provider {
        name: "vercel_marketplace",
        authorize: at("api.vercel.com", "/oauth/v2/authorization"),
        token: at("api.vercel.com", "/oauth/v2/accessToken"),
        authentication: Authentication::Body,
        source: id_token(VERCEL_MARKETPLACE, IdTokenFormat::VercelMarketplace),
        ..COMMON
    },
    Provider {
        name: "workos",
        authorize: at("api.workos.com", "/sso/authorize"),
        token: at("api.workos.com", "/sso/token"),
        api: at("api.workos.com", ""),
        takes_scopes: false,
        authentication: Authentication::Body,
        source: Source::TokenResponse { mapping: mapping::workos },
        ..COMMON
    },
    Provider {
        name: "x",
        authorize: at("x.com", "/i/oauth2/authorize"),
        token: at("api.x.com", "/2/oauth2/token"),
        api: at("api.x.com", ""),
        scopes: &["users.email", "tweet.read", "users.read", "offline.access"],
        pkce: true,
        source: documents(
            &["/2/users/me?user.fields=id,name,username,confirmed_email,profile_image_url,url,created_at"],
            mapping::x,
        ),
        ..COMMON
    },
    Provider {
        name: "zoom",
        authorize: at("zoom.us", "/oauth/authorize"),
        token: at("zoom.us", "/oauth/token"),
        api: at("api.zoom.us", "/v2"),
        takes_scopes: false,
        source: documents(&["/users/me"], mapping::zoom),
        ..COMMON
    },
];
