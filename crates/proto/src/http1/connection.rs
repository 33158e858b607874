//! One HTTP/1.x connection, server role: the reading side, timers and the end of the connection.

use super::chunked::{Chunked, Decoded};
use super::error::{Error, ErrorKind};
use super::state::{Framing, Recv, Send};
use super::{framing, parse};
use crate::head::{Method, RequestHead, Version};
use crate::limits::Limits;
use crate::time::{Time, millis};
use std::sync::Arc;

/// One HTTP/1.0 or 1.1 connection, server role.
///
/// The caller owns socket, clock and buffers and goes round in this order:
///
/// 1. Received bytes go to [`poll`](Self::poll), again and again until it says
///    [`Event::NeedMore`], [`Event::Paused`] or [`Event::Closed`]. Bytes it leaves in the input
///    are to be offered again, in front of newer ones.
/// 2. After [`Event::Head`] an answer is due: [`respond`](Self::respond) writes it whole,
///    [`start_response`](Self::start_response) … [`finish_response`](Self::finish_response) piece
///    by piece. A body may be polled before or meanwhile. After the answer, `poll` again:
///    pipelined requests are served in order.
/// 3. At the end of the stream, once `poll` has used up all input, call
///    [`handle_eof`](Self::handle_eof); when the time of [`poll_timeout`](Self::poll_timeout) has
///    come, [`handle_timeout`](Self::handle_timeout).
/// 4. When [`is_finished`](Self::is_finished), flush and close. Close the sending side first and
///    read on for a moment, lest a reset destroys an answer that is still under way.
///
/// On an [`Error`] nothing more is read; answer with its status if
/// [`awaits_response`](Self::awaits_response), then go to step 4. Calls that do not fit the state
/// write nothing and change nothing.
///
/// ```
/// use std::sync::Arc;
/// use stepwell_proto::http1::{BodyKind, Event, ResponseHead, ServerConnection};
/// use stepwell_proto::{Field, Limits, RequestHead, Time, date::HttpDate};
///
/// let now = Time::from_millis(0);
/// let mut conn = ServerConnection::new(now, Arc::new(Limits::default()));
/// let mut head = RequestHead::new();
/// let mut input: &[u8] = b"GET /a?b=c HTTP/1.1\r\nHost: example.com\r\n\r\nGET /next";
/// assert_eq!(conn.poll(now, &mut input, &mut head), Ok(Event::Head(BodyKind::None)));
/// assert_eq!((head.path(), head.query()), (&b"/a"[..], Some(&b"b=c"[..])));
/// assert_eq!(head.known(Field::Host), Some(&b"example.com"[..]));
///
/// let mut out = Vec::new();
/// let date = HttpDate::new(784_111_777);
/// let response = ResponseHead {
///     status: 200,
///     date: date.as_bytes(),
///     content_type: Some("text/plain"),
///     fields: &[("Server", "stepwell")],
/// };
/// conn.respond(now, &response, b"Hello", &mut out);
/// assert_eq!(
///     String::from_utf8_lossy(&out),
///     "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: text/plain\r\n\
///      Server: stepwell\r\nContent-Length: 5\r\n\r\nHello"
/// );
/// assert_eq!(input, b"GET /next", "until the answer is out, nothing else is read");
/// assert_eq!(conn.poll(now, &mut input, &mut head), Ok(Event::NeedMore));
/// assert!(input.is_empty(), "a partial head is kept in the head's own buffer");
/// ```
#[derive(Debug)]
pub struct ServerConnection {
    pub(super) limits: Arc<Limits>,
    pub(super) recv: Recv,
    pub(super) send: Send,
    /// When the wait that `poll_timeout` bounds began; which one it is depends on `recv`.
    pub(super) since: Time,
    /// Milliseconds of waiting for its body that the request has left.
    credit: u64,
    /// A body is being waited for since `since`.
    waiting: bool,
    /// In `Recv::Head`: of the head there is at most the empty line that may precede it.
    blank: bool,
    /// A request has been answered before.
    pub(super) served: bool,
    /// The connection survives the present answer, as far as the request and the caller go.
    pub(super) keep_alive: bool,
    /// The caller wants the connection to end.
    pub(super) stopping: bool,
    pub(super) http10: bool,
    pub(super) head_request: bool,
    /// The client waits for 100 Continue, and has sent nothing of its body.
    pub(super) expects_continue: bool,
    /// Bytes of the body that have been handed out, and how many there may be.
    received: u64,
    body_limit: u64,
    chunked: Chunked,
}

