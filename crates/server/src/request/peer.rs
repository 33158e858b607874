//! Who is at the other end of a connection.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// The other end of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Peer {
    /// A TCP connection from this address.
    Tcp(SocketAddr),
    /// A connection over a unix socket.
    Unix,
    /// Nobody: a request that came without a connection, as from a test.
    #[default]
    Unknown,
}

impl Peer {
    /// The address, for TCP.
    #[must_use]
    pub fn addr(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(addr) => Some(*addr),
            Self::Unix | Self::Unknown => None,
        }
    }

    /// The IP address, for TCP.
    #[must_use]
    pub fn ip(&self) -> Option<IpAddr> {
        self.addr().map(|addr| addr.ip())
    }
}

/// `127.0.0.1:51234`, `unix` or `-`.
impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(addr) => addr.fmt(f),
            Self::Unix => f.write_str("unix"),
            Self::Unknown => f.write_str("-"),
        }
    }
}
