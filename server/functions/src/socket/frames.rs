//! Finds the ends of a WebSocket's frames, between which another frame can be inserted (RFC 6455, section 5).

/// The maximum length of a frame's head: two bytes, eight of length, four of the mask.
const LONGEST_HEAD: usize = 14;
const CLOSE: u8 = 8;
/// The bit of a frame that is the last of its message.
const LAST: u8 = 0x80;
/// The bit of a masked frame.
const MASKED: u8 = 0x80;
/// The mask that changes nothing. Masks protect proxies that may mistake a frame for a request, and there are no
/// proxies on a private socket.
const MASK: [u8; 4] = [0; 4];

/// The position of one direction of a socket in its frames.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// The head of the current frame, as far as it has arrived.
    head: [u8; LONGEST_HEAD],
    /// The number of bytes of `head` that have arrived.
    length: usize,
    /// The number of bytes of the current frame's payload that have not arrived.
    payload: u64,
    is_closed: bool,
}

impl Frames {
    /// Advances over the next `bytes` of the direction.
    pub(super) fn pass(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.payload > 0 {
                let length = usize::try_from(self.payload).map_or(bytes.len(), |left| left.min(bytes.len()));
                self.payload -= length as u64;
                bytes = &bytes[length..];
                continue;
            }
            self.head[self.length] = bytes[0];
            self.length += 1;
            bytes = &bytes[1..];
            if self.length == self.head_length() {
                self.payload = self.payload_length();
                self.is_closed |= self.head[0] & 0xf == CLOSE;
                self.length = 0;
            }
        }
    }

    /// Reports whether the position is between two frames.
    pub(super) fn is_between(&self) -> bool {
        self.length == 0 && self.payload == 0
    }

    /// Reports whether there has been a close frame, after which no other frame may follow.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    fn head_length(&self) -> usize {
        if self.length < 2 {
            return 2;
        }
        let length = match self.head[1] & !MASKED {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        2 + length + if self.head[1] & MASKED == 0 { 0 } else { MASK.len() }
    }

    fn payload_length(&self) -> u64 {
        let of = |bytes: &[u8]| bytes.iter().fold(0, |length, &byte| length << 8 | u64::from(byte));
        match self.head[1] & !MASKED {
            126 => of(&self.head[2..4]),
            127 => of(&self.head[2..10]),
            length => u64::from(length),
        }
    }
}

/// Returns a close frame with `code` and a `reason` of at most 123 bytes. The frames of clients are masked
/// (`is_masked`).
pub(super) fn close(code: u16, reason: &str, is_masked: bool) -> Vec<u8> {
    let length = u8::try_from(size_of_val(&code) + reason.len()).unwrap_or_default();
    let mut frame = vec![LAST | CLOSE, length | if is_masked { MASKED } else { 0 }];
    if is_masked {
        frame.extend(MASK);
    }
    frame.extend(code.to_be_bytes());
    frame.extend(reason.as_bytes());
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_every_length_are_followed() {
        for (head, payload) in [
            (vec![0x81, 5], 5),
            (vec![0x82, 0x80 | 5, 1, 2, 3, 4], 5),
            (vec![0x82, 126, 1, 0], 256),
            (vec![0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 0, 1, 2, 3, 4], 65_536),
            (vec![0x89, 0], 0),
        ] {
            let mut frame = head;
            frame.extend(vec![0x88; payload]);
            for cut in [1, 2, 3, frame.len() - 1, frame.len()] {
                let (first, second) = frame.split_at(cut.min(frame.len()));
                let mut frames = Frames::default();
                frames.pass(first);
                assert_eq!(frames.is_between(), second.is_empty(), "{cut} of {payload}");
                frames.pass(second);
                frames.pass(&frame);
                assert!(frames.is_between() && !frames.is_closed(), "{cut} of {payload}");
            }
        }
    }

    #[test]
    fn our_close_frame_is_recognized() {
        assert_eq!(close(1001, "bye", false), b"\x88\x05\x03\xe9bye");
        assert_eq!(close(1001, "", true), b"\x88\x82\0\0\0\0\x03\xe9");
        for is_masked in [false, true] {
            let mut frames = Frames::default();
            frames.pass(&close(1011, "the function has ended", is_masked));
            assert!(frames.is_between() && frames.is_closed());
        }
    }
}