/// What [`ServerConnection::poll`] has found.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// All input is used up; go on when there is more.
    NeedMore,
    /// A request's head is complete. With [`BodyKind::None`] the whole request is; no
    /// [`Event::End`] follows.
    Head(BodyKind),
    /// The next piece of the body, not empty.
    Body(&'a [u8]),
    /// The body is complete; trailers are in the head that was passed to this call.
    End,
    /// A request is being answered; the input has not been touched. Poll again after the answer.
    Paused,
    /// Nothing will be read any more; ignore the input.
    Closed,
}

/// How a request's body is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// There is none.
    None,
    /// So many bytes, at least one.
    Length(u64),
    /// Chunks; the length is not known.
    Chunked,
}

/// What the end of the stream meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eof {
    /// Nothing is under way: close.
    Close,
    /// It came in the middle of a request, which is lost. Should
    /// [`awaits_response`](ServerConnection::awaits_response) hold, the client may still read an
    /// answer, such as 400.
    Truncated,
    /// The client sends no more but may wait for the answer that is due: give it, then close.
    AfterAnswer,
}

/// What a deadline meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeout {
    /// It has not come or does not matter any more.
    Nothing,
    /// The connection is idle: close it without a word.
    CloseQuietly,
    /// The client is too slow; treat it as an error of [`ServerConnection::poll`].
    Fail(Error),
}

impl ServerConnection {
    /// A connection accepted at `now`; the time for the first head begins here.
    pub fn new(now: Time, limits: Arc<Limits>) -> ServerConnection {
        ServerConnection {
            recv: Recv::Idle,
            send: Send::Idle,
            since: now,
            credit: 0,
            waiting: false,
            blank: false,
            served: false,
            keep_alive: true,
            stopping: false,
            http10: false,
            head_request: false,
            expects_continue: false,
            received: 0,
            body_limit: limits.body,
            chunked: Chunked::new(),
            limits,
        }
    }

