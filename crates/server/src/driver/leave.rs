//! Everything that ends early: deadlines, clients that leave, the server's own end.

use std::time::Duration;

use stepwell_proto::http1::Timeout;
use stepwell_reactor::{Resume, Token};

use super::connection::{Conn, Outflow, Phase, Source};
use super::{BUDGET, HttpDriver, Io, time};
use crate::counts::Counts;
use crate::exchange::Work;
use crate::link::{Address, Letter};
use crate::status;

/// A client that has closed its sending half may still read the answer, or may be gone: after
/// this long in the queue its request is not worth a thread.
pub(super) const HALF_CLOSE_PATIENCE: Duration = Duration::from_secs(1);

impl HttpDriver {
    pub(super) fn read_letter(&mut self, io: &mut Io, letter: Letter) -> Resume {
        match letter {
            Letter::Finished(exchange) => {
                let token = exchange.address.token;
                let alive = self.begin_turn(io, token).is_some();
                self.finished(io, exchange);
                if alive {
                    Resume::Advance(token)
                } else {
                    Resume::Nothing
                }
            }
            Letter::Answer(address, response) => {
                let alive = self.begin_turn(io, address.token).is_some();
                self.late_answer(io, address, *response);
                if alive {
                    Resume::Advance(address.token)
                } else {
                    Resume::Nothing
                }
            }
            Letter::Events(address, response, pipe) => {
                if self.begin_turn_about(io, address) {
                    if let Some(connection) = io.connections.get_mut(address.token) {
                        self.start_events(&mut connection.state, &response, pipe);
                    }
                    return Resume::Advance(address.token);
                }
                pipe.abandon();
                self.hub.forget_gone(address);
                Resume::Nothing
            }
            Letter::WantsBody(address) | Letter::Output(address) => self.resume(io, address),
            Letter::Warmed(address, readable) => self.warmed(io, address, readable),
            Letter::Stop => self.stop(io),
            Letter::Abort => self.abort(io),
        }
    }

    fn begin_turn_about(&mut self, io: &mut Io, address: Address) -> bool {
        let about = io
            .connections
            .get_mut(address.token)
            .is_some_and(|c| c.state.is_about(address));
        about && self.begin_turn(io, address.token).is_some()
    }

    fn resume(&mut self, io: &mut Io, address: Address) -> Resume {
        match io.connections.get_mut(address.token) {
            Some(connection) if connection.state.is_about(address) => {
                Resume::Advance(address.token)
            }
            _ => Resume::Nothing,
        }
    }

    fn warmed(&mut self, io: &mut Io, address: Address, readable: bool) -> Resume {
        let Some(connection) = io.connections.get_mut(address.token) else {
            return Resume::Nothing;
        };
        let conn = &mut connection.state;
        if !conn.is_about(address) {
            return Resume::Nothing;
        }
        conn.dead |= !readable;
        conn.since = self.now;
        if let Some(Outflow {
            source: Source::File { warming, .. },
            ..
        }) = conn.lent.as_mut().and_then(|lent| lent.outflow.as_mut())
        {
            *warming = false;
        }
        Resume::Advance(address.token)
    }

    /// The connection is gone in both directions.
    pub(super) fn gone(&mut self, io: &mut Io, token: Token) -> Resume {
        if let Some(connection) = io.connections.get_mut(token) {
            if connection.state.phase == Phase::Linger {
                // Input that is left unread would turn the close into a reset, which can destroy
                // an answer that the client has not read yet.
                self.budget = BUDGET;
                connection.state.readable = true;
                self.discard(connection);
            }
        }
        self.drop_connection(io, token);
        Resume::Nothing
    }

    /// Closes a connection, and takes back whatever was under way for it.
    pub(super) fn drop_connection(&mut self, io: &mut Io, token: Token) {
        let Some(connection) = io.close(token) else {
            return;
        };
        let mut conn = connection.state;
        let address = conn.address(token);
        if let Some(exchange) = conn.exchange.take() {
            self.recycle(exchange);
        }
        if !matches!(conn.phase, Phase::Handle | Phase::Send) {
            return;
        }
        let handled = conn.phase == Phase::Handle;
        let lent = conn.lent.take().unwrap_or_default();
        if let Some(pipe) = &lent.inflow {
            pipe.fail(status::BAD_REQUEST, "the client is gone");
        }
        if let Some(Outflow {
            source: Source::Pipe { pipe, .. },
            ..
        }) = &lent.outflow
        {
            pipe.abandon();
        }
        if lent.waits() {
            if let Some(work) = self.withdraw(address, lent.ticket) {
                Counts::one(&self.counts.cancelled);
                return self.drop_work(work);
            }
        }
        if handled {
            self.hub.note_gone(address);
        }
    }

