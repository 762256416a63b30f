//! Names in `config.toml` that the Supabase CLI has given up, and spellings that it takes.

use toml::{Table, Value};

/// Keys under their earlier names, and under those of the CLI's third release.
const RENAMED: [(&str, &str); 4] = [
    ("auth.email.enable_signup", "auth.email.enabled"),
    ("auth.sms.enable_signup", "auth.sms.enabled"),
    ("experimental.orioledb_version", "db.orioledb_version"),
    ("inbucket", "local_smtp"),
];

/// Returns `config` with today's names. A value under today's name takes precedence over one under an earlier name, and
/// a table over one whose name is written as one word in quotes, such as `["db.pooler"]`.
pub(super) fn replaced(mut config: Table) -> Table {
    let tables = config.iter().filter(|(name, value)| name.contains('.') && value.is_table());
    let quoted: Vec<String> = tables.map(|(name, _)| name.clone()).collect();
    for name in quoted {
        if let Some(value) = config.remove(&name) {
            insert(&mut config, &name, value);
        }
    }
    for (earlier, current) in RENAMED {
        if let Some(value) = remove(&mut config, earlier) {
            insert(&mut config, current, value);
        }
    }
    // Old templates of the CLI have this for the default.
    if let Some(Value::Table(api)) = config.get_mut("api")
        && api.get("schemas").and_then(Value::as_array).is_some_and(Vec::is_empty)
    {
        api.remove("schemas");
    }
    config
}

fn remove(table: &mut Table, path: &str) -> Option<Value> {
    match path.split_once('.') {
        Some((first, rest)) => remove(table.get_mut(first)?.as_table_mut()?, rest),
        None => table.remove(path),
    }
}

/// Sets the value at `path` if there is none. Tables are merged.
fn insert(table: &mut Table, path: &str, value: Value) {
    if let Some((first, rest)) = path.split_once('.') {
        let inner = table.entry(first).or_insert_with(|| Table::new().into());
        if let Value::Table(inner) = inner {
            insert(inner, rest, value);
        }
        return;
    }
    match (table.get_mut(path), value) {
        (None, value) => {
            table.insert(path.to_owned(), value);
        }
        (Some(Value::Table(existing)), Value::Table(new)) => {
            for (name, value) in new {
                insert(existing, &name, value);
            }
        }
        (Some(_), _) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        text.parse().unwrap()
    }

    #[test]
    fn earlier_names_and_spellings_are_taken_where_todays_are_not_there() {
        let read = replaced(table(
            "['db.pooler']\nport = 1\nenabled = true\n[db.pooler]\nport = 2\n[auth.email]\nenable_signup = false\n\
             [auth.sms]\nenable_signup = false\nenabled = true\n[experimental]\norioledb_version = '17'\n\
             [api]\nschemas = []",
        ));
        let expected = table(
            "[db]\norioledb_version = '17'\n[db.pooler]\nport = 2\nenabled = true\n[auth.email]\nenabled = false\n\
             [auth.sms]\nenabled = true\n[experimental]\n[api]",
        );
        assert_eq!(read, expected);
        let others = table("auth = 1\n'a.b' = 1\n[api]\nschemas = ['a']\n['x.y']\nz = 1");
        assert_eq!(replaced(others), table("auth = 1\n'a.b' = 1\n[api]\nschemas = ['a']\n[x.y]\nz = 1"));
    }
}
