//! Passwords: how they are verified and what they should be like.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use poem_openapi::Object;
use tokio::sync::Semaphore;

use crate::error::refusals;
use crate::{Auth, Error, PasswordSettings, hashes};

/// A well-formed hash of the usual cost that no known password has. Unknown users are compared with it, so that
/// they take as long as known ones.
const NOBODY: &str = "$2a$10$q3Vd0mYxW7c9uJfK2sLhNeR8tBzA5oGiPw1yXk6TnUvQjH4rESCda";

/// Verifies hashes on threads of their own, few at a time.
pub(crate) struct Hasher {
    threads: Arc<Semaphore>,
    waiting: AtomicUsize,
    queue_length: usize,
    cost: u32,
}

impl Hasher {
    pub(crate) fn new(settings: &PasswordSettings) -> Hasher {
        Hasher {
            threads: Arc::new(Semaphore::new(settings.parallel_hashes.max(1))),
            waiting: AtomicUsize::new(0),
            queue_length: settings.queue_length.max(1),
            cost: settings.bcrypt_cost,
        }
    }

    /// The bcrypt hash of `password`.
    ///
    /// Errors: `over_request_rate_limit` when the queue is full.
    pub(crate) async fn hash(&self, password: String) -> Result<String, Error> {
        let cost = self.cost;
        let hash = self.run(move || bcrypt::hash(password, cost)).await?;
        hash.map_err(|error| Error::Internal(error.to_string()))
    }

    /// Whether `password` has the hash `hash`, of bcrypt or one of the others that users bring along. Without a hash it
    /// takes as long as with bcrypt, and is then false.
    ///
    /// Errors: `over_request_rate_limit` when the queue is full.
    pub(crate) async fn verify(&self, password: String, hash: Option<&str>) -> Result<bool, Error> {
        let hash = hash.filter(|hash| hash.starts_with('$'));
        let (known, hash) = (hash.is_some(), hash.unwrap_or(NOBODY).to_owned());
        match self.run(move || hashes::verify(&hash, password.as_bytes())).await? {
            Ok(matches) => Ok(matches && known),
            Err(error) => {
                tracing::warn!(%error, "a stored password hash cannot be read");
                Ok(false)
            }
        }
    }
}

impl Hasher {
    async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
        let _place = Place::take(self)?;
        let permit = Arc::clone(&self.threads).acquire_owned().await;
        let permit = permit.map_err(|error| Error::Internal(error.to_string()))?;
        let done = tokio::task::spawn_blocking(move || {
            // Held until the hash is done even if the request is gone, so that the bound is one of real work.
            let _permit = permit;
            work()
        });
        done.await.map_err(|error| Error::Internal(error.to_string()))
    }
}

/// A place in the queue, given back when dropped.
struct Place<'a>(&'a Hasher);

