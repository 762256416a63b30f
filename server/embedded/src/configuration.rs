//! The configuration of the server: Basalt writes `basalt.conf`, the administrator `postgresql.conf`.

use std::fs;
use std::path::Path;

use super::account::{self, Account};
use super::binaries::Binaries;
use super::error::Error;
use super::files::write_atomically;
use super::memory::Memory;

/// Sized for a machine with about 2 GiB of memory; for a bigger one, the administrator sets larger values.
const SETTINGS: &[(&str, &str)] = &[
    ("max_connections", "140"),
    ("shared_buffers", "128MB"),
    ("work_mem", "4MB"),
    ("maintenance_work_mem", "64MB"),
    ("effective_cache_size", "512MB"),
    ("min_wal_size", "64MB"),
    ("max_wal_size", "1GB"),
    ("wal_level", "logical"),
    ("max_replication_slots", "20"),
    ("max_wal_senders", "20"),
    ("max_slot_wal_keep_size", "2GB"),
    ("password_encryption", "scram-sha-256"),
    ("shared_preload_libraries", "''"),
    ("jit", "off"),
    ("timezone", "UTC"),
    ("log_timezone", "UTC"),
    ("log_destination", "stderr"),
    ("logging_collector", "off"),
    ("log_checkpoints", "off"),
    ("log_line_prefix", "'%m [%p] %q%u@%d %a: '"),
    ("lc_messages", "C"),
];

/// What a cluster is configured for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tuning {
    /// The memory that there is.
    pub(super) memory: Memory,
    /// Whether speed is worth more than what is stored.
    pub(super) throwaway: bool,
}

/// The library of the extension that counts statements, as on hosted Supabase.
const STATISTICS: &str = "pg_stat_statements";

/// What it counts. Statements that are no queries are left out: each transaction has several of them, and they may
/// contain passwords. Source: PostgreSQL documentation, section F.32.4.
const STATISTICS_SETTINGS: &str = "pg_stat_statements.track = top\npg_stat_statements.track_utility = off\n";

const INCLUDE: &str = "include_if_exists 'basalt.conf'";

/// Writes `basalt.conf` into `cluster` for the server of `binaries`.
pub(super) fn write(
    cluster: &Path,
    binaries: &Binaries,
    tuning: Tuning,
    account: Option<&Account>,
) -> Result<(), Error> {
    let mut text = String::from(
        "# Written by Basalt at each start. Put your own settings into postgresql.conf: they override these.\n",
    );
    // Of two values of a setting, the later one counts.
    for (name, value) in SETTINGS.iter().chain(tuning.memory.settings()) {
        text.push_str(&format!("{name} = {value}\n"));
    }
    // Postgres does not start if it lacks a library that it preloads.
    if binaries.has_library(STATISTICS) {
        text.push_str(&format!("shared_preload_libraries = '{STATISTICS}'\n{STATISTICS_SETTINGS}"));
    }
    if tuning.throwaway {
        text.push_str("fsync = off\nfull_page_writes = off\nsynchronous_commit = off\n");
    }
    let file = cluster.join("basalt.conf");
    if fs::read_to_string(&file).is_ok_and(|present| present == text) {
        return Ok(());
    }
    write_atomically(&file, text.as_bytes(), 0o600)?;
    account::give(&file, account)
}

/// Makes a new cluster's `postgresql.conf` include `basalt.conf` at its beginning, and comments out the lines of
/// `initdb` that would override it. After that the file belongs to the administrator.
pub(super) fn include(cluster: &Path, account: Option<&Account>) -> Result<(), Error> {
    let file = cluster.join("postgresql.conf");
    let original = fs::read_to_string(&file).map_err(Error::io("read", &file))?;
    let mut text = format!("# Basalt's settings. Settings that follow override them.\n{INCLUDE}\n\n");
    for line in original.lines() {
        let name = line.split('=').next().unwrap_or_default().trim();
        if SETTINGS.iter().chain(Memory::Small.settings()).any(|(ours, _)| *ours == name) {
            text.push('#');
        }
        text.push_str(line);
        text.push('\n');
    }
    write_atomically(&file, text.as_bytes(), 0o600)?;
    account::give(&file, account)
}
