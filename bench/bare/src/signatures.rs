//! The cost of verifying a user's token.

use std::error::Error;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokens::{KeyOverrides, Keys, Verifier};

use crate::clock;

/// Verifications between two reads of the clock.
const BATCH: u32 = 16;

/// Verifies a token with the usual claims for the time `span`, once for each figure. Returns microseconds of processor
/// time: for a new token that is signed with a project's generated key (`es256_us`) or with the shared secret, as the
/// legacy API keys are (`hs256_us`), and for a token that was verified before (`cached_us`).
pub(crate) fn measure(span: Duration) -> Result<Value, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let keys = Keys::load_or_create(&folder.path().join("keys.json"), KeyOverrides::default())?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let user = "6a5ad8c4-4f6f-4f0e-8f0e-6a5ad8c44f6f";
    let token = keys.sign(&json!({
        "sub": user, "aud": "authenticated", "role": "authenticated", "iss": "http://127.0.0.1:54321/auth/v1",
        "iat": now, "exp": now + 3600, "email": "ann.ashby@club.example", "phone": "", "aal": "aal1",
        "session_id": "0b1c5d6e-7f80-4a91-b2c3-d4e5f6a7b8c9", "is_anonymous": false,
        "app_metadata": { "provider": "email", "providers": ["email"] },
        "user_metadata": { "full_name": "Ann Ashby", "email_verified": true, "sub": user },
        "amr": [{ "method": "password", "timestamp": now }],
    }))?;
    let uncached = keys.verifier().with_cache_of(0);
    Ok(json!({
        "es256_us": microseconds(&uncached, &token, span)?,
        "hs256_us": microseconds(&uncached, keys.api_keys().anon(), span)?,
        "cached_us": microseconds(&keys.verifier(), &token, span)?,
    }))
}

/// Returns the microseconds of processor time for one verification of `token`.
fn microseconds(verifier: &Verifier, token: &str, span: Duration) -> Result<f64, Box<dyn Error>> {
    verifier.verify(token)?;
    let (start, before) = (Instant::now(), clock::of_this_thread()?);
    let mut verified = 0_u32;
    while start.elapsed() < span {
        for _ in 0..BATCH {
            std::hint::black_box(verifier.verify(std::hint::black_box(token))?);
        }
        verified += BATCH;
    }
    let used = clock::of_this_thread()? - before;
    Ok(used.as_secs_f64() * 1e6 / f64::from(verified))
}
