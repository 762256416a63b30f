//! Every provider as its own documentation shows its answers, and the identity that must become of it.

use serde_json::{Value, json};

use crate::provider::Provider;

/// A provider as it answers, in the shape of its own documentation, and what becomes of it.
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) authorize: &'static str,
    pub(crate) scope: &'static str,
    pub(crate) token: &'static str,
    /// What comes with the access token.
    pub(crate) beside: Value,
    pub(crate) documents: Vec<(&'static str, Value)>,
    /// The identity's issuer, below the provider's address; text that begins with https stands for itself.
    pub(crate) issuer: &'static str,
    pub(crate) data: Value,
}

/// All providers of the table but twitter, which is of another kind.
pub(crate) fn samples(provider: &Provider) -> Vec<Sample> {
    let id_token = |claims: Value| json!({ "id_token": provider.id_token(&claims) });
    [of_identity(id_token), of_code_hosts(), of_social_networks(), of_work(), of_players()]
        .into_iter()
        .flatten()
        .collect()
}

fn of_identity(id_token: impl Fn(Value) -> Value) -> Vec<Sample> {
    vec![
        Sample {
            name: "apple",
            authorize: "/auth/authorize",
            scope: "email name",
            token: "/auth/token",
            beside: id_token(json!({
                "sub": "001.apple", "email": "Ada@Example.com", "email_verified": "true", "is_private_email": "true",
                "auth_time": 1_700_000_000,
            })),
            documents: vec![],
            issuer: "",
            data: json!({
                "sub": "001.apple", "email": "ada@example.com", "email_verified": true,
                "custom_claims": { "is_private_email": true, "auth_time": 1_700_000_000 },
            }),
        },
        Sample {
            name: "azure",
            authorize: "/oauth2/v2.0/authorize",
            scope: "openid",
            token: "/oauth2/v2.0/token",
            beside: id_token(json!({
                "sub": "azure-1", "email": "ada@example.com", "name": "Ada Lovelace", "xms_edov": "1", "ver": "2.0",
                "preferred_username": "ada@corp.example", "tid": "tenant", "oid": "object",
            })),
            documents: vec![],
            issuer: "",
            data: json!({
                "sub": "azure-1", "email": "ada@example.com", "email_verified": true, "full_name": "Ada Lovelace",
                "preferred_username": "ada@corp.example",
                "custom_claims": { "email": "ada@example.com", "xms_edov": "1", "tid": "tenant", "oid": "object" },
            }),
        },
        Sample {
            name: "google",
            authorize: "/o/oauth2/v2/auth",
            scope: "email profile",
            token: "/token",
            beside: id_token(json!({
                "sub": "google-1", "email": "ada@example.com", "email_verified": true, "name": "Ada", "hd": "example.com",
                "picture": "https://g.example/p",
            })),
            documents: vec![],
            issuer: "",
            data: json!({
                "sub": "google-1", "email": "ada@example.com", "email_verified": true, "name": "Ada", "full_name": "Ada",
                "picture": "https://g.example/p", "avatar_url": "https://g.example/p",
                "custom_claims": { "hd": "example.com" },
            }),
        },
        Sample {
            name: "linkedin_oidc",
            authorize: "/oauth/v2/authorization",
            scope: "openid email profile",
            token: "/oauth/v2/accessToken",
            beside: id_token(json!({
                "sub": "li-1", "email": "ada@example.com", "email_verified": "true", "given_name": "Ada",
                "family_name": "Lovelace", "locale": "en_GB", "picture": "https://l.example/p",
            })),
            documents: vec![],
            issuer: "",
            data: json!({
                "sub": "li-1", "email": "ada@example.com", "email_verified": true, "name": "Ada Lovelace",
                "given_name": "Ada", "family_name": "Lovelace", "locale": "en_GB", "picture": "https://l.example/p",
            }),
        },
        Sample {
            name: "vercel_marketplace",
            authorize: "/oauth/v2/authorization",
            scope: "",
            token: "/oauth/v2/accessToken",
            beside: id_token(json!({
                "sub": "account:1:user:2", "global_user_id": "g2", "user_email": "ada@example.com", "user_name": "Ada",
                "user_avatar_url": "https://v.example/p",
            })),
            documents: vec![],
            issuer: "",
            data: json!({
                "sub": "global_user_id:g2", "email": "ada@example.com", "email_verified": true, "name": "Ada",
                "picture": "https://v.example/p",
            }),
        },
        Sample {
            name: "keycloak",
            authorize: "/protocol/openid-connect/auth",
            scope: "profile email",
            token: "/protocol/openid-connect/token",
            beside: json!({}),
            documents: vec![(
                "/protocol/openid-connect/userinfo",
                json!({
                    "sub": "kc-1", "name": "Ada Lovelace", "email": "ada@example.com", "email_verified": true,
                    "groups": ["admins"],
                }),
            )],
            issuer: "",
            data: json!({
                "sub": "kc-1", "email": "ada@example.com", "email_verified": true, "name": "Ada Lovelace",
                "full_name": "Ada Lovelace", "custom_claims": { "groups": ["admins"] },
            }),
        },
        Sample {
            name: "workos",
            authorize: "/sso/authorize",
            scope: "",
            token: "/sso/token",
            beside: json!({ "profile": {
                "id": "prof_1", "connection_id": "conn_1", "organization_id": "org_1", "email": "ada@example.com",
                "first_name": "Ada", "last_name": "Lovelace", "raw_attributes": {},
            } }),
            documents: vec![],
            issuer: "",
            data: json!({
                "sub": "prof_1", "email": "ada@example.com", "email_verified": true, "name": "Ada Lovelace",
                "full_name": "Ada Lovelace",
                "custom_claims": { "connection_id": "conn_1", "organization_id": "org_1" },
            }),
        },
    ]
}

