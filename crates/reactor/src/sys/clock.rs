//! Coarse clocks: a few nanoseconds through the vDSO, resolution one kernel tick (1–4 ms).

fn read(clock: libc::clockid_t) -> libc::timespec {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is a valid timespec for the kernel to fill; both clocks used here exist on
    // every supported kernel, so the call can't fail.
    unsafe { libc::clock_gettime(clock, &mut now) };
    now
}

/// Milliseconds on the monotonic clock, accurate to a kernel tick.
#[inline]
pub fn monotonic_ms() -> u64 {
    let now = read(libc::CLOCK_MONOTONIC_COARSE);
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

/// Seconds since 1970 (UTC), accurate to a kernel tick.
#[inline]
pub fn unix_seconds() -> u64 {
    read(libc::CLOCK_REALTIME_COARSE).tv_sec as u64
}
