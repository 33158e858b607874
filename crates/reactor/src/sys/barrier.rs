//! A memory barrier whose whole cost is on its rare side.
//!
//! Two threads that each publish something and then look for what the other published need a full
//! barrier in between, on both sides. Where one side runs with every request and the other
//! hardly ever, `membarrier` lets the rare side pay: it makes all running threads of the process
//! pass a full barrier, and the frequent side only has to keep the compiler from reordering.
//! The full barrier would cost the frequent side more than its twenty cycles: nothing behind it
//! starts before everything in front of it has left the store buffer.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering, compiler_fence, fence};

/// From `linux/membarrier.h`; Linux 4.14.
const PRIVATE_EXPEDITED: libc::c_long = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: libc::c_long = 1 << 4;

/// Whether the kernel does it for us. Set before the first thread of a crew starts.
static REGISTERED: AtomicBool = AtomicBool::new(false);

fn membarrier(command: libc::c_long) -> bool {
    // SAFETY: the call takes integers only and changes no memory of ours.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Has to be called before threads are started that use the barriers. Where the kernel, or a
/// filter of system calls, refuses, both sides use ordinary barriers.
pub fn register_barrier() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        // Tried out before anybody relies on it: the other side has no way to report an error.
        let works = membarrier(REGISTER_PRIVATE_EXPEDITED) && membarrier(PRIVATE_EXPEDITED);
        REGISTERED.store(works, Ordering::SeqCst);
    });
}

/// The frequent side: what was stored before is seen by whoever passes [`heavy_barrier`]
/// afterwards, or else what he stored before it is seen by loads from here on.
#[inline]
pub fn light_barrier() {
    if REGISTERED.load(Ordering::Relaxed) {
        compiler_fence(Ordering::SeqCst);
    } else {
        fence(Ordering::SeqCst);
    }
}

/// The rare side; a few microseconds.
pub fn heavy_barrier() {
    fence(Ordering::SeqCst);
    if REGISTERED.load(Ordering::Relaxed) {
        membarrier(PRIVATE_EXPEDITED);
    }
}
