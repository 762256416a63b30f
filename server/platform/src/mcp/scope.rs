//! What one request may see: of its query string, and of its access token.

use crate::access::Operator;

settings::words! {
    /// A group of tools, by its name in `features`.
    pub(super) enum Group {
        /// Organizations and projects.
        Account = "account",
        /// The documentation.
        Docs = "docs",
        /// Tables, migrations, SQL.
        Database = "database",
        /// What could be wrong.
        Debugging = "debugging",
        /// What applications need.
        Development = "development",
        /// Edge functions.
        Functions = "functions",
        /// Buckets.
        Storage = "storage",
    }
}

/// The limits of one request.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    pub(super) operator: Operator,
    /// The only project, if the URL names one; what is no reference, if it names several or an empty one.
    pub(super) project: Option<String>,
    pub(super) is_read_only: bool,
    pub(super) groups: Vec<Group>,
}

impl Scope {
    /// Reads the query string of a request. If a parameter is there several times, all of its values limit the request.
    ///
    /// Errors: what is wrong with it.
    pub(super) fn of(query: &str, operator: Operator) -> Result<Self, String> {
        let mut scope = Self {
            operator,
            project: None,
            is_read_only: false,
            // As upstream, storage has to be asked for.
            groups: Group::ALL.into_iter().filter(|group| *group != Group::Storage).collect(),
        };
        let mut features: Option<Vec<Group>> = None;
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "project_ref" => {
                    let is_only = scope.project.as_deref().is_none_or(|known| known == value);
                    scope.project = Some(if is_only { value.into_owned() } else { String::new() });
                }
                "read_only" => scope.is_read_only |= flag(&value)?,
                "features" => {
                    let wanted = groups(&value)?;
                    features = Some(match features {
                        None => wanted,
                        Some(known) => known.into_iter().filter(|group| wanted.contains(group)).collect(),
                    });
                }
                _ => {}
            }
        }
        scope.groups = features.unwrap_or(scope.groups);
        Ok(scope)
    }
}

/// Reads a word for yes or no. Source: zod's `stringbool`, which upstream uses.
fn flag(value: &str) -> Result<bool, String> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" | "y" | "enabled" => Ok(true),
        "false" | "0" | "no" | "off" | "n" | "disabled" => Ok(false),
        other => Err(format!("read_only: expected true or false, found {other:?}")),
    }
}

fn groups(value: &str) -> Result<Vec<Group>, String> {
    let names = value.split(',').map(str::trim).filter(|name| !name.is_empty());
    let names = names.map(|name| if name == "debug" { Group::Debugging.name() } else { name });
    // Branches are a group of upstream's that a server of one project has no use for.
    let names = names.filter(|name| *name != "branching");
    names
        .map(|name| Group::of_name(name).ok_or_else(|| format!("features: there is no group {name:?}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_query_string_are_read_as_upstream_does() {
        assert_eq!((flag("YES"), flag("0")), (Ok(true), Ok(false)));
        assert!(flag("maybe").is_err());
        assert_eq!(groups("database, debug,,branching"), Ok(vec![Group::Database, Group::Debugging]));
        assert_eq!(groups(""), Ok(Vec::new()));
        assert!(groups("nonsense").is_err());
    }
}
