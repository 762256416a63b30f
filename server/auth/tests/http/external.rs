//! `/authorize` and `/callback`: states, both flows, what the site is told, whose account it becomes.

use futures_util::future::join_all;
use http::Method;
use serde_json::json;
use url::Url;
use uuid::Uuid;

use crate::harness::Server;
use crate::provider::Provider;
use crate::sign_in_at::{SITE, arrive, depart, fragment, github, location, query, settings, sign_in};

const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str =
    "code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=s256";

async fn start() -> (Provider, Server) {
    let provider = Provider::start().await;
    let server = Server::with(settings(&provider, &["github"])).await;
    github(&provider, 1, &[("ada@example.com", true)]);
    (provider, server)
}

#[tokio::test]
async fn what_a_client_asks_for_reaches_the_provider_unless_it_is_ours() {
    let (_provider, server) = start().await;
    let parameters = "provider=GitHub&scopes=repo,gist&prompt=consent&login_hint=a%20b&nonce=n&state=evil&Client_ID=evil\
        &redirect_uri=https%3A%2F%2Fevil.example&response_type=token&code_verifier=x&client_secret=x&apikey=key";
    let url = depart(&server, parameters).await;
    let members = query(&url);
    assert_eq!(members["scope"], "user:email repo gist");
    assert_eq!((members["prompt"].as_str(), members["login_hint"].as_str()), ("consent", "a b"));
    assert_eq!(members["nonce"], "n");
    assert!(Uuid::parse_str(&members["state"]).is_ok());
    assert_eq!(members["client_id"], "client");
    assert_eq!(members["redirect_uri"], "https://project.example/auth/v1/callback");
    assert_eq!(members["response_type"], "code");
    for name in ["Client_ID", "code_verifier", "client_secret", "apikey", "provider", "scopes"] {
        assert!(!members.contains_key(name), "{name}");
    }
}

#[tokio::test]
async fn nobody_is_sent_to_a_provider_that_is_not_set_up() {
    let (provider, server) = start().await;
    for name in ["", "gitlab", "nonsense", "custom:nobody", "keycloak", "custom:%00"] {
        let response = server.send(Method::GET, &format!("/authorize?provider={name}"), &[], ()).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{name}");
        assert!(response.text("msg").starts_with("Unsupported provider: "), "{}", response.body);
    }
    for pkce in
        ["code_challenge=x", "code_challenge_method=s256", "code_challenge=short&code_challenge_method=plain"]
    {
        let response = server.send(Method::GET, &format!("/authorize?provider=github&{pkce}"), &[], ()).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{pkce}");
    }
    let response = server.send(Method::GET, "/authorize?provider=github&invite_token=unknown", &[], ()).await;
    assert_eq!(response.refusal(), (404, "user_not_found"));
    let mut half = settings(&provider, &["github", "gitlab", "figma"]);
    half.providers.oauth.get_mut("gitlab").unwrap().secret = "".into();
    half.providers.oauth.get_mut("figma").unwrap().client_ids.clear();
    let server = Server::with(half).await;
    let description = async |name: &str| {
        let response = server.send(Method::GET, &format!("/authorize?provider={name}"), &[], ()).await;
        response.text("msg").to_owned()
    };
    assert_eq!(description("gitlab").await, "Unsupported provider: missing OAuth secret");
    assert_eq!(description("figma").await, "Unsupported provider: missing OAuth client ID");
    assert_eq!(description("zoom").await, "Unsupported provider: provider is not enabled");
}

