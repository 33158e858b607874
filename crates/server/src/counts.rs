//! What a loop counts.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of one loop since it was started. Written by its leader alone, so without the cost of an
/// atomic addition; read by anybody.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// By the first digit of the status; place 0 is unused.
    pub(crate) responses: [AtomicU64; 10],
    pub(crate) refused: AtomicU64,
    pub(crate) queue_timeouts: AtomicU64,
    pub(crate) handler_timeouts: AtomicU64,
    pub(crate) slow_clients: AtomicU64,
    pub(crate) cancelled: AtomicU64,
    pub(crate) late: AtomicU64,
    pub(crate) held_back: AtomicU64,
}

impl Counts {
    #[inline]
    pub(crate) fn one(counter: &AtomicU64) {
        counter.store(
            counter.load(Ordering::Relaxed).wrapping_add(1),
            Ordering::Relaxed,
        );
    }
}