impl Place<'_> {
    fn take(hasher: &Hasher) -> Result<Place<'_>, Error> {
        let place = Place(hasher);
        if hasher.waiting.fetch_add(1, Ordering::Relaxed) >= hasher.queue_length {
            return Err(refusals::over_request_rate_limit());
        }
        Ok(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Most bytes of a password: bcrypt would ignore more.
const LONGEST: usize = 72;

/// Checks that no part of `password` would be ignored.
///
/// Errors: `validation_failed` for more than 72 bytes.
pub(crate) fn check_length(password: &str) -> Result<(), Error> {
    if password.len() > LONGEST {
        return Err(Error::validation(format!("Password cannot be longer than {LONGEST} characters")));
    }
    Ok(())
}

/// Checks whether `password` may become somebody's.
///
/// Errors: `validation_failed` for none and for more than 72 bytes, `weak_password`.
pub(crate) async fn check_new(auth: &Auth, password: &str) -> Result<(), Error> {
    check_length(password)?;
    match weakness(auth, password).await? {
        Some(weakness) => Err(Error::WeakPassword(weakness)),
        None => Ok(()),
    }
}

/// What `password` lacks, if anything; settings may ask others whether it has leaked.
///
/// Errors: 500 if nobody can tell and settings want such passwords refused.
pub(crate) async fn weakness(auth: &Auth, password: &str) -> Result<Option<WeakPassword>, Error> {
    let weakness = auth.settings.passwords.weakness(password);
    if !auth.leaks.know(password).await? {
        return Ok(weakness);
    }
    let mut weakness = weakness.unwrap_or_default();
    weakness.add("pwned", "Password is known to be weak and easy to guess, please choose a different one.");
    Ok(Some(weakness))
}

/// Why a password should be changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Object)]
pub struct WeakPassword {
    /// For people.
    message: String,
    /// `length`, `characters`, `pwned`.
    reasons: Vec<String>,
}

impl WeakPassword {
    fn add(&mut self, reason: &str, message: &str) {
        if !self.message.is_empty() {
            self.message.push(' ');
        }
        self.message.push_str(message);
        self.reasons.push(reason.to_owned());
    }

    /// What the password lacks, for people.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// What the password lacks, for programs: `length`, `characters`, `pwned`.
    pub(crate) fn reasons(&self) -> &[String] {
        &self.reasons
    }
}

impl PasswordSettings {
    /// What `password` lacks, if anything.
    pub(crate) fn weakness(&self, password: &str) -> Option<WeakPassword> {
        let (mut messages, mut reasons) = (Vec::new(), Vec::new());
        if password.chars().count() < self.min_length.max(6) {
            messages.push(format!("Password should be at least {} characters.", self.min_length.max(6)));
            reasons.push("length".to_owned());
        }
        let lacks = |set: &String| !set.is_empty() && !password.contains(|character| set.contains(character));
        if self.required_characters.iter().any(lacks) {
            let sets = self.required_characters.join(", ");
            messages.push(format!("Password should contain at least one character of each: {sets}."));
            reasons.push("characters".to_owned());
        }
        (!reasons.is_empty()).then(|| WeakPassword { message: messages.join(" "), reasons })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hasher(parallel_hashes: usize, queue_length: usize) -> Hasher {
        Hasher::new(&PasswordSettings { parallel_hashes, queue_length, ..PasswordSettings::default() })
    }

    #[tokio::test]
    async fn only_the_right_password_of_a_known_user_matches() {
        let hasher = hasher(1, 10);
        let hash = bcrypt::hash("correct horse", 4).unwrap();
        assert!(hasher.verify("correct horse".into(), Some(&hash)).await.unwrap());
        assert!(!hasher.verify("battery staple".into(), Some(&hash)).await.unwrap());
        assert!(!hasher.verify("correct horse".into(), None).await.unwrap());
        assert!(!hasher.verify("correct horse".into(), Some("")).await.unwrap());
        assert!(!hasher.verify("correct horse".into(), Some("$2a$10$broken")).await.unwrap());
    }

    #[test]
    fn unknown_users_cost_as_much_as_known_ones() {
        let parts: bcrypt::HashParts = NOBODY.parse().unwrap();
        assert_eq!(parts.get_cost(), 10);
    }

    #[tokio::test]
    async fn a_full_queue_refuses_at_once_and_recovers() {
        let hasher = Arc::new(hasher(1, 2));
        let hash = bcrypt::hash("secret", 8).unwrap();
        let attempts: Vec<_> = (0..5)
            .map(|_| {
                let (hasher, hash) = (Arc::clone(&hasher), hash.clone());
                tokio::spawn(async move { hasher.verify("secret".into(), Some(&hash)).await })
            })
            .collect();
        let mut refused = 0;
        for attempt in attempts {
            refused += usize::from(attempt.await.unwrap().is_err());
        }
        assert_eq!(refused, 3);
        assert!(hasher.verify("secret".into(), Some(&hash)).await.unwrap());
    }

    #[test]
    fn weak_passwords_are_told_what_they_lack() {
        let settings = PasswordSettings {
            min_length: 8,
            required_characters: vec!["abc".into(), "0123456789".into()],
            ..PasswordSettings::default()
        };
        assert_eq!(settings.weakness("abcdefg1"), None);
        assert_eq!(settings.weakness("a1").unwrap().reasons, ["length"]);
        assert_eq!(settings.weakness("zzz").unwrap().reasons, ["length", "characters"]);
    }
}
