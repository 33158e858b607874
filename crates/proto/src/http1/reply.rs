//! The answering side of a connection.

use super::connection::ServerConnection;
use super::encode::{self, AsField, Connection, Length, ResponseHead};
use super::recent::RecentHeads;
use super::state::{Recv, Send};
use crate::time::Time;

/// What the caller knows of a body that it will write piece by piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLength {
    /// There is none.
    Empty,
    /// So many bytes.
    Known(u64),
    /// It ends when it ends.
    Unknown,
}

/// How the caller writes the body of a response whose head is out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyMode {
    /// Not at all: the request or the status allows no body, or it is empty.
    None,
    /// Exactly the announced bytes, as they are. If they cannot all be written, close the
    /// connection without [`ServerConnection::finish_response`].
    Raw,
    /// Through [`ServerConnection::chunk`] or chunk header, data, chunk end.
    Chunked,
    /// As they are; the end of the connection ends the body.
    UntilClose,
}

impl ServerConnection {
    /// Is the client waiting for `100 Continue`, and is it not too late for it? Ask when `poll`
    /// has said that it needs more; send it when somebody wants the body.
    #[inline]
    pub fn expects_continue_now(&self) -> bool {
        self.expects_continue && self.send == Send::Due && matches!(self.recv, Recv::Body(_))
    }

    /// Writes `100 Continue` if [`expects_continue_now`](Self::expects_continue_now); the time for
    /// the body begins here.
    pub fn send_continue(&mut self, now: Time, out: &mut Vec<u8>) {
        if self.expects_continue_now() {
            encode::status_line(100, out);
            out.extend_from_slice(b"\r\n");
            self.expects_continue = false;
            self.wait(now);
        }
    }

    /// Writes an interim response, such as 103 Early Hints, while an answer is due. Does nothing
    /// for HTTP/1.0 clients, which know none, nor for 100 and 101, which mean more than their
    /// fields, nor for a status that is not interim.
    pub fn send_informational<F: AsField>(&mut self, status: u16, fields: &[F], out: &mut Vec<u8>) {
        if self.send == Send::Due && !self.http10 && (102..200).contains(&status) {
            encode::status_line(status, out);
            encode::fields(fields, out);
            out.extend_from_slice(b"\r\n");
        }
    }

    /// Answers the present request with a head and a body that is there as a whole.
    ///
    /// The body is left out where the request or the status allows none (`HEAD`, 204, 304); its
    /// length is announced all the same where that is allowed.
    #[inline]
    pub fn respond<F: AsField>(
        &mut self,
        now: Time,
        head: &ResponseHead<'_, F>,
        body: &[u8],
        out: &mut Vec<u8>,
    ) {
        if self.send != Send::Due {
            return;
        }
        // A body that nobody has read, and that is too long to drop, ends the connection.
        if let Recv::Body(framing) = self.recv {
            self.keep_alive &= self.is_drainable(framing);
        }
        let (status, content) = content(head.status);
        let length = match content {
            Content::Any => Length::Known(body.len() as u64),
            Content::Empty => Length::Known(0),
            Content::Never => Length::Silent,
        };
        let connection = self.connection();
        out.reserve(256 + body.len());
        encode::head(&ResponseHead { status, ..*head }, length, connection, out);
        if content == Content::Any && !self.head_request {
            out.extend_from_slice(body);
        }
        self.answered(now);
    }

    /// As [`respond`](Self::respond), with a head that was sent before if there is one.
    #[inline]
    pub fn respond_again<F: AsField>(
        &mut self,
        now: Time,
        head: &ResponseHead<'_, F>,
        body: &[u8],
        recent: &mut RecentHeads,
        out: &mut Vec<u8>,
    ) {
        let usual = self.send == Send::Due
            && self.recv == Recv::Paused
            && !self.head_request
            && self.connection() == Connection::Default
            && content(head.status) == (head.status, Content::Any);
        if !usual {
            return self.respond(now, head, body, out);
        }
        out.reserve(256 + body.len());
        recent.append(head, body.len(), out);
        out.extend_from_slice(body);
        self.answered(now);
    }