fn of_code_hosts() -> Vec<Sample> {
    vec![
        Sample {
            name: "bitbucket",
            authorize: "/site/oauth2/authorize",
            scope: "account email",
            token: "/site/oauth2/access_token",
            beside: json!({}),
            documents: vec![
                (
                    "/2.0/user",
                    json!({ "uuid": "{bb-1}", "display_name": "Ada", "avatar": { "href": "https://b.example/p" } }),
                ),
                (
                    "/2.0/user/emails",
                    json!({ "values": [
                        { "email": "other@example.com", "is_primary": false, "is_confirmed": true },
                        { "email": "ada@example.com", "is_primary": true, "is_confirmed": true },
                    ] }),
                ),
            ],
            issuer: "/2.0",
            data: json!({
                "sub": "{bb-1}", "email": "ada@example.com", "email_verified": true, "name": "Ada", "full_name": "Ada",
                "picture": "https://b.example/p", "avatar_url": "https://b.example/p",
            }),
        },
        Sample {
            name: "fly",
            authorize: "/oauth/authorize",
            scope: "read",
            token: "/oauth/token",
            beside: json!({}),
            documents: vec![(
                "/oauth/token/info",
                json!({
                    "resource_owner_id": "r1", "user_id": "f1", "user_name": "Ada", "email": "ada@example.com",
                    "organizations": [{ "id": "o1", "role": "admin" }], "scope": ["read"],
                    "application": { "uid": "app" }, "expires_in": 600, "created_at": 1_700_000_000,
                }),
            )],
            issuer: "",
            data: json!({
                "sub": "f1", "email": "ada@example.com", "email_verified": true, "full_name": "Ada",
                "custom_claims": {
                    "resource_owner_id": "r1", "organizations": [{ "id": "o1", "role": "admin" }], "scope": ["read"],
                    "application": { "uid": "app" }, "created_at": 1_700_000_000,
                },
            }),
        },
        Sample {
            name: "github",
            authorize: "/login/oauth/authorize",
            scope: "user:email",
            token: "/login/oauth/access_token",
            beside: json!({}),
            documents: vec![
                (
                    "/api/v3/user",
                    json!({
                        "id": 583231, "login": "ada", "name": "Ada Lovelace", "email": null,
                        "avatar_url": "https://h.example/p",
                    }),
                ),
                (
                    "/api/v3/user/emails",
                    json!([
                        { "email": "ada@example.com", "primary": true, "verified": true, "visibility": "public" },
                        { "email": "ada@users.example", "primary": false, "verified": true, "visibility": null },
                    ]),
                ),
            ],
            issuer: "/api/v3",
            data: json!({
                "sub": "583231", "email": "ada@example.com", "email_verified": true, "name": "Ada Lovelace",
                "full_name": "Ada Lovelace", "preferred_username": "ada", "user_name": "ada",
                "avatar_url": "https://h.example/p",
            }),
        },
        Sample {
            name: "gitlab",
            authorize: "/oauth/authorize",
            scope: "read_user",
            token: "/oauth/token",
            beside: json!({}),
            documents: vec![
                (
                    "/api/v4/user",
                    json!({
                        "id": 7, "name": "Ada", "email": "ada@example.com", "avatar_url": "https://l.example/p",
                        "confirmed_at": "2012-05-23T09:05:22Z",
                    }),
                ),
                ("/api/v4/user/emails", json!([{ "id": 1, "email": "second@example.com" }])),
            ],
            issuer: "",
            data: json!({
                "sub": "7", "email": "ada@example.com", "email_verified": true, "name": "Ada", "full_name": "Ada",
                "picture": "https://l.example/p", "avatar_url": "https://l.example/p",
            }),
        },
    ]
}

