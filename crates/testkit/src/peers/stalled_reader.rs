//! Asks for much and reads nothing.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use crate::RawClient;

/// The receive buffer it asks the kernel for, in bytes (the kernel may take twice as much).
const RECEIVE_BUFFER: usize = 4096;

/// Sends requests and leaves their answers in the socket.
///
/// A server survives it by no longer reading where it can't write, with bounded output buffers.
#[derive(Debug)]
pub struct StalledReader {
    client: RawClient,
}

impl StalledReader {
    /// Connects with a receive buffer as small as the kernel lets it be.
    #[track_caller]
    pub fn connect(addr: SocketAddr) -> Self {
        let client = RawClient::try_connect_with(addr, |s| s.set_recv_buffer_size(RECEIVE_BUFFER));
        Self {
            client: client.unwrap_or_else(|e| panic!("connect to {addr}: {e}")),
        }
    }

    /// Sends a request whose answer is not going to be read yet.
    #[track_caller]
    pub fn ask(&mut self, request: impl AsRef<[u8]>) -> &mut Self {
        self.client.send(request);
        self
    }

    /// Sends `request` again and again until the server has taken nothing for as long as `quiet`,
    /// `limit` bytes at most. Gives the number of bytes that it took.
    ///
    /// # Errors
    /// What the system says when the server ended the connection instead.
    pub fn flood(&mut self, request: &[u8], quiet: Duration, limit: usize) -> io::Result<usize> {
        let burst = request.repeat((64 * 1024 / request.len().max(1)).max(1));
        let mut taken = 0;
        while taken < limit {
            let sent = self.client.send_what_fits(&burst, quiet)?;
            taken += sent;
            if sent < burst.len() {
                break;
            }
        }
        Ok(taken)
    }

    /// Gives the connection back, to read after all.
    pub fn wake(self) -> RawClient {
        self.client
    }
}
