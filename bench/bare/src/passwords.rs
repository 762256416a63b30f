//! The speed of bcrypt on these cores, which limits the rate of sign-ins.

use std::io;
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::clock;

/// The cost of the auth service's hashes.
const COST: u32 = 10;
const PASSWORD: &str = "correct horse battery staple";

/// Compares on `threads` threads for the time `span`. Returns the comparisons per second of all threads together, and
/// microseconds of processor time for each.
pub(crate) fn measure(threads: u16, span: Duration) -> io::Result<Value> {
    let hash = bcrypt::hash(PASSWORD, COST).map_err(io::Error::other)?;
    let start = Instant::now();
    let compare = || {
        let mut compared = 0_u32;
        while start.elapsed() < span {
            let matches = bcrypt::verify(PASSWORD, &hash).map_err(io::Error::other)?;
            compared += u32::from(matches);
        }
        Ok::<_, io::Error>((compared, clock::of_this_thread()?))
    };
    let (compared, processor) = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(compare)).collect();
        running.into_iter().map(joined).try_fold((0, Duration::ZERO), |(count, time), done| {
            done.map(|(more, longer)| (count + more, time + longer))
        })
    })?;
    // The last comparisons end after the span, and are counted.
    let seconds = start.elapsed().as_secs_f64();
    let compared = f64::from(compared);
    let processor_us = processor.as_secs_f64() * 1e6 / compared;
    Ok(json!({ "threads": threads, "per_second": compared / seconds, "processor_us": processor_us }))
}

fn joined<T>(thread: ScopedJoinHandle<'_, io::Result<T>>) -> io::Result<T> {
    thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread has panicked")))
}