fn of_social_networks() -> Vec<Sample> {
    vec![
        Sample {
            name: "discord",
            authorize: "/api/oauth2/authorize",
            scope: "email identify",
            token: "/api/oauth2/token",
            beside: json!({}),
            documents: vec![(
                "/api/users/@me",
                json!({
                    "id": "80351110224678912", "username": "ada", "discriminator": "1337", "global_name": "Ada L",
                    "avatar": "a_8342729096ea3675442027381ff50dfe", "verified": true, "email": "ada@example.com",
                }),
            )],
            issuer: "/api",
            data: json!({
                "sub": "80351110224678912", "email": "ada@example.com", "email_verified": true, "name": "ada#1337",
                "full_name": "ada", "custom_claims": { "global_name": "Ada L" },
                "picture": "https://cdn.discordapp.com/avatars/80351110224678912/a_8342729096ea3675442027381ff50dfe.gif",
                "avatar_url":
                    "https://cdn.discordapp.com/avatars/80351110224678912/a_8342729096ea3675442027381ff50dfe.gif",
            }),
        },
        Sample {
            name: "facebook",
            authorize: "/dialog/oauth",
            scope: "email",
            token: "/oauth/access_token",
            beside: json!({}),
            documents: vec![(
                "/me",
                json!({
                    "id": "fb-1", "email": "ada@example.com", "first_name": "Ada", "last_name": "Lovelace",
                    "name": "Ada L", "picture": { "data": { "url": "https://f.example/p" } },
                }),
            )],
            issuer: "/me?fields=email,first_name,last_name,name,picture",
            data: json!({
                "sub": "fb-1", "email": "ada@example.com", "email_verified": true, "name": "Ada Lovelace",
                "full_name": "Ada Lovelace", "nickname": "Ada L", "slug": "Ada L", "picture": "https://f.example/p",
                "avatar_url": "https://f.example/p",
            }),
        },
        Sample {
            name: "kakao",
            authorize: "/oauth/authorize",
            scope: "account_email profile_image profile_nickname",
            token: "/oauth/token",
            beside: json!({}),
            documents: vec![(
                "/v2/user/me",
                json!({ "id": 123456789, "kakao_account": {
                    "profile": { "nickname": "ada", "profile_image_url": "https://k.example/p" },
                    "email": "ada@example.com", "is_email_valid": true, "is_email_verified": true,
                } }),
            )],
            issuer: "",
            data: json!({
                "sub": "123456789", "email": "ada@example.com", "email_verified": true, "name": "ada",
                "full_name": "ada", "preferred_username": "ada", "user_name": "ada",
                "avatar_url": "https://k.example/p",
            }),
        },
        Sample {
            name: "linkedin",
            authorize: "/oauth/v2/authorization",
            scope: "r_emailaddress r_liteprofile",
            token: "/oauth/v2/accessToken",
            beside: json!({}),
            documents: vec![
                (
                    "/v2/me",
                    json!({
                        "id": "li-9",
                        "firstName": {
                            "localized": { "en_US": "Ada" }, "preferredLocale": { "country": "US", "language": "en" },
                        },
                        "lastName": {
                            "localized": { "en_US": "Lovelace" },
                            "preferredLocale": { "country": "US", "language": "en" },
                        },
                        "profilePicture": { "displayImage~": { "elements": [
                            { "identifiers": [{ "identifier": "https://l.example/p" }] },
                        ] } },
                    }),
                ),
                (
                    "/v2/emailAddress",
                    json!({ "elements": [
                        { "handle": "urn:li:emailAddress:1", "handle~": { "emailAddress": "ada@example.com" } },
                    ] }),
                ),
            ],
            issuer: "",
            data: json!({
                "sub": "li-9", "email": "ada@example.com", "email_verified": true, "name": "Ada Lovelace",
                "full_name": "Ada Lovelace", "picture": "https://l.example/p", "avatar_url": "https://l.example/p",
            }),
        },
        Sample {
            name: "snapchat",
            authorize: "/accounts/oauth2/auth",
            scope: "https://auth.snapchat.com/oauth2/api/user.external_id \
                    https://auth.snapchat.com/oauth2/api/user.display_name \
                    https://auth.snapchat.com/oauth2/api/user.bitmoji.avatar",
            token: "/accounts/oauth2/token",
            beside: json!({}),
            documents: vec![(
                "/v1/me",
                json!({ "data": { "me": {
                    "externalId": "sc-1", "displayName": "Ada", "bitmoji": { "avatar": "https://s.example/p", "id": "b" },
                    "email": "ada@example.com",
                } } }),
            )],
            issuer: "https://accounts.snapchat.com/accounts/oauth2/token",
            data: json!({
                "sub": "sc-1", "email": "ada@example.com", "email_verified": true, "name": "Ada", "full_name": "Ada",
                "slug": "Ada", "picture": "https://s.example/p", "avatar_url": "https://s.example/p",
            }),
        },
        Sample {
            name: "x",
            authorize: "/i/oauth2/authorize",
            scope: "users.email tweet.read users.read offline.access",
            token: "/2/oauth2/token",
            beside: json!({}),
            documents: vec![(
                "/2/users/me",
                json!({ "data": {
                    "id": "2244994945", "name": "Ada", "username": "ada", "confirmed_email": "ada@example.com",
                    "profile_image_url": "https://x.example/p", "url": "https://ada.example",
                    "created_at": "2013-12-14T04:35:55.000Z",
                } }),
            )],
            issuer: "",
            data: json!({
                "sub": "2244994945", "email": "ada@example.com", "email_verified": true, "name": "Ada",
                "full_name": "Ada", "preferred_username": "ada", "user_name": "ada", "picture": "https://x.example/p",
                "avatar_url": "https://x.example/p", "profile": "https://x.com/ada", "website": "https://ada.example",
                "custom_claims": { "created_at": "2013-12-14T04:35:55.000Z" },
            }),
        },
    ]
}

