//! A client that sends exactly the bytes it is told to, cut as it is told to.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use socket2::{Domain, SockAddr, Socket, Type};

use crate::parse::{self, Chunks, Framing};
use crate::{Answer, PATIENCE};

/// Most bytes read off a connection before a test has to be wrong: 1 GiB.
const MEMORY_LIMIT: usize = 1 << 30;

/// How a connection ended, as seen from the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The server closed its side in order (FIN).
    Closed,
    /// The server reset the connection (RST), or the local side found it broken.
    Reset,
}

/// A TCP or unix-socket connection with nothing between the test and the bytes.
///
/// Every read and write ends at the client's deadline: it begins anew with each call and is
/// [`PATIENCE`] long unless [`RawClient::patience`] says otherwise. Nagle's algorithm is off, so
/// that each write is a segment of its own as far as the kernel can help it.
pub struct RawClient {
    socket: Socket,
    /// Received and not yet taken by a read.
    received: Vec<u8>,
    ending: Option<Ending>,
    patience: Duration,
}

impl fmt::Debug for RawClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawClient")
            .field("local", &self.local_addr())
            .field("waiting", &Shown(&self.received))
            .field("ending", &self.ending)
            .finish_non_exhaustive()
    }
}

impl RawClient {
    /// Connects over TCP; panics when that fails.
    #[track_caller]
    pub fn connect(addr: SocketAddr) -> Self {
        Self::try_connect(addr).unwrap_or_else(|e| panic!("connect to {addr}: {e}"))
    }

    /// Connects over TCP.
    ///
    /// # Errors
    /// What the system says, `TimedOut` after [`PATIENCE`] included.
    pub fn try_connect(addr: SocketAddr) -> io::Result<Self> {
        Self::try_connect_with(addr, |_| Ok(()))
    }

