//! How secrets are kept in the database: sealed, and beside it a digest.

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use tokens::{Keys, ValueSeal};

use crate::Error;

/// Returns the seal of the server with these `keys`.
pub(crate) fn of(keys: &Keys) -> ValueSeal {
    keys.value_seal("sealed values of the platform interface")
}

/// Returns `value`, which is called `name`, sealed.
pub(crate) fn seal(seal: &ValueSeal, value: &str, name: &str) -> Result<Vec<u8>, Error> {
    seal.seal(value, name).ok_or_else(|| Error::Internal("a secret is too long to be sealed".to_owned()))
}

/// Returns the SHA-256 of `value`, hexadecimal: by it, tools notice whether a secret has the value that they know.
pub(crate) fn digest(value: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(value))
}
