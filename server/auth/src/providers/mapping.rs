//! How each provider's profile becomes claims and addresses. The facts are those of Supabase Auth's providers; an
//! address counts as verified only if the provider says so or is known to return verified ones only.

use serde_json::{Map, Value};

use super::profile::{Claims, Email, Profile};

/// Responses of a provider, in the order in which the table asks for them, and where they come from.
pub(crate) struct Documents<'a> {
    /// The base of the provider's API, which is the issuer of its identities.
    pub(crate) issuer: &'a str,
    pub(crate) documents: &'a [Value],
}

impl Documents<'_> {
    fn document(&self, index: usize) -> &Value {
        self.documents.get(index).unwrap_or(&Value::Null)
    }

    /// Returns the text at `pointer` (RFC 6901) of the first document; numbers are ids and become text.
    fn text(&self, pointer: &str) -> String {
        text(self.document(0), pointer)
    }

    fn claims(&self, subject: &str) -> Claims {
        Claims::of(self.issuer, &self.text(subject))
    }
}

/// Turns documents into a profile, or says what they lack.
pub(crate) type Mapping = fn(&Documents<'_>) -> Result<Profile, String>;

fn text(document: &Value, pointer: &str) -> String {
    match document.pointer(pointer) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

fn flag(document: &Value, pointer: &str) -> bool {
    document.pointer(pointer).and_then(Value::as_bool).unwrap_or_default()
}

fn list<'a>(document: &'a Value, pointer: &str) -> &'a [Value] {
    document.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns first and last name with one space between them.
fn full_name(first: &str, last: &str) -> String {
    format!("{first} {last}").trim().to_owned()
}

pub(super) fn bitbucket(from: &Documents<'_>) -> Result<Profile, String> {
    let claims =
        from.claims("/uuid").with_name(&from.text("/display_name")).with_picture(&from.text("/avatar/href"));
    let email = |entry: &Value| {
        Email::new(&text(entry, "/email"), flag(entry, "/is_confirmed"), flag(entry, "/is_primary"))
    };
    Ok(Profile { claims, emails: list(from.document(1), "/values").iter().filter_map(email).collect() })
}

pub(super) fn discord(from: &Documents<'_>) -> Result<Profile, String> {
    let [id, avatar, discriminator] = ["/id", "/avatar", "/discriminator"].map(|place| from.text(place));
    let picture = if avatar.is_empty() {
        let number: u64 = discriminator.parse().map_err(|_| "the discriminator is not a number")?;
        format!("https://cdn.discordapp.com/embed/avatars/{}.png", number % 5)
    } else {
        let extension = if avatar.starts_with("a_") { "gif" } else { "png" };
        format!("https://cdn.discordapp.com/avatars/{id}/{avatar}.{extension}")
    };
    let username = from.text("/username");
    let claims = from
        .claims("/id")
        .with("name", &format!("{username}#{discriminator}"))
        .with("full_name", &username)
        .with_picture(&picture)
        .custom("global_name", from.text("/global_name"));
    Ok(Profile::with_email(claims, Email::primary(&from.text("/email"), flag(from.document(0), "/verified"))))
}

pub(super) fn facebook(from: &Documents<'_>) -> Result<Profile, String> {
    let alias = from.text("/name");
    let claims = from
        .claims("/id")
        .with_name(&full_name(&from.text("/first_name"), &from.text("/last_name")))
        .with("nickname", &alias)
        .with("slug", &alias)
        .with_picture(&from.text("/picture/data/url"));
    Ok(Profile::with_email(claims, Email::primary(&from.text("/email"), true)))
}

pub(super) fn figma(from: &Documents<'_>) -> Result<Profile, String> {
    let claims =
        from.claims("/id").with_name(&from.text("/handle")).with("avatar_url", &from.text("/img_url"));
    Ok(Profile::with_email(claims, Email::primary(&from.text("/email"), true)))
}

pub(super) fn fly(from: &Documents<'_>) -> Result<Profile, String> {
    let document = from.document(0);
    let kept = |name: &str| document.get(name).cloned().unwrap_or_default();
    let claims = from
        .claims("/user_id")
        .with("full_name", &from.text("/user_name"))
        .custom("resource_owner_id", from.text("/resource_owner_id"))
        .custom("organizations", kept("organizations"))
        .custom("application", kept("application"))
        .custom("scope", kept("scope"))
        .custom("created_at", kept("created_at"));
    Ok(Profile::with_email(claims, Email::primary(&from.text("/email"), true)))
}

pub(super) fn github(from: &Documents<'_>) -> Result<Profile, String> {
    let login = from.text("/login");
    let claims = from
        .claims("/id")
        .with_name(&from.text("/name"))
        .with("preferred_username", &login)
        .with("user_name", &login)
        .with("avatar_url", &from.text("/avatar_url"));
    let email =
        |entry: &Value| Email::new(&text(entry, "/email"), flag(entry, "/verified"), flag(entry, "/primary"));
    Ok(Profile { claims, emails: list(from.document(1), "").iter().filter_map(email).collect() })
}

pub(super) fn gitlab(from: &Documents<'_>) -> Result<Profile, String> {
    let claims = from.claims("/id").with_name(&from.text("/name")).with_picture(&from.text("/avatar_url"));
    // GitLab does not say of further addresses whether they are confirmed.
    let further = list(from.document(1), "").iter();
    let further = further.filter_map(|entry| Email::new(&text(entry, "/email"), false, false));
    let main = Email::primary(&from.text("/email"), !from.text("/confirmed_at").is_empty());
    Ok(Profile { claims, emails: further.chain(main).collect() })
}

/// Reads Google's userinfo, for the case that it sent no ID token.
pub(super) fn google(from: &Documents<'_>) -> Result<Profile, String> {
    let claims = from.claims("/id").with_name(&from.text("/name")).with_picture(&from.text("/picture"));
    let document = from.document(0);
    let verified = flag(document, "/verified_email") || flag(document, "/email_verified");
    Ok(Profile::with_email(claims, Email::primary(&from.text("/email"), verified)))
}

pub(super) fn kakao(from: &Documents<'_>) -> Result<Profile, String> {
    let account = from.document(0).get("kakao_account").unwrap_or(&Value::Null);
    let name = text(account, "/profile/nickname");
    let claims = from
        .claims("/id")
        .with_name(&name)
        .with("preferred_username", &name)
        .with("user_name", &name)
        .with("avatar_url", &text(account, "/profile/profile_image_url"));
    let verified = flag(account, "/is_email_valid") && flag(account, "/is_email_verified");
    Ok(Profile::with_email(claims, Email::primary(&text(account, "/email"), verified)))
}

pub(super) fn keycloak(from: &Documents<'_>) -> Result<Profile, String> {
    let document = from.document(0).as_object().ok_or("the userinfo is not an object")?;
    let known = ["name", "sub", "email", "email_verified"];
    let others = document.iter().filter(|(name, _)| !known.contains(&name.as_str()));
    let others: Map<String, Value> = others.map(|(name, value)| (name.clone(), value.clone())).collect();
    let claims = from.claims("/sub").with_name(&from.text("/name")).all_custom(others);
    let verified = flag(from.document(0), "/email_verified");
    Ok(Profile::with_email(claims, Email::primary(&from.text("/email"), verified)))
}

pub(super) fn linkedin(from: &Documents<'_>) -> Result<Profile, String> {
    let name = |which: &str| {
        let place = from.document(0).get(which).unwrap_or(&Value::Null);
        let [language, country] =
            ["language", "country"].map(|part| text(place, &format!("/preferredLocale/{part}")));
        text(place, &format!("/localized/{language}_{country}"))
    };
    let picture = from.text("/profilePicture/displayImage~0/elements/0/identifiers/0/identifier");
    let claims = from
        .claims("/id")
        .with_name(&full_name(&name("firstName"), &name("lastName")))
        .with_picture(&picture);
    // LinkedIn returns only the primary address, which is verified.
    let email = text(from.document(1), "/elements/0/handle~0/emailAddress");
    Ok(Profile::with_email(claims, Email::primary(&email, true)))
}

pub(super) fn notion(from: &Documents<'_>) -> Result<Profile, String> {
    let owner = |part: &str| from.text(&format!("/bot/owner/user/{part}"));
    let claims =
        Claims::of(from.issuer, &owner("id")).with_name(&owner("name")).with_picture(&owner("avatar_url"));
    Ok(Profile::with_email(claims, Email::primary(&owner("person/email"), true)))
}

pub(super) fn slack(from: &Documents<'_>) -> Result<Profile, String> {
    slack_profile(from, true)
}

pub(super) fn slack_oidc(from: &Documents<'_>) -> Result<Profile, String> {
    slack_profile(from, flag(from.document(0), "/email_verified"))
}

fn slack_profile(from: &Documents<'_>, verified: bool) -> Result<Profile, String> {
    let claims = from
        .claims("/https:~1~1slack.com~1user_id")
        .with_name(&from.text("/name"))
        .with_picture(&from.text("/picture"))
        .custom("https://slack.com/team_id", from.text("/https:~1~1slack.com~1team_id"));
    Ok(Profile::with_email(claims, Email::primary(&from.text("/email"), verified)))
}

pub(super) fn snapchat(from: &Documents<'_>) -> Result<Profile, String> {
    let me = |part: &str| from.text(&format!("/data/me/{part}"));
    let name = me("displayName");
    let claims = Claims::of(super::table::SNAPCHAT, &me("externalId"))
        .with_name(&name)
        .with("slug", &name)
        .with_picture(&me("bitmoji/avatar"));
    Ok(Profile::with_email(claims, Email::primary(&me("email"), true)))
}

pub(super) fn spotify(from: &Documents<'_>) -> Result<Profile, String> {
    let size = |image: &&Value| {
        let side = |name: &str| image.get(name).and_then(Value::as_i64).unwrap_or_default();
        side("height").saturating_mul(side("width"))
    };
    // Of several largest ones the first counts.
    let largest = list(from.document(0), "/images").iter().rev().max_by_key(size);
    let picture = largest.map(|image| text(image, "/url")).unwrap_or_default();
    let claims = from.claims("/id").with_name(&from.text("/display_name")).with_picture(&picture);
    // Spotify does not say whether the address is verified.
    Ok(Profile::with_email(claims, Email::primary(&from.text("/email"), false)))
}

pub(super) fn twitch(from: &Documents<'_>) -> Result<Profile, String> {
    let user = list(from.document(0), "/data").first().ok_or("Twitch told of no user")?;
    let [login, display_name] = ["/login", "/display_name"].map(|place| text(user, place));
    let claims = Claims::of(from.issuer, &text(user, "/id"))
        .with_name(&login)
        .with("nickname", &display_name)
        .with("slug", &display_name)
        .with_picture(&text(user, "/profile_image_url"))
        .custom("broadcaster_type", text(user, "/broadcaster_type"))
        .custom("description", text(user, "/description"))
        .custom("type", text(user, "/type"))
        .custom("offline_image_url", text(user, "/offline_image_url"))
        .custom("view_count", user.get("view_count").and_then(Value::as_i64).unwrap_or_default());
    Ok(Profile::with_email(claims, Email::primary(&text(user, "/email"), true)))
}

pub(super) fn twitter(from: &Documents<'_>) -> Result<Profile, String> {
    let username = from.text("/screen_name");
    let claims = from
        .claims("/id_str")
        .with_name(&from.text("/name"))
        .with_picture(&from.text("/profile_image_url_https"))
        .with("preferred_username", &username)
        .with("user_name", &username);
    Ok(Profile::with_email(claims, Email::primary(&from.text("/email"), true)))
}

/// Reads WorkOS' profile, which comes together with the access token.
pub(super) fn workos(from: &Documents<'_>) -> Result<Profile, String> {
    let profile = |part: &str| from.text(&format!("/profile/{part}"));
    let claims = Claims::of(from.issuer, &profile("id"))
        .with_name(&full_name(&profile("first_name"), &profile("last_name")))
        .custom("connection_id", profile("connection_id"))
        .custom("organization_id", profile("organization_id"));
    Ok(Profile::with_email(claims, Email::primary(&profile("email"), true)))
}

pub(super) fn x(from: &Documents<'_>) -> Result<Profile, String> {
    let user = |part: &str| from.text(&format!("/data/{part}"));
    let username = user("username");
    let claims = Claims::of(from.issuer, &user("id"))
        .with_name(&user("name"))
        .with("preferred_username", &username)
        .with("user_name", &username)
        .with_picture(&user("profile_image_url"))
        .with("profile", &format!("https://x.com/{username}"))
        .with("website", &user("url"))
        .custom("created_at", user("created_at"));
    // X returns confirmed addresses only.
    Ok(Profile::with_email(claims, Email::primary(&user("confirmed_email"), true)))
}

pub(super) fn zoom(from: &Documents<'_>) -> Result<Profile, String> {
    let claims = from
        .claims("/id")
        .with_name(&full_name(&from.text("/first_name"), &from.text("/last_name")))
        .with_picture(&from.text("/pic_url"));
    // Login type 100 is Zoom's own e-mail sign-in, where an address may be unconfirmed.
    let confirmed = from.document(0).get("verified").and_then(Value::as_i64).unwrap_or_default() != 0;
    let verified = confirmed || from.text("/login_type") != "100";
    Ok(Profile::with_email(claims, Email::primary(&from.text("/email"), verified)))
}

/// Returns a provider in OpenID Connect's own words.
pub(crate) fn standard(document: &Map<String, Value>) -> Result<Profile, String> {
    Claims::standard(document).map(of_standard_claims)
}

/// Returns the profile whose address is among the claims.
pub(crate) fn of_standard_claims(claims: Claims) -> Profile {
    let email = Email::primary(claims.text("email"), claims.is_true("email_verified"));
    Profile::with_email(claims, email)
}

/// Reads Apple's `user` parameter, which it sends at the first sign-in alone: the name, which is in no ID token.
pub(crate) fn apple_name(parameter: &str) -> Result<String, String> {
    let user: Value = serde_json::from_str(parameter).map_err(|error| error.to_string())?;
    if !user.is_object() {
        return Err("expected a JSON object".to_owned());
    }
    Ok(full_name(&text(&user, "/name/firstName"), &text(&user, "/name/lastName")))
}

/// Returns the claims as the administrator of a custom provider wants them: `allowed` claims of `document` are copied
/// as custom claims, then each target in `mapping` takes the claim that its text names, or another value as it is.
pub(crate) fn customize(
    claims: Claims,
    document: &Map<String, Value>,
    allowed: &[String],
    mapping: &Map<String, Value>,
) -> Claims {
    let copied = allowed.iter().filter_map(|name| Some((name.clone(), document.get(name)?.clone())));
    let copied: Map<String, Value> = copied.collect();
    let claims = if copied.is_empty() { claims } else { claims.all_custom(copied) };
    if mapping.is_empty() {
        return claims;
    }
    let mut mapped = claims.as_object().clone();
    for (target, source) in mapping {
        let value = match source {
            Value::String(name) => claims.as_object().get(name),
            literal => Some(literal),
        };
        if let Some(value) = value {
            mapped.insert(target.clone(), value.clone());
        }
    }
    // A mapping that gives a claim the wrong type is not applied.
    Claims::standard(&mapped).unwrap_or(claims)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(mapping: Mapping, document: Value) -> Profile {
        mapping(&Documents { issuer: "https://provider.example", documents: &[document] }).unwrap()
    }

    #[test]
    fn addresses_from_zoom_are_verified_except_for_unconfirmed_email_sign_ups() {
        for (login_type, confirmed, verified) in
            [("100", 0, false), ("100", 1, true), ("1", 0, true), ("", 0, true)]
        {
            let user =
                json!({ "id": "1", "email": "a@b.c", "login_type": login_type, "verified": confirmed });
            assert_eq!(read(zoom, user).emails[0].verified, verified, "{login_type} {confirmed}");
        }
    }

    #[test]
    fn discord_has_a_picture_for_everybody() {
        let user = json!({ "id": "1", "username": "ada", "discriminator": "7", "avatar": null });
        assert_eq!(
            read(discord, user).claims.text("picture"),
            "https://cdn.discordapp.com/embed/avatars/2.png"
        );
        let documents = [json!({ "id": "1", "discriminator": "none" })];
        assert!(discord(&Documents { issuer: "", documents: &documents }).is_err());
    }

    #[test]
    fn the_main_address_from_gitlab_is_verified_once_confirmed() {
        let user = json!({ "id": 1, "email": "a@b.c", "confirmed_at": null });
        assert!(!read(gitlab, user).emails[0].verified);
    }

    #[test]
    fn what_a_provider_leaves_out_is_left_out() {
        let profile = read(github, json!({ "id": 5 }));
        assert_eq!(profile.subject(), "5");
        let data = profile.identity_data();
        assert_eq!(
            Value::from(data),
            json!({
                "iss": "https://provider.example", "sub": "5", "provider_id": "5", "email_verified": false,
                "phone_verified": false,
            })
        );
        assert!(read(spotify, json!({ "id": "1" })).emails.is_empty());
        assert_eq!(read(keycloak, json!({ "sub": "1" })).identity_data()["custom_claims"], json!({}));
        let nobody = [json!({ "data": [] })];
        assert!(twitch(&Documents { issuer: "", documents: &nobody }).is_err());
    }

    #[test]
    fn apples_name_is_first_and_last() {
        assert_eq!(apple_name(r#"{"name":{"firstName":"Ada","lastName":"L"}}"#).unwrap(), "Ada L");
        assert_eq!(apple_name(r#"{"email":"a@b.c"}"#).unwrap(), "");
        assert!(apple_name("nonsense").is_err() && apple_name("[]").is_err());
    }

    #[test]
    fn a_mapping_takes_claims_and_values_and_never_makes_nonsense() {
        let claims = || Claims::of("iss", "1").with("nickname", "ada");
        let document = json!({ "team": "engines", "nickname": "ada" }).as_object().unwrap().clone();
        let apply = |allowed: &[&str], mapping: Value| {
            let allowed: Vec<String> = allowed.iter().map(|name| (*name).to_owned()).collect();
            customize(claims(), &document, &allowed, mapping.as_object().unwrap())
        };
        let mapped = apply(&["team", "none"], json!({ "name": "nickname", "locale": "missing" }));
        assert_eq!((mapped.text("name"), mapped.text("locale")), ("ada", ""));
        assert_eq!(mapped.as_object()["custom_claims"], json!({ "team": "engines" }));
        assert_eq!(apply(&[], json!({ "name": 5 })).text("name"), "");
    }
}
