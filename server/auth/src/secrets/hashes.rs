//! Hashes of passwords of users that are imported from other systems, and of recovery codes.
//!
//! bcrypt (`$2…`), Argon2i and Argon2id (`$argon2i$…`, `$argon2id$…`, the PHC string format), and Firebase's scrypt
//! (`$fbscrypt$v=1,n=…,r=…,p=…,ss=…,sk=…$salt$hash`, in base64). Passwords that are changed get bcrypt.

use aes::Aes256;
use aes::cipher::{KeyIvInit as _, StreamCipher as _};
use argon2::{Algorithm, Argon2, Version};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use subtle::ConstantTimeEq as _;

/// Most memory that a hash may ask for, in KiB; upstream's.
const MAX_MEMORY: u64 = 1 << 20;
/// Most passes of Argon2; upstream's.
const MAX_PASSES: u32 = 20;
/// Most lanes of Argon2 and parallel runs of scrypt; upstream's.
const MAX_LANES: u32 = 16;

/// KiB that the hash of a recovery code takes, passes and bytes; upstream's.
const CODE_MEMORY: u32 = 19_456;
const CODE_PASSES: u32 = 1;
const CODE_BYTES: usize = 32;

/// Returns the hash of a recovery code: Argon2id in the PHC string format. Takes long: must not be called on async
/// threads. Errors: a sentence.
pub(crate) fn of_recovery_code(code: &str) -> Result<String, String> {
    let parameters = argon2::Params::new(CODE_MEMORY, CODE_PASSES, 1, Some(CODE_BYTES));
    let parameters = parameters.map_err(|error| error.to_string())?;
    let (salt, mut hash) = (rand::random::<[u8; 16]>(), [0; CODE_BYTES]);
    Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters)
        .hash_password_into(code.as_bytes(), &salt, &mut hash)
        .map_err(|error| error.to_string())?;
    let (salt, hash) = (STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(hash));
    Ok(format!("$argon2id$v=19$m={CODE_MEMORY},t={CODE_PASSES},p=1${salt}${hash}"))
}

/// A hash that passwords can be compared with.
pub(crate) enum Hash<'a> {
    Bcrypt(&'a str),
    Argon2 { algorithm: Algorithm, parameters: argon2::Params, salt: Vec<u8>, hash: Vec<u8> },
    Firebase { parameters: scrypt::Params, salt: Vec<u8>, signer_key: Vec<u8>, hash: Vec<u8> },
}

impl<'a> Hash<'a> {
    /// Reads `text`. Errors: a sentence for a form that is unknown, broken, or too costly to verify.
    pub(crate) fn parse(text: &'a str) -> Result<Self, String> {
        if let Some(rest) = text.strip_prefix("$argon2") {
            return argon2(rest);
        }
        if let Some(rest) = text.strip_prefix("$fbscrypt$") {
            return firebase(rest);
        }
        let parts = text.parse::<bcrypt::HashParts>();
        parts.map(|_| Hash::Bcrypt(text)).map_err(|error| format!("not a bcrypt hash: {error}"))
    }

    /// Returns whether `password` has this hash. Takes long: must not be called on async threads. Errors: a sentence.
    pub(crate) fn verify(&self, password: &[u8]) -> Result<bool, String> {
        match self {
            Hash::Bcrypt(hash) => bcrypt::verify(password, hash).map_err(|error| error.to_string()),
            Hash::Argon2 { algorithm, parameters, salt, hash } => {
                let mut derived = vec![0; hash.len()];
                Argon2::new(*algorithm, Version::V0x13, parameters.clone())
                    .hash_password_into(password, salt, &mut derived)
                    .map_err(|error| error.to_string())?;
                Ok(derived.ct_eq(hash).into())
            }
            Hash::Firebase { parameters, salt, signer_key, hash } => {
                let mut key = [0; 32];
                scrypt::scrypt(password, salt, parameters, &mut key).map_err(|error| error.to_string())?;
                let mut encrypted = signer_key.clone();
                let mut cipher = ctr::Ctr128BE::<Aes256>::new(&key.into(), &[0; 16].into());
                cipher.apply_keystream(&mut encrypted);
                Ok(encrypted.ct_eq(hash).into())
            }
        }
    }
}

/// Returns the parameter `name` of a hash's `a=1,b=2`.
fn parameter<'a>(list: &'a str, name: &str) -> Option<&'a str> {
    list.split(',').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

fn number<T: std::str::FromStr>(list: &str, name: &str) -> Result<T, String> {
    let number = parameter(list, name).and_then(|text| text.parse().ok());
    number.ok_or_else(|| format!("parameter {name} is missing or not a number"))
}

