//! When a certificate is renewed, and how long nothing is tried after a failure.

use std::time::Duration;

/// How often files and rows are looked at that others may have changed.
pub(crate) const LOOK_INTERVAL: Duration = Duration::from_secs(2);
/// How long an order may take.
pub(crate) const ORDER_LIMIT: Duration = Duration::from_secs(240);
/// The shortest time between two orders.
pub(crate) const SHORTEST_WAIT: Duration = Duration::from_secs(5);
/// The wait after the second failure; after the first one, the other kind of challenge is tried at once. Each further one
/// multiplies it by [`GROWTH`], so that there are five attempts in the first hour: Let's Encrypt refuses more failures
/// than that of one name.
const SECOND_WAIT: Duration = Duration::from_secs(3 * 60);
const GROWTH: u32 = 3;
/// The longest wait.
const LONGEST_WAIT: Duration = Duration::from_secs(6 * 60 * 60);
/// The shortest wait after the ACME server has said that there were too many orders. Its limits are those of hours.
pub(crate) const LIMITED_WAIT: Duration = Duration::from_secs(60 * 60);

/// Returns when a certificate that is valid from `begin` to `end` is renewed: when a third of this time is left, so that
/// an ACME server may be away for weeks.
pub(crate) fn due(begin: i64, end: i64) -> i64 {
    end - end.saturating_sub(begin) / 3
}

/// Returns how long the next order waits after `failures` in a row. `chance`, from 0 to 1, spreads the servers that
/// failed at the same time.
pub(crate) fn wait_after(failures: u32, is_limited: bool, chance: f64) -> Duration {
    let wait = match failures {
        0 | 1 => SHORTEST_WAIT,
        _ => SECOND_WAIT.saturating_mul(GROWTH.saturating_pow(failures - 2)).min(LONGEST_WAIT),
    };
    let wait = if is_limited { wait.max(LIMITED_WAIT) } else { wait };
    wait.mul_f64(1.0 + chance / 4.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_renewed_when_a_third_is_left() {
        assert_eq!(due(0, 90), 60);
        assert_eq!(due(100, 130), 120);
        assert_eq!(due(7, 7), 7);
    }

    #[test]
    fn waits_grow_up_to_hours_and_respect_limits() {
        let minutes = |failures, is_limited| wait_after(failures, is_limited, 0.0).as_secs() / 60;
        assert_eq!([1, 2, 3, 4, 5].map(|failures| minutes(failures, false)), [0, 3, 9, 27, 81]);
        assert_eq!((minutes(30, false), minutes(u32::MAX, false)), (360, 360));
        assert_eq!((minutes(1, true), minutes(30, true)), (60, 360));
        assert_eq!(wait_after(1, false, 0.0), SHORTEST_WAIT);
        assert_eq!(wait_after(2, false, 1.0), Duration::from_secs(225));
    }
}
