//! From what a handler answers to bytes.

use std::sync::Arc;

use stepwell_proto::http1::{AsField, BodyLength, BodyMode, ResponseHead};
use stepwell_reactor::Token;
use stepwell_reactor::crew::fenced;

use super::connection::{Conn, Lent, Outflow, Pending, Phase, Source};
use super::{HttpDriver, Io, time};
use crate::body::{Body, FileBody, StreamBody};
use crate::counts::Counts;
use crate::exchange::{Exchange, Outcome, StreamTask, Work};
use crate::fields::Field;
use crate::link::Address;
use crate::pipe::{OutPipe, PipeWriter};
use crate::response::Response;
use crate::router::table::RouteId;
use crate::status;

/// A body up to this is copied behind its head and leaves with it; a larger one is sent from
/// where it lies.
const COPIED: usize = 16 * 1024;

impl AsField for Field {
    #[inline]
    fn name(&self) -> &str {
        &self.name
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.value.as_bytes()
    }
}

impl HttpDriver {
    /// A handler has returned, in place or late.
    #[inline]
    pub(super) fn finished(&mut self, io: &mut Io, mut exchange: Box<Exchange>) {
        let address = exchange.address;
        let route = exchange.route;
        match io.connections.get_mut(address.token) {
            Some(connection) if connection.state.is_about(address) => match &mut exchange.outcome {
                // In place: a response is some 130 bytes that need not be moved around.
                Outcome::Answer(response) => {
                    self.answer(&mut connection.state, address.token, response, route);
                }
                Outcome::Detached => {
                    // It may be answered any time, or wait for days: what it waits for is no
                    // longer a thread.
                    let conn = &mut connection.state;
                    self.lend(conn, route, false);
                    if let Some(lent) = &mut conn.lent {
                        lent.ticket = None;
                    }
                }
                Outcome::Pending => {
                    let mut response = Response::plain(status::INTERNAL_SERVER_ERROR);
                    self.answer(&mut connection.state, address.token, &mut response, route);
                }
            },
            _ => {
                if !matches!(exchange.outcome, Outcome::Detached) {
                    Counts::one(&self.counts.late);
                    self.hub.forget_gone(address);
                }
            }
        }
        self.recycle(exchange);
    }

    /// Encodes an answer: whole, or its head and where its body comes from.
    #[inline(always)]
    pub(super) fn answer(
        &mut self,
        conn: &mut Conn,
        token: Token,
        response: &mut Response,
        route: RouteId,
    ) {
        if self.stopping {
            conn.http.close_after_response();
        }
        match &response.body {
            Body::Empty => self.respond(conn, response, &[]),
            Body::Bytes(bytes) if bytes.len() <= COPIED => self.respond(conn, response, bytes),
            _ => self.start_body(conn, token, response, route),
        }
    }

    #[inline(always)]
    fn respond(&mut self, conn: &mut Conn, response: &Response, body: &[u8]) {
        let head = ResponseHead {
            status: response.status,
            date: self.date.as_bytes(),
            content_type: response.content_type.as_deref(),
            fields: &response.fields,
        };
        let (now, recent) = (time(self.now), &mut self.recent);
        conn.http
            .respond_again(now, &head, body, recent, &mut self.out);
        self.count(response.status);
        self.answered(conn);
    }

    /// Writes the head of an answer whose body follows.
    pub(super) fn start_response(
        &mut self,
        conn: &mut Conn,
        response: &Response,
        length: BodyLength,
    ) -> BodyMode {
        let head = ResponseHead {
            status: response.status,
            date: self.date.as_bytes(),
            content_type: response.content_type.as_deref(),
            fields: &response.fields,
        };
        self.count(response.status);
        conn.http
            .start_response(time(self.now), &head, length, &mut self.out)
    }

    fn start_body(
        &mut self,
        conn: &mut Conn,
        token: Token,
        response: &mut Response,
        route: RouteId,
    ) {
        match std::mem::take(&mut response.body) {
            Body::Empty => self.respond(conn, response, &[]),
            Body::Bytes(bytes) => {
                let length = BodyLength::Known(bytes.len() as u64);
                if self.start_response(conn, response, length) == BodyMode::Raw {
                    let pending = conn.pending.get_or_insert_default();
                    pending.push(std::mem::take(&mut self.out));
                    pending.push(bytes);
                    conn.since = self.now;
                }
                self.finish_response(conn, &[]);
            }
            Body::File(file) => self.start_file(conn, response, file),
            Body::Stream(body) => {
                let head = std::mem::replace(response, Response::new(status::OK));
                self.start_stream(conn, token, head, body, route);
            }
        }
    }

    fn start_file(&mut self, conn: &mut Conn, response: &Response, body: FileBody) {
        let mode = self.start_response(conn, response, BodyLength::Known(body.length));
        if mode != BodyMode::Raw {
            return self.finish_response(conn, &[]);
        }
        let source = Source::File {
            file: Arc::new(body.file),
            offset: body.offset,
            left: body.length,
            warming: false,
            warm_to: body.offset,
        };
        self.send_from(
            conn,
            Outflow {
                head: None,
                mode,
                source,
                events: false,
            },
        );
    }

