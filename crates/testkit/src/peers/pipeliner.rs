//! Many requests in one write.

use std::net::SocketAddr;

use crate::{Answer, RawClient};

/// Sends requests without waiting for answers, then reads the answers in order.
///
/// Legitimate, and a good test of a server that answers out of order, mixes up bodies with the
/// requests after them, or never sees the second request in its buffer.
#[derive(Debug)]
pub struct Pipeliner {
    client: RawClient,
    pending: Vec<u8>,
    /// Methods of the requests whose answers have not been read.
    methods: Vec<String>,
}

impl Pipeliner {
    /// Connects; panics when that fails.
    #[track_caller]
    pub fn connect(addr: SocketAddr) -> Self {
        Self {
            client: RawClient::connect(addr),
            pending: Vec::new(),
            methods: Vec::new(),
        }
    }

    /// Adds a request to what will be sent.
    pub fn push(&mut self, request: impl AsRef<[u8]>) -> &mut Self {
        let request = request.as_ref();
        let method = request.split(|&b| b == b' ').next().unwrap_or_default();
        self.methods
            .push(String::from_utf8_lossy(method).into_owned());
        self.pending.extend_from_slice(request);
        self
    }

    /// Sends everything pushed so far in one write.
    #[track_caller]
    pub fn send(&mut self) -> &mut Self {
        let pending = std::mem::take(&mut self.pending);
        self.client.send(pending);
        self
    }

    /// Sends everything pushed so far in pieces of `size` bytes, so that requests are cut where
    /// nobody expects it.
    #[track_caller]
    pub fn send_in_pieces(&mut self, size: usize) -> &mut Self {
        let pending = std::mem::take(&mut self.pending);
        self.client.send_pieces(pending.chunks(size));
        self
    }

    /// Reads one answer for each request pushed since the last call.
    #[track_caller]
    pub fn read_all(&mut self) -> Vec<Answer> {
        let methods = std::mem::take(&mut self.methods);
        let mut answers = Vec::with_capacity(methods.len());
        for method in methods {
            answers.push(self.client.read_response_to(&method));
        }
        answers
    }

    /// The connection itself.
    pub fn client(&mut self) -> &mut RawClient {
        &mut self.client
    }
}