    pub(super) fn drop_work(&mut self, work: Work) {
        if let Work::Exchange(exchange) = work {
            self.recycle(exchange);
        }
    }

    /// A connection's deadline has passed.
    pub(super) fn late(&mut self, io: &mut Io, token: Token) -> Resume {
        let Some(connection) = io.connections.get_mut(token) else {
            return Resume::Nothing;
        };
        let conn = &mut connection.state;
        if conn.pending.is_some() {
            Counts::one(&self.counts.slow_clients);
            tracing::debug!(peer = %conn.peer, "the client takes no more of its answer: closed");
            return self.gone(io, token);
        }
        match conn.phase {
            Phase::Linger => self.gone(io, token),
            Phase::Receive => self.protocol_late(io, token),
            Phase::Handle => self.handler_late(io, token),
            Phase::Send => self.body_late(io, token),
        }
    }

    fn protocol_late(&mut self, io: &mut Io, token: Token) -> Resume {
        let Some(connection) = io.connections.get_mut(token) else {
            return Resume::Nothing;
        };
        match connection.state.http.handle_timeout(time(io.now)) {
            Timeout::CloseQuietly => self.gone(io, token),
            Timeout::Nothing => {
                self.arm(io, token);
                Resume::Nothing
            }
            Timeout::Fail(error) => {
                Counts::one(&self.counts.slow_clients);
                if self.begin_turn(io, token).is_some() {
                    if let Some(connection) = io.connections.get_mut(token) {
                        let conn = &mut connection.state;
                        if conn.phase == Phase::Handle {
                            self.end_inflow(conn, error.status(), error.reason());
                        } else {
                            self.refuse(conn, error);
                        }
                    }
                }
                Resume::Advance(token)
            }
        }
    }

    fn handler_late(&mut self, io: &mut Io, token: Token) -> Resume {
        let now = io.now;
        let Some(connection) = io.connections.get_mut(token) else {
            return Resume::Nothing;
        };
        let conn = &mut connection.state;
        let address = conn.address(token);
        let waited = Duration::from_millis(now.saturating_sub(conn.since));
        let half_closed = conn.half_closed;
        let Some(lent) = conn.lent.as_mut() else {
            return Resume::Nothing;
        };
        let timeout = self
            .site
            .app
            .route(lent.route)
            .and_then(|entry| entry.options.timeout);
        if lent.waits() {
            let ticket = lent.ticket;
            let gives_up = waited >= self.site.bounds.queue_deadline;
            let left = half_closed && waited >= HALF_CLOSE_PATIENCE;
            if left && !gives_up {
                match self.withdraw(address, ticket) {
                    Some(work) => {
                        Counts::one(&self.counts.cancelled);
                        self.drop_work(work);
                        self.forget_lent(io, token);
                        return self.gone(io, token);
                    }
                    None => self.taken_by_thread(io, token),
                }
            } else if gives_up {
                match self.withdraw(address, ticket) {
                    Some(work) => {
                        self.drop_work(work);
                        return self.give_up(io, token);
                    }
                    None => self.taken_by_thread(io, token),
                }
            }
        }
        if timeout.is_some_and(|timeout| waited >= timeout) {
            return self.abandon_handler(io, token);
        }
        let body_late = io.connections.get_mut(token).is_some_and(|connection| {
            let due = connection.state.http.poll_timeout();
            due.is_some_and(|due| due <= time(now))
        });
        if body_late {
            return self.protocol_late(io, token);
        }
        self.arm(io, token);
        Resume::Nothing
    }

    /// The job was not in the queue any more.
    fn taken_by_thread(&mut self, io: &mut Io, token: Token) {
        if let Some(lent) = io
            .connections
            .get_mut(token)
            .and_then(|c| c.state.lent.as_mut())
        {
            lent.ticket = None;
            lent.held_back = false;
        }
    }

    fn forget_lent(&mut self, io: &mut Io, token: Token) {
        if let Some(connection) = io.connections.get_mut(token) {
            connection.state.lent = None;
            connection.state.phase = Phase::Receive;
        }
    }

    /// A request has waited too long for a thread.
    fn give_up(&mut self, io: &mut Io, token: Token) -> Resume {
        Counts::one(&self.counts.queue_timeouts);
        tracing::warn!("a request waited too long for a thread: answered 503");
        self.begin_turn(io, token);
        if let Some(connection) = io.connections.get_mut(token) {
            self.answer_busy(&mut connection.state, "the server is busy");
        }
        Resume::Advance(token)
    }

