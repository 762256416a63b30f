//! Metrics of the process, under the names that all programs use.
//!
//! Source: Prometheus' documentation, "Writing client libraries", "Process metrics"; proc(5).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prometheus_client::collector::Collector;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use telemetry::{Usage, gauge_of, write_metric};

/// Ticks per second of the times in proc(5): `USER_HZ` is 100 on all of Linux.
const TICKS: f64 = 100.0;

/// Returns a collector of the kernel's figures about this process. On other systems than Linux, there is only the time
/// of the start.
pub(crate) fn collector() -> Box<dyn Collector> {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let started = started().unwrap_or_else(now);
    telemetry::collector(move |encoder| {
        let start = ConstGauge::new(started.as_secs_f64());
        write_metric(encoder, "process_start_time_seconds", "Start of the process, in Unix time", &start)?;
        if let Some(usage) = Usage::of(std::process::id()) {
            let cpu = ConstCounter::new(usage.cpu.as_secs_f64());
            write_metric(encoder, "process_cpu_seconds", "Processor time used", &cpu)?;
            write_metric(encoder, "process_resident_memory_bytes", "Memory held", &gauge_of(usage.memory))?;
        }
        if let Some(open) = open_files() {
            write_metric(encoder, "process_open_fds", "Open files, sockets among them", &gauge_of(open))?;
        }
        if let Some(most) = rustix::process::getrlimit(rustix::process::Resource::Nofile).current {
            write_metric(encoder, "process_max_fds", "Files that may be open", &gauge_of(most))?;
        }
        Ok(())
    })
}

/// Returns the start of the process in Unix time; `None` on other systems than Linux.
fn started() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let machine = std::fs::read_to_string("/proc/stat").ok()?;
    // Field 22. The second field, the program's name, may contain blanks, so fields are counted from its end.
    let ticks: f64 = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
    let boot: f64 = machine.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Duration::try_from_secs_f64(boot + ticks / TICKS).ok()
}

fn open_files() -> Option<u64> {
    // One of them is the folder itself, which is open for this count.
    let files = std::fs::read_dir("/proc/self/fd").ok()?.count();
    u64::try_from(files).ok()?.checked_sub(1)
}