#[tokio::test]
async fn the_implicit_flow_ends_in_the_fragment() {
    let (_provider, server) = start().await;
    let target = "https%3A%2F%2Fsite.example%2Fdone%3Fsb_flow_id%3Dabc";
    let landed = sign_in(&server, &format!("provider=github&redirect_to={target}")).await;
    assert_eq!(landed.as_str().split('#').next(), Some("https://site.example/done?sb_flow_id=abc"));
    let members = fragment(&landed);
    assert_eq!(members["provider_token"], "github-access");
    assert_eq!(members["provider_refresh_token"], "r");
    assert_eq!((members["token_type"].as_str(), members["sb"].as_str()), ("bearer", ""));
    assert_eq!(members["expires_in"], "3600");
    let user = server.get_as("/user", &members["access_token"]).await;
    assert_eq!(user.text("email"), "ada@example.com");
    assert!(user.body["email_confirmed_at"].is_string());
    assert_eq!(user.body["app_metadata"], json!({ "provider": "github", "providers": ["github"] }));
    assert_eq!(user.body["user_metadata"]["user_name"], "ada");
    assert_eq!(user.body["user_metadata"]["email_verified"], true);
    let refreshed = server.refresh(&members["refresh_token"]).await;
    assert_eq!(refreshed.status, 200);
    let logged = "select count(*) from auth.audit_log_entries where payload ->> 'action' = 'user_signedup'";
    assert_eq!(server.value(logged).await, 1);
}

#[tokio::test]
async fn the_operator_may_say_where_everybody_ends() {
    let provider = Provider::start().await;
    let mut settings = settings(&provider, &["github"]);
    settings.providers.redirect_url = "https://site.example/in".to_owned();
    let server = Server::with(settings).await;
    github(&provider, 1, &[("ada@example.com", true)]);
    let landed = sign_in(&server, "provider=github&redirect_to=https://site.example/a").await;
    assert_eq!(landed.as_str().split('#').next(), Some("https://site.example/in"));
}

#[tokio::test]
async fn the_pkce_flow_ends_in_a_code_that_brings_the_providers_tokens() {
    let (_provider, server) = start().await;
    let landed =
        sign_in(&server, &format!("provider=github&{CHALLENGE}&redirect_to=https://site.example/a?b=c"))
            .await;
    assert_eq!(landed.fragment(), None);
    let members = query(&landed);
    assert_eq!(members["b"], "c");
    let body = json!({ "auth_code": members["code"], "code_verifier": VERIFIER });
    let session = server.post("/token?grant_type=pkce", body.clone()).await;
    assert_eq!(session.status, 200, "{}", session.body);
    assert_eq!(session.text("provider_token"), "github-access");
    assert_eq!(session.text("provider_refresh_token"), "r");
    assert_eq!(session.body["user"]["email"], "ada@example.com");
    assert_eq!(server.post("/token?grant_type=pkce", body).await.refusal(), (404, "flow_state_not_found"));
}

#[tokio::test]
async fn a_state_is_good_for_one_sign_in() {
    let (_provider, server) = start().await;
    let lost = async |state: &str| {
        let response = arrive(&server, state).await;
        assert_eq!(response.status, 303, "{state}");
        let url = location(&response);
        assert!(url.as_str().starts_with(SITE) && url.fragment().is_none(), "{url}");
        let members = query(&url);
        assert_eq!(members["error"], "invalid_request");
        assert!(!members["error_description"].is_empty());
        members["error_code"].clone()
    };
    assert_eq!(lost("").await, "bad_oauth_callback");
    assert_eq!(lost("nonsense").await, "bad_oauth_state");
    assert_eq!(lost(&Uuid::new_v4().to_string()).await, "bad_oauth_state");
    let implicit = query(&depart(&server, "provider=github").await)["state"].clone();
    assert_eq!(arrive(&server, &implicit).await.status, 302);
    assert_eq!(lost(&implicit).await, "bad_oauth_state");
    let pkce = query(&depart(&server, &format!("provider=github&{CHALLENGE}")).await)["state"].clone();
    assert_eq!(arrive(&server, &pkce).await.status, 302);
    assert_eq!(lost(&pkce).await, "flow_state_already_used");
    let old = query(&depart(&server, "provider=github").await)["state"].clone();
    server.sql("update auth.flow_state set created_at = now() - interval '6 minutes'").await;
    assert_eq!(lost(&old).await, "bad_oauth_state");
}

