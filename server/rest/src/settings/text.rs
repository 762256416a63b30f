//! Settings as the text of a configuration file, under upstream's names.

use std::fmt::Write as _;

use ::settings::{Secret, Table, text_values};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Settings;

impl Settings {
    /// Returns names and values as a configuration file has them: texts in quotes. Secrets are `"…"`.
    pub fn named(&self) -> Vec<(String, String)> {
        let effective = Self { jwt_cache_max_entries: self.jwt_cache_entries(), ..self.clone() };
        let mut named = named(&effective);
        named.extend(self.app_settings.iter().map(|(name, _)| (name.clone(), quoted("…"))));
        named
    }

    /// Returns what [`Self::named`] does, with the secrets: a file that sets all of this. Not for logs.
    pub fn dumped(&self) -> Vec<(String, String)> {
        let bytes = self.jwt_secret.as_ref().map(Secret::expose).unwrap_or_default();
        let encoded = std::str::from_utf8(bytes).map_or_else(|_| Some(STANDARD.encode(bytes)), |_| None);
        let secret = encoded.clone().unwrap_or_else(|| String::from_utf8_lossy(bytes).into_owned());
        let mut dumped = self.named();
        for (name, value) in &mut dumped {
            let own = self.app_settings.iter().find(|(known, _)| known == name);
            match (name.as_str(), own) {
                (_, Some((_, own))) => *value = quoted(own.expose()),
                ("jwt-secret", _) => *value = quoted(&secret),
                ("jwt-secret-is-base64", _) if encoded.is_some() => *value = true.to_string(),
                _ => {}
            }
        }
        dumped
    }
}

/// Returns the names and values of the settings of `table`, as a configuration file has them.
pub(super) fn named<T: Table>(table: &T) -> Vec<(String, String)> {
    text_values(table)
        .filter_map(|(setting, value)| {
            let name = name(setting.variables.first()?);
            Some(match value {
                Some(value) if setting.is_bare => (name, value),
                value => (name, quoted(&value.unwrap_or_default())),
            })
        })
        .collect()
}

/// Returns the part of an example of a configuration file that is about `T`: each setting with its documentation and
/// its default, as a comment if there is no default.
pub(super) fn example<T: Table>() -> String {
    let defaults = T::default();
    let mut text = String::new();
    for (setting, value) in text_values(&defaults) {
        let Some(variable) = setting.variables.first() else { continue };
        for line in setting.documentation {
            // Writing into a `String` cannot fail.
            let _ = writeln!(text, "##{line}");
        }
        let name = name(variable);
        let _ = match value {
            Some(value) if setting.is_bare => writeln!(text, "{name} = {value}\n"),
            Some(value) => writeln!(text, "{name} = {}\n", quoted(&value)),
            None => writeln!(text, "## Expects {}.\n# {name} = \"\"\n", setting.expected),
        };
    }
    text
}

/// Returns what a configuration file calls the setting of the environment variable `variable`.
fn name(variable: &str) -> String {
    variable.trim_start_matches("PGRST_").to_ascii_lowercase().replace('_', "-")
}

/// Returns `text` as a configuration file has it, where a dollar sign is doubled.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '$' => quoted.push_str("$$"),
            control if control.is_control() => {
                quoted.push_str(&format!("\\u{:04X}", u32::from(control)));
            }
            plain => quoted.push(plain),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dumped_settings_can_be_read_back() {
        let mut settings = Settings::default();
        for (name, value) in [
            ("db-schemas", "a,b"),
            ("db-max-rows", "5"),
            ("db-read-sticky-interval", "7"),
            ("db-safe-update", "true"),
            ("log-query", "true"),
            ("openapi-server-proxy-uri", "https://h:1/p"),
            ("server-trace-header", "x-a"),
            ("jwt-role-claim-key", "$.a[?@ == \"b\"]"),
        ] {
            settings.set(name, value).unwrap();
        }
        let mut read_back = Settings::default();
        for (name, value) in settings.named() {
            let value = value.trim_matches('"').replace("\\\"", "\"").replace("$$", "$");
            assert!(read_back.set(&name, &value).unwrap(), "{name}");
        }
        assert_eq!(read_back, settings);
    }

    #[test]
    fn the_room_for_tokens_is_dumped_as_it_holds() {
        let room = |settings: &Settings| {
            let named = settings.named();
            named.into_iter().find(|(name, _)| name == "jwt-cache-max-entries").map(|(_, value)| value)
        };
        let mut settings = Settings::default();
        assert_eq!(room(&settings).as_deref(), Some("\"\""));
        settings.set("jwt-secret", "hunter2hunter2hunter2hunter2hunter2").unwrap();
        assert_eq!(room(&settings).as_deref(), Some("1000"));
        settings.set("jwt-cache-max-entries", "7").unwrap();
        assert_eq!(room(&settings).as_deref(), Some("7"));
    }

    #[test]
    fn secrets_are_not_dumped() {
        let mut settings = Settings::default();
        settings.set("jwt-secret", "hunter2hunter2hunter2hunter2hunter2").unwrap();
        settings.set("app_settings_key", "hunter2").unwrap();
        assert!(!format!("{:?}", settings.named()).contains("hunter2"));
    }
}