    fn start_stream(
        &mut self,
        conn: &mut Conn,
        token: Token,
        response: Response,
        body: StreamBody,
        route: RouteId,
    ) {
        let left = body.length;
        if conn.is_head {
            let length = left.map_or(BodyLength::Unknown, BodyLength::Known);
            self.start_response(conn, &response, length);
            return self.finish_response(conn, &[]);
        }
        let (address, pipe) = (conn.address(token), OutPipe::new());
        let writer = PipeWriter::new(pipe.clone(), self.hub.clone(), address);
        self.offers.push_back(Work::Stream(Box::new(StreamTask {
            site: self.site.clone(),
            address,
            route,
            body: Some(body),
            writer,
        })));
        self.send_from(
            conn,
            Outflow {
                head: Some(Box::new(response)),
                mode: BodyMode::None,
                source: Source::Pipe { pipe, left },
                events: false,
            },
        );
        if let Some(lent) = &mut conn.lent {
            // Until a thread writes, it waits as a request does.
            lent.route = route;
            lent.held_back = true;
        }
    }

    /// A detached request is answered by events.
    pub(super) fn start_events(
        &mut self,
        conn: &mut Conn,
        response: &Response,
        pipe: Arc<OutPipe>,
    ) {
        let mode = self.start_response(conn, response, BodyLength::Unknown);
        if mode == BodyMode::None {
            pipe.abandon();
            return self.finish_response(conn, &[]);
        }
        let source = Source::Pipe { pipe, left: None };
        self.send_from(
            conn,
            Outflow {
                head: None,
                mode,
                source,
                events: true,
            },
        );
    }

    fn send_from(&mut self, conn: &mut Conn, outflow: Outflow) {
        let lent = conn.lent.get_or_insert_with(|| Box::new(Lent::default()));
        lent.ticket = None;
        lent.outflow = Some(outflow);
        conn.phase = Phase::Send;
        conn.since = self.now;
    }

    /// The body is out, or there is none.
    pub(super) fn finish_response(&mut self, conn: &mut Conn, trailers: &[(&str, &str)]) {
        conn.http
            .finish_response(time(self.now), trailers, &mut self.out);
        if let Some(pending) = &mut conn.pending {
            // Behind a body that is still on its way.
            pending.push(std::mem::take(&mut self.out));
        }
        self.answered(conn);
    }

    /// The present request is over.
    #[inline(always)]
    fn answered(&mut self, conn: &mut Conn) {
        conn.number = conn.number.wrapping_add(1);
        conn.phase = Phase::Receive;
        if let Some(lent) = conn.lent.take() {
            self.returned(*lent, conn.since);
        }
    }

    /// The request was away from the loop, and has been answered.
    #[inline(never)]
    fn returned(&self, lent: Lent, since: u64) {
        if lent.stolen {
            let route = self.site.class(lent.route).name();
            let ms = self.now.saturating_sub(since);
            tracing::info!(route, ms, "a slow handler was caught on its event loop");
        }
        if let Some(pipe) = lent.inflow {
            // The handler is over; a reader that was carried elsewhere must not wait.
            pipe.fail(status::BAD_REQUEST, "the request was answered already");
        }
    }

    /// An answer of the server itself.
    pub(super) fn answer_plain(&mut self, conn: &mut Conn, status: u16, reason: &'static str) {
        let mut response = Response::text(reason);
        response.status = status;
        self.respond(conn, &response, reason.as_bytes());
    }

    /// The client shall try again later, for the given reason.
    pub(super) fn answer_busy(&mut self, conn: &mut Conn, reason: &'static str) {
        let mut response = Response::text(reason).header("Retry-After", "1");
        response.status = status::SERVICE_UNAVAILABLE;
        self.respond(conn, &response, reason.as_bytes());
    }

    /// A detached request is answered.
    pub(super) fn late_answer(&mut self, io: &mut Io, address: Address, response: Response) {
        match io.connections.get_mut(address.token) {
            Some(connection) if connection.state.is_about(address) => {
                let conn = &mut connection.state;
                let route = conn.lent.as_ref().map_or(RouteId(0), |lent| lent.route);
                // An error that the application made is shown and dropped here.
                let mut response = fenced(|| self.site.app.settle(route, response))
                    .unwrap_or_else(|| Response::plain(status::INTERNAL_SERVER_ERROR));
                self.answer(conn, address.token, &mut response, route);
            }
            _ => {
                Counts::one(&self.counts.late);
                self.hub.forget_gone(address);
                fenced(|| drop(response));
            }
        }
    }

    #[inline]
    fn count(&self, status: u16) {
        if let Some(counter) = self.counts.responses.get(usize::from(status / 100)) {
            Counts::one(counter);
        }
    }

    pub(super) fn pend(&mut self, conn: &mut Conn, bytes: Vec<u8>) {
        conn.pending
            .get_or_insert_with(|| Box::new(Pending::default()))
            .push(bytes);
    }
}
