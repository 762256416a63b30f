//! Seals on the messages that nodes of a project send each other, so that nobody else is believed who reaches the
//! broker between them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Bytes of the authentication code, half of what HMAC-SHA256 yields (RFC 2104, section 5), and of the time.
const CODE: usize = 16;
const TIME: usize = 8;
/// The most that the clocks of two nodes may differ. A message that was recorded is worth nothing after that time.
const MAX_AGE: Duration = Duration::from_secs(300);

/// Seals messages of one kind, and opens those that were sealed with the same project's secret.
///
/// The content is not hidden.
#[derive(Clone)]
pub struct MessageSeal(Hmac<Sha256>);

impl std::fmt::Debug for MessageSeal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MessageSeal").finish_non_exhaustive()
    }
}

impl MessageSeal {
    pub(crate) fn new(secret: [u8; 32]) -> Self {
        // A key of the block's length, which HMAC fills with zeros anyway (RFC 2104, section 2).
        let mut block = [0; 64];
        block[..32].copy_from_slice(&secret);
        Self(Hmac::new(&block.into()))
    }

    /// Returns `message` behind its seal.
    pub fn seal(&self, message: &[u8]) -> Vec<u8> {
        self.seal_at(message, since_1970())
    }

    fn seal_at(&self, message: &[u8], now: Duration) -> Vec<u8> {
        let milliseconds = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        let mut sealed = Vec::with_capacity(CODE + TIME + message.len());
        sealed.extend_from_slice(&[0; CODE]);
        sealed.extend_from_slice(&milliseconds.to_be_bytes());
        sealed.extend_from_slice(message);
        let code = self.0.clone().chain_update(&sealed[CODE..]).finalize().into_bytes();
        sealed[..CODE].copy_from_slice(&code[..CODE]);
        sealed
    }

    /// Returns the message behind its seal; `None` if the seal is not the project's, or too old.
    pub fn open<'m>(&self, sealed: &'m [u8]) -> Option<&'m [u8]> {
        self.open_at(sealed, since_1970())
    }

    fn open_at<'m>(&self, sealed: &'m [u8], now: Duration) -> Option<&'m [u8]> {
        let (code, content) = sealed.split_at_checked(CODE)?;
        self.0.clone().chain_update(content).verify_truncated_left(code).ok()?;
        let (time, message) = content.split_first_chunk::<TIME>()?;
        let age = now.abs_diff(Duration::from_millis(u64::from_be_bytes(*time)));
        (age <= MAX_AGE).then_some(message)
    }
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1_800_000_000);

    #[test]
    fn what_the_project_has_sealed_is_opened() {
        let seal = MessageSeal::new([7; 32]);
        for message in [&b""[..], b"a", &[0; 70_000]] {
            assert_eq!(seal.open(&seal.seal(message)), Some(message));
        }
    }

    #[test]
    fn what_others_have_made_or_changed_is_not() {
        let (seal, other) = (MessageSeal::new([7; 32]), MessageSeal::new([8; 32]));
        let sealed = seal.seal_at(b"message", NOW);
        assert_eq!(other.open_at(&sealed, NOW), None);
        for index in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[index] ^= 1;
            assert_eq!(seal.open_at(&changed, NOW), None, "{index}");
            assert_eq!(seal.open_at(&sealed[..index], NOW), None, "{index}");
        }
        assert_eq!(seal.open_at(&[&sealed[..], b"more"].concat(), NOW), None);
    }

    #[test]
    fn what_was_recorded_is_worth_nothing_later() {
        let seal = MessageSeal::new([7; 32]);
        let sealed = seal.seal_at(b"message", NOW);
        for (seconds, is_open) in [(0, true), (300, true), (301, false), (86_400, false)] {
            let difference = Duration::from_secs(seconds);
            assert_eq!(seal.open_at(&sealed, NOW + difference).is_some(), is_open, "{seconds} s later");
            assert_eq!(seal.open_at(&sealed, NOW - difference).is_some(), is_open, "{seconds} s earlier");
        }
    }
}