/// Parses `i$v=19$m=65536,t=2,p=1$salt$hash`.
fn argon2(text: &str) -> Result<Hash<'_>, String> {
    let parts: Vec<&str> = text.split('$').collect();
    let [kind, version, parameters, salt, hash] = parts.as_slice() else {
        return Err("an Argon2 hash has five parts".to_owned());
    };
    let algorithm = match *kind {
        "i" => Algorithm::Argon2i,
        "id" => Algorithm::Argon2id,
        other => return Err(format!("argon2{other} is not supported, only argon2i and argon2id are")),
    };
    if *version != "v=19" {
        return Err("only version 19 of Argon2 is supported".to_owned());
    }
    if parameter(parameters, "keyid").is_some() || parameter(parameters, "data").is_some() {
        return Err("Argon2 hashes with keyid or data are not supported".to_owned());
    }
    let (memory, passes, lanes): (u32, u32, u32) =
        (number(parameters, "m")?, number(parameters, "t")?, number(parameters, "p")?);
    if u64::from(memory) > MAX_MEMORY || passes > MAX_PASSES || lanes > MAX_LANES {
        return Err("the hash is too costly to verify".to_owned());
    }
    let decode = |text: &str| STANDARD_NO_PAD.decode(text).map_err(|_| "broken base64".to_owned());
    let (salt, hash) = (decode(salt)?, decode(hash)?);
    let parameters = argon2::Params::new(memory, passes, lanes, Some(hash.len()));
    let parameters = parameters.map_err(|error| error.to_string())?;
    if salt.is_empty() {
        return Err("the salt is empty".to_owned());
    }
    Ok(Hash::Argon2 { algorithm, parameters, salt, hash })
}

/// Parses `v=1,n=14,r=8,p=1,ss=…,sk=…$salt$hash`.
fn firebase(text: &str) -> Result<Hash<'_>, String> {
    let (parameters, rest) = text.split_once('$').ok_or("the salt is missing")?;
    let (salt, hash) = rest.split_once('$').ok_or("the hash is missing")?;
    if parameter(parameters, "v") != Some("1") {
        return Err("only version 1 of Firebase's scrypt is supported".to_owned());
    }
    let (log_n, r, p): (u8, u32, u32) =
        (number(parameters, "n")?, number(parameters, "r")?, number(parameters, "p")?);
    // scrypt takes 128 bytes times N times r.
    let memory =
        1_u64.checked_shl(log_n.into()).and_then(|n| n.checked_mul(u64::from(r))).map(|blocks| blocks / 8);
    if log_n == 0 || p > MAX_LANES || memory.is_none_or(|kibibytes| kibibytes > MAX_MEMORY) {
        return Err("the hash is too costly to verify, or n is 0".to_owned());
    }
    let decode = |text: &str| STANDARD.decode(text).map_err(|_| "broken base64".to_owned());
    let mut salt = decode(salt)?;
    salt.extend(decode(parameter(parameters, "ss").unwrap_or_default())?);
    Ok(Hash::Firebase {
        parameters: scrypt::Params::new(log_n, r, p).map_err(|error| error.to_string())?,
        salt,
        signer_key: decode(parameter(parameters, "sk").unwrap_or_default())?,
        hash: decode(hash)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hashes of "password" as the reference implementations' tests have them, and Firebase's example.
    const KNOWN: [(&str, &str); 4] = [
        ("password", "$argon2i$v=19$m=65536,t=2,p=4$c29tZXNhbHQ$RdescudvJCsgt3ub+b+dWRWJTmaaJObG"),
        (
            "password",
            "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
        ),
        (
            "user1password",
            "$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk=jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKb\
             m0QsEmYUSDzZvpjeJ9WmXA==$42xEC+ixf3L2lw==$lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoI\
             tz+VHjoZilo78198JAdRuid5lQ==",
        ),
        ("U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"),
    ];

    #[test]
    fn known_hashes_know_their_passwords() {
        for (password, hash) in KNOWN {
            let parsed = Hash::parse(hash).unwrap();
            assert_eq!(parsed.verify(password.as_bytes()), Ok(true), "{hash}");
            assert_eq!(parsed.verify(b"Password"), Ok(false), "{hash}");
        }
    }

    #[test]
    fn the_hash_of_a_recovery_code_knows_its_code() {
        let hash = of_recovery_code("k4m9x7qp2ab6ht3z").unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=1,p=1$"), "{hash}");
        let parsed = Hash::parse(&hash).unwrap();
        assert_eq!(parsed.verify(b"k4m9x7qp2ab6ht3z"), Ok(true));
        assert_eq!(parsed.verify(b"k4m9x7qp2ab6ht3y"), Ok(false));
        assert_ne!(of_recovery_code("k4m9x7qp2ab6ht3z").unwrap(), hash, "each has a salt of its own");
    }

    #[test]
    fn broken_and_costly_hashes_are_refused() {
        for hash in [
            "",
            "plain",
            "$2a$10$short",
            "$argon2d$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
            "$argon2id$v=16$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
            "$argon2id$v=19$m=4294967295,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
            "$argon2id$v=19$m=65536,t=999,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
            "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$",
            "$argon2id$v=19$m=65536,t=2,p=1$!$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
            "$fbscrypt$v=1,n=63,r=8,p=1$c2FsdA==$aGFzaA==",
            "$fbscrypt$v=1,n=14,r=4294967295,p=1$c2FsdA==$aGFzaA==",
            "$fbscrypt$v=2,n=14,r=8,p=1$c2FsdA==$aGFzaA==",
            "$fbscrypt$v=1,n=0,r=8,p=1$c2FsdA==$aGFzaA==",
            "$fbscrypt$v=1,n=14,r=8,p=1$c2FsdA==",
        ] {
            assert!(Hash::parse(hash).is_err(), "{hash}");
        }
    }
}
