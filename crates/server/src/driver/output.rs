//! The output side of a turn: one write, and bodies that are longer than that.

use std::io;
use std::sync::Arc;

use stepwell_proto::http1::{BodyLength, BodyMode};
use stepwell_reactor::{Connection, Token, sys};

use super::connection::{Conn, Phase, Source};
use super::{CORK, HttpDriver, Io};
use crate::exchange::{WarmTask, Work};
use crate::pipe::Drawn;
use crate::status;

/// How much of a file is sent, or fetched into memory, at once.
const WINDOW: u64 = 256 * 1024;
/// What it takes of a turn's budget, which is counted in reads of a quarter of its size.
const WINDOW_COST: u32 = 4;
/// How much room of an emptied buffer is kept.
const DRAWN: usize = 128 * 1024;

impl HttpDriver {
    /// Hands the turn's output to the kernel, as far as it takes it.
    #[inline]
    pub(super) fn flush(&mut self, connection: &mut Connection<Conn>) {
        let conn = &mut connection.state;
        if conn.dead {
            self.out.clear();
            return;
        }
        if conn.pending.is_some() {
            return self.flush_pending(connection);
        }
        if self.out.is_empty() {
            return;
        }
        match connection.socket.write(&self.out) {
            Ok(written) if written == self.out.len() => {}
            Ok(written) => {
                let left = self.out.get(written..).unwrap_or_default().to_vec();
                conn.since = self.now;
                self.pend(conn, left);
            }
            Err(error) if is_later(&error) => {
                let all = self.out.clone();
                conn.since = self.now;
                self.pend(conn, all);
            }
            Err(_) => conn.dead = true,
        }
        self.out.clear();
        self.out.shrink_to(2 * CORK);
    }

    fn flush_pending(&mut self, connection: &mut Connection<Conn>) {
        let conn = &mut connection.state;
        let Some(mut pending) = conn.pending.take() else {
            return;
        };
        pending.push(std::mem::take(&mut self.out));
        let mut moved = false;
        match pending.write_to(&connection.socket, &mut moved) {
            Ok(true) => {}
            Ok(false) => conn.pending = Some(pending),
            Err(_) => conn.dead = true,
        }
        if moved {
            conn.since = self.now;
        }
    }

    /// Ends the turn of a connection: everything out, what is left of the input kept.
    #[inline]
    pub(super) fn end_turn(&mut self, io: &mut Io, token: Token) {
        self.turn = None;
        let Some(connection) = io.connections.get_mut(token) else {
            self.input.clear();
            self.out.clear();
            return;
        };
        self.flush(connection);
        let conn = &mut connection.state;
        if !self.input.is_empty() {
            conn.rest = self.input.bytes().to_vec();
            self.input.clear();
        }
        let last = self.stopping && conn.is_idle() && !conn.readable;
        if conn.dead || last {
            return self.drop_connection(io, token);
        }
        if conn.phase == Phase::Receive && conn.pending.is_none() && conn.http.is_finished() {
            if conn.eof || (conn.body_done && conn.rest.is_empty()) {
                return self.drop_connection(io, token);
            }
            conn.phase = Phase::Linger;
            conn.since = self.now;
        }
        if conn.phase == Phase::Linger && conn.pending.is_none() {
            conn.rest = Vec::new();
            if conn.eof {
                return self.drop_connection(io, token);
            }
            // Twice does no harm: the second says that there is nothing to shut any more.
            let _ = connection.socket.shutdown_write();
        }
        let deadline = connection.state.deadline(&self.site);
        io.set_deadline(token, deadline);
        if self.budget == 0 {
            io.revisit(token);
        }
    }

