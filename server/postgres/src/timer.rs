//! A timer for time limits that are rarely reached.

use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// A timer that is used for one limit after another. Registering and removing a timer costs more than the rest of a
/// short wait, so this one stays registered for an earlier limit, and is set to the current one only when it fires.
#[derive(Default)]
pub(crate) struct Timer(Option<Pin<Box<Sleep>>>);

impl Timer {
    /// Returns the result of `work`; `None` if it takes longer than `limit`.
    pub(crate) async fn limit<T>(&mut self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        let deadline = Instant::now() + limit;
        let timer = self.0.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if timer.deadline() > deadline {
            timer.as_mut().reset(deadline);
        }
        let mut work = pin!(work);
        std::future::poll_fn(|context| {
            if let Poll::Ready(result) = work.as_mut().poll(context) {
                return Poll::Ready(Some(result));
            }
            while timer.as_mut().poll(context).is_ready() {
                if deadline <= Instant::now() {
                    return Poll::Ready(None);
                }
                timer.as_mut().reset(deadline);
            }
            Poll::Pending
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    const SHORT: Duration = Duration::from_millis(10);
    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn every_limit_counts_from_its_own_start() {
        let mut timer = Timer::default();
        assert_eq!(timer.limit(LONG, ready(1)).await, Some(1));
        // Shorter than the limit that the timer is set to.
        let start = Instant::now();
        assert_eq!(timer.limit(SHORT, pending::<()>()).await, None);
        assert!((SHORT..LONG).contains(&start.elapsed()));
        // Longer: the timer fires before it.
        assert_eq!(timer.limit(LONG, tokio::time::sleep(3 * SHORT)).await, Some(()));
        assert_eq!(timer.limit(SHORT, pending::<()>()).await, None);
        assert_eq!(timer.limit(2 * SHORT, pending::<()>()).await, None);
    }
}
