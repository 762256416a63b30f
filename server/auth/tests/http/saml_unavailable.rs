//! Single sign-on in builds without the feature `saml`.

use auth::Settings;
use http::Method;
use serde_json::json;

use crate::harness::Server;

#[tokio::test]
async fn saml_is_disabled() {
    let server = Server::start().await;
    let disabled = (404, "saml_provider_disabled");
    assert_eq!(server.post("/sso", json!({ "domain": "example.com" })).await.refusal(), disabled);
    assert_eq!(server.get("/sso/saml/metadata").await.refusal(), disabled);
    let form = ("content-type", "application/x-www-form-urlencoded");
    let answer = server.send(Method::POST, "/sso/saml/acs", &[form], "SAMLResponse=x").await;
    assert_eq!(answer.refusal(), disabled);
    let provider = json!({ "type": "saml", "metadata_xml": "<EntityDescriptor/>" });
    assert_eq!(server.post_as_admin("/admin/sso/providers", provider).await.refusal(), disabled);
}

#[tokio::test]
async fn settings_that_enable_saml_are_refused() {
    let mut settings = Settings::default();
    settings.saml.enabled = true;
    let refusal = Server::refused(settings).await;
    assert!(refusal.starts_with("GOTRUE_SAML_ENABLED: ") && refusal.contains("without SAML"), "{refusal}");
}
