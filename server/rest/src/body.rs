//! The body of a request, read to its end.

use bytes::{Bytes, BytesMut};
use futures_util::TryStreamExt as _;
use poem::Body;

use crate::error::Error;

/// Reads all of `body`. One that comes in one piece, as small ones do, is not copied.
///
/// Errors: `PGRST102` when the connection breaks, and the error for a body of more than `limit` bytes.
pub(crate) async fn read(body: Body, limit: usize) -> Result<Bytes, Error> {
    let mut pieces = std::pin::pin!(body.into_bytes_stream());
    let mut next = async || pieces.try_next().await.map_err(|error| Error::InvalidBody(error.to_string()));
    // A stream that has ended must not be polled again.
    let Some(first) = next().await? else { return Ok(Bytes::new()) };
    let mut all = BytesMut::new();
    let mut length = first.len();
    while length <= limit {
        let Some(piece) = next().await? else {
            return Ok(if all.is_empty() { first } else { all.freeze() });
        };
        if all.is_empty() {
            all.extend_from_slice(&first);
        }
        all.extend_from_slice(&piece);
        length += piece.len();
    }
    Err(Error::BodyTooLarge(limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pieces: &[&'static str]) -> Body {
        let pieces: Vec<_> = pieces.iter().map(|piece| Bytes::from_static(piece.as_bytes())).collect();
        // It panics when it is polled after its end.
        Body::from_bytes_stream(futures_util::stream::unfold(pieces.into_iter(), async |mut rest| {
            Some((Ok::<_, std::io::Error>(rest.next()?), rest))
        }))
    }

    #[tokio::test]
    async fn pieces_are_put_together() {
        assert_eq!(read(Body::empty(), 0).await.unwrap(), "");
        assert_eq!(read(of(&[]), 3).await.unwrap(), "");
        assert_eq!(read(of(&["one"]), 3).await.unwrap(), "one");
        assert_eq!(read(of(&["", "o", "n", "", "e"]), 3).await.unwrap(), "one");
    }

    #[tokio::test]
    async fn a_body_that_is_too_large_is_refused() {
        for pieces in [&["four"][..], &["fo", "ur"], &["", "four"]] {
            assert!(matches!(read(of(pieces), 3).await, Err(Error::BodyTooLarge(3))), "{pieces:?}");
        }
    }
}
