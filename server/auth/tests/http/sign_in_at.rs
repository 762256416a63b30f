//! Steps that tests of providers share.

use std::collections::BTreeMap;

use auth::{OauthProvider, Settings};
use http::Method;
use serde_json::{Value, json};
use url::Url;

use crate::harness::{Response, Server};
use crate::provider::Provider;

pub(crate) const SITE: &str = "https://site.example/welcome";

/// Returns settings with `names` as providers, all of which are at `provider`, and nobody limited.
pub(crate) fn settings(provider: &Provider, names: &[&str]) -> Settings {
    let mut settings = Settings { site_url: SITE.to_owned(), ..Settings::default() };
    for name in names {
        let configured = OauthProvider {
            client_ids: vec!["client".to_owned(), "other-client".to_owned()],
            secret: "se cret".into(),
            redirect_uri: "https://project.example/auth/v1/callback".to_owned(),
            url: provider.url.clone(),
            ..OauthProvider::default()
        };
        settings.providers.oauth.insert((*name).to_owned(), configured);
    }
    settings
}

/// Returns where a response sends the browser.
pub(crate) fn location(response: &Response) -> Url {
    let location =
        response.headers.get("location").unwrap_or_else(|| panic!("no redirect: {}", response.body));
    Url::parse(location.to_str().unwrap()).unwrap()
}

pub(crate) fn query(url: &Url) -> BTreeMap<String, String> {
    url.query_pairs().into_owned().collect()
}

pub(crate) fn fragment(url: &Url) -> BTreeMap<String, String> {
    let fragment = url.fragment().unwrap_or_default().as_bytes();
    url::form_urlencoded::parse(fragment).into_owned().collect()
}

/// Leaves for a provider; returns the URL there.
pub(crate) async fn depart(server: &Server, parameters: &str) -> Url {
    let response = server.send(Method::GET, &format!("/authorize?{parameters}"), &[], ()).await;
    assert_eq!(response.status, 302, "{}", response.body);
    location(&response)
}

/// Comes back with `state` and a code.
pub(crate) async fn arrive(server: &Server, state: &str) -> Response {
    server.send(Method::GET, &format!("/callback?code=abcdefgh&state={state}"), &[], ()).await
}

/// Leaves and comes back; returns where the site is told about it.
pub(crate) async fn sign_in(server: &Server, parameters: &str) -> Url {
    let state = query(&depart(server, parameters).await)["state"].clone();
    let response = arrive(server, &state).await;
    assert_eq!(response.status, 302);
    location(&response)
}

/// Publishes a GitHub account with this id and these addresses: (address, verified), the first one primary.
pub(crate) fn github(provider: &Provider, id: u64, emails: &[(&str, bool)]) {
    provider.respond(
        "/login/oauth/access_token",
        &json!({ "access_token": "github-access", "refresh_token": "r" }),
    );
    provider.respond(
        "/api/v3/user",
        &json!({ "id": id, "login": "ada", "name": "Ada", "avatar_url": "https://a.example/a" }),
    );
    let emails: Vec<Value> = emails
        .iter()
        .enumerate()
        .map(|(index, (email, verified))| json!({ "email": email, "verified": verified, "primary": index == 0 }))
        .collect();
    provider.respond("/api/v3/user/emails", &emails.into());
}
