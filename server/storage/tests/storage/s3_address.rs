//! The S3 protocol: which address a signature is over. Exactly one, to which a caller can add nothing.

use gateway::{ExternalUrl, Settings};
use poem::http::Method;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};

use crate::s3_client::{HOST, Signer, UNSIGNED};
use crate::support::Server;

fn gateway(trusted_proxies: usize, external_url: Option<&str>) -> Settings {
    let external_url = external_url.map(|url| ExternalUrl::parse(url).unwrap());
    Settings { trusted_proxies, external_url, ..Settings::default() }
}

/// Sends `GET path` with the headers of a request that was signed for `signed` at `signer.host`, with `host` in place
/// of the signed one, and with `more` of them. Returns the status.
async fn ask(
    server: &Server,
    signer: &Signer,
    (signed, path): (&str, &str),
    host: &str,
    more: &[(&str, &str)],
) -> u16 {
    let mut headers = signer.headers(&Method::GET, signed, &[], UNSIGNED);
    headers.retain(|(name, _)| name != "host");
    headers.push(("host".to_owned(), host.to_owned()));
    headers.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    server.send_all(Method::GET, path, &headers, "").await.status.as_u16()
}

#[tokio::test]
async fn the_address_that_the_client_calls_is_signed() {
    let mut server = Server::start().await;
    let signer = Signer::service(&server);
    let inner = Signer { host: "127.0.0.1:54321".to_owned(), ..signer.clone() };
    let prefix = [("x-forwarded-prefix", "/prefix")];
    for trusted_proxies in [0, 1] {
        // By the host and path that are received, whatever they are.
        server.behind(gateway(trusted_proxies, None));
        assert_eq!(ask(&server, &signer, ("/s3/", "/s3/"), HOST, &[]).await, 200);
        assert_eq!(ask(&server, &inner, ("/s3/", "/s3/"), &inner.host, &[]).await, 200);
        assert_eq!(ask(&server, &signer, ("/prefix/s3/", "/s3/"), HOST, &prefix).await, 403);
        assert_eq!(ask(&server, &signer, ("/s3/", "/s3/"), "inner:5000", &[]).await, 403);

        // By the external URL for its host, which has a prefix that the proxy removes, and by what is received for
        // others.
        server.behind(gateway(trusted_proxies, Some("https://basalt.test/prefix")));
        assert_eq!(ask(&server, &signer, ("/prefix/s3/", "/s3/"), HOST, &[]).await, 200);
        assert_eq!(ask(&server, &signer, ("/prefix/s3/", "/s3/"), HOST, &prefix).await, 200);
        assert_eq!(ask(&server, &signer, ("/s3/", "/s3/"), HOST, &[]).await, 403);
        assert_eq!(ask(&server, &inner, ("/s3/", "/s3/"), &inner.host, &[]).await, 200);
        assert_eq!(ask(&server, &inner, ("/prefix/s3/", "/s3/"), &inner.host, &prefix).await, 403);
    }
}

#[tokio::test]
async fn an_encoded_slash_does_not_end_the_buckets_name() {
    let server = Server::start().await;
    let signer = Signer::service(&server);
    server.bucket("files", true).await;
    server.s3_put("/s3/files/A", "text").await;
    for path in ["/s3/files%2FA", "/s3/files%2fA/B", "/s3//A", "/s3/%2Ffiles"] {
        for method in [Method::GET, Method::PUT, Method::DELETE] {
            let response = server.s3(&signer, method.clone(), path, &[("content-length", "0")], "").await;
            assert_eq!(response.s3_code(), (400, "InvalidBucketName".to_owned()), "{method} {path}");
        }
        let query = signer.presigned(&Method::GET, "/s3/files/A", 60, &[]);
        let response = server.send_all(Method::GET, &format!("{path}?{query}"), &[], "").await;
        assert_eq!(response.s3_code(), (400, "InvalidBucketName".to_owned()), "{path}");
    }
    let kept = server.s3(&signer, Method::GET, "/s3/files/A", &[], "").await;
    assert_eq!(kept.text(), "text");
}

