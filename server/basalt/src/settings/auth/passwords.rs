//! What passwords must be like: `[auth]` and `GOTRUE_PASSWORD_*`.

use auth::PasswordSettings;

use super::{Invalid, Reader, gotrue, optional};

pub(super) fn read(reader: &mut Reader<'_>) -> Result<PasswordSettings, Invalid> {
    let default = PasswordSettings::default();
    let key = "auth.minimum_password_length";
    let min_length = gotrue(reader, key, "PASSWORD_MIN_LENGTH", default.min_length)?;
    if min_length < 6 {
        return Err(Invalid::new(key, "at least 6", &min_length));
    }
    let required: Option<String> = optional(reader, "", "PASSWORD_REQUIRED_CHARACTERS")?;
    let name: String = reader.get("auth.password_requirements", &[])?.unwrap_or_default();
    let sets = match required {
        // Sets are separated by colons; a colon within a set is escaped.
        Some(text) => split_sets(&text),
        None => requirements(&name)?,
    };
    let url: Option<String> = reader.get("", &["BASALT_PASSWORD_HIBP_URL"])?;
    Ok(PasswordSettings {
        min_length,
        required_characters: sets,
        leaked_check: gotrue(reader, "", "PASSWORD_HIBP_ENABLED", default.leaked_check)?,
        leaked_check_fails_closed: gotrue(
            reader,
            "",
            "PASSWORD_HIBP_FAIL_CLOSED",
            default.leaked_check_fails_closed,
        )?,
        leaked_check_url: url.unwrap_or(default.leaked_check_url),
        ..default
    })
}

fn split_sets(text: &str) -> Vec<String> {
    let sets = text.replace("\\:", "\0");
    sets.split(':').filter(|set| !set.is_empty()).map(|set| set.replace('\0', ":")).collect()
}

/// What the CLI's names for requirements stand for.
fn requirements(name: &str) -> Result<Vec<String>, Invalid> {
    const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
    const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const DIGITS: &str = "0123456789";
    const SYMBOLS: &str = "!@#$%^&*()_+-=[]{};'\\:\"|<>?,./`~";
    let letters = [LOWER, UPPER].concat();
    let sets: &[&str] = match name {
        "" => &[],
        "letters_digits" => &[&letters, DIGITS],
        "lower_upper_letters_digits" => &[LOWER, UPPER, DIGITS],
        "lower_upper_letters_digits_symbols" => &[LOWER, UPPER, DIGITS, SYMBOLS],
        other => {
            let expected = "letters_digits, lower_upper_letters_digits or lower_upper_letters_digits_symbols";
            return Err(Invalid::new("auth.password_requirements", expected, &format!("{other:?}")));
        }
    };
    Ok(sets.iter().map(|set| (*set).to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_characters_are_split_at_plain_colons() {
        assert_eq!(split_sets("abc:123:a\\:b"), ["abc", "123", "a:b"]);
    }

    #[test]
    fn requirements_have_names() {
        assert_eq!(requirements("lower_upper_letters_digits").unwrap().len(), 3);
        assert!(requirements("strong").unwrap_err().to_string().contains("letters_digits"));
    }
}
