//! The resources that a process uses, read from the kernel.

use std::time::Duration;

/// Milliseconds of one tick in which the kernel counts processor time for programs: `USER_HZ` is 100 on all of Linux.
const TICK_MILLIS: u64 = 10;

/// The resources of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of memory that it uses.
    pub memory: u64,
    /// Processor time since it started.
    pub cpu: Duration,
}

impl Usage {
    /// Returns the usage of process `pid`; `None` if the process has ended, or if the kernel has no such files (not
    /// Linux).
    pub fn of(pid: u32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        Self::parse(&stat, &status)
    }

    /// Parses the two files. Source: proc_pid_stat(5), fields 14 and 15; proc_pid_status(5), `VmRSS`.
    fn parse(stat: &str, status: &str) -> Option<Self> {
        // The second field is the program's name in parentheses, which may contain blanks and parentheses.
        let (_, fields) = stat.rsplit_once(')')?;
        let mut ticks = fields.split_whitespace().skip(11).map(|field| field.parse::<u64>().ok());
        let ticks = ticks.next()?? + ticks.next()??;
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kilobytes: u64 = memory.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(Self { memory: kilobytes * 1024, cpu: Duration::from_millis(ticks * TICK_MILLIS) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_lines_are_read() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 1 0 5 0 0";
        let status = "Name:\ta\nVmRSS:\t   2048 kB\nThreads:\t1\n";
        let usage = Usage::parse(stat, status);
        assert_eq!(usage, Some(Usage { memory: 2048 * 1024, cpu: Duration::from_secs(3) }));
        assert_eq!(Usage::parse(stat, "Name:\tzombie\n"), None);
    }
}
