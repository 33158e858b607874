//! The few system calls that the load generator and the floor need and std does not offer. All
//! unsafe code of the benchmarks lives here.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// One readiness report: `token` is the number given to [`Epoll::add`].
pub type Ready = libc::epoll_event;

/// A report that says nothing, to fill the array handed to [`Epoll::wait`].
pub const NOTHING: Ready = Ready { events: 0, u64: 0 };

/// The token of a report.
pub fn token(ready: &Ready) -> usize {
    ready.u64 as usize
}

/// How a descriptor reports: while it is readable, or once whenever more arrives.
#[derive(Clone, Copy)]
pub enum Trigger {
    Level,
    Edge,
}

/// An epoll instance; watches for readability only.
pub struct Epoll(OwnedFd);

impl Epoll {
    pub fn new() -> io::Result<Epoll> {
        // SAFETY: the call takes no pointer; its answer is a descriptor that nobody else owns.
        unsafe {
            let fd = checked(libc::epoll_create1(libc::EPOLL_CLOEXEC))?;
            Ok(Epoll(OwnedFd::from_raw_fd(fd)))
        }
    }

    pub fn add(&self, fd: BorrowedFd<'_>, token: usize, trigger: Trigger) -> io::Result<()> {
        let edge = match trigger {
            Trigger::Level => 0,
            Trigger::Edge => libc::EPOLLET as u32,
        };
        let mut event = Ready {
            events: libc::EPOLLIN as u32 | edge,
            u64: token as u64,
        };
        // SAFETY: both descriptors are open while borrowed, and `event` outlives the call.
        unsafe {
            let epoll = self.0.as_raw_fd();
            checked(libc::epoll_ctl(
                epoll,
                libc::EPOLL_CTL_ADD,
                fd.as_raw_fd(),
                &mut event,
            ))?;
        }
        Ok(())
    }

    /// Waits for `milliseconds` (-1: for ever, 0: not at all) and returns the reports at the front
    /// of `events`; none when a signal interrupted.
    pub fn wait<'a>(&self, events: &'a mut [Ready], milliseconds: i32) -> io::Result<&'a [Ready]> {
        // SAFETY: the kernel writes at most `events.len()` reports into the slice.
        let count = unsafe {
            let (pointer, room) = (events.as_mut_ptr(), events.len() as i32);
            checked(libc::epoll_wait(
                self.0.as_raw_fd(),
                pointer,
                room,
                milliseconds,
            ))
        };
        match count {
            Ok(count) => Ok(&events[..count as usize]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(&[]),
            Err(error) => Err(error),
        }
    }
}

/// CPU time (user and system) that a process has used in all its threads, those that have ended
/// included, in nanoseconds. Reads the process's CPU clock, which is exact to a scheduler tick.
pub fn cpu_time(pid: u32) -> io::Result<Duration> {
    let mut clock = 0;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: both pointers are to live locals of the right types.
    unsafe {
        let error = libc::clock_getcpuclockid(pid as libc::pid_t, &mut clock);
        if error != 0 {
            return Err(io::Error::from_raw_os_error(error));
        }
        checked(libc::clock_gettime(clock, &mut time))?;
    }
    Ok(Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

fn checked(answer: i32) -> io::Result<i32> {
    if answer < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(answer)
    }
}
