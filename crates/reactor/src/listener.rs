//! Listening sockets: one per loop where the kernel can spread connections (`SO_REUSEPORT`), one
//! for all loops otherwise.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A TCP address; port 0 lets the kernel choose.
    Inet(SocketAddr),
    /// A unix socket in the file system.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Inet(address) => address.fmt(f),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// How to listen.
#[derive(Clone, Copy, Debug)]
pub struct ListenOptions {
    /// Connections that may wait to be accepted, per socket; the kernel cuts it down to
    /// `net.core.somaxconn`.
    pub backlog: u32,
}

impl Default for ListenOptions {
    fn default() -> ListenOptions {
        ListenOptions { backlog: 4096 }
    }
}

/// Removes the file of a unix socket when the last loop has let go of it.
struct UnixFile(PathBuf);

impl Drop for UnixFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

struct Shared {
    fd: OwnedFd,
    /// After the descriptor, so that the file outlives it.
    _file: Option<UnixFile>,
}

/// One loop's share of a bound address.
#[derive(Clone)]
pub struct Listener {
    socket: Arc<Shared>,
    shared: bool,
}

impl Listener {
    /// Whether other loops accept from the same socket.
    pub fn is_shared(&self) -> bool {
        self.shared
    }
}

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.fd.as_raw_fd()
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener")
            .field("fd", &self.as_raw_fd())
            .finish()
    }
}

/// A bound address: a listener for each loop. The set is complete from the start; closing a
/// single socket of it would reset the connections that wait in its backlog.
#[derive(Debug)]
pub struct BoundSet {
    /// The address, with the port that the kernel chose.
    pub address: Address,
    /// One per loop.
    pub listeners: Vec<Listener>,
}

impl BoundSet {
    /// Binds `address` for `loops` loops and starts to listen.
    ///
    /// # Errors
    /// The kernel's: in use, not ours, no permission. A unix socket's file that nobody listens
    /// on any more is replaced.
    pub fn bind(address: &Address, loops: usize, options: ListenOptions) -> io::Result<BoundSet> {
        match address {
            Address::Inet(inet) => BoundSet::bind_inet(*inet, loops, options),
            Address::Unix(path) => BoundSet::bind_unix(path, loops, options),
        }
    }

    fn bind_inet(
        mut address: SocketAddr,
        loops: usize,
        options: ListenOptions,
    ) -> io::Result<BoundSet> {
        let mut listeners = Vec::with_capacity(loops);
        for index in 0..loops {
            let domain = Domain::for_address(address);
            let socket = Socket::new(
                domain,
                Type::STREAM.nonblocking().cloexec(),
                Some(Protocol::TCP),
            )?;
            socket.set_reuse_address(true)?;
            if index == 0 && loops > 1 {
                BoundSet::refuse_neighbours(address)?;
            }
            if loops > 1 {
                socket.set_reuse_port(true)?;
            }
            // Inherited by every connection, which saves a system call for each.
            socket.set_tcp_nodelay(true)?;
            socket.bind(&SockAddr::from(address))?;
            socket.listen(options.backlog as i32)?;
            if let Some(bound) = socket.local_addr()?.as_socket() {
                address = bound;
            }
            let socket = Arc::new(Shared {
                fd: socket.into(),
                _file: None,
            });
            listeners.push(Listener {
                socket,
                shared: false,
            });
        }
        Ok(BoundSet {
            address: Address::Inet(address),
            listeners,
        })
    }

    /// `SO_REUSEPORT` would let a second server of the same user bind the same address in
    /// silence; a bind without it says whether the address is free.
    fn refuse_neighbours(address: SocketAddr) -> io::Result<()> {
        if address.port() == 0 {
            return Ok(());
        }
        let probe = Socket::new(
            Domain::for_address(address),
            Type::STREAM,
            Some(Protocol::TCP),
        )?;
        probe.set_reuse_address(true)?;
        probe.bind(&SockAddr::from(address))
    }

    fn bind_unix(path: &Path, loops: usize, options: ListenOptions) -> io::Result<BoundSet> {
        let address = SockAddr::unix(path)?;
        let make = || Socket::new(Domain::UNIX, Type::STREAM.nonblocking().cloexec(), None);
        let socket = make()?;
        if let Err(error) = socket.bind(&address) {
            let is_socket =
                std::fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_socket());
            let stale = is_socket
                && make()?
                    .connect(&address)
                    .is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused);
            if error.kind() != io::ErrorKind::AddrInUse || !stale {
                return Err(error);
            }
            std::fs::remove_file(path)?;
            socket.bind(&address)?;
        }
        let file = UnixFile(path.to_owned());
        socket.listen(options.backlog as i32)?;
        let socket = Arc::new(Shared {
            fd: socket.into(),
            _file: Some(file),
        });
        let listener = Listener {
            socket,
            shared: loops > 1,
        };
        Ok(BoundSet {
            address: Address::Unix(path.to_owned()),
            listeners: vec![listener; loops],
        })
    }
}
