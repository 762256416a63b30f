//! `/admin/sso/providers`: identity providers that administrators add, and where their metadata comes from.

use auth::Settings;
use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use uuid::Uuid;

use crate::harness::{Response, Server};
use crate::identity_provider::{ENTITY, OTHER, OWN, SamlResponse, Signed, metadata};
use crate::provider::Provider;
use crate::sso::{arrive, session, settings};

const PATH: &str = "/admin/sso/providers";

async fn ask(server: &Server, method: Method, path: &str, body: &str) -> Response {
    let bearer = format!("Bearer {}", server.keys.api_keys().service_role());
    server.send(method, path, &[("authorization", &bearer)], body.to_owned()).await
}

async fn create(server: &Server, body: Value) -> Response {
    ask(server, Method::POST, PATH, &body.to_string()).await
}

async fn get(server: &Server, path: &str) -> Response {
    ask(server, Method::GET, path, "").await
}

async fn put(server: &Server, path: &str, body: Value) -> Response {
    ask(server, Method::PUT, path, &body.to_string()).await
}

fn saml(entity: &str) -> Value {
    json!({ "type": "saml", "metadata_xml": metadata(entity, &[&OWN]) })
}

fn with(mut body: Value, name: &str, value: Value) -> Value {
    body[name] = value;
    body
}

/// Returns settings that let metadata be fetched from this machine, within three seconds.
fn private() -> Settings {
    let mut settings = settings();
    settings.saml.private_addresses = true;
    settings.request_timeout = std::time::Duration::from_secs(6);
    settings
}

#[tokio::test]
async fn metadata_is_replaced_and_nothing_is_left_of_a_provider_that_is_removed() {
    let server = Server::start().await;
    let created = create(&server, with(saml(ENTITY), "domains", json!(["b.example", "a.example"]))).await;
    assert_eq!(created.status, 201, "{}", created.body);
    assert_eq!(created.body["saml"]["metadata_xml"], metadata(ENTITY, &[&OWN]));
    assert_eq!(created.body["domains"], json!([{ "domain": "a.example" }, { "domain": "b.example" }]));
    let path = format!("{PATH}/{}", created.text("id"));
    let changed = put(&server, &path, json!({ "metadata_xml": metadata(ENTITY, &[&OTHER]) })).await;
    assert_eq!(changed.body["saml"]["metadata_xml"], metadata(ENTITY, &[&OTHER]));
    assert_eq!(ask(&server, Method::DELETE, &path, "").await.status, 200);
    let rest =
        "select (select count(*) from auth.sso_providers) + (select count(*) from auth.saml_providers)";
    assert_eq!(server.value(rest).await, 0);
}