    /// Consumes bytes from the front of `input` and says what they were.
    ///
    /// A head that is not complete is consumed into `head`: pass the same one until
    /// [`Event::Head`]. It is cleared when a request begins. Later calls touch `head` only to add
    /// trailers, so that the request's own head may be elsewhere meanwhile.
    ///
    /// # Errors
    /// What the client sent is refused; see the type's description.
    #[inline]
    pub fn poll<'a>(
        &mut self,
        now: Time,
        input: &mut &'a [u8],
        head: &mut RequestHead,
    ) -> Result<Event<'a>, Error> {
        match self.recv {
            Recv::Idle => self.poll_idle(now, input, head),
            Recv::Head => self.poll_head(input, head),
            Recv::Body(framing) => self.poll_body(now, framing, input, head),
            Recv::Drain(framing) => {
                self.drain(now, framing, input);
                match self.recv {
                    Recv::Idle => self.poll_idle(now, input, head),
                    Recv::Closed => Ok(Event::Closed),
                    _ => Ok(Event::NeedMore),
                }
            }
            Recv::Paused => Ok(Event::Paused),
            Recv::Closed => Ok(Event::Closed),
        }
    }

    #[inline]
    fn poll_idle<'a>(
        &mut self,
        now: Time,
        input: &mut &'a [u8],
        head: &mut RequestHead,
    ) -> Result<Event<'a>, Error> {
        if input.is_empty() {
            return Ok(Event::NeedMore);
        }
        head.clear();
        match parse::head(&mut head.layout, input, &self.limits) {
            Ok(Some(end)) => {
                let (bytes, rest) = input.split_at(end);
                head.bytes.extend_from_slice(bytes);
                *input = rest;
                Ok(self.begin(head))
            }
            Ok(None) => {
                head.bytes.extend_from_slice(input);
                *input = &[];
                self.recv = Recv::Head;
                self.blank = head.layout.parse.is_blank();
                // The first head has had its time since the connection was accepted.
                if self.served {
                    self.since = now;
                }
                Ok(Event::NeedMore)
            }
            Err(error) => Err(self.refuse_head(head, error)),
        }
    }

    fn poll_head<'a>(
        &mut self,
        input: &mut &'a [u8],
        head: &mut RequestHead,
    ) -> Result<Event<'a>, Error> {
        let limits = &self.limits;
        let layout = &mut head.layout;
        let end = parse::accumulate(&mut head.bytes, input, limits.header_bytes, |bytes| {
            parse::head(layout, bytes, limits)
        });
        match end {
            Ok(Some(_)) => Ok(self.begin(head)),
            Ok(None) => {
                self.blank = head.layout.parse.is_blank();
                Ok(Event::NeedMore)
            }
            Err(error) => Err(self.refuse_head(head, error)),
        }
    }

    /// Takes up a request whose head is complete.
    #[inline]
    fn begin<'a>(&mut self, head: &RequestHead) -> Event<'a> {
        let layout = &head.layout;
        self.http10 = layout.version == Version::Http10;
        self.head_request = layout.method == Method::Head;
        self.keep_alive = framing::keeps_alive(layout, &head.bytes);
        self.send = Send::Due;
        let kind = match layout.content_length {
            None | Some(0) if !layout.chunked => {
                self.recv = Recv::Paused;
                return Event::Head(BodyKind::None);
            }
            Some(length) => {
                self.recv = Recv::Body(Framing::Length(length));
                BodyKind::Length(length)
            }
            None => {
                self.recv = Recv::Body(Framing::Chunked);
                self.chunked = Chunked::new();
                BodyKind::Chunked
            }
        };
        self.received = 0;
        self.body_limit = self.limits.body;
        self.credit = match self.limits.body_rate {
            0 => millis(self.limits.body_idle),
            _ => millis(self.limits.body_grace.min(self.limits.body_idle)),
        };
        self.waiting = false;
        self.expects_continue = layout.expects_continue;
        Event::Head(kind)
    }

    fn refuse_head(&mut self, head: &RequestHead, error: Error) -> Error {
        self.head_request = head.layout.method == Method::Head;
        self.http10 = false;
        self.send = Send::Due;
        self.fail(error)
    }

    fn fail(&mut self, error: Error) -> Error {
        self.stop_reading();
        error
    }

    /// Ends the reading side for good.
    fn stop_reading(&mut self) {
        self.recv = Recv::Closed;
        self.keep_alive = false;
        self.waiting = false;
        self.expects_continue = false;
    }

    fn poll_body<'a>(
        &mut self,
        now: Time,
        framing: Framing,
        input: &mut &'a [u8],
        head: &mut RequestHead,
    ) -> Result<Event<'a>, Error> {
        if !input.is_empty() {
            self.body_paused(now);
            self.expects_continue = false;
        }
        let step = match framing {
            Framing::Length(left) => self.body_by_length(left, input),
            Framing::Chunked => self.chunked.decode(input, &self.limits, self.body_limit),
        };
        match step {
            Ok(Decoded::Data(data)) => {
                self.received += data.len() as u64;
                self.earn(data.len());
                Ok(Event::Body(data))
            }
            Ok(Decoded::End) => {
                self.recv = Recv::Paused;
                if let Some(trailers) = self.chunked.take_trailers() {
                    head.trailers = Some(trailers);
                }
                Ok(Event::End)
            }
            Ok(Decoded::More) => {
                self.wait(now);
                Ok(Event::NeedMore)
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    fn body_by_length<'a>(
        &mut self,
        left: u64,
        input: &mut &'a [u8],
    ) -> Result<Decoded<'a>, Error> {
        if self.received.saturating_add(left) > self.body_limit {
            return Err(ErrorKind::BodyTooLarge.into());
        }
        if left == 0 {
            return Ok(Decoded::End);
        }
        if input.is_empty() {
            return Ok(Decoded::More);
        }
        let take = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
        let (data, rest) = input.split_at(take);
        *input = rest;
        self.recv = Recv::Body(Framing::Length(left - take as u64));
        Ok(Decoded::Data(data))
    }

    /// Starts to count the time that the client takes for the next piece of a body. A client that
    /// waits for 100 Continue is not late.
    pub(super) fn wait(&mut self, now: Time) {
        if !self.waiting && !self.expects_continue {
            self.waiting = true;
            self.since = now;
        }
    }

    /// Tells that the caller does not read from the client for now (back-pressure), so that the
    /// deadline of the body stands still. The next [`poll`](Self::poll) lets it run again.
    pub fn body_paused(&mut self, now: Time) {
        if std::mem::take(&mut self.waiting) {
            self.credit = self.credit.saturating_sub(millis(now.since(self.since)));
        }
    }

    /// Every byte buys waiting time at the lowest rate, up to the longest wait.
    fn earn(&mut self, bytes: usize) {
        let most = millis(self.limits.body_idle);
        let bought = match self.limits.body_rate {
            0 => most,
            // Fractions count: one-byte pieces buy time as well as large ones.
            rate => (bytes as u64)
                .saturating_mul(1000)
                .div_ceil(u64::from(rate)),
        };
        self.credit = self.credit.saturating_add(bought).min(most);
    }

    fn drain(&mut self, now: Time, framing: Framing, input: &mut &[u8]) {
        match framing {
            Framing::Length(left) => {
                let take = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
                *input = &input[take..];
                self.recv = Recv::Drain(Framing::Length(left - take as u64));
                if left == take as u64 {
                    self.idle(now);
                }
            }
            Framing::Chunked => loop {
                match self.chunked.decode(input, &self.limits, self.body_limit) {
                    Ok(Decoded::Data(data)) => {
                        // A chunk that began before the answer may be longer than what is left.
                        self.received += data.len() as u64;
                        if self.received > self.body_limit {
                            self.recv = Recv::Closed;
                            return;
                        }
                    }
                    Ok(Decoded::More) => return,
                    Ok(Decoded::End) => {
                        self.chunked.take_trailers();
                        return self.idle(now);
                    }
                    Err(_) => {
                        self.recv = Recv::Closed;
                        return;
                    }
                }
            },
        }
    }

    /// Waits for the next request.
    fn idle(&mut self, now: Time) {
        self.recv = Recv::Idle;
        self.since = now;
    }

    /// Can the connection live on although the present body has not been read?
    pub(super) fn is_drainable(&self, framing: Framing) -> bool {
        // A client that got no 100 may send the body or leave it out: nobody can tell.
        !self.expects_continue
            && match framing {
                Framing::Length(left) => left <= self.limits.drain_bytes,
                Framing::Chunked => true,
            }
    }

    /// The answer is out: goes on to what comes next.
    #[inline]
    pub(super) fn answered(&mut self, now: Time) {
        self.send = Send::Idle;
        self.served = true;
        self.recv = match self.recv {
            _ if !self.keep_alive || self.stopping => Recv::Closed,
            Recv::Paused | Recv::Body(Framing::Length(0)) => Recv::Idle,
            Recv::Body(framing) if self.is_drainable(framing) => {
                self.body_limit = self.received.saturating_add(self.limits.drain_bytes);
                Recv::Drain(framing)
            }
            _ => Recv::Closed,
        };
        self.waiting = false;
        self.since = now;
    }

    /// Sets the most bytes that the present request's body may have; counts what has been read
    /// already. Without it, [`Limits::body`] holds.
    ///
    /// # Errors
    /// 413 if `Content-Length` announces more.
    pub fn set_body_limit(&mut self, limit: u64) -> Result<(), Error> {
        if let Recv::Body(framing) = self.recv {
            self.body_limit = limit;
            if let Framing::Length(left) = framing {
                if self.received.saturating_add(left) > limit {
                    return Err(self.fail(ErrorKind::BodyTooLarge.into()));
                }
            }
        }
        Ok(())
    }

    /// The client has closed its sending side. Call it when `poll` has used up all input before
    /// the end; with requests still waiting in the input, serve them first.
    pub fn handle_eof(&mut self, now: Time) -> Eof {
        let _ = now;
        self.keep_alive = false;
        match self.recv {
            Recv::Paused | Recv::Body(Framing::Length(0)) => return Eof::AfterAnswer,
            Recv::Head if self.blank => self.recv = Recv::Closed,
            Recv::Head | Recv::Body(_) => {
                self.stop_reading();
                return Eof::Truncated;
            }
            Recv::Idle | Recv::Drain(_) => self.recv = Recv::Closed,
            Recv::Closed => {}
        }
        if self.send == Send::Idle {
            Eof::Close
        } else {
            Eof::AfterAnswer
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called. Ask again after every other
    /// call; `None` while the client is not waited for.
    pub fn poll_timeout(&self) -> Option<Time> {
        let limits = &self.limits;
        let wait = match self.recv {
            Recv::Idle if self.served => millis(limits.keep_alive),
            Recv::Idle | Recv::Head => millis(limits.header_timeout),
            Recv::Body(_) if self.waiting => self.credit,
            Recv::Drain(_) => millis(limits.drain_timeout),
            Recv::Body(_) | Recv::Paused | Recv::Closed => return None,
        };
        Some(Time::from_millis(
            self.since.as_millis().saturating_add(wait),
        ))
    }

    /// Acts on a deadline that has passed at `now`; does nothing before it.
    pub fn handle_timeout(&mut self, now: Time) -> Timeout {
        if self.poll_timeout().is_none_or(|deadline| now < deadline) {
            return Timeout::Nothing;
        }
        match self.recv {
            Recv::Head if !self.blank => {
                self.send = Send::Due;
                self.head_request = false;
                Timeout::Fail(self.fail(ErrorKind::HeaderTimeout.into()))
            }
            Recv::Body(_) => Timeout::Fail(self.fail(ErrorKind::BodyTimeout.into())),
            _ => {
                self.recv = Recv::Closed;
                Timeout::CloseQuietly
            }
        }
    }

    /// Is a whole answer due, none of which has been written?
    #[inline]
    pub fn awaits_response(&self) -> bool {
        self.send == Send::Due
    }

    /// Is the connection between two requests, or before the first?
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.recv == Recv::Idle && self.send == Send::Idle
    }

    /// Will nothing more be read or written? Then flush and close.
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.recv == Recv::Closed && self.send == Send::Idle
    }

    /// Ends the connection after the present answer, which says so if its head is not out yet; at
    /// once if the connection is idle.
    pub fn close_after_response(&mut self) {
        self.stopping = true;
        if let Recv::Idle | Recv::Drain(_) = self.recv {
            self.recv = Recv::Closed;
        }
    }
}
