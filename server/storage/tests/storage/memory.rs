//! The memory that an upload takes, which must not depend on its size.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::s3_client::Signer;
use crate::support::Server;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use poem::Body;
use poem::http::{Method, StatusCode};
use serde_json::json;

const CHUNK: usize = 64 * 1024;
const CHUNKS: usize = 600;

/// Chunks that know how many of them are in memory: from a sender that is always faster than the disk.
fn chunks(most: &Arc<AtomicUsize>) -> Body {
    struct Counted(Vec<u8>, Arc<AtomicUsize>);
    impl AsRef<[u8]> for Counted {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    impl Drop for Counted {
        fn drop(&mut self) {
            self.1.fetch_sub(1, Ordering::Relaxed);
        }
    }
    let living = Arc::new(AtomicUsize::new(0));
    let most = Arc::clone(most);
    let chunks = (0..CHUNKS).map(move |_| {
        most.fetch_max(living.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        Ok::<_, std::io::Error>(Bytes::from_owner(Counted(vec![b'x'; CHUNK], Arc::clone(&living))))
    });
    Body::from_bytes_stream(stream::iter(chunks))
}

/// Returns the same as one chunk of the S3 protocol, as the SDK for Go sends what it is given as a whole.
#[tokio::test]
async fn a_chunk_of_the_s3_protocol_is_never_in_memory_as_a_whole() {
    let server = Server::start().await;
    server.json(Method::POST, "/bucket", &json!({ "name": "files" })).await;
    let signer = Signer::service(&server);
    let most = Arc::new(AtomicUsize::new(0));
    let size = CHUNK * CHUNKS;
    let text = |text: String| stream::once(std::future::ready(Ok::<_, std::io::Error>(Bytes::from(text))));
    let body = text(format!("{size:x}\r\n"))
        .chain(chunks(&most).into_bytes_stream())
        .chain(text("\r\n0\r\n\r\n".to_owned()));
    let size = size.to_string();
    let headers = [("x-amz-decoded-content-length", &*size)];
    let payload = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";
    let signed = signer.headers(&Method::PUT, "/s3/files/a", &headers, payload);
    let body = Body::from_bytes_stream(body);
    let stored = server.send_all(Method::PUT, "/s3/files/a", &signed, body).await;
    assert_eq!(stored.status, StatusCode::OK, "{}", stored.text());
    assert_eq!(server.row("select metadata->>'size' from storage.objects").await, [size]);
    let most = most.load(Ordering::Relaxed) * CHUNK;
    assert!(most < 16 << 20, "{most} bytes were in memory at once");
}

#[tokio::test]
async fn a_body_is_never_in_memory_as_a_whole() {
    let server = Server::start().await;
    server.json(Method::POST, "/bucket", &json!({ "name": "files" })).await;
    let authorization = format!("Bearer {}", server.service_role());
    let most = Arc::new(AtomicUsize::new(0));
    let headers = [("authorization", &*authorization)];
    let stored = server.send(Method::POST, "/object/files/a", &headers, chunks(&most)).await;
    assert_eq!(stored.status, StatusCode::OK, "{}", stored.text());
    let size = server.row("select metadata->>'size' from storage.objects").await;
    assert_eq!(size, [(CHUNK * CHUNKS).to_string()]);
    // 20 MiB: the parts that are being written, and what the next one is collected in.
    let most = most.load(Ordering::Relaxed) * CHUNK;
    assert!(most < 20 << 20, "{most} bytes were in memory at once");
}
