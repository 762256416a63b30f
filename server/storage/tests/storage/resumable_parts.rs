//! How many parts a resumable upload leaves, however its sender cuts it.

use bytes::Bytes;
use poem::Body;
use poem::http::{Method, StatusCode};

use crate::resumable::{create, patch, path, send, server};
use crate::support::Server;

const MIB: usize = 1 << 20;

/// Returns how many parts the upload's row names.
async fn parts(server: &Server) -> usize {
    let row = server.row("select cardinality(parts)::text from basalt.resumable_uploads").await;
    row[0].parse().unwrap()
}

/// Returns `length` bytes that no part of them repeats exactly.
fn content(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index % 251) as u8 ^ (index / 65_521) as u8).collect()
}

/// Sends `bytes` from `offset` on in pieces of `sizes`, and returns the most parts that there were.
async fn send_pieces(server: &Server, path: &str, bytes: &[u8], sizes: impl Iterator<Item = usize>) -> usize {
    let (mut offset, mut most) = (0, 0);
    for size in sizes {
        let piece = bytes[offset..offset + size].to_vec();
        let response = patch(server, path, &offset.to_string(), piece).await;
        assert_eq!(response.status, StatusCode::NO_CONTENT, "{}", response.text());
        offset += size;
        most = most.max(parts(server).await);
        assert_eq!(server.stored_files(), parts(server).await, "no bytes are left besides the parts");
    }
    most
}

#[tokio::test]
async fn single_bytes_leave_few_parts() {
    let server = server().await;
    let bytes = content(301);
    let path = path(&create(&server, "a", "301", &[]).await);
    let most = send_pieces(&server, &path, &bytes, std::iter::repeat_n(1, 300)).await;
    assert!(most <= 9, "{most}");
    assert_eq!(patch(&server, &path, "300", bytes[300..].to_vec()).await.status, StatusCode::NO_CONTENT);
    assert_eq!(server.get("/object/public/files/a").await.body, bytes);
    assert_eq!(server.stored_files(), 1);
}

#[tokio::test]
async fn pieces_that_shrink_leave_few_parts() {
    let server = server().await;
    let bytes = content(60 * 61 / 2 + 1);
    let path = path(&create(&server, "a", &bytes.len().to_string(), &[]).await);
    let most = send_pieces(&server, &path, &bytes, (1..=60).rev()).await;
    assert!(most <= 12, "{most}");
    patch(&server, &path, &(bytes.len() - 1).to_string(), bytes[bytes.len() - 1..].to_vec()).await;
    assert_eq!(server.get("/object/public/files/a").await.body, bytes);
}

#[tokio::test]
async fn requests_without_bytes_leave_no_part() {
    let server = server().await;
    let path = path(&create(&server, "a", "2", &[]).await);
    for offset in ["0", "0", "0"] {
        assert_eq!(patch(&server, &path, offset, "").await.header("upload-offset"), "0");
    }
    assert_eq!((parts(&server).await, server.stored_files()), (0, 0));
    patch(&server, &path, "0", "a").await;
    patch(&server, &path, "1", "").await;
    assert_eq!((parts(&server).await, server.stored_files()), (1, 1));
    patch(&server, &path, "1", "b").await;
    assert_eq!(server.get("/object/public/files/a").await.body, b"ab");
}

#[tokio::test]
async fn large_parts_stay_as_they_are_and_short_ones_between_them_are_joined() {
    let server = server().await;
    let bytes = content(19 * MIB);
    let path = path(&create(&server, "a", &bytes.len().to_string(), &[]).await);
    let most = send_pieces(&server, &path, &bytes, [6 * MIB].into_iter()).await;
    assert_eq!(most, 1);
    let first = server.row("select parts[1]::text from basalt.resumable_uploads").await;
    // A connection breaks after two MiB of the next six.
    let chunks = [
        Ok(Bytes::copy_from_slice(&bytes[6 * MIB..8 * MIB])),
        Err(std::io::Error::other("the connection broke")),
    ];
    let broken = Body::from_bytes_stream(futures_util::stream::iter(chunks));
    assert_eq!(patch(&server, &path, &(6 * MIB).to_string(), broken).await.status, StatusCode::BAD_REQUEST);
    let head = send(&server, Method::HEAD, &path, &[], "").await;
    assert_eq!(head.header("upload-offset"), (8 * MIB).to_string());
    patch(&server, &path, &(8 * MIB).to_string(), bytes[8 * MIB..14 * MIB].to_vec()).await;
    assert_eq!(parts(&server).await, 2, "the short part is joined with the next one");
    assert_eq!(server.row("select parts[1]::text from basalt.resumable_uploads").await, first);
    patch(&server, &path, &(14 * MIB).to_string(), bytes[14 * MIB..].to_vec()).await;
    assert_eq!(server.get("/object/public/files/a").await.body, bytes);
    assert_eq!(server.stored_files(), 1);
}

#[tokio::test]
async fn of_requests_for_one_offset_one_is_accepted_and_the_others_leave_nothing() {
    let server = server().await;
    let path = path(&create(&server, "a", "9", &[]).await);
    patch(&server, &path, "0", "ab").await;
    let responses = futures_util::future::join_all((0..8).map(|_| patch(&server, &path, "2", "cd"))).await;
    let accepted = responses.iter().filter(|response| response.status == StatusCode::NO_CONTENT).count();
    assert_eq!(accepted, 1);
    for response in responses {
        assert!(
            matches!(response.status, StatusCode::NO_CONTENT | StatusCode::CONFLICT),
            "{}",
            response.text()
        );
    }
    assert_eq!((parts(&server).await, server.stored_files()), (1, 1));
    patch(&server, &path, "4", "efghi").await;
    assert_eq!(server.get("/object/public/files/a").await.body, b"abcdefghi");
}
