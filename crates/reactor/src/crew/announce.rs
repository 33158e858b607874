//! Handlers that know that they are about to block give their loop away before they do.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::{Crew, Detach, Loop};
use crate::sync::Ordering;

/// What a thread of a crew knows about the handler it is running.
pub(super) struct Here {
    crew: RefCell<Option<Arc<dyn GiveAway>>>,
    index: Cell<usize>,
    /// The number under which the loop was parked; 0 when the handler does not run in place, or
    /// has given the loop away.
    seq: Cell<u64>,
}

thread_local! {
    static HERE: Here =
        const { Here { crew: RefCell::new(None), index: Cell::new(0), seq: Cell::new(0) } };
}

/// What [`about_to_block`] needs of a crew.
pub(super) trait GiveAway {
    fn give_away(self: Arc<Self>, index: usize, seq: u64);
}

impl Here {
    /// The calling thread belongs to `crew` from now on, or to none.
    pub(super) fn join_crew(crew: Option<Arc<dyn GiveAway>>) {
        HERE.with(|here| *here.crew.borrow_mut() = crew);
    }

    /// A handler starts in place, loop `index` was parked as `seq`.
    #[inline]
    pub(super) fn enter(index: usize, seq: u64) {
        HERE.with(|here| {
            here.index.set(index);
            here.seq.set(seq);
        });
    }

    /// The handler has returned.
    #[inline]
    pub(super) fn leave() {
        HERE.with(|here| here.seq.set(0));
    }
}

/// Says that the calling handler is about to wait for something, or to compute for long. If it
/// runs on an event loop's thread, another thread takes the loop over at once; otherwise nothing
/// happens. Costs a wake-up the first time in a handler, a nanosecond afterwards.
pub fn about_to_block() {
    HERE.with(|here| {
        let seq = here.seq.replace(0);
        if seq == 0 {
            return;
        }
        let crew = here.crew.borrow().clone();
        if let Some(crew) = crew {
            crew.give_away(here.index.get(), seq);
        }
    });
}

/// Runs `work`, which waits or computes for long, after [`about_to_block`].
pub fn blocking<R>(work: impl FnOnce() -> R) -> R {
    about_to_block();
    work()
}

impl<L: Loop> GiveAway for Crew<L> {
    fn give_away(self: Arc<Self>, index: usize, seq: u64) {
        let slot = &self.slots[index];
        if slot.seq() != seq {
            return;
        }
        let Some(mut held) = slot.take() else { return };
        self.counters.announced.fetch_add(1, Ordering::Relaxed);
        if held.seq() == seq {
            if let Some(class) = held.inner.current_class() {
                class.announced();
            }
            self.pool.stray(1);
            held.inner.detach(Detach::Announced);
        } else {
            // A thief has parked it between the look and the grasp: his handler announced nothing.
            self.detach_uncharged(&mut held);
        }
        let seq = slot.park(held);
        if self.pool.leaderless(index, seq) {
            self.start_thread_or_log();
        }
        self.watch.stir();
    }
}