    /// Goes on with the body of an answer. Answers whether the connection has something else to
    /// do now.
    pub(super) fn send_body(&mut self, connection: &mut Connection<Conn>, token: Token) -> bool {
        loop {
            self.flush(connection);
            let conn = &mut connection.state;
            if conn.dead || conn.pending.is_some() {
                return false;
            }
            let Some(outflow) = conn.lent.as_mut().and_then(|lent| lent.outflow.as_mut()) else {
                conn.phase = Phase::Receive;
                return true;
            };
            if self.budget == 0 {
                // A client that reads as fast as we write would keep everybody else waiting.
                return false;
            }
            let goes_on = match &mut outflow.source {
                Source::Pipe { pipe, .. } => {
                    self.budget -= 1;
                    let drawn = pipe.draw(std::mem::take(&mut self.draw));
                    self.send_drawn(conn, drawn)
                }
                Source::File { .. } => {
                    self.budget = self.budget.saturating_sub(WINDOW_COST);
                    self.send_file(connection, token)
                }
            };
            if !goes_on {
                // What the last round has written, and no more than that.
                self.flush(connection);
                return false;
            }
            if connection.state.phase != Phase::Send {
                return true;
            }
        }
    }

    /// Encodes what a pipe gave; answers whether to look again.
    fn send_drawn(&mut self, conn: &mut Conn, drawn: Drawn) -> bool {
        let Drawn {
            mut bytes,
            trailers,
            ended,
            failed,
        } = drawn;
        if bytes.is_empty() && !ended {
            self.keep_drawn(bytes);
            return false;
        }
        conn.since = self.now;
        let short = ended && !failed && owes_more(conn, bytes.len());
        if short {
            tracing::error!("a streamed body is shorter than it announced");
        }
        if (failed || short) && self.fail_early(conn) {
            self.keep_drawn(bytes);
            return true;
        }
        if self.start_drawn(conn, &bytes, ended && !failed && trailers.is_empty()) {
            return true;
        }
        let Some(outflow) = conn.lent.as_mut().and_then(|lent| lent.outflow.as_mut()) else {
            return true;
        };
        let ended = cut_to_length(&mut outflow.source, &mut bytes) || ended;
        let lacking = matches!(
            outflow.source,
            Source::Pipe {
                left: Some(1..),
                ..
            }
        );
        let complete = !failed && !short && !lacking;
        match outflow.mode {
            BodyMode::Chunked => conn.http.chunk(&bytes, &mut self.out),
            BodyMode::Raw | BodyMode::UntilClose => self.out.extend_from_slice(&bytes),
            BodyMode::None => {}
        }
        self.keep_drawn(bytes);
        if !ended {
            // One piece per turn is enough: its writer is told that there is room again, and
            // announces the next.
            return self.out.len() < CORK;
        }
        if complete {
            let trailers: Vec<_> = trailers
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect();
            self.finish_response(conn, &trailers);
        } else {
            // Cutting the connection is the only way to say that the body is not complete.
            conn.http.close_after_response();
            conn.dead = true;
        }
        true
    }

    /// Keeps a buffer that a pipe gave for the next one, unless a large event has made it large.
    fn keep_drawn(&mut self, mut bytes: Vec<u8>) {
        bytes.clear();
        bytes.shrink_to(DRAWN);
        self.draw = bytes;
    }

    /// A streamed answer failed before anything of it left, so the client can still be told.
    fn fail_early(&mut self, conn: &mut Conn) -> bool {
        let outflow = conn.lent.as_mut().and_then(|lent| lent.outflow.as_mut());
        if outflow.is_none_or(|outflow| outflow.head.take().is_none()) {
            return false;
        }
        self.answer_plain(
            conn,
            status::INTERNAL_SERVER_ERROR,
            "500 Internal Server Error\n",
        );
        true
    }

    /// Sends the head of a streamed answer, now that there is something behind it. A body that
    /// is complete already is sent with its length; answers whether that was all.
    fn start_drawn(&mut self, conn: &mut Conn, bytes: &[u8], whole: bool) -> bool {
        let Some(lent) = conn.lent.as_mut() else {
            return true;
        };
        lent.held_back = false;
        lent.ticket = None;
        let Some(outflow) = lent.outflow.as_mut() else {
            return true;
        };
        let Some(head) = outflow.head.take() else {
            return false;
        };
        let announced = match &outflow.source {
            Source::Pipe { left, .. } => *left,
            Source::File { .. } => None,
        };
        let length = match announced {
            Some(length) => BodyLength::Known(length),
            None if whole => BodyLength::Known(bytes.len() as u64),
            None => BodyLength::Unknown,
        };
        let mode = self.start_response(conn, &head, length);
        if let Some(outflow) = conn.lent.as_mut().and_then(|lent| lent.outflow.as_mut()) {
            outflow.mode = mode;
        }
        if mode == BodyMode::None {
            // The status allows no body: what is written is dropped.
            if let Some(Source::Pipe { pipe, .. }) = conn
                .lent
                .as_mut()
                .and_then(|lent| lent.outflow.take())
                .map(|out| out.source)
            {
                pipe.abandon();
            }
            self.finish_response(conn, &[]);
            return true;
        }
        false
    }