#[tokio::test]
async fn providers_are_listed_without_their_metadata() {
    let server = Server::start().await;
    for (entity, resource) in [("urn:a", "app_1"), ("urn:b", "app_2"), ("urn:c", "web%1")] {
        create(&server, with(saml(entity), "resource_id", json!(resource))).await;
    }
    assert_eq!(create(&server, saml("urn:d")).await.body["disabled"], Value::Null);
    let entities = async |query: &str| {
        let response = get(&server, &format!("{PATH}{query}")).await;
        let items = response.body["items"].as_array().unwrap().clone();
        assert!(items.iter().all(|item| item["saml"].get("metadata_xml").is_none()));
        let entity = |item: &Value| item["saml"]["entity_id"].as_str().unwrap().to_owned();
        items.iter().map(entity).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(entities("").await, "urn:a urn:b urn:c urn:d");
    assert_eq!(entities("?resource_id=app_2").await, "urn:b");
    assert_eq!(entities("?resource_id_prefix=app_").await, "urn:a urn:b");
    assert_eq!(entities("?resource_id_prefix=%25").await, "");
    assert_eq!(entities("?resource_id=app_1&resource_id_prefix=web").await, "urn:a");
    assert_eq!(entities("?resource_id=%00").await, "");
}

#[tokio::test]
async fn what_no_provider_can_be_is_refused() {
    let server = Server::start().await;
    let good = saml(ENTITY);
    for body in [
        json!({ "type": "saml", "metadata_url": "nonsense" }),
        with(good.clone(), "metadata_xml", json!("no XML")),
        with(good.clone(), "metadata_xml", json!("<!DOCTYPE a><a/>")),
        with(good.clone(), "metadata_xml", json!("<EntityDescriptor/>")),
        saml(""),
        with(good.clone(), "name_id_format", json!("nonsense")),
        with(good.clone(), "domains", json!([""])),
        with(good.clone(), "domains", json!(["a\0"])),
        with(good.clone(), "attribute_mapping", json!({ "keys": { "a": { "default": ["\0"] } } })),
    ] {
        let response = create(&server, body.clone()).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{body}");
    }
    for body in [
        with(good.clone(), "domains", json!("example.com")),
        with(good.clone(), "attribute_mapping", json!({ "keys": [] })),
        with(good.clone(), "disabled", json!("yes")),
        with(good.clone(), "attribute_mapping", json!({ "keys": { "a": { "names": "x" } } })),
    ] {
        assert_eq!(create(&server, body.clone()).await.refusal(), (400, "bad_json"), "{body}");
    }
    assert_eq!(ask(&server, Method::POST, PATH, "{").await.refusal(), (400, "bad_json"));
    assert_eq!(server.value("select count(*) from auth.sso_providers").await, 0);
}

#[tokio::test]
async fn entities_domains_and_resource_ids_belong_to_one_provider() {
    let server = Server::start().await;
    let first = with(with(saml("urn:a"), "domains", json!(["a.example"])), "resource_id", json!("a"));
    let id = create(&server, first).await.text("id").to_owned();
    assert_eq!(create(&server, saml("urn:a")).await.refusal(), (422, "saml_idp_already_exists"));
    let domain = with(saml("urn:b"), "domains", json!(["new.example", "A.Example"]));
    assert_eq!(create(&server, domain).await.refusal(), (400, "sso_domain_already_exists"));
    let twice = with(saml("urn:b"), "domains", json!(["b.example", "B.example"]));
    assert_eq!(create(&server, twice).await.refusal(), (400, "sso_domain_already_exists"));
    let resource = with(saml("urn:b"), "resource_id", json!("A"));
    assert_eq!(create(&server, resource).await.refusal(), (422, "conflict"));
    let second = create(&server, with(saml("urn:b"), "domains", json!(["b.example"]))).await;
    let path = format!("{PATH}/{}", second.text("id"));
    for (body, refusal) in [
        (json!({ "domains": ["a.example"] }), (400, "sso_domain_already_exists")),
        (json!({ "resource_id": "a" }), (422, "conflict")),
        (json!({ "metadata_xml": metadata("urn:a", &[&OWN]) }), (400, "saml_entity_id_mismatch")),
        (json!({ "metadata_xml": "x", "metadata_url": "https://x.example" }), (400, "validation_failed")),
        (json!({ "name_id_format": "x" }), (400, "validation_failed")),
        (json!({ "domains": 1 }), (400, "bad_json")),
    ] {
        assert_eq!(put(&server, &path, body.clone()).await.refusal(), refusal, "{body}");
    }
    assert_eq!(get(&server, &path).await.body, second.body, "nothing has changed");
    // Of several who add the same one, one wins.
    let attempts = (0..4).map(|_| create(&server, with(saml("urn:c"), "domains", json!(["c.example"]))));
    let responses = futures_util::future::join_all(attempts).await;
    let won = responses.iter().filter(|response| response.status == 201).count();
    assert_eq!(won, 1);
    for response in responses.iter().filter(|response| response.status != 201) {
        assert!(matches!(
            response.refusal(),
            (422, "saml_idp_already_exists") | (400, "sso_domain_already_exists")
        ));
    }
    ask(&server, Method::DELETE, &format!("{PATH}/{id}"), "").await;
    assert_eq!(put(&server, &path, json!({ "domains": ["a.example"] })).await.status, 200);
}

#[tokio::test]
async fn providers_are_for_administrators() {
    let server = Server::start().await;
    server.user("ada@example.com").await;
    let token = server.sign_in("ada@example.com").await.text("access_token").to_owned();
    let bearer = format!("Bearer {token}");
    let one = format!("{PATH}/{}", Uuid::new_v4());
    for (method, path) in [
        (Method::GET, PATH),
        (Method::POST, PATH),
        (Method::GET, one.as_str()),
        (Method::PUT, &one),
        (Method::DELETE, &one),
    ] {
        let response = server.send(method.clone(), path, &[("authorization", &bearer)], "{}").await;
        assert_eq!(response.refusal(), (403, "not_admin"), "{method} {path}");
    }
    for name in
        [Uuid::new_v4().to_string().as_str(), "nonsense", "resource_", "resource_none", "resource_%00"]
    {
        let path = format!("{PATH}/{name}");
        for method in [Method::GET, Method::PUT, Method::DELETE] {
            let response = ask(&server, method.clone(), &path, "{}").await;
            assert_eq!(response.refusal(), (404, "sso_provider_not_found"), "{method} {path}");
        }
    }
}

#[tokio::test]
async fn metadata_is_fetched_from_where_it_is_published() {
    let server = Server::with(private()).await;
    let publisher = Provider::start().await;
    let body = |path: &str| json!({ "type": "saml", "metadata_url": format!("{}{path}", publisher.url) });
    for (path, status, document, refusal) in [
        ("/gone", 404, String::new(), "saml_metadata_fetch_failed"),
        ("/broken", 500, String::new(), "saml_metadata_fetch_failed"),
        ("/large", 200, " ".repeat((1 << 20) + 1), "saml_metadata_fetch_failed"),
        ("/text", 200, "no XML".to_owned(), "validation_failed"),
        ("/other", 200, "<EntityDescriptor/>".to_owned(), "validation_failed"),
    ] {
        publisher.respond_with(path, status, &document);
        assert_eq!(create(&server, body(path)).await.refusal(), (400, refusal), "{path}");
    }
    // Nobody listens there.
    let nowhere = json!({ "type": "saml", "metadata_url": "http://127.0.0.1:1/" });
    assert_eq!(create(&server, nowhere).await.refusal(), (400, "saml_metadata_fetch_failed"));
    publisher.respond_with("/good", 200, &metadata(ENTITY, &[&OWN]));
    let created = create(&server, body("/good")).await;
    assert_eq!(created.status, 201, "{}", created.body);
    assert_eq!(created.body["saml"]["metadata_url"], format!("{}/good", publisher.url));
    assert_eq!(publisher.requests("/good")[0].headers["accept"], "application/xml;charset=UTF-8");
    // Only who runs the server opens its own network to administrators.
    let guarded = server.second_node_with(settings()).await;
    for url in ["https://127.0.0.1/metadata", "https://localhost/", "https://10.0.0.1/", "https://[::1]/"] {
        let response = create(&guarded, json!({ "type": "saml", "metadata_url": url })).await;
        assert_eq!(response.refusal(), (400, "saml_metadata_fetch_failed"), "{url}");
    }
}

#[tokio::test]
async fn a_publisher_that_does_not_respond_is_given_up() {
    let server = Server::with(private()).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let silent = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n<").await;
        // Held open until the other side gives up.
        let _ = stream.read_to_end(&mut Vec::new()).await;
    });
    let response = create(&server, json!({ "type": "saml", "metadata_url": url })).await;
    assert_eq!(response.refusal(), (400, "saml_metadata_fetch_failed"));
    silent.await.unwrap();
}

