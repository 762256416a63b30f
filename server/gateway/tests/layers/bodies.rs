//! Bodies that are too large, too slow or broken, and the memory for all of them.

use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt};
use gateway::{Gateway, Settings};
use http::{Method, StatusCode};
use poem::endpoint::make;
use poem::{Body, Endpoint, Request, Response};

use super::{gateway, gateway_for_bodies_up_to, get, keys};

#[tokio::test]
async fn bodies_beyond_the_limit_get_413_with_or_without_a_length() {
    let gateway = gateway(&keys());
    let reader = make(|mut request: Request| async move {
        let read = request.take_body().into_bytes().await;
        read.map(|bytes| bytes.len().to_string()).map_err(poem::Error::from)
    });
    let service = gateway.open("reader", reader);
    let announced = |length: usize| get("/").header("content-length", length).body(vec![0; length]);
    let chunked = |length: usize| {
        let chunks = stream::repeat_with(|| Ok::<_, std::io::Error>(vec![0; 10])).take(length / 10);
        get("/").header("transfer-encoding", "chunked").body(Body::from_bytes_stream(chunks.boxed()))
    };
    for (request, status) in [
        (announced(100), StatusCode::OK),
        (announced(101), StatusCode::PAYLOAD_TOO_LARGE),
        (chunked(100), StatusCode::OK),
        (chunked(110), StatusCode::PAYLOAD_TOO_LARGE),
    ] {
        assert_eq!(service.call(request).await.unwrap().status(), status);
    }
}

#[tokio::test(start_paused = true)]
async fn senders_that_never_finish_a_body_get_408() {
    let reads = make(|mut request: Request| async move {
        let read = request.take_body().into_bytes().await;
        read.map(|bytes| bytes.len().to_string()).map_err(poem::Error::from)
    });
    let service = gateway_for_bodies_up_to(1_000_000, &keys()).open("reader", reads);
    let pausing = |seconds: u64, count: usize| {
        stream::iter(0..count).then(move |_| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            Ok::<_, std::io::Error>(vec![0])
        })
    };
    let send = async |announced: bool, body: BoxStream<'static, Result<Vec<u8>, std::io::Error>>| {
        let request = if announced {
            get("/").header("content-length", 1000)
        } else {
            get("/").header("transfer-encoding", "chunked")
        };
        service.call(request.body(Body::from_bytes_stream(body))).await.unwrap().status()
    };
    for announced in [true, false] {
        assert_eq!(send(announced, pausing(50, 1).boxed()).await, StatusCode::OK);
        assert_eq!(send(announced, stream::pending().boxed()).await, StatusCode::REQUEST_TIMEOUT);
        let drip = pausing(1, 1_000).boxed();
        assert_eq!(send(announced, drip).await, StatusCode::REQUEST_TIMEOUT, "a byte per second");
        // What came fast at the beginning is no credit for hours.
        let fast = stream::iter([Ok(vec![0; 900_000])]);
        let drip = fast.chain(pausing(30, 100)).boxed();
        assert_eq!(send(announced, drip).await, StatusCode::REQUEST_TIMEOUT, "a fast start");
    }
    let steady = stream::iter(0..400).then(|_| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok::<_, std::io::Error>(vec![0; 600])
    });
    assert_eq!(send(false, steady.boxed()).await, StatusCode::OK, "slow, but faster than the least");
}

#[tokio::test]
async fn bodies_share_the_memory_that_there_is_for_them() {
    const UNIT: usize = 16 << 10;
    let settings = Settings {
        body_limit: settings::Bytes(1 << 20),
        body_memory: settings::Bytes(16 * UNIT as u64),
        trusted_proxies: 1,
        ..Settings::default()
    };
    let gateway = Gateway::new(settings, keys(), None);
    // Each request gets a response when its sender says so.
    let reads = || {
        make(|mut request: Request| async move {
            let read = request.take_body().into_bytes().await;
            if request.uri().path() == "/waits" {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            read.map(|bytes| bytes.len().to_string()).map_err(poem::Error::from)
        })
    };
    let from = |path: &str, last: u8, units: usize| {
        let request = get(path).header("x-forwarded-for", format!("192.0.2.{last}"));
        request.header("content-length", units * UNIT).body(vec![0; units * UNIT])
    };
    let service = gateway.open("reader", reads());
    let status = async |request| {
        let response = service.call(request).await.unwrap();
        (response.status(), response.headers().contains_key("retry-after"))
    };
    // The first unit of each costs nothing. One network gets three quarters of sixteen, another one some of the rest.
    let held = async { futures_util::join!(status(from("/waits", 1, 7)), status(from("/waits", 1, 7))) };
    let others = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(status(from("/", 1, 2)).await, (StatusCode::SERVICE_UNAVAILABLE, true));
        assert_eq!(status(from("/", 1, 1)).await.0, StatusCode::OK, "small ones are not counted");
        assert_eq!(status(from("/", 2, 4)).await.0, StatusCode::OK);
        assert_eq!(status(from("/", 2, 9)).await.0, StatusCode::SERVICE_UNAVAILABLE);
    };
    let ((first, second), ()) = futures_util::join!(held, others);
    assert_eq!((first.0, second.0), (StatusCode::OK, StatusCode::OK));
    assert_eq!(status(from("/", 1, 12)).await.0, StatusCode::OK, "all of it came back");
    let streaming = gateway.open("storage", reads()).streaming_bodies();
    assert_eq!(streaming.call(from("/", 1, 40)).await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn a_body_that_breaks_off_is_not_the_servers_failure() {
    let keys = keys();
    let broken = || {
        let parts = [Ok("some"), Err(std::io::Error::other("invalid chunk"))];
        let body = Body::from_bytes_stream(stream::iter(parts));
        Request::builder().method(Method::POST).uri_str("/").header("transfer-encoding", "chunked").body(body)
    };
    let responding = |status: StatusCode, reads: bool| {
        make(move |mut request: Request| async move {
            if reads {
                assert!(request.take_body().into_bytes().await.is_err());
            }
            Ok::<_, poem::Error>(Response::builder().status(status).body("the service's"))
        })
    };
    for (status, reads, expected) in [
        (StatusCode::INTERNAL_SERVER_ERROR, true, 400),
        (StatusCode::SERVICE_UNAVAILABLE, true, 400),
        // A service may have a refusal of its own, or need no body.
        (StatusCode::UNPROCESSABLE_ENTITY, true, 422),
        (StatusCode::OK, true, 200),
        (StatusCode::INTERNAL_SERVER_ERROR, false, 500),
    ] {
        let service = gateway(&keys).open("body", responding(status, reads));
        let response = service.call(broken()).await.unwrap();
        assert_eq!(response.status().as_u16(), expected, "{status} {reads}");
    }
}
