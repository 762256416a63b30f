//! Tests of the layers from a caller's view.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod bodies;
mod traces;

use std::io::Write;
use std::sync::{Arc, Mutex};

use gateway::{Caller, Gateway, Settings, health};
use http::{Method, StatusCode};
use poem::endpoint::{make, make_sync};
use poem::listener::{Acceptor, Listener, TcpListener};
use poem::{Endpoint, Request, RequestBuilder, Response, Server};
use serde_json::{Value, json};
use tokens::{KeyOverrides, Keys};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const SECRET: &str = "a secret of more than thirty-two bytes";

fn keys() -> Keys {
    let folder = tempfile::tempdir().unwrap();
    let overrides = KeyOverrides { jwt_secret: Some(SECRET.into()), ..Default::default() };
    Keys::load_or_create(&folder.path().join("keys.json"), overrides).unwrap()
}

fn gateway(keys: &Keys) -> Gateway {
    gateway_for_bodies_up_to(100, keys)
}

fn gateway_for_bodies_up_to(bytes: u64, keys: &Keys) -> Gateway {
    Gateway::new(Settings { body_limit: settings::Bytes(bytes), ..Settings::default() }, keys.clone(), None)
}

/// Returns a service that responds with the gateway's description of the caller.
fn mirror() -> impl Endpoint<Output = Response> {
    make_sync(|request| {
        let caller = request.extensions().get::<Caller>().unwrap();
        let kind = caller.api_key.map(|kind| format!("{kind:?}"));
        let body = json!({ "kind": kind, "bearer": caller.bearer.as_deref(), "source": format!("{:?}", caller.bearer_source), "id": caller.request_id.as_str() });
        Response::builder().body(body.to_string())
    })
}