    /// Sends a piece of a file; answers whether to look again.
    fn send_file(&mut self, connection: &mut Connection<Conn>, token: Token) -> bool {
        let conn = &mut connection.state;
        let address = conn.address(token);
        let Some(outflow) = conn.lent.as_mut().and_then(|lent| lent.outflow.as_mut()) else {
            return true;
        };
        let Source::File {
            file,
            offset,
            left,
            warming,
            warm_to,
        } = &mut outflow.source
        else {
            return true;
        };
        if *left == 0 {
            self.finish_response(conn, &[]);
            return true;
        }
        if *warming {
            return false;
        }
        if *warm_to <= *offset {
            let window = WINDOW.min(*left);
            let cached =
                sys::file_cached(file, *offset) && sys::file_cached(file, *offset + window - 1);
            *warm_to = *offset + window;
            if !cached {
                *warming = true;
                self.offers.push_back(Work::Warm(Box::new(WarmTask {
                    site: self.site.clone(),
                    hub: self.hub.clone(),
                    address,
                    file: Arc::clone(file),
                    offset: *offset,
                    length: window as usize,
                })));
                return false;
            }
        }
        match connection
            .socket
            .send_file(file, *offset, (*warm_to - *offset) as usize)
        {
            Ok(0) => {
                tracing::error!("a file became shorter while it was sent");
                conn.dead = true;
                false
            }
            Ok(sent) => {
                *offset += sent as u64;
                *left -= sent as u64;
                conn.since = self.now;
                true
            }
            Err(error) if is_later(&error) => false,
            Err(_) => {
                conn.dead = true;
                false
            }
        }
    }

    /// A comment that keeps a silent event stream alive.
    pub(super) fn send_keep_alive(&mut self, conn: &mut Conn) {
        let Some(outflow) = conn.lent.as_ref().and_then(|lent| lent.outflow.as_ref()) else {
            return;
        };
        match outflow.mode {
            BodyMode::Chunked => conn.http.chunk(b":\n\n", &mut self.out),
            _ => self.out.extend_from_slice(b":\n\n"),
        }
        conn.since = self.now;
    }
}

/// Whether the stream that is being sent has promised more than these bytes, where the client
/// gets a body at all.
fn owes_more(conn: &Conn, bytes: usize) -> bool {
    let outflow = conn.lent.as_ref().and_then(|lent| lent.outflow.as_ref());
    outflow.is_some_and(|outflow| match (&outflow.source, &outflow.head) {
        (_, Some(head)) if status::forbids_body(head.status) => false,
        (Source::Pipe { left, .. }, _) => left.is_some_and(|left| left > bytes as u64),
        (Source::File { .. }, _) => false,
    })
}

/// Counts the bytes off what the stream has announced, and cuts off what is beyond. Answers whether
/// there was such a thing: the stream is at its end then.
fn cut_to_length(source: &mut Source, bytes: &mut Vec<u8>) -> bool {
    let Source::Pipe {
        left: Some(left),
        pipe,
    } = source
    else {
        return false;
    };
    let fits = usize::try_from(*left)
        .unwrap_or(usize::MAX)
        .min(bytes.len());
    let beyond = fits < bytes.len();
    if beyond {
        tracing::error!("a streamed body is longer than it announced; the rest is cut off");
        bytes.truncate(fits);
        // The client has all that it was promised; nobody waits for the rest.
        pipe.abandon();
    }
    *left -= fits as u64;
    beyond
}

fn is_later(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
