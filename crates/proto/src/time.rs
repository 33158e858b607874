//! The caller's clock.

use std::time::Duration;

/// A moment on the caller's clock, in milliseconds since a start that the caller chose.
///
/// Machines only compare and add; they never ask what time it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The start of the clock.
    pub const ZERO: Time = Time(0);

    /// The moment `millis` milliseconds after the start of the clock.
    #[inline]
    pub const fn from_millis(millis: u64) -> Time {
        Time(millis)
    }

    /// Milliseconds since the start of the clock.
    #[inline]
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// This moment plus `wait` in whole milliseconds; the end of the clock if that lies beyond it.
    #[inline]
    pub const fn saturating_add(self, wait: Duration) -> Time {
        Time(self.0.saturating_add(millis(wait)))
    }

    /// How long after `earlier` this moment is; zero if it is not after it.
    #[inline]
    pub const fn since(self, earlier: Time) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// Whole milliseconds of a duration, at most `u64::MAX`.
#[inline]
pub(crate) const fn millis(d: Duration) -> u64 {
    d.as_secs()
        .saturating_mul(1000)
        .saturating_add(d.subsec_millis() as u64)
}
