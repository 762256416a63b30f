//! PostgREST's configuration file: lines `name = value` with a quoted text, a number or a boolean, and comments after
//! `#`.
//!
//! Source: PostgREST's documentation, "Config File", "app.settings.*" and "jwt-role-claim-key". What it shows is TOML,
//! too; in texts `$$` is a dollar sign, and `$(NAME)` another setting of the file or a variable of the environment.

use std::path::Path;

use ::settings::{Invalid, Variables};

/// Returns the settings of the file at `path`, under the names of their variables.
///
/// Errors: [`Invalid`] for a file that cannot be read, for one of another form, and for a dollar sign that means
/// nothing. Its lines may hold secrets: they are not repeated.
pub(super) fn read(path: &Path, variables: &Variables) -> Result<Vec<(String, String)>, Invalid> {
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
    let lookup = |wanted: &str| {
        let of_file = || {
            let value = table.get(wanted)?;
            value.as_str().map(str::to_owned).or_else(|| value.as_integer().map(|number| number.to_string()))
        };
        of_file().or_else(|| variables.get(wanted).cloned())
    };
    for (name, value) in &mut settings {
        *value = interpolate(value, lookup).map_err(|found| {
            refused("$$ for a dollar sign, $(NAME) for a variable", &format!("{found} in {name}"))
        })?;
    }
    Ok(settings)
}

/// Replaces the dollar signs of `text` by what they stand for.
///
/// Errors: a description of the first invalid one.
fn interpolate(text: &str, lookup: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        whole.push_str(before);
        rest = if let Some(after) = after.strip_prefix('$') {
            whole.push('$');
            after
        } else if let Some((name, after)) = after.strip_prefix('(').and_then(|after| after.split_once(')')) {
            whole.push_str(&lookup(name).ok_or_else(|| format!("no variable {name}"))?);
            after
        } else {
            return Err("a single $".to_owned());
        };
    }
    whole.push_str(rest);
    Ok(whole)
}

/// Adds the settings at and below `name`: in TOML, the dots in `app.settings.x` form tables.
///
/// Errors: the name of a setting with more than one value.
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
    // The names of `app.settings` keep their case.
    let name = match name.strip_prefix("app.settings.") {
        Some(own) => format!("app_settings_{own}"),
        None => name.replace(['-', '.'], "_"),
    };
    into.push((format!("PGRST_{}", name.to_ascii_uppercase()), text));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<(String, String)>, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let variables = [("MY_SECRET".to_owned(), "of $the environment".to_owned())].into();
        read(file.path(), &variables).map_err(|error| error.to_string())
    }

    /// Asserts that the text contains exactly these settings, sorted by name.
    fn assert_sets(text: &str, expected: &[(&str, &str)]) {
        let mut found = parse(text).unwrap();
        found.sort();
        let found: Vec<_> = found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn names_become_those_of_variables() {
        assert_sets(
            "# a comment\ndb-uri = \"postgres://a@h/d\"\n\ndb-pool = 3 # three\njwt-secret-is-base64 = false\n\
             app.settings.key = \"a \\\"b\\\"\"\ndb-extra-search-path = \"\"\n",
            &[
                ("PGRST_APP_SETTINGS_KEY", "a \"b\""),
                ("PGRST_DB_EXTRA_SEARCH_PATH", ""),
                ("PGRST_DB_POOL", "3"),
                ("PGRST_DB_URI", "postgres://a@h/d"),
                ("PGRST_JWT_SECRET_IS_BASE64", "false"),
            ],
        );
    }

    #[test]
    fn dollar_signs_are_doubled_or_name_variables() {
        assert_sets(
            "db-pool = 3\napp.settings.a = \"$(MY_SECRET)!\"\napp.settings.b = \"$(db-pool)$$$(db-pool)\"\n\
             jwt-role-claim-key = \"$$.roles[?search(@, '^a')]\"\n",
            &[
                ("PGRST_APP_SETTINGS_A", "of $the environment!"),
                ("PGRST_APP_SETTINGS_B", "3$3"),
                ("PGRST_DB_POOL", "3"),
                ("PGRST_JWT_ROLE_CLAIM_KEY", "$.roles[?search(@, '^a')]"),
            ],
        );
        let error = parse("jwt-secret = \"hunter$2\"").unwrap_err();
        assert!(error.contains("a single $ in PGRST_JWT_SECRET") && !error.contains("hunter"), "{error}");
        assert!(parse("db-uri = \"$(NOBODY)\"").unwrap_err().contains("no variable NOBODY"));
    }

    #[test]
    fn error_messages_contain_no_secret() {
        let error = parse("db-pool = 3\njwt-secret = hunter2\n").unwrap_err();
        assert!(error.contains("line 2") && !error.contains("hunter2"), "{error}");
        assert!(parse("db-schemas = [\"a\"]").unwrap_err().contains("db-schemas"));
        assert!(
            read(Path::new("/nonexistent"), &Variables::new())
                .unwrap_err()
                .to_string()
                .contains("/nonexistent: expected a file")
        );
    }
}
