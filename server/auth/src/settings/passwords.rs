//! Rules for passwords.

use ::settings::Value;

::settings::settings! {
    /// Rules for passwords, and how passwords are hashed.
    #[derive(Debug, Clone)]
    pub struct PasswordSettings {
        /// The minimum length in characters; at least 6.
        #[setting(variables = ["GOTRUE_PASSWORD_MIN_LENGTH"], key = "auth.minimum_password_length", check = at_least_six)]
        pub min_length: usize = 6,
        /// Sets of characters. A password must have at least one character of each set.
        #[setting(variables = ["GOTRUE_PASSWORD_REQUIRED_CHARACTERS"], key = "auth.password_requirements")]
        pub required_characters: CharacterSets = CharacterSets::default(),
        /// Whether passwords are refused that are in a list of leaked passwords.
        #[setting(variables = ["GOTRUE_PASSWORD_HIBP_ENABLED"])]
        pub leaked_check: bool = false,
        /// Whether passwords are refused while that list cannot be read.
        #[setting(variables = ["GOTRUE_PASSWORD_HIBP_FAIL_CLOSED"])]
        pub leaked_check_fails_closed: bool = false,
        /// The URL of that list. The first five hex digits of the password's SHA-1 are appended.
        #[setting(variables = ["BASALT_PASSWORD_HIBP_URL"])]
        pub leaked_check_url: String = "https://api.pwnedpasswords.com/range/".to_owned(),
        /// The cost of bcrypt: 2 to this power rounds. The default is upstream's.
        pub bcrypt_cost: u32 = 10,
        /// How many hashes are computed at the same time, each on a thread of low priority. The default is the number
        /// of processors.
        pub parallel_hashes: usize = std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        /// How many passwords may be hashed or wait for it at the same time. Further sign-ins get 503.
        #[setting(variables = ["BASALT_PASSWORD_QUEUE"], key = "basalt.auth.password_queue")]
        pub queue_length: usize = 100,
    }
}

fn at_least_six(length: usize) -> Result<usize, &'static str> {
    if length < 6 { Err("at least 6") } else { Ok(length) }
}

/// Sets of characters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CharacterSets(pub Vec<String>);

impl Value for CharacterSets {
    const EXPECTED: &'static str = "letters_digits, lower_upper_letters_digits or \
        lower_upper_letters_digits_symbols (sets of characters, separated by colons, in the environment)";

    /// Parses sets that are separated by colons. A colon inside a set is written `\:`.
    fn from_text(text: &str) -> Option<Self> {
        let sets = text.replace("\\:", "\0");
        let sets = sets.split(':').filter(|set| !set.is_empty());
        Some(Self(sets.map(|set| set.replace('\0', ":")).collect()))
    }

    /// Reads a name that the CLI has for several sets.
    fn from_toml(value: &toml::Value) -> Option<Self> {
        const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
        const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        const DIGITS: &str = "0123456789";
        const SYMBOLS: &str = "!@#$%^&*()_+-=[]{};'\\:\"|<>?,./`~";
        let letters = [LOWER, UPPER].concat();
        let sets: &[&str] = match value.as_str()? {
            "" => &[],
            "letters_digits" => &[&letters, DIGITS],
            "lower_upper_letters_digits" => &[LOWER, UPPER, DIGITS],
            "lower_upper_letters_digits_symbols" => &[LOWER, UPPER, DIGITS, SYMBOLS],
            _ => return None,
        };
        Some(Self(sets.iter().map(|set| (*set).to_owned()).collect()))
    }

    fn show(&self) -> Option<String> {
        let sets: Vec<String> = self.0.iter().map(|set| set.replace(':', "\\:")).collect();
        (!sets.is_empty()).then(|| sets.join(":"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_characters_are_split_at_plain_colons() {
        let sets = CharacterSets::from_text("abc:123:a\\:b").unwrap();
        assert_eq!(sets.0, ["abc", "123", "a:b"]);
        assert_eq!(sets.show().as_deref(), Some("abc:123:a\\:b"));
    }

    #[test]
    fn requirements_have_names() {
        let sets = |name: &str| CharacterSets::from_toml(&name.into());
        assert_eq!(sets("lower_upper_letters_digits").unwrap().0.len(), 3);
        assert_eq!((sets(""), sets("strong")), (Some(CharacterSets::default()), None));
    }
}
