//! PostgREST's configuration file: `name = value`, a text in quotes, a number or a truth value, with comments after `#`.
//!
//! Source: PostgREST's documentation, "Config File". What it shows is TOML, too.

use std::path::Path;

use super::super::Invalid;

/// The settings in the file at `path`, under the names of their variables without the prefix, in small letters.
///
/// Errors: [`Invalid`] for a file that cannot be read, and for one of another form. Its lines may hold secrets: they are
/// not repeated.
pub(super) fn read(path: &Path) -> Result<Vec<(String, String)>, Invalid> {
    let refused = |expected: &str, found: &dyn std::fmt::Display| {
        Invalid::new(&path.display().to_string(), expected, found)
    };
    let text = std::fs::read_to_string(path).map_err(|error| refused("a file that can be read", &error))?;
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        refused("lines of the form name = \"value\"", &format!("something else in line {line}"))
    })?;
    let mut settings = Vec::new();
    for (name, value) in &table {
        collect(name, value, &mut settings).map_err(|name| {
            refused("lines of the form name = \"value\"", &format!("a list of values for {name}"))
        })?;
    }
    Ok(settings)
}

/// Adds what is set at and below `name`: the dots in `app.settings.x` lead into tables.
///
/// Errors: the name of a setting that has no single value.
fn collect(name: &str, value: &toml::Value, into: &mut Vec<(String, String)>) -> Result<(), String> {
    let text = match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Boolean(truth) => truth.to_string(),
        toml::Value::Table(table) => {
            return table
                .iter()
                .try_for_each(|(part, value)| collect(&format!("{name}.{part}"), value, into));
        }
        _ => return Err(name.to_owned()),
    };
    into.push((name.replace(['-', '.'], "_").to_ascii_lowercase(), text));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<(String, String)>, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        read(file.path()).map_err(|error| error.to_string())
    }

    #[test]
    fn names_become_those_of_variables() {
        let found = parse(
            "# a comment\ndb-uri = \"postgres://a@h/d\"\n\ndb-pool = 3 # three\njwt-secret-is-base64 = false\n\
             app.settings.key = \"a \\\"b\\\"\"\ndb-extra-search-path = \"\"\n",
        );
        let mut found = found.unwrap();
        found.sort();
        let expected = [
            ("app_settings_key", "a \"b\""),
            ("db_extra_search_path", ""),
            ("db_pool", "3"),
            ("db_uri", "postgres://a@h/d"),
            ("jwt_secret_is_base64", "false"),
        ];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn mistakes_are_named_without_what_may_be_secret() {
        let error = parse("db-pool = 3\njwt-secret = hunter2\n").unwrap_err();
        assert!(error.contains("line 2") && !error.contains("hunter2"), "{error}");
        assert!(parse("db-schemas = [\"a\"]").unwrap_err().contains("db-schemas"));
        assert!(
            read(Path::new("/nonexistent"))
                .unwrap_err()
                .to_string()
                .contains("/nonexistent: expected a file")
        );
    }
}
