//! Asks and goes away.

use std::net::SocketAddr;

use crate::RawClient;

/// A client that leaves early, in each of the ways in which clients leave.
///
/// A reset is certain: nobody will read the answer. A FIN is not, for it may be a half-close by
/// a client that still listens.
#[derive(Debug)]
pub struct VanishingClient {
    client: RawClient,
}

impl VanishingClient {
    /// Connects and sends `bytes`: a request, or a part of one.
    #[track_caller]
    pub fn ask(addr: SocketAddr, bytes: impl AsRef<[u8]>) -> Self {
        let mut client = RawClient::connect(addr);
        client.send(bytes);
        Self { client }
    }

    /// Leaves with a reset.
    pub fn reset(self) {
        self.client.reset();
    }

    /// Leaves with a close in order; later bytes of the server are answered with a reset.
    pub fn close(self) {
        drop(self.client);
    }

    /// Closes its sending side and goes on listening.
    #[track_caller]
    pub fn half_close(mut self) -> RawClient {
        self.client.finish();
        self.client
    }

    /// The connection itself, to make sure of something before leaving.
    pub fn client(&mut self) -> &mut RawClient {
        &mut self.client
    }
}