#[tokio::test]
async fn stale_metadata_is_fetched_anew_when_users_come() {
    let server = Server::with(private()).await;
    let publisher = Provider::start().await;
    publisher.respond_with("/metadata", 200, &metadata(ENTITY, &[&OWN]));
    let body = json!({ "type": "saml", "metadata_url": format!("{}/metadata", publisher.url) });
    assert_eq!(create(&server, body).await.status, 201);
    let come = async |server: &Server, signer| {
        arrive(server, "", &SamlResponse::to("").signed_by(Signed::Response, signer)).await
    };
    let a_day_passes = "update auth.saml_providers set updated_at = updated_at - interval '25 hours'";
    session(&come(&server, &OWN).await);
    assert_eq!(publisher.requests("/metadata").len(), 1, "it is fresh");
    publisher.respond_with("/metadata", 200, &metadata(ENTITY, &[&OTHER]));
    assert_eq!(come(&server, &OTHER).await.status, 303);
    server.sql(a_day_passes).await;
    session(&come(&server, &OTHER).await);
    assert_eq!(come(&server, &OWN).await.status, 303);
    assert_eq!(publisher.requests("/metadata").len(), 2);
    assert_eq!(
        server.text("select metadata_xml from auth.saml_providers").await,
        metadata(ENTITY, &[&OTHER])
    );
    // What cannot be used, or is somebody else's, replaces nothing; and is not asked for again and again.
    for document in ["no XML".to_owned(), metadata("urn:other", &[&OWN])] {
        let node = server.second_node().await;
        publisher.respond_with("/metadata", 200, &document);
        server.sql(a_day_passes).await;
        let count = publisher.requests("/metadata").len();
        session(&come(&node, &OTHER).await);
        session(&come(&node, &OTHER).await);
        assert_eq!(publisher.requests("/metadata").len(), count + 1);
    }
}
