//! How each issuer's ID token becomes a profile. Which addresses are verified follows from what the issuer promises.

use serde_json::{Map, Value};

use super::mapping;
use super::profile::{Claims, Email, Profile};
use super::table::{
    APPLE_ISSUERS, FACEBOOK, GOOGLE, KAKAO, LINKEDIN, SNAPCHAT, VERCEL_MARKETPLACE, is_azure,
};

/// The issuer whose claims a token has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdTokenFormat {
    Apple,
    Azure,
    Facebook,
    Google,
    Kakao,
    Linkedin,
    Snapchat,
    VercelMarketplace,
    /// OpenID Connect's own.
    Standard,
}

impl IdTokenFormat {
    /// Returns the format of an issuer that is not configured.
    pub(crate) fn of(issuer: &str) -> Self {
        match issuer {
            GOOGLE => Self::Google,
            LINKEDIN => Self::Linkedin,
            KAKAO => Self::Kakao,
            VERCEL_MARKETPLACE => Self::VercelMarketplace,
            FACEBOOK => Self::Facebook,
            SNAPCHAT => Self::Snapchat,
            apple if APPLE_ISSUERS.contains(&apple) => Self::Apple,
            azure if is_azure(azure) => Self::Azure,
            _ => Self::Standard,
        }
    }

    /// Returns the profile in a verified token's `claims`.
    ///
    /// Errors: what the claims lack.
    pub(crate) fn profile(self, claims: &Map<String, Value>) -> Result<Profile, String> {
        match self {
            Self::Apple => Ok(apple(claims)),
            Self::Azure => Ok(azure(claims)),
            Self::Facebook => Ok(facebook(claims)),
            Self::Google => Ok(google(claims)),
            Self::Kakao => Ok(kakao(claims)),
            Self::Linkedin => linkedin(claims),
            Self::Snapchat => snapchat(claims),
            Self::VercelMarketplace => Ok(vercel_marketplace(claims)),
            Self::Standard => mapping::standard(claims),
        }
    }
}

fn text<'a>(claims: &'a Map<String, Value>, name: &str) -> &'a str {
    claims.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn subject(claims: &Map<String, Value>) -> Claims {
    Claims::of(text(claims, "iss"), text(claims, "sub"))
}

/// Returns a boolean, also where it is sent as text.
fn flag(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Bool(flag)) => *flag,
        Some(Value::String(text)) => matches!(text.as_str(), "1" | "true" | "True" | "TRUE"),
        _ => false,
    }
}

fn apple(claims: &Map<String, Value>) -> Profile {
    let mut profile_claims = subject(claims);
    if let Some(private) = claims.get("is_private_email") {
        profile_claims = profile_claims.custom("is_private_email", flag(Some(private)));
    }
    for name in ["auth_time", "transfer_sub"] {
        if let Some(value) = claims.get(name).filter(|value| !value.is_null() && **value != "") {
            profile_claims = profile_claims.custom(name, value.clone());
        }
    }
    Profile::with_email(profile_claims, Email::primary(text(claims, "email"), true))
}

/// Claims of Azure's tokens that are about the token or have a name of their own.
const AZURE_OWN: [&str; 16] = [
    "aud",
    "iss",
    "iat",
    "nbf",
    "exp",
    "c_hash",
    "at_hash",
    "aio",
    "nonce",
    "rh",
    "uti",
    "jti",
    "ver",
    "sub",
    "name",
    "preferred_username",
];

fn azure(claims: &Map<String, Value>) -> Profile {
    let others = claims.iter().filter(|(name, _)| !AZURE_OWN.contains(&name.as_str()));
    let others: Map<String, Value> = others.map(|(name, value)| (name.clone(), value.clone())).collect();
    let profile_claims = subject(claims)
        .with("preferred_username", text(claims, "preferred_username"))
        .with("full_name", text(claims, "name"))
        .all_custom(others);
    // Tenants that are open to many send unverified addresses only together with xms_edov, which says so: sometimes
    // as a boolean, sometimes as text.
    let verified = match claims.get("xms_edov") {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text == "1" || text == "true",
        owner_verified => owner_verified == Some(&Value::Bool(true)),
    };
    Profile::with_email(profile_claims, Email::primary(text(claims, "email"), verified))
}

fn facebook(claims: &Map<String, Value>) -> Profile {
    let profile_claims =
        subject(claims).with("name", text(claims, "name")).with("picture", text(claims, "picture"));
    Profile::with_email(profile_claims, Email::primary(text(claims, "email"), true))
}

fn google(claims: &Map<String, Value>) -> Profile {
    let mut profile_claims =
        subject(claims).with_name(text(claims, "name")).with_picture(text(claims, "picture"));
    if let Some(domain) = claims.get("hd").filter(|domain| **domain != "") {
        profile_claims = profile_claims.custom("hd", domain.clone());
    }
    let verified = ["email_verified", "verified_email"]
        .iter()
        .any(|name| claims.get(*name).and_then(Value::as_bool).unwrap_or_default());
    Profile::with_email(profile_claims, Email::primary(text(claims, "email"), verified))
}

fn kakao(claims: &Map<String, Value>) -> Profile {
    let nickname = text(claims, "nickname");
    let profile_claims = subject(claims)
        .with("name", nickname)
        .with("preferred_username", nickname)
        .with("picture", text(claims, "picture"));
    Profile::with_email(profile_claims, Email::primary(text(claims, "email"), true))
}

