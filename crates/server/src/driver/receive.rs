//! From readiness to requests: read, parse, route, collect the body.

use std::io;

use stepwell_proto::http1::{BodyKind, Eof, Error, Event};
use stepwell_proto::{Method, RequestHead, Time};
use stepwell_reactor::{Connection, Token};

use super::connection::{Conn, Phase};
use super::{HttpDriver, time};
use crate::counts::Counts;
use crate::exchange::Work;
use crate::pipe::InPipe;
use crate::request::peer::Peer;
use crate::router::table::{Entry, RouteId};

/// What comes next for a connection.
pub(super) enum Step {
    /// A request is complete.
    Job(Work),
    /// Look again.
    Again,
    /// Nothing to do before something happens.
    Stop,
}

/// What reading gave.
#[derive(PartialEq, Eq)]
enum Fill {
    Some,
    /// Nothing now, or the end.
    None,
}

impl HttpDriver {
    /// Reads and parses until a request is complete or the input is used up.
    pub(super) fn receive(&mut self, connection: &mut Connection<Conn>, token: Token) -> Step {
        if self.input.is_empty() && self.fill(connection) == Fill::None {
            let conn = &mut connection.state;
            if conn.eof && conn.phase == Phase::Receive {
                self.ended(conn);
            }
            return Step::Stop;
        }
        let now = time(self.now);
        let conn = &mut connection.state;
        let mut exchange = match conn.exchange.take() {
            Some(exchange) => exchange,
            None => self.fresh_exchange(),
        };
        let mut input = self
            .input
            .buffer
            .get(self.input.start..self.input.end)
            .unwrap_or_default();
        // Until the machine has nothing to say: the end of a body comes after its last byte, also
        // when no further byte does.
        let event = loop {
            match conn.http.poll(now, &mut input, &mut exchange.request.head) {
                Ok(Event::Body(data)) => exchange.request.body.buffer().extend_from_slice(data),
                event => break event,
            }
        };
        self.input.start = self.input.end - input.len();
        match event {
            Ok(Event::NeedMore) => {
                conn.exchange = Some(exchange);
                Step::Again
            }
            Ok(Event::Head(kind)) => {
                exchange.address = conn.address(token);
                exchange.request.link.tie(&self.hub, exchange.address);
                exchange.request.peer = peer_of(conn.peer);
                exchange.route = self.site.app.find(&mut exchange.request);
                conn.exchange = Some(exchange);
                match self.begin_body(conn, kind) {
                    Ok(true) => self.dispatch(conn),
                    Ok(false) => {
                        if self.input.is_empty() {
                            self.await_body(conn);
                        }
                        Step::Again
                    }
                    Err(error) => self.refuse(conn, error),
                }
            }
            Ok(Event::End) => {
                conn.body_done = true;
                conn.exchange = Some(exchange);
                self.dispatch(conn)
            }
            // The machine pauses only while an answer is due, which is another phase.
            Ok(Event::Body(_) | Event::Paused | Event::Closed) => {
                self.recycle(exchange);
                self.input.clear();
                conn.phase = Phase::Linger;
                conn.since = self.now;
                Step::Again
            }
            Err(error) => {
                self.recycle(exchange);
                self.refuse(conn, error)
            }
        }
    }

    /// Nothing of the body came with the head: the time for it begins, and a client that waits to
    /// be asked for it is asked.
    fn await_body(&mut self, conn: &mut Conn) {
        let now = time(self.now);
        if conn.http.expects_continue_now() {
            conn.http.send_continue(now, &mut self.out);
        } else if let Some(exchange) = &mut conn.exchange {
            // Without input this can only say that it needs more.
            let _ = conn
                .http
                .poll(now, &mut &[][..], &mut exchange.request.head);
        }
    }

    /// Reads into the empty input buffer, unless there is nothing to be read.
    fn fill(&mut self, connection: &mut Connection<Conn>) -> Fill {
        let conn = &mut connection.state;
        while conn.readable && self.budget > 0 {
            self.budget -= 1;
            match connection.socket.read(&mut self.input.buffer) {
                Ok(0) => {
                    conn.eof = true;
                    conn.readable = false;
                }
                Ok(count) => {
                    self.input.start = 0;
                    self.input.end = count;
                    // A short read has emptied the socket: the next byte, or the end, is a new
                    // event. Only an end that was announced already has to be read.
                    conn.readable = count == self.input.buffer.len() || conn.half_closed;
                    return Fill::Some;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => conn.readable = false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    conn.dead = true;
                    conn.readable = false;
                }
            }
        }
        Fill::None
    }

    /// The head is there: decides where its body goes. Answers whether the handler starts now.
    fn begin_body(&mut self, conn: &mut Conn, kind: BodyKind) -> Result<bool, Error> {
        let Some(exchange) = &mut conn.exchange else {
            return Ok(false);
        };
        conn.is_head = exchange.request.head.method() == Method::Head;
        conn.body_done = kind == BodyKind::None;
        if conn.body_done {
            return Ok(true);
        }
        let options = self
            .site
            .app
            .route(exchange.route)
            .map(|entry: &Entry| entry.options);
        let options = options.unwrap_or_default();
        let limit = match options.body_limit {
            Some(limit) => limit,
            None if options.stream_body => u64::MAX,
            None => self.site.limits.body,
        };
        if options.builtin {
            return Ok(true);
        }
        conn.http.set_body_limit(limit)?;
        if options.stream_body {
            let pipe = InPipe::new();
            if let Some(reader) = exchange.request.link.reader(pipe.clone()) {
                exchange.request.body.set_stream(Box::new(reader));
            }
            conn.lent.get_or_insert_default().inflow = Some(pipe);
            return Ok(true);
        }
        if let BodyKind::Length(length) = kind {
            let expected = usize::try_from(length.min(64 * 1024)).unwrap_or(0);
            exchange.request.body.buffer().reserve(expected);
        }
        Ok(false)
    }

