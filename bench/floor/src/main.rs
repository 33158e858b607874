//! The physical floor: one epoll thread that answers every request with a canned reply. It parses
//! nothing (a request ends at an empty line; one byte of its path chooses the reply), so what it
//! costs is what the kernel costs: one `recv` and one `send` a readiness, a shared `epoll_wait`.
//!
//! `floor ADDR`: `/` is answered with 13 bytes of text, `/json` with a canned record.

use bench_sys::{Epoll, NOTHING, Trigger, token};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};

const LISTENER: usize = usize::MAX;
/// Requests answered with one `send`; more of them in one read are answered in several.
const BATCH: usize = 64;

struct Replies {
    hello: Vec<u8>,
    hello_length: usize,
    json: Vec<u8>,
    json_length: usize,
}

impl Replies {
    fn new() -> Replies {
        let hello = reply("text/plain; charset=utf-8", b"Hello, World!");
        let json = reply(
            "application/json",
            include_bytes!("../../record.json").trim_ascii(),
        );
        Replies {
            hello_length: hello.len(),
            json_length: json.len(),
            hello: hello.repeat(BATCH),
            json: json.repeat(BATCH),
        }
    }

    /// The replies to `count` requests, as many of them as fit into one `send`.
    fn to(&self, requests: &[u8], count: usize) -> &[u8] {
        // "GET /json": the byte after the slash tells the two pages apart.
        if requests.get(5) == Some(&b'j') {
            &self.json[..count * self.json_length]
        } else {
            &self.hello[..count * self.hello_length]
        }
    }
}

/// The head is as long as Stepwell's own.
fn reply(media_type: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Type: {media_type}\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

struct Connection {
    stream: TcpStream,
    /// The last three bytes of a read that ended within a request: its end may be cut in two.
    tail: [u8; 3],
}

/// Counts the empty lines in `bytes`. Looks at every fourth byte only, as long as it is none of
/// the pattern's.
fn count_ends(bytes: &[u8]) -> usize {
    let (mut count, mut at) = (0, 3);
    while let Some(&byte) = bytes.get(at) {
        if byte != b'\r' && byte != b'\n' {
            at += 4;
        } else if bytes[at - 3..].starts_with(b"\r\n\r\n") {
            count += 1;
            at += 4;
        } else {
            at += 1;
        }
    }
    count
}

impl Connection {
    /// How many requests end in `bytes`, which have just arrived.
    fn count_requests(&mut self, bytes: &[u8]) -> usize {
        let mut count = count_ends(bytes);
        if self.tail != [0; 3] {
            let front = bytes.len().min(3);
            let mut seam = [0; 6];
            seam[..3].copy_from_slice(&self.tail);
            seam[3..3 + front].copy_from_slice(&bytes[..front]);
            count += count_ends(&seam);
        }
        self.tail = [0; 3];
        if !bytes.ends_with(b"\r\n\r\n") {
            for &byte in &bytes[bytes.len().saturating_sub(3)..] {
                self.tail = [self.tail[1], self.tail[2], byte];
            }
        }
        count
    }
}

fn main() -> std::io::Result<()> {
    let address = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "127.0.0.1:8080".into());
    let listener = TcpListener::bind(&address)?;
    listener.set_nonblocking(true)?;
    let epoll = Epoll::new()?;
    epoll.add(listener.as_fd(), LISTENER, Trigger::Level)?;
    let replies = Replies::new();
    let mut connections: Vec<Option<Connection>> = Vec::new();
    let mut buffer = vec![0; 16 * 1024];
    let mut events = [NOTHING; 256];
    loop {
        for event in epoll.wait(&mut events, -1)? {
            let token = token(event);
            if token == LISTENER {
                accept(&listener, &epoll, &mut connections)?;
            } else if let Some(slot) = connections.get_mut(token) {
                let open = slot
                    .as_mut()
                    .is_some_and(|c| serve(c, &replies, &mut buffer));
                if !open {
                    *slot = None;
                }
            }
        }
    }
}

/// Answers what has arrived; false when the connection is to be closed.
fn serve(connection: &mut Connection, replies: &Replies, buffer: &mut [u8]) -> bool {
    loop {
        let read = match connection.stream.read(buffer) {
            Ok(0) => return false,
            Ok(read) => read,
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        };
        let bytes = &buffer[..read];
        let mut left = connection.count_requests(bytes);
        while left > 0 {
            let now = left.min(BATCH);
            let reply = replies.to(bytes, now);
            // A client that does not read its answers is not served: this is no server.
            if !connection
                .stream
                .write(reply)
                .is_ok_and(|n| n == reply.len())
            {
                return false;
            }
            left -= now;
        }
        // A short read says that the socket is empty: the edge will report what comes later.
        if read < buffer.len() {
            return true;
        }
    }
}

/// Accepts all that wait. A connection's token is its descriptor's number.
fn accept(
    listener: &TcpListener,
    epoll: &Epoll,
    connections: &mut Vec<Option<Connection>>,
) -> std::io::Result<()> {
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let token = stream.as_raw_fd() as usize;
        epoll.add(stream.as_fd(), token, Trigger::Edge)?;
        if connections.len() <= token {
            connections.resize_with(token + 1, || None);
        }
        connections[token] = Some(Connection {
            stream,
            tail: [0; 3],
        });
    }
}