fn of_work() -> Vec<Sample> {
    let slack = |verified: bool| {
        json!({
            "https://slack.com/user_id": "U1", "https://slack.com/team_id": "T1", "email": "ada@example.com",
            "email_verified": verified, "name": "Ada", "picture": "https://s.example/p",
        })
    };
    let slack_data = json!({
        "sub": "U1", "email": "ada@example.com", "email_verified": true, "name": "Ada", "full_name": "Ada",
        "picture": "https://s.example/p", "avatar_url": "https://s.example/p",
        "custom_claims": { "https://slack.com/team_id": "T1" },
    });
    vec![
        Sample {
            name: "figma",
            authorize: "/oauth",
            scope: "current_user:read",
            token: "/v1/oauth/token",
            beside: json!({}),
            documents: vec![(
                "/v1/me",
                json!({ "id": "fi-1", "email": "ada@example.com", "handle": "Ada", "img_url": "https://f.example/p" }),
            )],
            issuer: "",
            data: json!({
                "sub": "fi-1", "email": "ada@example.com", "email_verified": true, "name": "Ada", "full_name": "Ada",
                "avatar_url": "https://f.example/p",
            }),
        },
        Sample {
            name: "notion",
            authorize: "/v1/oauth/authorize",
            scope: "",
            token: "/v1/oauth/token",
            beside: json!({}),
            documents: vec![(
                "/v1/users/me",
                json!({ "object": "user", "bot": { "owner": { "type": "user", "user": {
                    "id": "no-1", "name": "Ada", "avatar_url": "https://n.example/p",
                    "person": { "email": "ada@example.com" },
                } } } }),
            )],
            issuer: "",
            data: json!({
                "sub": "no-1", "email": "ada@example.com", "email_verified": true, "name": "Ada", "full_name": "Ada",
                "picture": "https://n.example/p", "avatar_url": "https://n.example/p",
            }),
        },
        Sample {
            name: "slack",
            authorize: "/oauth/authorize",
            scope: "profile email openid",
            token: "/api/oauth.access",
            beside: json!({}),
            documents: vec![("/api/openid.connect.userInfo", slack(false))],
            issuer: "/api",
            data: slack_data.clone(),
        },
        Sample {
            name: "slack_oidc",
            authorize: "/openid/connect/authorize",
            scope: "profile email openid",
            token: "/api/openid.connect.token",
            beside: json!({}),
            documents: vec![("/api/openid.connect.userInfo", slack(true))],
            issuer: "/api",
            data: slack_data,
        },
        Sample {
            name: "zoom",
            authorize: "/oauth/authorize",
            scope: "",
            token: "/oauth/token",
            beside: json!({}),
            documents: vec![(
                "/v2/users/me",
                json!({
                    "id": "zo-1", "first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.com",
                    "verified": 1, "login_type": "100", "pic_url": "https://z.example/p",
                }),
            )],
            issuer: "/v2",
            data: json!({
                "sub": "zo-1", "email": "ada@example.com", "email_verified": true, "name": "Ada Lovelace",
                "full_name": "Ada Lovelace", "picture": "https://z.example/p", "avatar_url": "https://z.example/p",
            }),
        },
    ]
}

