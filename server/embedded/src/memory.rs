//! What Postgres' memory and its number of processes are set for.

settings::words! {
    /// The memory of the machine, or of the container.
    #[derive(Default)]
    pub enum Memory: "small or normal" {
        /// 1 GiB for everything: Postgres, the server, edge functions.
        Small = "small",
        /// More than that.
        #[default]
        Normal = "normal",
    }
}

impl Memory {
    /// Returns what differs from the usual settings. A value in `postgresql.conf` precedes it.
    pub(super) const fn settings(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Small => SMALL,
            Self::Normal => &[],
        }
    }
}

/// A process of Postgres takes 5 to 15 MB of its own, so there are few: no parallel queries, one that vacuums. What a
/// query sorts or hashes beyond `work_mem` goes to the disk.
const SMALL: &[(&str, &str)] = &[
    ("max_connections", "80"),
    ("shared_buffers", "64MB"),
    ("work_mem", "2MB"),
    ("hash_mem_multiplier", "1.0"),
    ("maintenance_work_mem", "32MB"),
    ("autovacuum_work_mem", "16MB"),
    ("logical_decoding_work_mem", "16MB"),
    ("effective_cache_size", "256MB"),
    ("max_wal_size", "256MB"),
    ("max_worker_processes", "4"),
    ("max_parallel_workers", "0"),
    ("max_parallel_workers_per_gather", "0"),
    ("max_parallel_maintenance_workers", "0"),
    ("autovacuum_max_workers", "1"),
];
