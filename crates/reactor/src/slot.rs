//! The slot through which an event loop changes hands.
//!
//! A loop is led by whoever holds its `Box`. Before the leader runs a handler it **parks** the
//! box here; afterwards it **takes** it back. Between the two, somebody else may take it and
//! lead. `seq` numbers the parks: it is written only by the holder of the box, so a box that
//! comes back with the number of its park was led by nobody meanwhile.
//!
//! ```text
//!            park(n)                      take (own n)
//!  led by A ─────────▶ parked, seq = n ─────────────────▶ led by A
//!                          │ take (monitor: n is overdue; or A itself, before it blocks)
//!                          ▼
//!                     led by B, which parks with n+2, n+3 … ; A finds another seq or no box
//! ```
//!
//! This is one of the two places of the crate where `unsafe` is allowed: a `Box` travels through
//! an `AtomicPtr`.

use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicPtr, AtomicU64, Ordering, Word, heavy_barrier, light_barrier};

/// What lies in a slot: the loop and the number of its latest park.
#[derive(Debug)]
pub struct Parked<T> {
    seq: u64,
    /// The loop.
    pub inner: T,
}

impl<T> Parked<T> {
    /// A loop that was never parked.
    pub fn new(inner: T) -> Box<Parked<T>> {
        Box::new(Parked { seq: 0, inner })
    }

    /// The number of the latest park.
    #[inline]
    pub fn seq(&self) -> u64 {
        self.seq
    }
}

/// Holds at most one parked loop.
pub struct Slot<T: Send> {
    parked: CachePadded<AtomicPtr<Parked<T>>>,
    seq: CachePadded<AtomicU64>,
    owner: PhantomData<Box<Parked<T>>>,
}

// SAFETY: the slot hands a `Box<T>` from thread to thread, whole and to one taker at a time (the
// swap), so it needs of `T` what a channel needs: `Send`. No reference to `T` is shared.
unsafe impl<T: Send> Sync for Slot<T> {}

impl<T: Send> Slot<T> {
    /// An empty slot.
    pub fn new() -> Slot<T> {
        Slot {
            parked: CachePadded::new(AtomicPtr::new(ptr::null_mut())),
            seq: CachePadded::new(AtomicU64::new(0)),
            owner: PhantomData,
        }
    }

    /// Gives the loop away and answers the number of this park. The caller must hold the only
    /// box that belongs to this slot.
    ///
    /// A plain store: who wants to see a monitor that went to sleep on an empty slot calls
    /// [`Watch::stir`] afterwards, which has the barrier for it.
    #[inline]
    pub fn park(&self, mut parked: Box<Parked<T>>) -> u64 {
        let seq = parked.seq + 1;
        parked.seq = seq;
        self.seq.store(seq, Ordering::Relaxed);
        debug_assert!(!self.is_parked(), "two loops for one slot");
        let parked = Box::into_raw(parked);
        #[cfg(not(loom))]
        self.parked.store(parked, Ordering::Release);
        // The model does not know that an exchange which found the slot empty comes before this
        // store for everybody, and would let a later one find it empty again. An exchange without
        // acquire orders nothing more than the store does.
        #[cfg(loom)]
        self.parked.swap(parked, Ordering::Release);
        seq
    }

    /// Takes whatever is parked. Exactly one of several takers gets it.
    #[inline]
    pub fn take(&self) -> Option<Box<Parked<T>>> {
        let parked = self.parked.swap(ptr::null_mut(), Ordering::AcqRel);
        if parked.is_null() {
            return None;
        }
        // SAFETY: the pointer came from `Box::into_raw` in `park`, and the swap gave it to this
        // caller alone; acquire pairs with the release of the parking store.
        Some(unsafe { Box::from_raw(parked) })
    }

    /// The number of the latest park, without order: a hint for the monitor.
    #[inline]
    pub fn seq(&self) -> u64 {
        self.seq.load(Ordering::Relaxed)
    }

    /// Whether a loop is parked now, without order: a hint for the monitor.
    #[inline]
    pub fn is_parked(&self) -> bool {
        !self.parked.load(Ordering::Relaxed).is_null()
    }

    /// Makes the parks of the loop that the caller has just taken from somebody else
    /// distinguishable from its earlier ones: he who parked it must not take it for unled.
    pub fn renumber(&self, parked: &mut Parked<T>) {
        parked.seq += 1;
        self.seq.store(parked.seq, Ordering::Relaxed);
    }
}

impl<T: Send> Default for Slot<T> {
    fn default() -> Slot<T> {
        Slot::new()
    }
}

impl<T: Send> fmt::Debug for Slot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot")
            .field("seq", &self.seq())
            .field("parked", &self.is_parked())
            .finish()
    }
}

impl<T: Send> Drop for Slot<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;

/// The deep sleep of the monitor: while nothing is parked it wakes up for nobody.
///
/// Sleeping is announced first and the reasons to stay awake are checked again afterwards; a
/// leader parks first and looks for a sleeper afterwards. Between the two steps each has a
/// barrier, the monitor the heavy one, so at least one of the two sees the other.
#[derive(Debug)]
pub struct Watch {
    state: CachePadded<Word>,
}

impl Watch {
    /// With the monitor awake.
    pub fn new() -> Watch {
        Watch {
            state: CachePadded::new(Word::new(AWAKE)),
        }
    }

    /// Sleeps until [`Watch::stir`], unless `needed` says, after sleep was announced, that there
    /// is something to watch.
    pub fn sleep_unless(&self, needed: impl FnOnce() -> bool) {
        self.state.set(ASLEEP);
        heavy_barrier();
        if needed() {
            self.state.set(AWAKE);
            return;
        }
        self.state.wait_while(ASLEEP, None);
    }

    /// Wakes the monitor if it sleeps; to be called after what it has to see was published.
    #[inline]
    pub fn stir(&self) {
        light_barrier();
        if self.state.get() == ASLEEP {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        // One of several leaders wakes it; see the mailbox for why the others must not store.
        if self.state.replace(ASLEEP, AWAKE) {
            self.state.wake();
        }
    }
}

impl Default for Watch {
    fn default() -> Watch {
        Watch::new()
    }
}
