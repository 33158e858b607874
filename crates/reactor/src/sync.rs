//! The primitives that `loom` replaces when the protocol is model-checked.

#[cfg(loom)]
pub(crate) use loom::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
};
#[cfg(not(loom))]
pub(crate) use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
};

#[cfg(not(loom))]
pub(crate) use crate::sys::{heavy_barrier, light_barrier};

use std::sync::{LockResult, PoisonError};

/// Under the model checker both sides of the barrier are ordinary ones.
#[cfg(loom)]
pub(crate) fn light_barrier() {
    fence(Ordering::SeqCst);
}

/// Under the model checker both sides of the barrier are ordinary ones.
#[cfg(loom)]
pub(crate) fn heavy_barrier() {
    fence(Ordering::SeqCst);
}

/// The guard of a [`Mutex`].
#[cfg(loom)]
pub(crate) type Guard<'a, T> = loom::sync::MutexGuard<'a, T>;
/// The guard of a [`Mutex`].
#[cfg(not(loom))]
pub(crate) type Guard<'a, T> = std::sync::MutexGuard<'a, T>;

/// The guard of a lock, also when a thread panicked while it held it: no code under a lock of
/// this crate leaves its data half changed.
pub(crate) fn relock<T>(result: LockResult<T>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}

/// Locks, whatever became of earlier holders.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> Guard<'_, T> {
    relock(mutex.lock())
}

/// A word that one thread sleeps on until another changes it.
#[cfg(not(loom))]
#[derive(Debug)]
pub(crate) struct Word(AtomicU32);

#[cfg(not(loom))]
impl Word {
    pub(crate) fn new(value: u32) -> Word {
        Word(AtomicU32::new(value))
    }

    #[inline]
    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn set(&self, value: u32) {
        self.0.store(value, Ordering::SeqCst);
    }

    /// Whether the word held `old`, and holds `new` now by this caller's doing.
    pub(crate) fn replace(&self, old: u32, new: u32) -> bool {
        self.0
            .compare_exchange(old, new, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
    }

    pub(crate) fn wake(&self) {
        crate::sys::futex_wake(&self.0);
    }

    /// Sleeps while the word holds `value`, at most for `timeout`; answers whether it changed.
    pub(crate) fn wait_while(&self, value: u32, timeout: Option<std::time::Duration>) -> bool {
        let start = timeout.map(|_| std::time::Instant::now());
        while self.get() == value {
            let left = match (timeout, start) {
                (Some(limit), Some(start)) => match limit.checked_sub(start.elapsed()) {
                    Some(left) => Some(left),
                    None => return false,
                },
                _ => None,
            };
            crate::sys::futex_wait(&self.0, value, left);
        }
        true
    }
}

/// The same under the model checker: a lock and a condition stand in for the futex.
#[cfg(loom)]
#[derive(Debug)]
pub(crate) struct Word {
    value: AtomicU32,
    gate: Mutex<()>,
    changed: loom::sync::Condvar,
}

#[cfg(loom)]
impl Word {
    pub(crate) fn new(value: u32) -> Word {
        Word {
            value: AtomicU32::new(value),
            gate: Mutex::new(()),
            changed: loom::sync::Condvar::new(),
        }
    }

    // loom treats SeqCst loads and stores as AcqRel. A fence gives the load back its place after
    // what was published before it; the store gets none, so that its users' own are checked.
    pub(crate) fn get(&self) -> u32 {
        fence(Ordering::SeqCst);
        self.value.load(Ordering::SeqCst)
    }

    pub(crate) fn set(&self, value: u32) {
        self.value.store(value, Ordering::SeqCst);
    }

    pub(crate) fn replace(&self, old: u32, new: u32) -> bool {
        self.value
            .compare_exchange(old, new, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
    }

    pub(crate) fn wake(&self) {
        drop(lock(&self.gate));
        self.changed.notify_one();
    }

    pub(crate) fn wait_while(&self, value: u32, _timeout: Option<std::time::Duration>) -> bool {
        let mut gate = lock(&self.gate);
        while self.value.load(Ordering::SeqCst) == value {
            gate = relock(self.changed.wait(gate));
        }
        true
    }
}
