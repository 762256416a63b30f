//! Tokens of issuers other than this project.

use auth::ThirdParties;
use serde_json::json;

use crate::harness::Server;
use crate::provider::Provider;

#[tokio::test]
async fn the_keys_of_third_parties_are_fetched_and_follow_their_rotation() {
    let provider = Provider::start().await;
    let third_parties = ThirdParties::new(std::slice::from_ref(&provider.url)).unwrap();
    let server = Server::start().await;
    let verifier = server.keys.verifier().with_issuers(third_parties.issuers());
    let token = provider.id_token(&json!({ "sub": "a|b", "role": "authenticated" }));
    assert!(verifier.verify(&token).is_err());
    assert!(third_parties.fetch().await);
    let verified = verifier.verify(&token).unwrap();
    assert_eq!((verified.subject(), verified.role()), (Some("a|b"), Some("authenticated")));
    assert!(verifier.verify(&provider.id_token(&json!({ "iss": "https://other.example" }))).is_err());
    assert_eq!(server.get_as("/user", &token).await.refusal(), (403, "bad_jwt"), "its users are not ours");

    provider.publish("second");
    let newer = provider.id_token_by("second", &json!({ "sub": "c" }));
    assert!(verifier.verify(&newer).is_err());
    assert!(third_parties.fetch().await);
    assert!(verifier.verify(&newer).is_ok());

    provider.respond_with("/keys", 500, "");
    assert!(!third_parties.fetch().await);
    assert!(verifier.verify(&provider.id_token_by("second", &json!({ "sub": "d" }))).is_ok());
}

#[tokio::test]
async fn a_third_party_is_who_it_says_it_is() {
    let provider = Provider::start().await;
    let third_parties = ThirdParties::new(&[format!("{}/", provider.url)]).unwrap();
    assert!(third_parties.fetch().await, "a slash makes no difference");
    let document = |issuer: &str| json!({ "issuer": issuer, "jwks_uri": format!("{}/keys", provider.url) });
    provider.respond("/.well-known/openid-configuration", &document("https://other.example"));
    assert!(!third_parties.fetch().await);
    provider.respond("/.well-known/openid-configuration", &document(&provider.url));
    provider.respond("/keys", &json!({ "keys": [{ "kty": "oct", "k": "c2VjcmV0" }] }));
    assert!(!third_parties.fetch().await, "a secret that is published is none");
}