fn linkedin(claims: &Map<String, Value>) -> Result<Profile, String> {
    let verified = match claims.get("email_verified") {
        Some(Value::Bool(verified)) => *verified,
        Some(Value::String(text)) => {
            text.to_ascii_lowercase().parse().map_err(|_| "email_verified is no boolean")?
        }
        _ => return Err("email_verified is missing".to_owned()),
    };
    let [given, family] = [text(claims, "given_name"), text(claims, "family_name")];
    let profile_claims = subject(claims)
        .with("name", format!("{given} {family}").trim())
        .with("given_name", given)
        .with("family_name", family)
        .with("locale", text(claims, "locale"))
        .with("picture", text(claims, "picture"));
    Ok(Profile::with_email(profile_claims, Email::primary(text(claims, "email"), verified)))
}

fn snapchat(claims: &Map<String, Value>) -> Result<Profile, String> {
    let claims = Claims::standard(claims)?;
    let email = Email::primary(claims.text("email"), true);
    Ok(Profile::with_email(claims, email))
}

fn vercel_marketplace(claims: &Map<String, Value>) -> Profile {
    // The same person has another subject in each installation, but one global id.
    let subject = match text(claims, "global_user_id") {
        "" => text(claims, "sub").to_owned(),
        global => format!("global_user_id:{global}"),
    };
    let profile_claims = Claims::of(text(claims, "iss"), &subject)
        .with("name", text(claims, "user_name"))
        .with("picture", text(claims, "user_avatar_url"));
    Profile::with_email(profile_claims, Email::primary(text(claims, "user_email"), true))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn profile(issuer: &str, claims: Value) -> Result<Profile, String> {
        let mut all =
            json!({ "iss": issuer, "sub": "1", "email": "Ada@example.com", "exp": 5, "aud": "client" });
        let claims = claims.as_object().unwrap().clone();
        all.as_object_mut().unwrap().extend(claims);
        IdTokenFormat::of(issuer).profile(all.as_object().unwrap())
    }

    fn data(issuer: &str, claims: Value) -> Value {
        profile(issuer, claims).unwrap().identity_data().into()
    }

    #[test]
    fn issuers_are_recognized_by_their_url() {
        assert_eq!(IdTokenFormat::of("https://account.apple.com"), IdTokenFormat::Apple);
        assert_eq!(
            IdTokenFormat::of("https://login.microsoftonline.com/9188040d/v2.0"),
            IdTokenFormat::Azure
        );
        for other in [
            "https://login.microsoftonline.com/v2.0",
            "https://login.microsoftonline.com.evil.com/a/v2.0",
            "",
        ] {
            assert_eq!(IdTokenFormat::of(other), IdTokenFormat::Standard, "{other}");
        }
    }

    #[test]
    fn providers_that_tell_verified_addresses_only_are_believed() {
        for issuer in [FACEBOOK, KAKAO, SNAPCHAT, "https://appleid.apple.com"] {
            let data = data(issuer, json!({ "name": "Ada", "nickname": "Ada" }));
            assert_eq!(
                (&data["email"], &data["email_verified"]),
                (&json!("ada@example.com"), &json!(true)),
                "{issuer}"
            );
            assert_eq!(data["phone_verified"], false);
        }
        assert_eq!(data(KAKAO, json!({ "nickname": "ada" }))["preferred_username"], "ada");
    }

    #[test]
    fn others_say_whether_an_address_is_verified() {
        let verified = |issuer: &str, claims: Value| data(issuer, claims)["email_verified"].clone();
        assert_eq!(verified(GOOGLE, json!({})), false);
        assert_eq!(verified(GOOGLE, json!({ "email_verified": true })), true);
        assert_eq!(verified("https://other.example", json!({})), false);
        assert_eq!(verified("https://other.example", json!({ "email_verified": true })), true);
        let linkedin = |value: Value| profile(LINKEDIN, json!({ "email_verified": value }));
        assert!(linkedin(json!("true")).unwrap().emails[0].verified);
        assert!(!linkedin(json!("false")).unwrap().emails[0].verified);
        assert!(linkedin(json!("maybe")).is_err() && linkedin(json!(null)).is_err());
    }

    #[test]
    fn addresses_from_azure_are_verified_unless_their_owner_is_not() {
        let issuer = "https://login.microsoftonline.com/tenant/v2.0";
        let verified = |claims: Value| data(issuer, claims)["email_verified"].clone();
        assert_eq!(verified(json!({})), true);
        for value in [json!(true), json!("1"), json!("true")] {
            assert_eq!(verified(json!({ "xms_edov": value })), true, "{value}");
        }
        for value in [json!(false), json!("0"), json!(1), json!("yes")] {
            assert_eq!(verified(json!({ "xms_edov": value })), false, "{value}");
        }
    }

    #[test]
    fn standard_claims_are_kept_and_others_are_not() {
        let claims = json!({
            "email_verified": true, "given_name": "Ada", "updated_at": 1_700_000_000, "groups": ["a"], "nickname": "",
            "picture": "a\u{0}b",
        });
        let data = data("https://other.example", claims);
        assert_eq!(data["updated_at"], "2023-11-14T22:13:20Z");
        assert_eq!((&data["aud"], &data["exp"]), (&json!(["client"]), &json!(5)));
        assert_eq!(data["picture"], "ab", "Postgres holds no NUL");
        assert!(data.get("groups").is_none() && data.get("nickname").is_none());
        assert!(profile("https://other.example", json!({ "name": 5 })).is_err());
        assert_eq!(profile("https://other.example", json!({ "sub": "a\u{0}" })).unwrap().subject(), "");
    }
}
