//! What has changed between two readings of the settings.

use std::collections::BTreeSet;

use settings::Managed;
use toml::{Table, Value};

use crate::console;
use crate::settings::Settings;

/// The beginnings of keys of services that have several tables of settings, or tables with names of the project's own,
/// and of the variables of settings that have no key.
const OF_SERVICES: [&str; 5] =
    ["GOTRUE_", "auth.", "basalt.functions.", "edge_runtime.secrets.", "functions."];

/// Those among the services' keys that are fixed at the start, whatever the services themselves say: which services
/// there are, and the keys of the project.
const FIXED: [&str; 7] = [
    "auth.enabled",
    "auth.jwt_secret",
    "auth.publishable_key",
    "auth.secret_key",
    "auth.signing_keys_path",
    "auth.third_party",
    "basalt.site.enabled",
];

/// Returns the keys that are not the same in both tables.
pub(super) fn keys(old: &Table, new: &Table) -> BTreeSet<String> {
    let mut changed = BTreeSet::new();
    compare("", old, new, &mut changed);
    changed
}

/// Returns the names of the managed settings that are not the same in both.
pub(super) fn managed(old: &Managed, new: &Managed) -> BTreeSet<String> {
    let names = old.keys().chain(new.keys());
    names.filter(|name| old.get(*name) != new.get(*name)).cloned().collect()
}

/// Returns the names of the settings that differ and that services cannot change while the server runs.
pub(super) fn needing_restart(old: &Settings, new: &Settings) -> Vec<&'static str> {
    /// Asks a service, if it runs.
    fn ask<S>(of: fn(&S, &S) -> Vec<&'static str>, old: &Option<S>, new: &Option<S>) -> Vec<&'static str> {
        old.as_ref().zip(new.as_ref()).map(|(old, new)| of(old, new)).unwrap_or_default()
    }
    let (from, to) = (&old.services, &new.services);
    [
        settings::changed_names([("PGRST_DB_POOL", from.connections.pool != to.connections.pool)]),
        gateway::settings_that_need_a_restart(&old.gateway, &new.gateway),
        ask(auth::settings_that_need_a_restart, &from.auth, &to.auth),
        ask(storage::settings_that_need_a_restart, &from.storage, &to.storage),
        ask(realtime::settings_that_need_a_restart, &from.realtime, &to.realtime),
        ask(functions::settings_that_need_a_restart, &from.functions, &to.functions),
    ]
    .concat()
}

/// Says, after `what` has happened, which of the `changed` keys are in force, and what needs a restart: the other keys, and the settings that
/// `restart` names, by their variables where they have no key.
pub(super) fn report(what: &str, changed: &BTreeSet<String>, restart: &[&'static str]) {
    let (mut later, now): (BTreeSet<&str>, BTreeSet<&str>) =
        changed.iter().map(String::as_str).partition(|key| restart.contains(key) || !is_changeable(key));
    later.extend(restart);
    let mut text = what.to_owned();
    for (when, names) in [("In force", now), ("After a restart", later)] {
        if !names.is_empty() {
            let names: Vec<&str> = names.into_iter().collect();
            text.push_str(&format!(" {when}: {}.", names.join(", ")));
        }
    }
    console::note(text);
}

/// Reports whether services are made anew with a changed value of `key`, unless they say that it needs a restart.
fn is_changeable(key: &str) -> bool {
    fn is_in<T: settings::Table>(key: &str) -> bool {
        T::settings().any(|setting| setting.key == key)
    }
    let is_of_service = is_in::<gateway::Settings>(key)
        || is_in::<rest::Settings>(key)
        || is_in::<storage::Settings>(key)
        || is_in::<realtime::Settings>(key)
        || is_in::<site::Settings>(key)
        || is_in::<health::Settings>(key)
        || OF_SERVICES.iter().any(|beginning| key.starts_with(beginning));
    is_of_service && !FIXED.iter().any(|fixed| key.strip_prefix(fixed).is_some_and(is_end))
}

/// Reports whether `rest`, what follows a name in a key, ends that name.
fn is_end(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('.')
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
    fn services_say_which_keys_they_take() {
        for key in [
            "api.max_rows",
            "auth.email.smtp.host",
            "basalt.body_limit",
            "basalt.health.webhook",
            "basalt.realtime.max_events_per_second",
            "basalt.safe_update",
            "basalt.site.connect_src",
            "functions.hello.verify_jwt",
            "storage.file_size_limit",
        ] {
            assert!(is_changeable(key), "{key}");
        }
        for key in [
            "api.port",
            "auth.enabled",
            "auth.third_party.firebase.project_id",
            "db.port",
            "realtime.enabled",
            "storage.buckets.files.public",
            "storage.enabled",
        ] {
            assert!(!is_changeable(key), "{key}");
        }
    }

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
