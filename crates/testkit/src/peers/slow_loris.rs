//! Byte by byte, with pauses.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::{Answer, Ending, RawClient};

/// Holds a connection by sending one byte at a time, each just soon enough to look alive.
///
/// A server survives it by timing the whole head, and the rate of a body, instead of the pause
/// between two bytes.
#[derive(Debug)]
pub struct SlowLoris {
    client: RawClient,
    pause: Duration,
}

/// What became of a [`SlowLoris`].
#[derive(Debug)]
pub enum Endurance {
    /// The server answered; with 408, if it does as it should.
    Answered(Answer),
    /// The server ended the connection without an answer.
    Ended(Ending),
    /// The bytes or the time ran out first: the server puts up with it.
    Tolerated,
}

impl SlowLoris {
    /// Connects; `pause` lies between two bytes.
    #[track_caller]
    pub fn connect(addr: SocketAddr, pause: Duration) -> Self {
        Self {
            client: RawClient::connect(addr),
            pause: pause.max(Duration::from_millis(1)),
        }
    }

    /// Sends `bytes` one by one until the server has had enough, for `limit` at most.
    ///
    /// The pause is spent listening, so that the server's answer is noticed at once.
    #[track_caller]
    pub fn drip(&mut self, bytes: impl AsRef<[u8]>, limit: Duration) -> Endurance {
        let end = Instant::now() + limit;
        for byte in bytes.as_ref() {
            if Instant::now() >= end {
                return Endurance::Tolerated;
            }
            // A server that has closed may refuse the byte; what it said can still be read.
            let sent = self.client.try_send(std::slice::from_ref(byte));
            if sent.is_err() || self.client.arrives_within(self.pause) {
                return self.verdict();
            }
        }
        Endurance::Tolerated
    }

    /// Reads what the server has to say.
    #[track_caller]
    fn verdict(&mut self) -> Endurance {
        match self.client.try_read_response_to("GET") {
            Ok(answer) => Endurance::Answered(answer),
            Err(_) => Endurance::Ended(self.client.read_to_end().1),
        }
    }

    /// The connection itself.
    pub fn client(&mut self) -> &mut RawClient {
        &mut self.client
    }
}