#[tokio::test]
async fn of_many_who_come_back_with_one_state_one_gets_in() {
    let (_provider, server) = start().await;
    for parameters in ["provider=github".to_owned(), format!("provider=github&{CHALLENGE}")] {
        let state = query(&depart(&server, &parameters).await)["state"].clone();
        let landed = join_all((0..8).map(|_| arrive(&server, &state))).await;
        let winners = landed.iter().filter(|response| {
            let url = location(response);
            query(&url).contains_key("code") || fragment(&url).contains_key("access_token")
        });
        assert_eq!(winners.count(), 1, "{parameters}");
    }
    assert_eq!(server.value("select count(*) from auth.users").await, 1);
    assert_eq!(server.value("select count(*) from auth.identities").await, 1);
}

#[tokio::test]
async fn two_first_sign_ins_at_one_moment_make_one_account() {
    let (provider, server) = start().await;
    let mut states = Vec::new();
    for _ in 0..6 {
        states.push(query(&depart(&server, "provider=github").await)["state"].clone());
    }
    let landed = join_all(states.iter().map(|state| arrive(&server, state))).await;
    assert!(landed.iter().all(|response| fragment(&location(response)).contains_key("access_token")));
    assert_eq!(server.value("select count(*) from auth.users").await, 1);
    assert_eq!(server.value("select count(*) from auth.sessions").await, 6);
    drop(provider);
}

/// Returns what the site is told of an error, in the query and in the fragment.
fn error_of(landed: &Url) -> (String, String, String) {
    let (members, repeated) = (query(landed), fragment(landed));
    let of = |name: &str| members.get(name).cloned().unwrap_or_default();
    for name in ["error", "error_code", "error_description"] {
        assert_eq!(members.get(name), repeated.get(name), "{landed}");
    }
    assert_eq!(repeated["sb"], "");
    (of("error"), of("error_code"), of("error_description"))
}

