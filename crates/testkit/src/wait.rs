//! Waiting for a condition, bounded.

use std::time::{Duration, Instant};

/// How long anything here waits before it gives up: 20 seconds. Far more than a healthy server
/// needs on a busy machine, and short enough that a hanging test ends.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Checks made in a row before the first pause.
const EAGER_ROUNDS: u32 = 200;
/// The pause between two later checks: the machine may have one core.
const PAUSE: Duration = Duration::from_micros(500);

/// Waits until `condition` holds; panics when it does not within `limit`.
///
/// The condition is asked again and again, with the processor given away in between. Use it for
/// what can only be looked at from outside, such as a counter; to wait for another thread of the
/// test use a channel or a barrier.
#[track_caller]
pub fn wait_until(limit: Duration, condition: impl FnMut() -> bool) {
    assert!(
        poll_until(limit, condition),
        "the condition did not come true within {limit:?}"
    );
}

/// Like [`wait_until`], but tells whether the condition came true.
#[must_use]
pub fn poll_until(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    for round in 0u64.. {
        if condition() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        if round < u64::from(EAGER_ROUNDS) {
            std::thread::yield_now();
        } else {
            std::thread::park_timeout(PAUSE);
        }
    }
    unreachable!("a u64 does not run out")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_that_comes_true_ends_the_wait() {
        let mut asked = 0;
        wait_until(PATIENCE, || {
            asked += 1;
            asked == 300
        });
        assert_eq!(asked, 300);
    }

    #[test]
    fn a_condition_that_stays_false_ends_at_the_limit() {
        assert!(!poll_until(Duration::from_millis(5), || false));
    }
}
