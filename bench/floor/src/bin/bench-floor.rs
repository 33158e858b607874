//! The physical floor: one epoll thread that answers every request with a canned reply. It parses
//! nothing (a request ends at an empty line; one byte of its path chooses the reply), so what it
//! costs is what the kernel costs: one `recv` and one `send` a readiness, a shared `epoll_wait`.
//!
//! `floor ADDR`: `/` is answered with 13 bytes of text, `/json` with a canned record.

use bench_floor::{BATCH, Counter, Replies};
use bench_sys::{Epoll, NOTHING, Trigger, token};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};

const LISTENER: usize = usize::MAX;

struct Connection {
    stream: TcpStream,
    counter: Counter,
}

fn main() -> std::io::Result<()> {
    let address = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "127.0.0.1:8080".into());
    let listener = TcpListener::bind(&address)?;
    listener.set_nonblocking(true)?;
    let epoll = Epoll::new()?;
    epoll.add(listener.as_fd(), LISTENER, Trigger::Level)?;
    let replies = Replies::default();
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
        let mut left = connection.counter.count(bytes);
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
            counter: Counter::default(),
        });
    }
}