    /// Writes the head of an answer whose body the caller writes piece by piece, in the mode that
    /// is returned, before it calls [`finish_response`](Self::finish_response).
    #[inline]
    pub fn start_response<F: AsField>(
        &mut self,
        _now: Time,
        head: &ResponseHead<'_, F>,
        length: BodyLength,
        out: &mut Vec<u8>,
    ) -> BodyMode {
        if self.send != Send::Due {
            return BodyMode::None;
        }
        // From here on no 100 can be sent, so whether the body comes is left to chance.
        self.keep_alive &= !self.expects_continue;
        let (status, content) = content(head.status);
        let (length, mode) = match (content, length) {
            (Content::Never, _) => (Length::Silent, BodyMode::None),
            (Content::Empty, _) | (_, BodyLength::Empty | BodyLength::Known(0)) => {
                (Length::Known(0), BodyMode::None)
            }
            (Content::Any, BodyLength::Known(n)) => (Length::Known(n), BodyMode::Raw),
            (Content::Any, BodyLength::Unknown) if self.http10 => {
                // Also for HEAD, so that its head is that of GET.
                self.keep_alive = false;
                (Length::Silent, BodyMode::UntilClose)
            }
            (Content::Any, BodyLength::Unknown) => (Length::Chunked, BodyMode::Chunked),
        };
        let mode = if self.head_request {
            BodyMode::None
        } else {
            mode
        };
        encode::head(
            &ResponseHead { status, ..*head },
            length,
            self.connection(),
            out,
        );
        self.send = Send::Streaming {
            chunked: mode == BodyMode::Chunked,
        };
        mode
    }

    /// Writes one chunk; nothing if `data` is empty, because an empty chunk would end the body.
    pub fn chunk(&mut self, data: &[u8], out: &mut Vec<u8>) {
        if !data.is_empty() && self.send == (Send::Streaming { chunked: true }) {
            encode::chunk_line(data.len(), out);
            out.extend_from_slice(data);
            out.extend_from_slice(b"\r\n");
        }
    }

    /// Writes the line before a chunk of `len` bytes (not 0) that the caller sends by itself.
    pub fn chunk_header(&mut self, len: usize, out: &mut Vec<u8>) {
        if len > 0 && self.send == (Send::Streaming { chunked: true }) {
            encode::chunk_line(len, out);
        }
    }

    /// Writes the line end behind a chunk that the caller sent by itself.
    pub fn chunk_end(&mut self, out: &mut Vec<u8>) {
        if self.send == (Send::Streaming { chunked: true }) {
            out.extend_from_slice(b"\r\n");
        }
    }

    /// Ends an answer begun with [`start_response`](Self::start_response). Trailers are written
    /// where the body is chunked and left out elsewhere.
    pub fn finish_response(&mut self, now: Time, trailers: &[(&str, &str)], out: &mut Vec<u8>) {
        let Send::Streaming { chunked } = self.send else {
            return;
        };
        if chunked {
            out.extend_from_slice(b"0\r\n");
            encode::fields(trailers, out);
            out.extend_from_slice(b"\r\n");
        }
        self.answered(now);
    }

    #[inline]
    fn connection(&self) -> Connection {
        match self.keep_alive && !self.stopping {
            false => Connection::Close,
            true if self.http10 => Connection::KeepAlive,
            true => Connection::Default,
        }
    }
}

/// What a status allows behind the head (RFC 9110 §6.4.1, §15.3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Any,
    /// Announced as empty.
    Empty,
    /// And no length announced.
    Never,
}

#[inline]
fn content(status: u16) -> (u16, Content) {
    match status {
        204 | 304 => (status, Content::Never),
        205 => (status, Content::Empty),
        200..=999 => (status, Content::Any),
        _ => (500, Content::Any),
    }
}