async fn ask(service: &impl Endpoint<Output = Response>, request: RequestBuilder) -> (StatusCode, Value) {
    let response = service.call(request.finish()).await.unwrap();
    let status = response.status();
    let text = response.into_body().into_string().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

fn get(uri: &str) -> RequestBuilder {
    Request::builder().method(Method::GET).uri_str(uri)
}

#[tokio::test]
async fn changed_settings_keep_what_was_counted() {
    let settings =
        |requests_per_address| Settings { requests_per_address, trusted_proxies: 1, ..Settings::default() };
    let statuses = async |gateway: &Gateway| {
        let service = gateway.open("mirror", mirror());
        let mut statuses = Vec::new();
        for _ in 0..3 {
            statuses.push(ask(&service, get("/").header("x-forwarded-for", "203.0.113.7")).await.0.as_u16());
        }
        statuses
    };
    let gateway = Gateway::new(settings(2), keys(), None);
    assert_eq!(statuses(&gateway).await, [200, 200, 429]);
    assert_eq!(statuses(&gateway.with_settings(settings(3))).await, [200, 429, 429]);
    assert_eq!(statuses(&gateway.with_settings(settings(0))).await, [200; 3], "there is no limit");
}

#[tokio::test]
async fn a_guarded_service_requires_a_known_key() {
    let keys = keys();
    let service = gateway(&keys).guarded_except("mirror", ["/open", "/open/below/*"], mirror());
    let (status, body) = ask(&service, get("/")).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert_eq!(body["message"], "No API key found in request");
    let (status, body) = ask(&service, get("/").header("apikey", "sb_secret_guess")).await;
    assert_eq!((status, &body["message"]), (StatusCode::UNAUTHORIZED, &json!("Invalid API key")));
    assert!(body["hint"].is_string());
    for path in ["/open", "/open/below/", "/open/below/this"] {
        assert_eq!(ask(&service, get(path)).await.0, StatusCode::OK, "{path}");
    }
    for path in ["/opened", "/open/", "/open/below"] {
        assert_eq!(ask(&service, get(path)).await.0, StatusCode::UNAUTHORIZED, "{path}");
    }

    let api = keys.api_keys();
    for key in [api.anon(), api.service_role(), api.publishable(), api.secret()] {
        assert_eq!(ask(&service, get("/").header("apikey", key)).await.0, StatusCode::OK);
        assert_eq!(ask(&service, get(&format!("/?select=*&apikey={key}"))).await.0, StatusCode::OK);
    }
}

#[tokio::test]
async fn a_secret_path_is_for_secret_keys() {
    let keys = keys();
    let service = gateway(&keys).guarded("mirror", mirror()).keeping_secret("/");
    let api = keys.api_keys();
    let of_service = keys.sign(&json!({ "role": "service_role", "iss": "elsewhere" })).unwrap();
    for key in [api.service_role(), api.secret(), &of_service] {
        assert_eq!(ask(&service, get("/").header("apikey", key)).await.0, StatusCode::OK);
    }
    let user = keys.sign(&json!({ "role": "authenticated", "sub": "u" })).unwrap();
    for (key, message) in [
        (api.publishable(), "Secret API key required"),
        (api.anon(), "Invalid API key"),
        (&*user, "Invalid API key"),
    ] {
        let (status, body) = ask(&service, get("/").header("apikey", key)).await;
        assert_eq!((status, &body["message"]), (StatusCode::UNAUTHORIZED, &json!(message)));
        // A secret key elsewhere in the request does not help, and other paths are as ever.
        let both = get("/").header("apikey", key).header("authorization", format!("Bearer {of_service}"));
        assert_eq!(ask(&service, both).await.0, StatusCode::UNAUTHORIZED);
        assert_eq!(ask(&service, get(&format!("/?apikey={key}"))).await.0, StatusCode::UNAUTHORIZED);
        assert_eq!(ask(&service, get("/notes").header("apikey", key)).await.0, StatusCode::OK);
    }
}

#[tokio::test]
async fn a_token_of_ours_with_a_role_is_a_key_too() {
    let keys = keys();
    let service = gateway(&keys).guarded("mirror", mirror());
    let custom = keys.sign(&json!({ "role": "reporting" })).unwrap();
    let (_, body) = ask(&service, get("/").header("apikey", &custom)).await;
    assert_eq!((&body["kind"], &body["bearer"]), (&json!("Token"), &json!(custom)));
    for refused in
        [keys.sign(&json!({ "sub": "u" })).unwrap(), keys.sign(&json!({ "role": "x", "exp": 1 })).unwrap()]
    {
        assert_eq!(ask(&service, get("/").header("apikey", refused)).await.0, StatusCode::UNAUTHORIZED);
    }
}

#[tokio::test]
async fn opaque_keys_reach_the_service_as_the_token_of_their_role() {
    let keys = keys();
    let service = gateway(&keys).guarded("mirror", mirror());
    let api = keys.api_keys();
    let user = keys.sign(&json!({ "role": "authenticated" })).unwrap();
    let cases = [
        (api.publishable(), None, Some(api.anon()), "OpaqueKey"),
        (api.secret(), None, Some(api.service_role()), "OpaqueKey"),
        (api.anon(), None, Some(api.anon()), "LegacyKey"),
        (api.publishable(), Some(format!("Bearer {}", api.publishable())), Some(api.anon()), "OpaqueKey"),
        (api.anon(), Some(format!("Bearer {}", api.secret())), Some(api.anon()), "LegacyKey"),
        (api.publishable(), Some(format!("bearer {user}")), Some(user.as_str()), "Authorization"),
        (api.anon(), Some("Bearer ".to_owned()), Some(""), "Authorization"),
        (api.anon(), Some("AWS4-HMAC-SHA256 Credential=x".to_owned()), None, "Authorization"),
    ];
    for (key, authorization, expected, source) in cases {
        let mut request = get("/").header("apikey", key);
        if let Some(authorization) = &authorization {
            request = request.header("authorization", authorization);
        }
        let (status, body) = ask(&service, request).await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(body["bearer"].as_str(), expected, "{authorization:?}");
        assert_eq!(body["source"], source, "{authorization:?}");
    }
}

#[tokio::test]
async fn a_secret_key_is_refused_from_browsers() {
    let keys = keys();
    let (guarded, open) =
        (gateway(&keys).guarded("mirror", mirror()), gateway(&keys).open("mirror", mirror()));
    let api = keys.api_keys();
    let browser = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
    let bearer = |key: &str| format!("Bearer {key}");
    let from_browser = |key: &str, authorization: &str| {
        get("/").header("user-agent", browser).header("apikey", key).header("authorization", authorization)
    };
    for service in [&guarded, &open] {
        for request in [
            get("/").header("user-agent", browser).header("apikey", api.secret()),
            get(&format!("/?apikey={}", api.secret())).header("user-agent", browser),
            from_browser(api.publishable(), &bearer(api.secret())),
        ] {
            let (status, body) = ask(service, request).await;
            assert_eq!(status, StatusCode::UNAUTHORIZED);
            assert_eq!(body["message"], "Forbidden use of secret API key in browser");
        }
        // As on hosted Supabase, the legacy key of the same role is accepted.
        for key in [api.anon(), api.service_role()] {
            let request = from_browser(api.publishable(), &bearer(key));
            assert_eq!(ask(service, request).await.0, StatusCode::OK);
        }
    }
    let server = get("/").header("apikey", api.secret()).header("user-agent", "node");
    assert_eq!(ask(&guarded, server).await.0, StatusCode::OK);
}

#[tokio::test]
async fn an_open_service_accepts_all_callers_and_trusts_none() {
    let keys = keys();
    let service = gateway(&keys).open("mirror", mirror());
    let (status, body) = ask(&service, get("/")).await;
    assert_eq!((status, &body["kind"], &body["bearer"]), (StatusCode::OK, &Value::Null, &Value::Null));
    let unknown =
        get("/").header("apikey", "sb_secret_guess").header("authorization", "Bearer sb_secret_guess");
    let (status, body) = ask(&service, unknown).await;
    assert_eq!((status, &body["kind"], &body["bearer"]), (StatusCode::OK, &Value::Null, &Value::Null));
    let alone = get("/").header("authorization", format!("Bearer {}", keys.api_keys().secret()));
    assert_eq!(ask(&service, alone).await.1["bearer"], keys.api_keys().service_role());
}

#[tokio::test]
async fn behind_another_gateway_api_keys_have_no_meaning() {
    let api = keys().api_keys().clone();
    let service = Gateway::without_keys(Settings::default()).open("mirror", mirror());
    let with_key = get("/?apikey=x").header("apikey", api.secret());
    assert_eq!(ask(&service, with_key).await.1["bearer"], Value::Null);
    let opaque = get("/").header("authorization", format!("Bearer {}", api.secret()));
    assert_eq!(ask(&service, opaque).await.1["bearer"], api.secret());
}

#[tokio::test]
async fn a_preflight_gets_a_response_without_a_key_and_allows_what_it_requests() {
    let service = gateway(&keys()).guarded("mirror", mirror());
    let request = Request::builder()
        .method(Method::OPTIONS)
        .header("origin", "https://site.example")
        .header("access-control-request-method", "PATCH")
        .header("access-control-request-headers", "apikey,x-header-of-tomorrow");
    let response = service.call(request.finish()).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let header = |name: &str| response.headers()[name].to_str().unwrap();
    assert_eq!(header("access-control-allow-origin"), "*");
    assert_eq!(header("access-control-allow-headers"), "apikey,x-header-of-tomorrow");
    assert!(header("access-control-allow-methods").contains("PATCH"));
    assert_eq!(header("access-control-max-age"), "86400");
    let plain = Request::builder().method(Method::OPTIONS).finish();
    assert_eq!(
        service.call(plain).await.unwrap().status(),
        StatusCode::UNAUTHORIZED,
        "no preflight, no exception"
    );
}

#[tokio::test]
async fn refusals_and_failures_can_be_read_across_origins_and_carry_the_id() {
    let gateway = gateway(&keys());
    let fails = make(|_| async { Err::<Response, _>(poem::Error::from_status(StatusCode::IM_A_TEAPOT)) });
    let panics = make_sync(|_| -> Response { panic!("as planned") });
    let responses = [
        (gateway.guarded("refused", mirror()).call(get("/").finish()).await, StatusCode::UNAUTHORIZED),
        (gateway.open("fails", fails).call(get("/").finish()).await, StatusCode::IM_A_TEAPOT),
        (gateway.open("panics", panics).call(get("/").finish()).await, StatusCode::INTERNAL_SERVER_ERROR),
    ];
    for (response, status) in responses {
        let response = response.unwrap();
        assert_eq!(response.status(), status);
        assert_eq!(response.headers()["access-control-allow-origin"], "*");
        assert_eq!(response.headers()["access-control-expose-headers"], "*");
        assert_eq!(response.headers()["x-request-id"].len(), 36);
        assert_eq!(response.headers()["x-request-id"], response.headers()["sb-request-id"]);
    }
}

#[tokio::test]
async fn a_service_names_the_headers_that_scripts_may_read() {
    let service = gateway(&keys()).guarded("mirror", mirror()).exposing("Link, X-Total-Count");
    let refused = service.call(get("/").finish()).await.unwrap();
    assert_eq!(refused.headers()["access-control-expose-headers"], "Link, X-Total-Count");
}

#[tokio::test]
async fn a_callers_own_request_id_is_kept_unless_it_could_forge_a_line() {
    let service = gateway(&keys()).open("mirror", mirror());
    let (_, body) = ask(&service, get("/").header("x-request-id", "trace-42.a_b")).await;
    assert_eq!(body["id"], "trace-42.a_b");
    for id in ["", "a b", "a\"b", &"x".repeat(65)] {
        let (_, body) = ask(&service, get("/").header("x-request-id", id)).await;
        assert_ne!(body["id"], *id);
    }
}

#[tokio::test]
async fn a_key_in_the_query_stays_with_the_gateway() {
    let keys = keys();
    let echo = make_sync(|request| request.uri().to_string());
    let service = gateway(&keys).guarded("echo", echo);
    let key = keys.api_keys().publishable();
    for (sent, seen) in [
        (format!("/a?apikey={key}&select=*&b=%26"), "/a?select=*&b=%26"),
        (format!("/a?select=*&apikey={key}"), "/a?select=*"),
        (format!("/a?apikey={key}"), "/a"),
    ] {
        let (status, body) = ask(&service, get(&sent)).await;
        assert_eq!((status, body), (StatusCode::OK, json!(seen)));
    }
    let column = get("/a?apikey=eq.1").header("apikey", key);
    assert_eq!(ask(&service, column).await.1, json!("/a?apikey=eq.1"), "a column of that name");
}

#[tokio::test]
async fn health_distinguishes_live_and_ready() {
    let up = health(|| async { Ok(()) });
    let down = health(|| async { Err("password for postgres is wrong".to_owned()) });
    assert_eq!(ask(&up, get("/ready")).await, (StatusCode::OK, json!({ "status": "ok" })));
    assert_eq!(ask(&up, get("/")).await.0, StatusCode::OK);
    assert_eq!(ask(&down, get("/live")).await.0, StatusCode::OK);
    assert_eq!(
        ask(&down, get("/ready")).await,
        (StatusCode::SERVICE_UNAVAILABLE, json!({ "status": "unavailable" }))
    );
    assert_eq!(ask(&down, get("/nothing")).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn metrics_count_by_service_method_and_class() {
    let gateway = gateway(&keys());
    let service = gateway.guarded("mirror", mirror());
    ask(&service, get("/")).await;
    ask(&service, get("/").method(Method::from_bytes(b"BREW").unwrap())).await;
    let (_, text) = ask(&gateway.metrics(), get("/").header("host", "localhost:9000")).await;
    let text = text.as_str().unwrap();
    for line in [
        r#"basalt_http_requests_total{service="mirror",method="GET",status="4xx"} 1"#,
        r#"basalt_http_requests_total{service="mirror",method="other",status="4xx"} 1"#,
        r#"basalt_http_request_duration_seconds_count{service="mirror"} 2"#,
    ] {
        assert!(text.contains(line), "{line} not in\n{text}");
    }
}

#[tokio::test]
async fn metrics_are_only_for_this_machine() {
    let metrics = gateway(&keys()).metrics();
    for refused in
        [get("/").header("host", "rebound.example"), get("/").header("host", "localhost").header("via", "x")]
    {
        let (status, text) = ask(&metrics, refused).await;
        assert_eq!(status, StatusCode::FORBIDDEN);
        assert!(text.as_str().unwrap().contains("127.0.0.1"));
    }
}

#[tokio::test]
async fn untrusted_forwarding_headers_reach_no_service() {
    let echo = || {
        make_sync(|request: Request| {
            let names: Vec<&str> = request.headers().keys().map(http::HeaderName::as_str).collect();
            names.join(" ")
        })
    };
    let keys = keys();
    let sent = || {
        let names = [
            "x-real-ip",
            "x-forwarded-for",
            "x-forwarded-host",
            "x-forwarded-prefix",
            "x-forwarded-proto",
            "x-original-url",
            "x-rewrite-url",
            "true-client-ip",
            "cf-connecting-ip",
            "forwarded",
            "x-of-the-app",
            "x-client-info",
        ];
        // Each of them twice, because a service may read either.
        names.iter().chain(&names).fold(get("/"), |request, name| request.header(*name, "203.0.113.7"))
    };
    let trusting = |trusted_proxies| {
        Gateway::new(Settings { trusted_proxies, ..Settings::default() }, keys.clone(), None)
    };
    let closed = Gateway::without_keys(Settings::default());
    for gateway in [trusting(0), closed] {
        let (_, names) = ask(&gateway.open("echo", echo()), sent()).await;
        let mut names: Vec<&str> = names.as_str().unwrap().split(' ').collect();
        names.sort_unstable();
        assert_eq!(names, ["x-client-info", "x-of-the-app"]);
    }
    let (_, names) = ask(&trusting(1).open("echo", echo()), sent()).await;
    assert_eq!(names.as_str().unwrap().split(' ').count(), 12, "{names}");
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Write::write(&mut *self.0.lock().unwrap(), bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_access_log_names_the_request_and_holds_no_secret() {
    let keys = keys();
    let service = gateway(&keys).guarded("mirror", mirror());
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().json().with_writer(move || writer.clone()).finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    // Another test may just be asking for the first time whether anybody wants these lines, and note that nobody does.
    tracing::callsite::rebuild_interest_cache();
    let acceptor = TcpListener::bind("127.0.0.1:0").into_acceptor().await.unwrap();
    let address = *acceptor.local_addr()[0].as_socket_addr().unwrap();
    let server = tokio::spawn(Server::new_with_acceptor(acceptor).run(service));

    let secret = keys.api_keys().secret();
    let mut client = tokio::net::TcpStream::connect(address).await.unwrap();
    let head = format!(
        "GET /things?apikey={secret}&token=abc123 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer abc123\r\n\
         x-request-id: line-1\r\nconnection: close\r\n\r\n"
    );
    client.write_all(head.as_bytes()).await.unwrap();
    let mut response = String::new();
    client.read_to_string(&mut response).await.unwrap();
    server.abort();

    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let line = text.lines().find(|line| line.contains("line-1")).unwrap();
    let line: Value = serde_json::from_str(line).unwrap();
    let fields = &line["fields"];
    assert_eq!(
        (&line["target"], &fields["path"], &fields["status"]),
        (&json!("access"), &json!("/things"), &json!(200))
    );
    assert!(!text.contains(secret) && !text.contains("abc123"));
}

#[tokio::test]
async fn one_network_leaves_connections_of_a_proxy_to_others() {
    let settings = Settings { trusted_proxies: 1, ..Settings::default() };
    let gateway = Gateway::new(settings, keys(), None);
    gateway.divide_connections(4);
    let service = gateway.open("mirror", mirror());
    let ask =
        async |client: &str| service.call(get("/").header("x-forwarded-for", client).finish()).await.unwrap();
    // Their bodies have not been sent yet.
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(ask("2001:db8:1:1::1").await);
    }
    assert!(held.iter().all(|response| response.status() == StatusCode::OK));
    let refused = ask("2001:db8:1:1::2").await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers()["retry-after"], "1");
    for other in ["192.0.2.1", "2001:db8:1:2::1", "127.0.0.1"] {
        assert_eq!(ask(other).await.status(), StatusCode::OK, "{other}");
    }
    held.pop();
    assert_eq!(ask("2001:db8:1:1::2").await.status(), StatusCode::OK);
}

#[tokio::test]
async fn networks_have_shares_unless_they_are_turned_off() {
    for (network_shares, expected) in [(true, [Some("192.0.2.1"), None]), (false, [None, None])] {
        let settings = Settings { trusted_proxies: 1, network_shares, ..Settings::default() };
        let told = make_sync(|request| {
            let caller = request.extensions().get::<Caller>().unwrap();
            assert_eq!(caller.network, fairness::caller());
            Response::builder().body(caller.network.map_or_else(String::new, |network| network.to_string()))
        });
        let service = Gateway::new(settings, keys(), None).open("told", told);
        for (client, expected) in ["192.0.2.1", "127.0.0.1"].into_iter().zip(expected) {
            let (_, network) = ask(&service, get("/").header("x-forwarded-for", client)).await;
            assert_eq!(network.as_str().unwrap(), expected.unwrap_or_default());
        }
    }
}
