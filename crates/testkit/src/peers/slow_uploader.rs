//! A body that takes its time.

use std::net::SocketAddr;

use crate::{Answer, RawClient};

/// Announces a body with Content-Length and sends it only when told to.
///
/// A few hundred of them must not use up a server's threads, nor may their unsent bodies cost
/// memory.
#[derive(Debug)]
pub struct SlowUploader {
    client: RawClient,
    left: usize,
}

impl SlowUploader {
    /// Connects and sends the head of `POST path` with a body of `length` bytes to come.
    #[track_caller]
    pub fn start(addr: SocketAddr, path: &str, length: usize) -> Self {
        let mut client = RawClient::connect(addr);
        client.send(format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n"
        ));
        Self {
            client,
            left: length,
        }
    }

    /// Sends `count` more bytes of the body, or what is left of it. Gives the number still left.
    #[track_caller]
    pub fn trickle(&mut self, count: usize) -> usize {
        let piece = vec![b'u'; count.min(self.left)];
        self.client.send(&piece);
        self.left -= piece.len();
        self.left
    }

    /// Sends the rest of the body and reads the answer.
    #[track_caller]
    pub fn complete(&mut self) -> Answer {
        while self.trickle(64 * 1024) > 0 {}
        self.client.read_response()
    }

    /// The connection itself.
    pub fn client(&mut self) -> &mut RawClient {
        &mut self.client
    }
}
