//! What SCIM clients ask first.

use auth::Settings;
use http::StatusCode;
use serde_json::json;

use crate::harness::Server;

#[tokio::test]
async fn clients_are_told_that_nothing_is_supported_yet() {
    let server = Server::with(Settings { scim_enabled: true, ..Settings::default() }).await;
    let config = server.get("/scim/v2/ServiceProviderConfig").await;
    assert_eq!(
        (config.status, &config.headers["content-type"]),
        (StatusCode::OK, &"application/scim+json".parse().unwrap())
    );
    assert_eq!(config.body["bulk"], json!({ "supported": false, "maxOperations": 0, "maxPayloadSize": 0 }));
    assert_eq!(config.body["authenticationSchemes"][0]["type"], "oauthbearertoken");
    let location = "http://127.0.0.1:54321/auth/v1/scim/v2/ServiceProviderConfig";
    assert_eq!(config.body["meta"], json!({ "resourceType": "ServiceProviderConfig", "location": location }));
    for list in ["ResourceTypes", "Schemas"] {
        let listed = server.get(&format!("/scim/v2/{list}")).await.body;
        assert_eq!((&listed["totalResults"], &listed["startIndex"]), (&json!(0), &json!(1)));
        assert_eq!(listed["Resources"], json!([]));
        let filtered = server.get(&format!("/scim/v2/{list}?filter=id")).await;
        assert_eq!((filtered.status, filtered.text("status")), (StatusCode::FORBIDDEN, "403"));
    }
    let unknown = server.get("/scim/v2/Users").await;
    assert_eq!(
        (unknown.status, unknown.text("status"), &unknown.headers["content-type"]),
        (StatusCode::NOT_FOUND, "404", &"application/scim+json".parse().unwrap())
    );
    assert_eq!(server.get("/scim/v3/Users").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn it_is_off_unless_switched_on() {
    let server = Server::start().await;
    for path in ["ServiceProviderConfig", "ResourceTypes", "Schemas", "Users", "Groups/1"] {
        let response = server.get(&format!("/scim/v2/{path}")).await;
        assert_eq!(response.refusal(), (404, "feature_disabled"), "{path}");
    }
}