#[tokio::test]
async fn errors_of_the_provider_reach_the_site() {
    let (provider, server) = start().await;
    let state = async || {
        query(&depart(&server, "provider=github&redirect_to=https://site.example/a?b=c").await)["state"]
            .clone()
    };
    let path = format!("/callback?state={}&error=access_denied&error_description=No%20thanks", state().await);
    let response = server.send(Method::GET, &path, &[], ()).await;
    assert_eq!(response.status, 302);
    let landed = location(&response);
    assert_eq!(query(&landed)["b"], "c");
    assert_eq!(error_of(&landed), ("access_denied".into(), String::new(), "No thanks".into()));

    let response = server.send(Method::GET, &format!("/callback?state={}", state().await), &[], ()).await;
    let (error, code, _) = error_of(&location(&response));
    assert_eq!((error.as_str(), code.as_str()), ("invalid_request", "bad_oauth_callback"));

    provider.respond_with("/login/oauth/access_token", 200, r#"{"error":"bad_verification_code"}"#);
    let (error, code, description) = error_of(&location(&arrive(&server, &state().await).await));
    assert_eq!((error.as_str(), code.as_str()), ("server_error", "unexpected_failure"));
    assert_eq!(description, "Unable to exchange external code: abcd");

    github(&provider, 1, &[("ada@example.com", true)]);
    provider.respond_with("/api/v3/user", 500, "");
    let (error, _, description) = error_of(&location(&arrive(&server, &state().await).await));
    assert_eq!(error, "server_error");
    assert_eq!(description, "Error getting user profile from external provider");

    github(&provider, 1, &[]);
    let (error, _, description) = error_of(&location(&arrive(&server, &state().await).await));
    assert_eq!(error, "server_error");
    assert_eq!(description, "Error getting user email from external provider");
    assert_eq!(server.value("select count(*) from auth.users").await, 0);
}

#[tokio::test]
async fn a_verified_address_links_and_later_sign_ins_refresh_what_is_known() {
    let (provider, server) = start().await;
    let id = server.user("ada@example.com").await;
    let members = fragment(&sign_in(&server, "provider=github").await);
    let user = server.get_as("/user", &members["access_token"]).await;
    assert_eq!(user.text("id"), id);
    assert_eq!(user.body["app_metadata"]["providers"], json!(["email", "github"]));
    assert_eq!(user.body["user_metadata"]["full_name"], "Ada");
    assert_eq!(server.sign_in("ada@example.com").await.status, 200, "the password stays");
    // Another address at the provider is still the same identity.
    github(&provider, 1, &[("new@example.com", true)]);
    let members = fragment(&sign_in(&server, "provider=github").await);
    let user = server.get_as("/user", &members["access_token"]).await;
    assert_eq!((user.text("id"), user.text("email")), (id.as_str(), "ada@example.com"));
    let identities = user.body["identities"].as_array().unwrap();
    let github = identities.iter().find(|identity| identity["provider"] == "github").unwrap();
    assert_eq!(github["email"], "new@example.com");
}

#[tokio::test]
async fn an_unverified_address_opens_no_account() {
    let (provider, server) = start().await;
    server.user("ada@example.com").await;
    github(&provider, 2, &[("ada@example.com", false)]);
    let (error, code, _) = error_of(&sign_in(&server, "provider=github").await);
    assert_eq!((error.as_str(), code.as_str()), ("access_denied", "provider_email_needs_verification"));
    github(&provider, 3, &[("grace@example.com", false)]);
    let (_, code, description) = error_of(&sign_in(&server, "provider=github").await);
    assert_eq!(code, "provider_email_needs_verification");
    assert!(description.contains("A confirmation email has been sent"), "{description}");
    let users =
        "select count(*) from auth.users where email = 'grace@example.com' and email_confirmed_at is null
      and confirmation_token <> ''";
    assert_eq!(server.value(users).await, 1);
    let others = "select count(*) from auth.users where email is null";
    assert_eq!(server.value(others).await, 1, "the address of somebody else was not taken");
    assert_eq!(server.value("select count(*) from auth.sessions").await, 0);
}

#[tokio::test]
async fn a_verified_sign_in_takes_an_unconfirmed_account_over() {
    let (_provider, server) = start().await;
    server.user("ada@example.com").await;
    server.sql("update auth.users set email_confirmed_at = null").await;
    let members = fragment(&sign_in(&server, "provider=github").await);
    let user = server.get_as("/user", &members["access_token"]).await;
    assert!(user.body["email_confirmed_at"].is_string());
    assert_eq!(user.body["identities"].as_array().unwrap().len(), 1);
    assert_eq!(user.body["app_metadata"]["providers"], json!(["github"]));
    let old = server.sign_in("ada@example.com").await;
    assert_eq!(
        old.refusal(),
        (400, "invalid_credentials"),
        "whoever set the password did not own the address"
    );
}

#[tokio::test]
async fn addresses_of_several_accounts_sign_nobody_in() {
    let (provider, server) = start().await;
    server.user("ada@example.com").await;
    server.user("grace@example.com").await;
    github(&provider, 1, &[("ada@example.com", true), ("grace@example.com", true)]);
    let (error, code, _) = error_of(&sign_in(&server, "provider=github").await);
    assert_eq!((error.as_str(), code.as_str()), ("server_error", "unexpected_failure"));
}

#[tokio::test]
async fn the_closed_and_the_banned_stay_out() {
    let provider = Provider::start().await;
    github(&provider, 1, &[("ada@example.com", true)]);
    let mut closed = settings(&provider, &["github"]);
    closed.disable_signup = true;
    let server = Server::with(closed).await;
    let (error, code, _) = error_of(&sign_in(&server, "provider=github").await);
    assert_eq!((error.as_str(), code.as_str()), ("access_denied", "signup_disabled"));
    server.user("ada@example.com").await;
    assert!(fragment(&sign_in(&server, "provider=github").await).contains_key("access_token"));
    server.sql("update auth.users set banned_until = now() + interval '1 day'").await;
    let (error, code, _) = error_of(&sign_in(&server, "provider=github").await);
    assert_eq!((error.as_str(), code.as_str()), ("access_denied", "user_banned"));
}

#[tokio::test]
async fn an_address_may_be_optional() {
    let provider = Provider::start().await;
    github(&provider, 1, &[]);
    let mut optional = settings(&provider, &["github"]);
    optional.providers.oauth.get_mut("github").unwrap().email_optional = true;
    let server = Server::with(optional).await;
    let members = fragment(&sign_in(&server, "provider=github").await);
    let user = server.get_as("/user", &members["access_token"]).await;
    assert_eq!((user.text("email"), user.body["identities"].as_array().unwrap().len()), ("", 1));
}

#[tokio::test]
async fn linking_domains_keep_accounts_apart() {
    let provider = Provider::start().await;
    github(&provider, 1, &[("ada@example.com", true)]);
    let mut apart = settings(&provider, &["github"]);
    apart.providers.linking_domains.insert("github".to_owned(), "forge".to_owned());
    let server = Server::with(apart).await;
    let id = server.user("ada@example.com").await;
    let members = fragment(&sign_in(&server, "provider=github").await);
    let user = server.get_as("/user", &members["access_token"]).await;
    assert_ne!(user.text("id"), id);
    assert_eq!(user.text("email"), "ada@example.com");
}

#[tokio::test]
async fn an_invitation_is_accepted_at_a_provider_that_has_the_address() {
    let (provider, server) = start().await;
    let id = server.user("ada@example.com").await;
    let invite =
        "update auth.users set email_confirmed_at = null, invited_at = now(), confirmation_token = 'hash',
        confirmation_sent_at = now();
      insert into auth.one_time_tokens (id, user_id, token_type, token_hash, relates_to)
      select gen_random_uuid(), id, 'confirmation_token', 'hash', email from auth.users";
    server.sql(invite).await;
    github(&provider, 1, &[("eve@example.com", true)]);
    let (_, code, _) = error_of(&sign_in(&server, "provider=github&invite_token=hash").await);
    assert_eq!(code, "validation_failed");
    github(&provider, 2, &[("eve@example.com", true), ("ada@example.com", false)]);
    let members = fragment(&sign_in(&server, "provider=github&invite_token=hash").await);
    let user = server.get_as("/user", &members["access_token"]).await;
    assert_eq!(user.text("id"), id);
    assert!(user.body["email_confirmed_at"].is_string());
    assert_eq!(user.body["app_metadata"]["providers"], json!(["github"]));
    assert_eq!(server.value("select count(*) from auth.one_time_tokens").await, 0);
}

#[tokio::test]
async fn x_gets_a_challenge_and_its_verifier_once() {
    let provider = Provider::start().await;
    let server = Server::with(settings(&provider, &["x"])).await;
    provider.respond("/2/oauth2/token", &json!({ "access_token": "a" }));
    let user = json!({ "data": { "id": "1", "name": "Ada", "username": "ada", "confirmed_email": "ada@example.com" } });
    provider.respond("/2/users/me", &user);
    let first = query(&depart(&server, "provider=x").await);
    assert_eq!(first["code_challenge_method"], "S256");
    let landed = location(&arrive(&server, &first["state"]).await);
    assert!(fragment(&landed).contains_key("access_token"), "{landed}");
    let verifier = provider.requests("/2/oauth2/token")[0].form["code_verifier"].clone();
    assert_eq!(verifier.len(), 43);
    assert_eq!(server.value("select count(*) from auth.oauth_client_states").await, 0);
    let second = query(&depart(&server, "provider=x").await);
    server.sql("delete from auth.oauth_client_states").await;
    let (_, code, _) = error_of(&location(&arrive(&server, &second["state"]).await));
    assert_eq!(code, "oauth_client_state_not_found");
}
