//! E-mail addresses and phone numbers.

use crate::Error;
use crate::error::refusals;

/// An address that a user signs in with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    /// Lowercase.
    Email(String),
    /// Digits only, without the leading plus sign.
    Phone(String),
}

impl Address {
    /// Returns the address in a sign-in request; absent fields are empty. Its form is not checked, since no user has an
    /// invalid address.
    ///
    /// Errors: `validation_failed` for none or both; `invalid_credentials` for one with a NUL character: Postgres
    /// cannot store it, so no user has such an address.
    pub(crate) fn of_sign_in(email: &str, phone: &str) -> Result<Self, Error> {
        if email.contains('\0') || phone.contains('\0') {
            return Err(refusals::invalid_credentials());
        }
        match (email, phone) {
            ("", "") => Err(Error::validation("missing email or phone")),
            (email, "") => Ok(Self::Email(email.to_lowercase())),
            ("", phone) => Ok(Self::Phone(without_punctuation(phone))),
            _ => Err(Error::validation("Only an email address or phone number should be provided on login.")),
        }
    }

    /// Returns the provider of identities with such an address.
    pub(crate) const fn provider(&self) -> &'static str {
        match self {
            Self::Email(_) => "email",
            Self::Phone(_) => "phone",
        }
    }

    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Email(text) | Self::Phone(text) => text,
        }
    }
}

/// Returns an e-mail address, lowercase.
///
/// Errors: `validation_failed` for none, for more than 255 bytes, and for text of another form than browsers take in
/// an e-mail field (HTML standard, "valid e-mail address").
pub(crate) fn email(text: &str) -> Result<String, Error> {
    if text.is_empty() {
        return Err(Error::validation("An email address is required"));
    }
    if text.len() > 255 {
        return Err(Error::validation("An email address is too long"));
    }
    if !is_email(text) {
        return Err(Error::validation("Unable to validate email address: invalid format"));
    }
    Ok(text.to_lowercase())
}

fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let local_byte = |byte: u8| byte.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&byte);
    !local.is_empty() && local.bytes().all(local_byte) && domain.split('.').all(label)
}

/// Returns a phone number in digits.
///
/// Errors: `validation_failed` for anything but 2 to 15 digits without a leading zero (ITU-T E.164).
pub(crate) fn phone(text: &str) -> Result<String, Error> {
    let digits = without_punctuation(text);
    let is_number = (2..=15).contains(&digits.len())
        && !digits.starts_with('0')
        && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_number {
        return Ok(digits);
    }
    Err(Error::validation("Invalid phone number format (E.164 required)"))
}

fn without_punctuation(phone: &str) -> String {
    phone.strip_prefix('+').unwrap_or(phone).replace(' ', "")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_are_taken_as_browsers_take_them() {
        assert_eq!(email("Ada.L+news@Example.COM").unwrap(), "ada.l+news@example.com");
        assert!(email("ada@localhost").is_ok());
        let bad =
            ["", "ada", "@example.com", "ada@", "a da@example.com", "ada@-x.com", "ada@x..com", "a@b@c.com"];
        for text in bad {
            assert!(email(text).is_err(), "{text}");
        }
        assert!(email("ada@example.com\r\nBcc: eve@example.com").is_err());
        assert!(email(&format!("{}@example.com", "a".repeat(250))).is_err());
    }

    proptest! {
        #[test]
        fn what_is_taken_is_safe_in_a_header(text in "\\PC{0,40}|[a-z.+@-]{0,30}") {
            if let Ok(email) = email(&text) {
                prop_assert!(email.bytes().all(|byte| byte.is_ascii_graphic()) && email.matches('@').count() == 1);
            }
            if let Ok(phone) = phone(&text) {
                prop_assert!(phone.bytes().all(|byte| byte.is_ascii_digit()));
            }
        }
    }

    #[test]
    fn numbers_are_digits_with_a_country_code() {
        assert_eq!(phone("+41 79 123 45 67").unwrap(), "41791234567");
        for text in ["", "+", "1", "0791234567", "+41-79", "1234567890123456", "４１７９"] {
            assert!(phone(text).is_err(), "{text}");
        }
    }
}
