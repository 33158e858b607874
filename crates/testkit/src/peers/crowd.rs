//! Many connections at once.

use std::net::SocketAddr;

use crate::{Answer, RawClient, raise_file_limit};

/// Thousands of connections held by one thread.
///
/// Sending goes to all of them before the first answer is read, so that the server has them all
/// on its hands at once.
#[derive(Debug)]
pub struct Crowd {
    clients: Vec<RawClient>,
}

impl Crowd {
    /// Opens `count` connections; raises the process's limit of open files for it.
    #[track_caller]
    pub fn connect(addr: SocketAddr, count: usize) -> Self {
        raise_file_limit();
        let mut clients = Vec::with_capacity(count);
        for _ in 0..count {
            clients.push(RawClient::connect(addr));
        }
        Self { clients }
    }

    /// Sends `request` on every connection.
    #[track_caller]
    pub fn send(&mut self, request: impl AsRef<[u8]>) -> &mut Self {
        for client in &mut self.clients {
            client.send(request.as_ref());
        }
        self
    }

    /// Reads one answer (not to a HEAD) from every connection.
    #[track_caller]
    pub fn read_all(&mut self) -> Vec<Answer> {
        let mut answers = Vec::with_capacity(self.clients.len());
        for client in &mut self.clients {
            answers.push(client.read_response());
        }
        answers
    }

    /// The connections.
    pub fn clients(&mut self) -> &mut [RawClient] {
        &mut self.clients
    }

    /// Takes the connections, to treat each in its own way.
    pub fn into_clients(self) -> Vec<RawClient> {
        self.clients
    }
}
