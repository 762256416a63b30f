//! Processor time, which measures the cost of a step independently of the machine's other load. Linux only.

use std::io;
use std::time::Duration;

/// Returns the processor time that this thread has used. Source: the kernel's documentation, "Scheduler Statistics".
pub(crate) fn of_this_thread() -> io::Result<Duration> {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = statistics.split(' ').next().and_then(|number| number.parse().ok());
    nanoseconds.map(Duration::from_nanos).ok_or_else(|| io::Error::other("schedstat has no processor time"))
}
