//! What has changed between two readings of the settings.

use std::collections::BTreeSet;

use toml::{Table, Value};

use crate::console;
use crate::settings::Settings;

/// The beginnings of the keys that can be changed while the server runs.
const CHANGEABLE: [&str; 14] = [
    "api.extra_search_path",
    "api.max_rows",
    "api.schemas",
    "auth.",
    "basalt.body_limit",
    "basalt.functions.",
    "basalt.public_openapi",
    "basalt.requests_per_address",
    "basalt.requests_per_key",
    "basalt.trusted_proxies",
    "edge_runtime.secrets.",
    "functions.",
    "realtime.",
    "storage.",
];

/// The beginnings of those among them that cannot.
const FIXED: [&str; 8] = [
    "auth.enabled",
    "auth.jwt_secret",
    "auth.publishable_key",
    "auth.secret_key",
    "auth.signing_keys_path",
    "auth.third_party.",
    "realtime.enabled",
    "storage.buckets.",
];

/// Returns the keys that are not the same in both tables.
pub(super) fn keys(old: &Table, new: &Table) -> BTreeSet<String> {
    let mut changed = BTreeSet::new();
    compare("", old, new, &mut changed);
    changed
}

/// Returns the names of the settings that differ and that services cannot change while the server runs.
pub(super) fn needing_restart(old: &Settings, new: &Settings) -> Vec<&'static str> {
    /// Asks a service, if it runs.
    fn ask<S>(of: fn(&S, &S) -> Vec<&'static str>, old: &Option<S>, new: &Option<S>) -> Vec<&'static str> {
        old.as_ref().zip(new.as_ref()).map(|(old, new)| of(old, new)).unwrap_or_default()
    }
    let (from, to) = (&old.services, &new.services);
    [
        gateway::settings_that_need_a_restart(&old.gateway, &new.gateway),
        ask(auth::settings_that_need_a_restart, &from.auth, &to.auth),
        ask(storage::settings_that_need_a_restart, &from.storage, &to.storage),
        ask(realtime::settings_that_need_a_restart, &from.realtime, &to.realtime),
        ask(functions::settings_that_need_a_restart, &from.functions, &to.functions),
    ]
    .concat()
}

/// Says which of the `changed` keys are in force, and which are after a restart: `restart`, and those that no service
/// knows.
pub(super) fn report(changed: &BTreeSet<String>, restart: &[&str]) {
    let needs_restart = |key: &str| {
        let begins = |beginning: &&str| key.starts_with(*beginning);
        restart.contains(&key) || FIXED.iter().any(begins) || !CHANGEABLE.iter().any(begins)
    };
    let (later, now): (Vec<&str>, Vec<&str>) =
        changed.iter().map(String::as_str).partition(|key| needs_restart(key));
    let mut text = "The settings were read again.".to_owned();
    for (when, keys) in [("In force", now), ("After a restart", later)] {
        if !keys.is_empty() {
            text.push_str(&format!(" {when}: {}.", keys.join(", ")));
        }
    }
    console::note(text);
}

fn compare(path: &str, old: &Table, new: &Table, changed: &mut BTreeSet<String>) {
    let empty = Table::new();
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for name in names {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match (old.get(name), new.get(name)) {
            (old, new) if old == new => {}
            (Some(Value::Table(old)), Some(Value::Table(new))) => compare(&path, old, new, changed),
            (Some(Value::Table(old)), None) => compare(&path, old, &empty, changed),
            (None, Some(Value::Table(new))) => compare(&path, &empty, new, changed),
            _ => {
                changed.insert(path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_keys_are_those_of_values() {
        let table = |text: &str| text.parse::<Table>().unwrap();
        let old = table("a = 1\n[auth]\nsite_url = 'x'\n[auth.email]\nenabled = true\n[api]\nport = 1");
        let new =
            table("a = 1\n[auth]\nsite_url = 'y'\n[api]\nport = 1\n[storage]\nfile_size_limit = '1MiB'");
        let changed = keys(&old, &new);
        assert_eq!(
            changed.iter().collect::<Vec<_>>(),
            ["auth.email.enabled", "auth.site_url", "storage.file_size_limit"]
        );
        assert!(keys(&old, &old).is_empty());
    }
}
