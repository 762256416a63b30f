//! Secrets: how passwords are judged and hashed, refresh tokens, and the encryption of what is stored.

pub(crate) mod encryption;
pub(crate) mod hasher;
pub(crate) mod hashes;
pub(crate) mod leaks;
pub(crate) mod passwords;
pub(crate) mod refresh_token;
