//! What a client sends for a topic while its join is not decided yet.

use super::frame::Incoming;

/// Frames that may wait, and the bytes that they may have together.
const MAX_FRAMES: usize = 32;
const MAX_BYTES: usize = 256 << 10;

/// Frames in the order in which they came.
#[derive(Default)]
pub(super) struct Waiting {
    frames: Vec<Incoming>,
    bytes: usize,
}

impl Waiting {
    /// Keeps `frame` unless too much waits already; reports whether it does.
    pub(super) fn keep(&mut self, frame: &Incoming) -> bool {
        let (Incoming::Text(bytes) | Incoming::Binary(bytes)) = frame else { return false };
        let has_room = self.frames.len() < MAX_FRAMES && self.bytes + bytes.len() <= MAX_BYTES;
        if has_room {
            self.bytes += bytes.len();
            self.frames.push(frame.clone());
        }
        has_room
    }

    /// Returns the frames.
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
        let mut waiting = Waiting::default();
        let kept = (0..100).filter(|_| waiting.keep(&Incoming::Text(Bytes::from_static(b"x")))).count();
        assert_eq!((kept, waiting.into_frames().len()), (MAX_FRAMES, MAX_FRAMES));
        let mut waiting = Waiting::default();
        let large = Incoming::Binary(Bytes::from(vec![0; MAX_BYTES / 2 + 1]));
        assert_eq!((waiting.keep(&large), waiting.keep(&large)), (true, false));
    }
}
