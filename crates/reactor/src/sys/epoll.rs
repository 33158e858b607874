//! Readiness by epoll, and the eventfd that wakes a waiting loop.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::check;

/// Which readiness an event announces.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// The value that was given when the descriptor was added.
    pub data: u64,
    flags: u32,
}

impl Event {
    /// Bytes, a new connection or an end of stream can be read.
    #[inline]
    pub fn readable(self) -> bool {
        self.flags & (libc::EPOLLIN | libc::EPOLLRDHUP) as u32 != 0
    }

    /// There is room for output again.
    #[inline]
    pub fn writable(self) -> bool {
        self.flags & libc::EPOLLOUT as u32 != 0
    }

    /// The peer has closed its sending half (FIN).
    #[inline]
    pub fn half_closed(self) -> bool {
        self.flags & libc::EPOLLRDHUP as u32 != 0
    }

    /// The connection is gone in both directions (reset, or closed on both sides).
    #[inline]
    pub fn gone(self) -> bool {
        self.flags & (libc::EPOLLHUP | libc::EPOLLERR) as u32 != 0
    }
}

/// A reusable batch of events.
pub struct Events {
    buffer: Box<[libc::epoll_event]>,
    next: usize,
    filled: usize,
}

impl Events {
    /// Room for `capacity` events per wait.
    pub fn new(capacity: usize) -> Events {
        let empty = libc::epoll_event { events: 0, u64: 0 };
        Events {
            buffer: vec![empty; capacity].into_boxed_slice(),
            next: 0,
            filled: 0,
        }
    }

    /// The next event of the last wait that was not taken yet.
    #[inline]
    pub fn pop(&mut self) -> Option<Event> {
        let event = *self.buffer[..self.filled].get(self.next)?;
        self.next += 1;
        Some(Event {
            data: event.u64,
            flags: event.events,
        })
    }
}

/// An epoll instance.
pub struct Poller {
    epoll: OwnedFd,
}

impl Poller {
    /// A new, empty instance.
    ///
    /// # Errors
    /// The kernel's (out of descriptors or memory).
    pub fn new() -> io::Result<Poller> {
        // SAFETY: no pointers are involved; the descriptor returned is fresh and owned by nobody.
        let epoll =
            unsafe { OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
        Ok(Poller { epoll })
    }

    fn control(&self, op: libc::c_int, fd: RawFd, flags: libc::c_int, data: u64) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: flags as u32,
            u64: data,
        };
        // SAFETY: `event` is a valid epoll_event for the length of the call; a stale `fd` is
        // answered with an error by the kernel.
        check(unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), op, fd, &mut event) })?;
        Ok(())
    }

    /// Watches a connection for input, output and the peer's close, edge-triggered.
    ///
    /// # Errors
    /// The kernel's (out of memory, limit of watches).
    pub fn add_stream(&self, fd: &impl AsRawFd, data: u64) -> io::Result<()> {
        let flags = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;
        self.control(libc::EPOLL_CTL_ADD, fd.as_raw_fd(), flags, data)
    }

    /// Watches a listener, level-triggered; `shared` when other loops watch the same socket, so
    /// that a connection wakes one of them and not all.
    ///
    /// # Errors
    /// The kernel's.
    pub fn add_listener(&self, fd: &impl AsRawFd, data: u64, shared: bool) -> io::Result<()> {
        let flags = libc::EPOLLIN | if shared { libc::EPOLLEXCLUSIVE } else { 0 };
        self.control(libc::EPOLL_CTL_ADD, fd.as_raw_fd(), flags, data)
    }

    /// Watches a wake-up descriptor, edge-triggered.
    ///
    /// # Errors
    /// The kernel's.
    pub fn add_waker(&self, waker: &Waker, data: u64) -> io::Result<()> {
        let flags = libc::EPOLLIN | libc::EPOLLET;
        self.control(libc::EPOLL_CTL_ADD, waker.eventfd.as_raw_fd(), flags, data)
    }

    /// Stops watching a descriptor that stays open.
    ///
    /// # Errors
    /// The kernel's (it was not watched).
    pub fn remove(&self, fd: &impl AsRawFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, fd.as_raw_fd(), 0, 0)
    }

    /// Waits up to `timeout_ms` (-1: without limit) for events. An interrupted wait gives those
    /// that are there.
    pub fn wait(&self, events: &mut Events, timeout_ms: i32) {
        events.next = 0;
        let mut count = self.wait_once(events, timeout_ms);
        if count < 0 {
            // Interrupted, and if the process was stopped, for long: what has arrived meanwhile
            // must be seen before the deadlines that have passed.
            count = self.wait_once(events, 0);
        }
        events.filled = count.max(0) as usize;
    }

    fn wait_once(&self, events: &mut Events, timeout_ms: i32) -> libc::c_int {
        // SAFETY: the buffer outlives the call and its length is passed with it.
        unsafe {
            libc::epoll_wait(
                self.epoll.as_raw_fd(),
                events.buffer.as_mut_ptr(),
                events.buffer.len() as libc::c_int,
                timeout_ms,
            )
        }
    }
}

impl AsRawFd for Poller {
    fn as_raw_fd(&self) -> RawFd {
        self.epoll.as_raw_fd()
    }
}

/// Wakes the loop that waits on the poller it was added to.
pub struct Waker {
    eventfd: File,
}

impl Waker {
    /// A fresh eventfd.
    ///
    /// # Errors
    /// The kernel's (out of descriptors).
    pub fn new() -> io::Result<Waker> {
        // SAFETY: no pointers are involved; the descriptor returned is fresh and owned by nobody.
        let fd = unsafe {
            OwnedFd::from_raw_fd(check(libc::eventfd(
                0,
                libc::EFD_NONBLOCK | libc::EFD_CLOEXEC,
            ))?)
        };
        Ok(Waker {
            eventfd: File::from(fd),
        })
    }

    /// Makes the poller's wait return. Any number of calls before it does count as one.
    pub fn wake(&self) {
        // A full counter already means that a wake-up is pending.
        let _ = (&self.eventfd).write(&1u64.to_ne_bytes());
    }

    /// Resets the counter; only needed when it is about to be watched anew.
    pub fn reset(&self) {
        let _ = (&self.eventfd).read(&mut [0; 8]);
    }
}