    /// A request takes longer than its route allows, in the queue or in its handler.
    fn abandon_handler(&mut self, io: &mut Io, token: Token) -> Resume {
        Counts::one(&self.counts.handler_timeouts);
        if let Some(lent) = io
            .connections
            .get_mut(token)
            .and_then(|c| c.state.lent.as_ref())
        {
            let route = self.site.class(lent.route).name();
            tracing::warn!(
                route,
                "a request ran into the timeout of its route: answered 503"
            );
        }
        self.answer_instead(io, token, "the request took longer than its route allows");
        Resume::Advance(token)
    }

    /// Answers 503 in place of the handler, or of whoever has detached the request.
    fn answer_instead(&mut self, io: &mut Io, token: Token, reason: &'static str) {
        self.begin_turn(io, token);
        let Some(connection) = io.connections.get_mut(token) else {
            return;
        };
        let conn = &mut connection.state;
        let address = conn.address(token);
        let (waits, ticket) = match &conn.lent {
            Some(lent) => (lent.waits(), lent.ticket),
            None => return,
        };
        conn.http.close_after_response();
        self.answer_busy(conn, reason);
        match waits.then(|| self.withdraw(address, ticket)).flatten() {
            Some(work) => self.drop_work(work),
            // A thread is at it: it can find out that nobody waits any more.
            None => self.hub.note_gone(address),
        }
    }

    fn body_late(&mut self, io: &mut Io, token: Token) -> Resume {
        let Some(connection) = io.connections.get_mut(token) else {
            return Resume::Nothing;
        };
        let conn = &mut connection.state;
        let Some(lent) = conn.lent.as_ref() else {
            return Resume::Nothing;
        };
        let Some(outflow) = lent.outflow.as_ref() else {
            return Resume::Nothing;
        };
        if outflow.events {
            self.begin_turn(io, token);
            if let Some(connection) = io.connections.get_mut(token) {
                self.send_keep_alive(&mut connection.state);
            }
            return Resume::Advance(token);
        }
        if outflow.head.is_some() {
            let (address, ticket) = (conn.address(token), lent.ticket);
            match self.withdraw(address, ticket) {
                Some(_) => return self.give_up(io, token),
                None => {
                    self.taken_by_thread(io, token);
                    io.set_deadline(token, None);
                    return Resume::Nothing;
                }
            }
        }
        Counts::one(&self.counts.slow_clients);
        self.gone(io, token)
    }

    /// Serves what has come, then ends.
    fn stop(&mut self, io: &mut Io) -> Resume {
        self.stopping = true;
        let tokens: Vec<Token> = io.connections.tokens().collect();
        for token in tokens {
            let Some(connection) = io.connections.get_mut(token) else {
                continue;
            };
            let conn = &mut connection.state;
            if conn.phase == Phase::Receive {
                // Whatever lies in its socket was sent before the end: one last look, and what
                // is idle after that goes.
                conn.readable = true;
                if !conn.http.is_idle() {
                    conn.http.close_after_response();
                }
                io.revisit(token);
                continue;
            }
            conn.http.close_after_response();
            if is_event_stream(conn) {
                self.begin_turn(io, token);
                if let Some(connection) = io.connections.get_mut(token) {
                    let conn = &mut connection.state;
                    if let Some(Outflow {
                        source: Source::Pipe { pipe, .. },
                        ..
                    }) = conn.lent.as_mut().and_then(|lent| lent.outflow.take())
                    {
                        pipe.abandon();
                    }
                    self.finish_response(conn, &[]);
                }
                self.end_turn(io, token);
            }
        }
        Resume::Nothing
    }

    /// Ends now.
    fn abort(&mut self, io: &mut Io) -> Resume {
        self.stopping = true;
        let tokens: Vec<Token> = io.connections.tokens().collect();
        for token in tokens {
            self.cut_off(io, token);
            self.drop_connection(io, token);
        }
        Resume::Nothing
    }

    /// Tells the client of a request that is still being handled that no answer will come, as
    /// far as the kernel takes that now.
    fn cut_off(&mut self, io: &mut Io, token: Token) {
        let found = io.connections.get_mut(token);
        if found.is_none_or(|connection| connection.state.phase != Phase::Handle) {
            return;
        }
        self.answer_instead(io, token, "the server stops");
        self.end_turn(io, token);
        if let Some(connection) = io.connections.get_mut(token) {
            // Closing with input unread would be a reset, which can destroy the answer.
            self.budget = BUDGET;
            connection.state.readable = true;
            self.discard(connection);
        }
    }
}

fn is_event_stream(conn: &Conn) -> bool {
    conn.lent
        .as_ref()
        .and_then(|lent| lent.outflow.as_ref())
        .is_some_and(|outflow| outflow.events)
}
