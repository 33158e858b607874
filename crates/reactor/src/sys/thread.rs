//! What the kernel knows of the calling thread, and of the process's limits.

use std::io;
use std::time::Duration;

/// Processor time and voluntary context switches of the calling thread so far.
#[derive(Clone, Copy, Debug)]
pub struct ThreadUsage {
    cpu_ns: u64,
    switches: i64,
}

impl ThreadUsage {
    /// Takes both figures now (two system calls, about half a microsecond).
    ///
    /// The processor time comes from the thread's own clock: `getrusage` reports it only as of
    /// the last tick of the scheduler, which is too coarse for handlers of some microseconds.
    pub fn now() -> ThreadUsage {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: `time` is a valid timespec for the kernel to fill.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
        // SAFETY: all-zero is a valid rusage.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `usage` is a valid rusage for the kernel to fill.
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
        ThreadUsage {
            cpu_ns: time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64,
            switches: usage.ru_nvcsw,
        }
    }

    /// Processor time since `earlier`.
    pub fn cpu_since(self, earlier: ThreadUsage) -> Duration {
        Duration::from_nanos(self.cpu_ns.saturating_sub(earlier.cpu_ns))
    }

    /// Whether the thread gave up the processor by itself since `earlier`: it slept, waited for
    /// a lock, a disk or a peer.
    pub fn blocked_since(self, earlier: ThreadUsage) -> bool {
        self.switches != earlier.switches
    }
}

impl ThreadUsage {
    /// Whether the calling thread has computed little since this was taken, and never waited.
    pub fn is_cheap_since(&self) -> bool {
        let now = ThreadUsage::now();
        now.cpu_since(*self) < crate::crew::CHEAP && !now.blocked_since(*self)
    }
}

/// Lets the timed sleeps of the calling thread be late by at most `ns` (the kernel's default is
/// 50 µs).
pub fn set_timer_slack(ns: u64) {
    // SAFETY: PR_SET_TIMERSLACK takes one integer and touches only the calling thread.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns as libc::c_ulong, 0, 0, 0) };
}

/// Sleeps for `ns` nanoseconds, or until a signal comes.
pub fn sleep_ns(ns: u64) {
    let time = libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: `time` is a valid timespec; the remainder is not asked for.
    unsafe { libc::nanosleep(&time, std::ptr::null_mut()) };
}

/// How many processors this process may use: its affinity mask, cut down to the quota of its
/// control group, at least 1.
pub fn available_cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Raises the soft limit of open files to the hard limit and answers the limit now in force.
///
/// # Errors
/// The kernel's.
pub fn raise_file_limit() -> io::Result<u64> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a valid rlimit for the kernel to fill.
    super::check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) })?;
    if limit.rlim_cur < limit.rlim_max {
        limit.rlim_cur = limit.rlim_max;
        // SAFETY: `limit` is a valid rlimit for the kernel to read.
        super::check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) })?;
    }
    Ok(limit.rlim_cur)
}
