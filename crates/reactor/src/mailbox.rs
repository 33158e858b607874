//! Letters to an event loop, from any thread.
//!
//! The wake-up is coalesced: only the first letter to a sleeping loop costs a system call, and a
//! letter to a loop that is awake or parked costs a lock and two atomic operations. Whoever leads
//! the loop next reads the letters first, so whatever a handler sends before it falls asleep
//! leaves with the next leader.

use std::io;

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering, fence, lock};
#[cfg(not(loom))]
use crate::sys::Waker;

#[cfg(loom)]
pub use model::Waker;

/// The receiving end is the loop; everybody else holds it to post.
pub struct Mailbox<M> {
    letters: Mutex<Vec<M>>,
    count: CachePadded<AtomicUsize>,
    sleeping: CachePadded<AtomicBool>,
    waker: Waker,
}

impl<M> Mailbox<M> {
    /// An empty mailbox with its own wake-up descriptor.
    ///
    /// # Errors
    /// The kernel's (out of descriptors).
    pub fn new() -> io::Result<Mailbox<M>> {
        Ok(Mailbox {
            letters: Mutex::new(Vec::new()),
            count: CachePadded::new(AtomicUsize::new(0)),
            sleeping: CachePadded::new(AtomicBool::new(false)),
            waker: Waker::new()?,
        })
    }

    /// Delivers a letter. From any thread; never blocks for long.
    pub fn post(&self, letter: M) {
        {
            let mut letters = lock(&self.letters);
            letters.push(letter);
            self.count.store(letters.len(), Ordering::SeqCst);
        }
        fence(Ordering::SeqCst);
        self.wake_sleeper();
    }

    fn wake_sleeper(&self) {
        // One of several senders wakes it. The others must not store: the model checker does not
        // see that such a store is older than the loop's next announcement.
        let mine = || {
            self.sleeping
                .compare_exchange(true, false, Ordering::SeqCst, Ordering::Relaxed)
                .is_ok()
        };
        if self.sleeping.load(Ordering::SeqCst) && mine() {
            self.waker.wake();
        }
    }

    /// Whether letters wait, without a lock.
    #[inline]
    pub fn has_mail(&self) -> bool {
        self.count.load(Ordering::Acquire) != 0
    }

    /// Moves all letters into `into`, oldest last, so that they can be popped in order; answers
    /// whether there were any. `into` must be empty.
    pub fn drain(&self, into: &mut Vec<M>) -> bool {
        if !self.has_mail() {
            return false;
        }
        {
            let mut letters = lock(&self.letters);
            std::mem::swap(&mut *letters, into);
            self.count.store(0, Ordering::SeqCst);
        }
        into.reverse();
        true
    }

    /// Announces that the loop is about to wait. Answers whether it may: letters that came in
    /// the meantime forbid it.
    #[inline]
    pub fn fall_asleep(&self) -> bool {
        self.sleeping.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if self.count.load(Ordering::SeqCst) != 0 {
            self.sleeping.store(false, Ordering::Relaxed);
            return false;
        }
        true
    }

    /// Announces that the loop is awake again.
    #[inline]
    pub fn woken(&self) {
        self.sleeping.store(false, Ordering::Relaxed);
    }

    /// The wake-up descriptor, to be watched by the loop.
    pub fn waker(&self) -> &Waker {
        &self.waker
    }
}

/// The wake-up under the model checker.
#[cfg(loom)]
mod model {
    use std::io;

    /// Stands in for the eventfd.
    pub struct Waker(loom::sync::Notify);

    impl Waker {
        /// A fresh one.
        pub fn new() -> io::Result<Waker> {
            Ok(Waker(loom::sync::Notify::new()))
        }

        /// Lets one wait return.
        pub fn wake(&self) {
            self.0.notify();
        }

        /// Waits for a wake-up.
        pub fn wait(&self) {
            self.0.wait();
        }
    }
}
