//! A service that is made anew with other settings, from the same handles.

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use poem::Body;
use poem::http::{Method, StatusCode};
use storage::Settings;
use tokio::sync::oneshot;

use crate::public::{PATH, is_kept, server};

#[tokio::test]
async fn other_settings_take_effect_and_state_is_kept() {
    let server = server().await;
    let service = server.service_role().to_owned();
    let changed = Settings {
        file_size_limit: settings::Bytes(5),
        s3_enabled: false,
        vectors_enabled: false,
        ..server.settings.clone()
    };
    server.change(changed.clone());
    assert!(is_kept(&server).await, "what was read before is not read again");
    let large = server.upload(&service, "files/b.txt", &[], b"123456").await;
    assert_eq!(large.refusal().1[3], "EntityTooLarge");
    assert_eq!(server.upload(&service, "files/b.txt", &[], b"12345").await.status, StatusCode::OK);
    for (method, path) in [(Method::GET, "/s3/files"), (Method::POST, "/vector/ListVectorBuckets")] {
        assert_eq!(server.ask(method, path, &[]).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    server.change(Settings { origin: Some("https://files.example.org".to_owned()), ..changed });
    assert_eq!(server.get(PATH).await.status, StatusCode::TEMPORARY_REDIRECT);
    server.change(server.settings.clone());
    assert_eq!(server.get(PATH).await.text(), "first");
    assert_eq!(server.upload(&service, "files/c.txt", &[], b"123456").await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_request_that_runs_ends_as_it_began() {
    let server = server().await;
    let authorization = format!("Bearer {}", server.service_role());
    let headers = [("authorization", &*authorization), ("content-type", "text/plain")];
    let (go_on, signal) = oneshot::channel::<()>();
    let rest = stream::once(async move {
        signal.await.unwrap();
        Ok(Bytes::from_static(b" and the rest"))
    });
    let chunks = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"begun"))]).chain(rest);
    let upload =
        server.send(Method::PUT, "/object/files/a.txt", &headers, Body::from_bytes_stream(chunks.boxed()));
    let change = async {
        server.change(Settings { file_size_limit: settings::Bytes(5), ..server.settings.clone() });
        go_on.send(()).unwrap();
    };
    let (uploaded, ()) = futures_util::join!(upload, change);
    assert_eq!(uploaded.status, StatusCode::OK, "{}", uploaded.text());
    // What the earlier service has changed, the later one does not keep as it was.
    assert_eq!(server.get(PATH).await.text(), "begun and the rest");
}
