//! Bodies chunk by chunk.

use std::io;
use std::task::Poll;

use futures_util::{Stream, stream};

/// Returns the chunks of a body, given one at a time. The reader of forms would buffer everything that is ready at
/// once, which could be all of a large file from a fast sender.
pub(crate) fn chunk_by_chunk(
    chunks: impl Stream<Item = io::Result<bytes::Bytes>> + Send + 'static,
) -> impl Stream<Item = io::Result<bytes::Bytes>> + Send + 'static {
    let mut chunks = Box::pin(chunks);
    let mut has_given = false;
    stream::poll_fn(move |context| {
        if std::mem::take(&mut has_given) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let next = chunks.as_mut().poll_next(context);
        has_given = next.is_ready();
        next
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use futures_util::{FutureExt as _, StreamExt as _};

    #[tokio::test]
    async fn a_body_is_given_chunk_by_chunk() {
        let chunks = (0..3_u8).map(|byte| Ok(Bytes::from(vec![byte])));
        let mut body = Box::pin(chunk_by_chunk(stream::iter(chunks)));
        assert!(body.next().now_or_never().is_some());
        assert!(body.next().now_or_never().is_none(), "the second only when asked for again");
        assert!(body.next().now_or_never().is_some());
        assert_eq!(body.count().await, 1);
    }
}
