//! The messages of a client for a topic whose join is not decided yet.

use crate::frame::Incoming;

/// Frames that may wait, and the bytes that they may have together.
const MAX_FRAMES: usize = 32;
const MAX_BYTES: usize = 256 << 10;

/// The messages in their order.
#[derive(Default)]
pub(super) struct JoinBuffer {
    frames: Vec<Incoming>,
    bytes: usize,
}

impl JoinBuffer {
    /// Appends `frame` if there is room; reports whether there was.
    pub(super) fn keep(&mut self, frame: &Incoming) -> bool {
        let (Incoming::Text(bytes) | Incoming::Binary(bytes)) = frame else { return false };
        let has_room = self.frames.len() < MAX_FRAMES && self.bytes + bytes.len() <= MAX_BYTES;
        if has_room {
            self.bytes += bytes.len();
            self.frames.push(frame.clone());
        }
        has_room
    }

    /// Returns the messages.
    pub(super) fn into_frames(self) -> Vec<Incoming> {
        self.frames
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn little_may_wait() {
        let mut waiting = JoinBuffer::default();
        let kept = (0..100).filter(|_| waiting.keep(&Incoming::Text(Bytes::from_static(b"x")))).count();
        assert_eq!((kept, waiting.into_frames().len()), (MAX_FRAMES, MAX_FRAMES));
        let mut waiting = JoinBuffer::default();
        let large = Incoming::Binary(Bytes::from(vec![0; MAX_BYTES / 2 + 1]));
        assert_eq!((waiting.keep(&large), waiting.keep(&large)), (true, false));
    }
}