    /// Gives the request out.
    #[inline]
    fn dispatch(&mut self, conn: &mut Conn) -> Step {
        let Some(exchange) = conn.exchange.take() else {
            return Step::Stop;
        };
        conn.phase = Phase::Handle;
        conn.since = self.now;
        self.budget = self.budget.saturating_sub(1);
        self.current = Some(exchange.route);
        Step::Job(Work::Exchange(exchange))
    }

    /// Moves what has arrived of a streamed body to the handler, as long as it takes it.
    pub(super) fn feed_handler(&mut self, connection: &mut Connection<Conn>) {
        let Some(pipe) = connection
            .state
            .lent
            .as_ref()
            .and_then(|lent| lent.inflow.clone())
        else {
            return;
        };
        let now = time(self.now);
        // The request's own head is with the handler.
        let mut trailers = RequestHead::new();
        loop {
            if pipe.room() == 0 {
                connection.state.http.body_paused(now);
                return;
            }
            if self.input.is_empty() && self.fill(connection) == Fill::None {
                let conn = &mut connection.state;
                if conn.eof || conn.dead {
                    self.end_inflow(conn, 400, "the client closed the connection in mid-body");
                    return;
                }
                if pipe.was_asked() && conn.http.expects_continue_now() {
                    conn.http.send_continue(now, &mut self.out);
                }
                // Lets the time for the next piece run.
                let _ = conn.http.poll(now, &mut &[][..], &mut trailers);
                return;
            }
            if !self.feed_piece(&mut connection.state, &pipe, now, &mut trailers) {
                return;
            }
        }
    }

    /// Moves one piece; answers whether to go on.
    fn feed_piece(
        &mut self,
        conn: &mut Conn,
        pipe: &InPipe,
        now: Time,
        trailers: &mut RequestHead,
    ) -> bool {
        let all = self
            .input
            .buffer
            .get(self.input.start..self.input.end)
            .unwrap_or_default();
        let (mut input, _) = all.split_at(all.len().min(pipe.room()));
        let offered = input.len();
        let event = loop {
            match conn.http.poll(now, &mut input, trailers) {
                Ok(Event::Body(data)) => pipe.push(data),
                event => break event,
            }
        };
        self.input.start += offered - input.len();
        match event {
            Ok(Event::NeedMore) => true,
            Ok(Event::End) => {
                conn.body_done = true;
                pipe.end();
                if let Some(lent) = &mut conn.lent {
                    lent.inflow = None;
                }
                false
            }
            Ok(_) => {
                self.end_inflow(conn, 400, "the body broke off");
                false
            }
            Err(error) => {
                Counts::one(&self.counts.refused);
                tracing::debug!(peer = %conn.peer, %error, "refused a body");
                self.end_inflow(conn, error.status(), error.reason());
                false
            }
        }
    }

    /// The handler gets an error instead of more of the body; its answer is still sent if it can
    /// be.
    pub(super) fn end_inflow(&mut self, conn: &mut Conn, status: u16, reason: &'static str) {
        if let Some(pipe) = conn.lent.as_mut().and_then(|lent| lent.inflow.take()) {
            pipe.fail(status, reason);
        }
        self.input.clear();
    }

    /// The client has sent everything it will ever send.
    fn ended(&mut self, conn: &mut Conn) {
        match conn.http.handle_eof(time(self.now)) {
            // Answers of this turn are still to be written: the client may listen to the end.
            Eof::Close | Eof::AfterAnswer => {
                conn.phase = Phase::Linger;
                conn.since = self.now;
            }
            Eof::Truncated => {
                Counts::one(&self.counts.refused);
                tracing::debug!(peer = %conn.peer, "the client left in the middle of a request");
                if let Some(exchange) = conn.exchange.take() {
                    self.recycle(exchange);
                }
                if conn.http.awaits_response() {
                    self.answer_plain(conn, 400, "the request is not complete");
                }
                conn.phase = Phase::Linger;
                conn.since = self.now;
            }
        }
    }

    /// Drops what a client still sends after everything was said.
    pub(super) fn discard(&mut self, connection: &mut Connection<Conn>) {
        self.input.clear();
        // A client that pours without end is cut off by the deadline; this bounds one turn.
        for _ in 0..16 {
            if self.fill(connection) == Fill::None {
                break;
            }
            self.input.clear();
        }
        connection.state.dead |= connection.state.eof && connection.state.pending.is_none();
    }

    /// Answers a request that breaks the rules, and says goodbye.
    pub(super) fn refuse(&mut self, conn: &mut Conn, error: Error) -> Step {
        Counts::one(&self.counts.refused);
        tracing::debug!(peer = %conn.peer, %error, "refused a request");
        if let Some(exchange) = conn.exchange.take() {
            self.recycle(exchange);
        }
        if conn.http.awaits_response() {
            self.answer_plain(conn, error.status(), error.reason());
        }
        self.input.clear();
        conn.body_done = false;
        conn.phase = Phase::Linger;
        conn.since = self.now;
        Step::Stop
    }

    /// A request whose handler is to be found again by its route.
    pub(super) fn lend(&self, conn: &mut Conn, route: RouteId, stolen: bool) {
        let lent = conn.lent.get_or_insert_default();
        lent.route = route;
        lent.stolen |= stolen;
    }
}

fn peer_of(peer: stepwell_reactor::Peer) -> Peer {
    match peer {
        stepwell_reactor::Peer::Inet(address) => Peer::Tcp(address),
        stepwell_reactor::Peer::Unix => Peer::Unix,
    }
}