    /// Connects over TCP with a socket that `prepare` has set options on, such as a small receive
    /// buffer or a source address.
    ///
    /// # Errors
    /// What the system or `prepare` says.
    pub fn try_connect_with(
        addr: SocketAddr,
        prepare: impl FnOnce(&Socket) -> io::Result<()>,
    ) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(addr), Type::STREAM, None)?;
        prepare(&socket)?;
        socket.connect_timeout(&addr.into(), PATIENCE)?;
        socket.set_tcp_nodelay(true)?;
        Ok(Self::over(socket))
    }

    /// Connects to a unix socket; panics when that fails.
    #[track_caller]
    pub fn connect_unix(path: &Path) -> Self {
        let connect = || -> io::Result<Socket> {
            let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
            socket.connect(&SockAddr::unix(path)?)?;
            Ok(socket)
        };
        let socket = connect().unwrap_or_else(|e| panic!("connect to {}: {e}", path.display()));
        Self::over(socket)
    }

    fn over(socket: Socket) -> Self {
        Self {
            socket,
            received: Vec::new(),
            ending: None,
            patience: PATIENCE,
        }
    }

    /// Sets how long each later call may wait. At least 1 ms.
    #[must_use]
    pub fn patience(mut self, limit: Duration) -> Self {
        self.patience = limit.max(Duration::from_millis(1));
        self
    }

    /// The address of the client's own end; `None` on a unix socket.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.socket.local_addr().ok()?.as_socket()
    }

    /// Sends all of `bytes`; panics when the connection does not take them.
    #[track_caller]
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        let bytes = bytes.as_ref();
        if let Err(e) = self.try_send(bytes) {
            panic!("sending {}: {e}; {self:?}", Shown(bytes));
        }
        self
    }

    /// Sends all of `bytes`.
    ///
    /// # Errors
    /// `TimedOut` when the peer does not take them before the deadline, otherwise what the system
    /// says (`BrokenPipe`, `ConnectionReset`…).
    pub fn try_send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let sent = self.send_what_fits(bytes, self.patience)?;
        if sent == bytes.len() {
            Ok(())
        } else {
            Err(io::ErrorKind::TimedOut.into())
        }
    }

    /// Sends as much of `bytes` as the connection takes within `limit`; gives the number of bytes.
    ///
    /// # Errors
    /// What the system says, a deadline excepted.
    pub fn send_what_fits(&mut self, bytes: &[u8], limit: Duration) -> io::Result<usize> {
        let end = Instant::now() + limit;
        let mut sent = 0;
        while sent < bytes.len() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            self.socket
                .set_write_timeout(Some(left.max(Duration::from_millis(1))))?;
            match (&self.socket).write(&bytes[sent..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => sent += n,
                Err(e) if timed_out(&e) => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(sent)
    }

    /// Sends each piece with a write of its own and without pauses.
    #[track_caller]
    pub fn send_pieces<P: AsRef<[u8]>>(
        &mut self,
        pieces: impl IntoIterator<Item = P>,
    ) -> &mut Self {
        for piece in pieces {
            self.send(piece);
        }
        self
    }

    /// Sends every byte with a write of its own and without pauses.
    #[track_caller]
    pub fn send_bytewise(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.send_pieces(bytes.as_ref().chunks(1))
    }

    /// Closes the sending side (FIN): nothing more will be sent, answers are still read.
    #[track_caller]
    pub fn finish(&mut self) -> &mut Self {
        if let Err(e) = self.socket.shutdown(Shutdown::Write) {
            panic!("half-closing: {e}; {self:?}");
        }
        self
    }

    /// Ends the connection with a reset (RST) instead of a close, dropping what is on the way.
    pub fn reset(self) {
        // Fails only for a bad descriptor, and then there is nothing to reset.
        let _ = self.socket.set_linger(Some(Duration::ZERO));
    }

    /// Reads the next response to a request that was not HEAD. An interim response (1xx) is given
    /// as it is, without a body.
    #[track_caller]
    pub fn read_response(&mut self) -> Answer {
        self.read_response_to("GET")
    }

    /// Reads the next response to a request with `method`, which matters for HEAD.
    #[track_caller]
    pub fn read_response_to(&mut self, method: &str) -> Answer {
        match self.try_read_response_to(method) {
            Ok(answer) => answer,
            Err(e) => panic!("reading a response to {method}: {e}; {self:?}"),
        }
    }

    /// Like [`RawClient::read_response_to`], with the misfortune returned.
    ///
    /// # Errors
    /// `TimedOut` at the deadline, `UnexpectedEof` or `ConnectionReset` when the connection ends
    /// within the response, `InvalidData` when it is not HTTP/1. What has been received stays and
    /// can be taken with [`RawClient::read_to_end`].
    pub fn try_read_response_to(&mut self, method: &str) -> io::Result<Answer> {
        let end = Instant::now() + self.patience;
        let (mut answer, head) = loop {
            if let Some(found) = parse::head(&self.received).map_err(invalid)? {
                break found;
            }
            self.receive_more(end)?;
        };
        let taken = match parse::framing(&answer, method).map_err(invalid)? {
            Framing::Length(length) => {
                while self.received.len() < head + length {
                    self.receive_more(end)?;
                }
                answer.body = self.received[head..head + length].to_vec();
                head + length
            }
            Framing::Chunked => {
                let mut chunks = Chunks::default();
                loop {
                    let body = &self.received[head..];
                    if let Some(length) = chunks.advance(body, &mut answer).map_err(invalid)? {
                        break head + length;
                    }
                    self.receive_more(end)?;
                }
            }
            Framing::Close => {
                while self.ending.is_none() {
                    self.receive(end)?;
                }
                if self.ending == Some(Ending::Reset) {
                    return Err(io::ErrorKind::ConnectionReset.into());
                }
                answer.body = self.received[head..].to_vec();
                self.received.len()
            }
        };
        self.received.drain(..taken);
        Ok(answer)
    }

    /// Sends one request and reads its response.
    #[track_caller]
    pub fn exchange(&mut self, request: impl AsRef<[u8]>) -> Answer {
        let request = request.as_ref();
        let method = request.split(|&b| b == b' ').next().unwrap_or_default();
        let method = String::from_utf8_lossy(method).into_owned();
        self.send(request);
        self.read_response_to(&method)
    }

    /// Reads exactly `count` bytes.
    #[track_caller]
    pub fn read_exactly(&mut self, count: usize) -> Vec<u8> {
        let end = Instant::now() + self.patience;
        while self.received.len() < count {
            if let Err(e) = self.receive_more(end) {
                panic!("reading {count} bytes: {e}; {self:?}");
            }
        }
        self.received.drain(..count).collect()
    }

    /// Reads through the first occurrence of `mark`; gives everything up to its end.
    #[track_caller]
    pub fn read_through(&mut self, mark: impl AsRef<[u8]>) -> Vec<u8> {
        let mark = mark.as_ref();
        let end = Instant::now() + self.patience;
        let mut looked_at = 0;
        loop {
            let from = looked_at.min(self.received.len());
            let at = self.received[from..]
                .windows(mark.len().max(1))
                .position(|w| w == mark);
            if let Some(at) = at {
                return self.received.drain(..from + at + mark.len()).collect();
            }
            // A mark may lie across two reads.
            looked_at = self.received.len().saturating_sub(mark.len());
            if let Err(e) = self.receive_more(end) {
                panic!("reading through {}: {e}; {self:?}", Shown(mark));
            }
        }
    }

    /// Reads until the connection ends: what came, and how it ended. Panics when it does not end
    /// before the deadline.
    #[track_caller]
    pub fn read_to_end(&mut self) -> (Vec<u8>, Ending) {
        let end = Instant::now() + self.patience;
        loop {
            if let Some(ending) = self.ending {
                return (std::mem::take(&mut self.received), ending);
            }
            if let Err(e) = self.receive(end) {
                panic!("waiting for the end of the connection: {e}; {self:?}");
            }
        }
    }

    /// Asserts that the connection ends, in whichever way, without another byte.
    #[track_caller]
    pub fn expect_end(&mut self) -> Ending {
        let (bytes, ending) = self.read_to_end();
        assert!(bytes.is_empty(), "{} came before the end", Shown(&bytes));
        ending
    }

    /// Asserts that for as long as `quiet` nothing comes and the connection stays open.
    #[track_caller]
    pub fn expect_silence(&mut self, quiet: Duration) {
        let end = Instant::now() + quiet;
        let before = self.received.len();
        let result = if self.ending.is_none() {
            self.receive(end)
        } else {
            Ok(())
        };
        let silent = result.is_err_and(|e| e.kind() == io::ErrorKind::TimedOut);
        assert!(silent && before == 0, "expected silence; {self:?}");
    }

    /// Takes what has come so far or comes within `limit`, ends early when the connection does.
    pub fn read_for(&mut self, limit: Duration) -> Vec<u8> {
        let end = Instant::now() + limit;
        while self.ending.is_none() && self.receive(end).is_ok() {}
        std::mem::take(&mut self.received)
    }

    /// Whether bytes, or the end of the connection, come within `limit` or have come already. What
    /// comes stays to be read.
    pub fn arrives_within(&mut self, limit: Duration) -> bool {
        !self.received.is_empty()
            || self.ending.is_some()
            || self.receive(Instant::now() + limit).is_ok()
    }

    /// How the connection ended, if a read has met its end.
    #[must_use]
    pub fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// Access to the socket, for options that have no method here.
    #[must_use]
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Receives at least one byte; the end of the connection is an error.
    fn receive_more(&mut self, end: Instant) -> io::Result<()> {
        if self.ending.is_none() {
            self.receive(end)?;
        }
        match self.ending {
            None => Ok(()),
            Some(Ending::Closed) => Err(io::ErrorKind::UnexpectedEof.into()),
            Some(Ending::Reset) => Err(io::ErrorKind::ConnectionReset.into()),
        }
    }

    /// Receives at least one byte or notes how the connection ended.
    fn receive(&mut self, end: Instant) -> io::Result<()> {
        if self.received.len() > MEMORY_LIMIT {
            return Err(io::Error::other("more than a gigabyte received"));
        }
        let mut space = [0; 64 * 1024];
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.socket
                .set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
            match (&self.socket).read(&mut space) {
                Ok(0) => self.ending = Some(Ending::Closed),
                Ok(n) => self.received.extend_from_slice(&space[..n]),
                Err(e) if timed_out(&e) => return Err(io::ErrorKind::TimedOut.into()),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => self.ending = Some(Ending::Reset),
            }
            return Ok(());
        }
    }
}

/// A socket's timeout comes as `WouldBlock` on Linux.
fn timed_out(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Bytes in a message: as text, cut short.
struct Shown<'a>(&'a [u8]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = &self.0[..self.0.len().min(400)];
        write!(
            f,
            "{:?} ({} bytes)",
            String::from_utf8_lossy(start),
            self.0.len()
        )
    }
}

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