#[tokio::test]
async fn a_trusted_proxy_may_replace_the_host_and_nobody_else() {
    let mut server = Server::start().await;
    let signer = Signer::service(&server);
    let noted = [("x-forwarded-host", HOST), ("x-forwarded-prefix", "/prefix"), ("x-forwarded-port", "443")];
    for external_url in [None, Some("https://basalt.test/prefix")] {
        let signed = if external_url.is_some() { "/prefix/s3/" } else { "/s3/" };
        server.behind(gateway(1, external_url));
        assert_eq!(ask(&server, &signer, (signed, "/s3/"), "inner:5000", &noted).await, 200);
        server.behind(gateway(0, external_url));
        assert_eq!(ask(&server, &signer, (signed, "/s3/"), "inner:5000", &noted).await, 403);
    }
}

/// Returns paths of objects in which those of other objects are contained, as in `/s3/pub/A/s3/priv/B`.
fn path() -> impl Strategy<Value = String> {
    let segment = select(vec!["s3", "pub", "priv", "A", "b.txt", "storage", "v1", "a%20b", ".well-known"]);
    prop::collection::vec(segment, 2..7).prop_map(|segments| format!("/s3/{}", segments.join("/")))
}

/// Returns what a caller may try: the path that is signed, the one that is requested, and a value for a header.
fn attempt() -> impl Strategy<Value = (String, String, String)> {
    let requested = |signed: String| {
        // The ends of the signed path that are paths of objects themselves, and any other path.
        let ends: Vec<String> =
            signed.match_indices("/s3/").map(|(start, _)| signed[start..].to_owned()).collect();
        (Just(signed), prop_oneof![3 => select(ends), 1 => path()])
    };
    path().prop_flat_map(requested).prop_flat_map(|(signed, requested)| {
        let front = signed.strip_suffix(&requested).unwrap_or_default().to_owned();
        let values = vec![
            front.clone(),
            format!("{front}/"),
            format!("{HOST}{front}"),
            format!("{front}, {front}"),
            format!("for=1.1.1.1;host={HOST};proto=https;path={front}"),
            signed.clone(),
            format!("http://{HOST}{signed}"),
            HOST.to_owned(),
            "GET".to_owned(),
            "/".to_owned(),
        ];
        (Just(signed), Just(requested), select(values))
    })
}

const HEADERS: [&str; 22] = [
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-path",
    "x-forwarded-port",
    "x-forwarded-prefix",
    "x-forwarded-proto",
    "x-forwarded-server",
    "x-forwarded-uri",
    "x-host",
    "x-http-method-override",
    "x-original-host",
    "x-original-uri",
    "x-original-url",
    "x-real-ip",
    "x-rewrite-url",
    "x-script-name",
    "referer",
    "origin",
    "content-location",
    "destination",
];

#[test]
fn no_header_makes_a_signature_good_for_another_path() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut server = runtime.block_on(Server::start());
    let signer = Signer::service(&server);
    let gateways =
        [(0, None), (1, None), (0, Some("https://basalt.test")), (1, Some("https://basalt.test/s3/pub"))];
    for (trusted_proxies, external_url) in gateways {
        server.behind(gateway(trusted_proxies, external_url));
        let prefix = external_url.map_or("", |url| url.strip_prefix("https://basalt.test").unwrap());
        let send = async |signed: &str, requested: &str, headers: &[(String, String)]| {
            let query = signer.presigned(&Method::GET, signed, 60, &[]);
            let response = server.send_all(Method::GET, &format!("{requested}?{query}"), headers, "").await;
            response.s3_code()
        };
        let mut runner =
            TestRunner::new(Config { cases: 40, failure_persistence: None, ..Config::default() });
        let run = runner.run(&attempt(), |(signed, requested, value)| {
            runtime.block_on(async {
                let each = HEADERS.iter().map(|name| vec![((*name).to_owned(), value.clone())]);
                let all = HEADERS.iter().map(|name| ((*name).to_owned(), value.clone())).collect();
                for headers in [vec![], all].into_iter().chain(each) {
                    let code = send(&signed, &requested, &headers).await;
                    let is_refused = code == (403, "SignatureDoesNotMatch".to_owned());
                    // What a trusted proxy notes may be another host, and then nobody has signed it.
                    let is_noted = headers.iter().any(|(name, _)| name == "x-forwarded-host");
                    if signed != format!("{prefix}{requested}") {
                        prop_assert!(is_refused, "{signed} {requested} {headers:?} {code:?}");
                    } else if trusted_proxies == 0 || !is_noted {
                        prop_assert!(!is_refused, "{signed} {requested} {headers:?} {code:?}");
                    }
                }
                Ok(())
            })
        });
        run.unwrap();
    }
}
