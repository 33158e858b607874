//! Connections: accepted, read, written, never blocking.

use std::fmt;
use std::fs::File;
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use rustix::net::{RecvFlags, SendFlags};

use super::{check, check_size};

/// Who is at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Peer {
    /// Address and port of a TCP peer.
    Inet(SocketAddr),
    /// A process on this machine, through a unix socket.
    Unix,
}

impl Peer {
    /// The address, `None` for unix sockets.
    pub fn ip(&self) -> Option<IpAddr> {
        match self {
            Peer::Inet(address) => Some(address.ip()),
            Peer::Unix => None,
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::Inet(address) => address.fmt(f),
            Peer::Unix => f.write_str("unix:"),
        }
    }
}

/// A connection that was just accepted.
#[derive(Debug)]
pub struct Accepted {
    /// The connection, non-blocking, closed on exec.
    pub socket: Socket,
    /// Its other end.
    pub peer: Peer,
}

/// Takes one connection from a listener's backlog.
///
/// # Errors
/// `WouldBlock` when there is none, `EMFILE`/`ENFILE` when descriptors ran out, and the errors
/// of connections that died while they waited.
pub fn accept(listener: &impl AsRawFd) -> io::Result<Accepted> {
    // SAFETY: all-zero is a valid sockaddr_storage.
    let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    // SAFETY: `storage` and `length` describe a buffer that is live for the call; the descriptor
    // returned is fresh and owned by nobody.
    let socket = unsafe {
        let fd = check(libc::accept4(
            listener.as_raw_fd(),
            (&raw mut storage).cast(),
            &mut length,
            libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC,
        ))?;
        Socket(OwnedFd::from_raw_fd(fd))
    };
    Ok(Accepted {
        socket,
        peer: peer_of(&storage),
    })
}

fn peer_of(storage: &libc::sockaddr_storage) -> Peer {
    let address = std::ptr::from_ref(storage);
    match i32::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says that the kernel wrote a sockaddr_in, and the storage is
            // large and aligned enough for every address type.
            let inet = unsafe { &*address.cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(u32::from_be(inet.sin_addr.s_addr));
            Peer::Inet(SocketAddr::new(ip.into(), u16::from_be(inet.sin_port)))
        }
        libc::AF_INET6 => {
            // SAFETY: as above, for sockaddr_in6.
            let inet = unsafe { &*address.cast::<libc::sockaddr_in6>() };
            let ip = Ipv6Addr::from(inet.sin6_addr.s6_addr);
            Peer::Inet(SocketAddr::new(ip.into(), u16::from_be(inet.sin6_port)))
        }
        _ => Peer::Unix,
    }
}

/// A connected, non-blocking stream socket.
#[derive(Debug)]
pub struct Socket(OwnedFd);

impl Socket {
    /// Reads what has arrived; 0 is the end of the stream.
    ///
    /// Not through the C library: its `recv` and `send` are cancellation points, which costs a
    /// program with threads some 20 ns a call.
    ///
    /// # Errors
    /// `WouldBlock` when nothing has arrived; `ConnectionReset` and the like.
    #[inline]
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let (count, _) = rustix::net::recv(&self.0, buffer, RecvFlags::empty())?;
        Ok(count)
    }

    /// Writes as much as fits; a vanished peer is an error, never a signal.
    ///
    /// # Errors
    /// `WouldBlock` when nothing fits; `BrokenPipe`, `ConnectionReset` and the like.
    #[inline]
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(&self.0, bytes, SendFlags::NOSIGNAL)?)
    }

    /// Writes the pieces as if they were one, as much as fits. At most 1,024 pieces count.
    ///
    /// # Errors
    /// As [`Socket::write`].
    pub fn write_vectored(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        // SAFETY: all-zero is a valid msghdr.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        // `IoSlice` is documented to have the layout of an iovec.
        message.msg_iov = pieces.as_ptr().cast_mut().cast();
        message.msg_iovlen = pieces.len().min(1024) as _;
        // SAFETY: the pieces are live for the call and only read, despite the mutable pointer.
        check_size(unsafe { libc::sendmsg(self.0.as_raw_fd(), &message, libc::MSG_NOSIGNAL) })
    }

    /// Sends up to `length` bytes of `file` from `offset` without copying them through the
    /// process; answers how many went out (0 at the end of the file).
    ///
    /// # Errors
    /// As [`Socket::write`]; also the file's read errors.
    pub fn send_file(&self, file: &File, offset: u64, length: usize) -> io::Result<usize> {
        let mut offset = offset as libc::off_t;
        // SAFETY: `offset` is live for the call; both descriptors are open.
        check_size(unsafe {
            libc::sendfile(self.0.as_raw_fd(), file.as_raw_fd(), &mut offset, length)
        })
    }

    /// Says that nothing more will be sent (FIN); reading goes on.
    ///
    /// # Errors
    /// The kernel's, when the connection is gone already.
    pub fn shutdown_write(&self) -> io::Result<()> {
        // SAFETY: no pointers are involved.
        check(unsafe { libc::shutdown(self.0.as_raw_fd(), libc::SHUT_WR) })?;
        Ok(())
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl From<OwnedFd> for Socket {
    /// Takes over a connected socket; the caller has made it non-blocking.
    fn from(fd: OwnedFd) -> Socket {
        Socket(fd)
    }
}

/// Whether the byte of `file` at `offset` can be read without waiting for the disk.
pub fn file_cached(file: &File, offset: u64) -> bool {
    let mut byte = 0u8;
    let piece = libc::iovec {
        iov_base: (&raw mut byte).cast(),
        iov_len: 1,
    };
    // SAFETY: `piece` describes one byte that is live for the call.
    let read = unsafe {
        libc::preadv2(
            file.as_raw_fd(),
            &piece,
            1,
            offset as libc::off_t,
            libc::RWF_NOWAIT,
        )
    };
    // File systems without RWF_NOWAIT keep their files in memory (tmpfs) or can't tell.
    read >= 0 || io::Error::last_os_error().kind() != io::ErrorKind::WouldBlock
}
