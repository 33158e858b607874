//! Every system call of the reactor, one file per duty.
//!
//! This is the only place besides `slot.rs` where `unsafe` is allowed. What a port to another
//! kernel has to supply: a readiness queue ([`Poller`]), a wake-up ([`Waker`]), a socket with
//! non-blocking reads, writes and file transfer ([`Socket`]), coarse clocks, a word to sleep on
//! ([`futex_wait`], [`futex_wake`]) and the accounting of the calling thread ([`ThreadUsage`]).

mod barrier;
mod clock;
mod epoll;
mod futex;
mod socket;
mod thread;

pub use barrier::{heavy_barrier, light_barrier, register_barrier};
pub use clock::{monotonic_ms, unix_seconds};
pub use epoll::{Event, Events, Poller, Waker};
pub use futex::{futex_wait, futex_wake};
pub use socket::{Accepted, Peer, Socket, accept, file_cached};
pub use thread::{ThreadUsage, available_cpus, raise_file_limit, set_timer_slack, sleep_ns};

use std::io;

/// The result of a system call that answers -1 on failure.
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// The result of a system call that answers a count, or -1 on failure.
#[inline]
fn check_size(result: libc::ssize_t) -> io::Result<usize> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result as usize)
    }
}