fn of_players() -> Vec<Sample> {
    vec![
        Sample {
            name: "spotify",
            authorize: "/authorize",
            scope: "user-read-email",
            token: "/api/token",
            beside: json!({}),
            documents: vec![(
                "/me",
                json!({
                    "id": "sp-1", "display_name": "Ada", "email": "ada@example.com", "images": [
                        { "url": "https://s.example/small", "height": 64, "width": 64 },
                        { "url": "https://s.example/large", "height": 300, "width": 300 },
                    ],
                }),
            )],
            issuer: "",
            data: json!({
                "sub": "sp-1", "email": "ada@example.com", "email_verified": false, "name": "Ada", "full_name": "Ada",
                "picture": "https://s.example/large", "avatar_url": "https://s.example/large",
            }),
        },
        Sample {
            name: "twitch",
            authorize: "/oauth2/authorize",
            scope: "user:read:email",
            token: "/oauth2/token",
            beside: json!({}),
            documents: vec![(
                "/helix/users",
                json!({ "data": [{
                    "id": "141981764", "login": "ada", "display_name": "Ada L", "type": "", "broadcaster_type": "partner",
                    "description": "About Ada.", "profile_image_url": "https://t.example/p",
                    "offline_image_url": "https://t.example/o", "view_count": 5, "email": "ada@example.com",
                }] }),
            )],
            issuer: "",
            data: json!({
                "sub": "141981764", "email": "ada@example.com", "email_verified": true, "name": "ada",
                "full_name": "ada", "nickname": "Ada L", "slug": "Ada L", "picture": "https://t.example/p",
                "avatar_url": "https://t.example/p", "custom_claims": {
                    "broadcaster_type": "partner", "description": "About Ada.", "type": "",
                    "offline_image_url": "https://t.example/o", "view_count": 5,
                },
            }),
        },
    ]
}
