//! Where frames of a WebSocket end, which is all that has to be known to put one between them (RFC 6455, section 5).

/// The longest head of a frame: two bytes, eight of length, four of the mask.
const LONGEST_HEAD: usize = 14;
const CLOSE: u8 = 8;
/// The bit that says that a frame is the last of its message.
const LAST: u8 = 0x80;
/// The bit that says that a frame is masked.
const MASKED: u8 = 0x80;
/// The mask that changes nothing. Masks are against proxies that take a frame for a request, of which there are none on
/// a private socket.
const MASK: [u8; 4] = [0; 4];

/// How far one direction of a socket has come.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// The head of a frame that has come in part.
    head: [u8; LONGEST_HEAD],
    length: usize,
    /// Bytes that are still to come of a frame whose head has.
    payload: u64,
    is_closed: bool,
}

impl Frames {
    /// Follows the next `bytes` of the direction.
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

    /// Reports whether another frame may begin here.
    pub(super) fn is_between(&self) -> bool {
        self.length == 0 && self.payload == 0
    }

    /// Reports whether a frame has passed after which no other may.
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

/// Returns a frame that closes a socket, with `code` and a `reason` of at most 123 bytes; `is_masked` as those of
/// clients are.
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
    fn our_own_close_is_seen_as_one() {
        assert_eq!(close(1001, "bye", false), b"\x88\x05\x03\xe9bye");
        assert_eq!(close(1001, "", true), b"\x88\x82\0\0\0\0\x03\xe9");
        for is_masked in [false, true] {
            let mut frames = Frames::default();
            frames.pass(&close(1011, "the function has ended", is_masked));
            assert!(frames.is_between() && frames.is_closed());
        }
    }
}
