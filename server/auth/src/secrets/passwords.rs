//! The rules that new passwords must follow.

use crate::error::WeakPassword;
use crate::secrets::leaks::Leaks;
use crate::{Error, PasswordSettings};

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

/// Checks whether `password` may be set.
///
/// Errors: `validation_failed` for none and for more than 72 bytes, `weak_password`.
pub(crate) async fn check_new(
    settings: &PasswordSettings,
    leaks: &Leaks,
    password: &str,
) -> Result<(), Error> {
    check_length(password)?;
    match weakness(settings, leaks, password).await? {
        Some(weakness) => Err(Error::WeakPassword(weakness)),
        None => Ok(()),
    }
}

/// Returns what `password` lacks, if anything; the settings may require a lookup among leaked passwords.
///
/// Errors: 500 if the lookup fails and the settings require it.
pub(crate) async fn weakness(
    settings: &PasswordSettings,
    leaks: &Leaks,
    password: &str,
) -> Result<Option<WeakPassword>, Error> {
    let weakness = settings.weakness(password);
    if !leaks.contains(password).await? {
        return Ok(weakness);
    }
    let mut weakness = weakness.unwrap_or_default();
    weakness.add("pwned", "Password is known to be weak and easy to guess, please choose a different one.");
    Ok(Some(weakness))
}

impl PasswordSettings {
    /// Returns what `password` lacks, if anything.
    pub(crate) fn weakness(&self, password: &str) -> Option<WeakPassword> {
        let (mut messages, mut reasons) = (Vec::new(), Vec::new());
        if password.chars().count() < self.min_length.max(6) {
            messages.push(format!("Password should be at least {} characters.", self.min_length.max(6)));
            reasons.push("length".to_owned());
        }
        let lacks = |set: &String| !set.is_empty() && !password.contains(|character| set.contains(character));
        if self.required_characters.0.iter().any(lacks) {
            let sets = self.required_characters.0.join(", ");
            messages.push(format!("Password should contain at least one character of each: {sets}."));
            reasons.push("characters".to_owned());
        }
        (!reasons.is_empty()).then(|| WeakPassword::new(messages.join(" "), reasons))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_for_weak_passwords_are_listed() {
        let settings = PasswordSettings {
            min_length: 8,
            required_characters: crate::CharacterSets(vec!["abc".into(), "0123456789".into()]),
            ..PasswordSettings::default()
        };
        assert_eq!(settings.weakness("abcdefg1"), None);
        assert_eq!(settings.weakness("a1").unwrap().reasons(), ["length"]);
        assert_eq!(settings.weakness("zzz").unwrap().reasons(), ["length", "characters"]);
    }
}
