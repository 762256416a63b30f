//! What `basalt.memory` implies for other settings.
//!
//! The numbers are chosen so that the sum of what all parts may take is about 1 GiB. `docs/operating.md` has the table, and
//! `bench/small` measures a load of all kinds at once, which takes less.

use embedded::Memory;
use settings::Implied;

/// Returns the values of the settings that no source sets, in place of their defaults.
pub(super) const fn implied(memory: Memory) -> &'static [Implied] {
    match memory {
        Memory::Small => SMALL,
        Memory::Normal => &[],
    }
}

/// Those of `basalt.memory = "small"`.
const SMALL: &[Implied] = &[
    // Each connection is a process of Postgres with 5 to 15 MB of its own, and one processor runs one at a time.
    ("PGRST_DB_POOL", "6"),
    ("basalt.database.pool_size", "4"),
    ("basalt.realtime.pool_size", "3"),
    // Less than a second of work, so that nobody waits for longer.
    ("basalt.max_requests", "64"),
    ("basalt.max_connections", "2000"),
    ("basalt.body_memory", "48MiB"),
    ("basalt.realtime.memory", "48MiB"),
    ("basalt.platform.log_memory", "4MiB"),
    // About a second of hashes.
    ("basalt.auth.password_queue", "16"),
    // An upload has up to 3 MiB in memory.
    ("basalt.storage.max_uploads", "24"),
    ("basalt.storage.max_downloads", "64"),
    ("IMGPROXY_WORKERS", "1"),
    ("IMGPROXY_REQUESTS_QUEUE_SIZE", "16"),
    ("IMGPROXY_MAX_SRC_RESOLUTION", "16"),
    ("basalt.storage.image_memory", "160MiB"),
    // Of each process; it may use 128 MiB more.
    ("basalt.functions.memory_limit", "96MiB"),
    ("basalt.functions.processes", "2"),
    ("basalt.functions.concurrency", "32"),
    ("basalt.functions.queue", "64"),
    ("basalt.functions.sockets", "64"),
    ("basalt.functions.idle_timeout", "60"),
];

#[cfg(test)]
mod tests {
    use settings::{Bytes, Environment, Managed};

    use super::*;
    use crate::settings::{Invocation, Project, Settings};

    fn read(config: &str, variables: &[(&str, &str)]) -> Settings {
        let root = std::env::temp_dir();
        let project =
            Project { base: root.clone(), root, config: config.parse().unwrap(), config_path: None };
        let pairs = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let environment = Environment::from_pairs(pairs);
        Settings::read(&Invocation::default(), project, &environment, &Managed::new()).unwrap()
    }

    #[test]
    fn nothing_is_implied_without_it() {
        let settings = read("", &[]);
        assert_eq!(settings.server.memory, Memory::Normal);
        assert_eq!((settings.services.connections.pool, settings.database.pool_size), (10, 10));
        assert_eq!(settings.gateway.max_requests, 0);
    }

    #[test]
    fn all_that_it_implies_is_known_and_in_use() {
        for settings in [
            read("[basalt]\nmemory = 'small'", &[]),
            read("[basalt]\nmemory = 'normal'", &[("BASALT_MEMORY", "small")]),
        ] {
            assert_eq!(settings.server.memory, Memory::Small);
            assert!(settings.warnings.is_empty(), "{:?}", settings.warnings);
            assert_eq!((settings.services.connections.pool, settings.database.pool_size), (6, 4));
            assert_eq!(settings.gateway.body_memory, Bytes(48 << 20));
            assert_eq!((settings.gateway.max_requests, settings.gateway.max_connections), (64, 2000));
            assert_eq!(settings.platform.log_memory, Bytes(4 << 20));
            let services = settings.services;
            let storage = services.storage.unwrap();
            assert_eq!((storage.max_uploads, storage.max_downloads, storage.image_workers), (24, 64, 1));
            assert_eq!((storage.image_max_source_resolution, storage.image_queue_size), (16, 16));
            assert_eq!(storage.image_memory, Bytes(160 << 20));
            assert_eq!(services.auth.unwrap().passwords.queue_length, 16);
            let realtime = services.realtime.unwrap();
            assert_eq!((realtime.pool_size, realtime.memory), (3, Bytes(48 << 20)));
            let limits = services.functions.unwrap().limits;
            assert_eq!((limits.memory, limits.concurrency, limits.queue), (Bytes(96 << 20), 32, 64));
            assert_eq!((limits.sockets, limits.idle.as_secs(), limits.processes), (64, 60, 2));
        }
    }

    #[test]
    fn what_is_set_explicitly_stays() {
        let config = "[basalt]\nmemory = 'small'\nbody_memory = '1GiB'\n\
            [basalt.functions]\nmemory_limit = '256MiB'\nconcurrency = 256";
        let settings = read(config, &[("PGRST_DB_POOL", "10"), ("BASALT_MAX_REQUESTS", "0")]);
        assert_eq!(settings.services.connections.pool, 10);
        assert_eq!(settings.gateway.max_requests, 0, "also where it is set to its usual default");
        assert_eq!(settings.gateway.body_memory, Bytes(1 << 30));
        let limits = settings.services.functions.unwrap().limits;
        assert_eq!((limits.memory, limits.concurrency, limits.queue), (Bytes(256 << 20), 256, 64));
    }
}
