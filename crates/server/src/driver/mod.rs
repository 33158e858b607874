//! The connection driver: joins event loop, protocol machine and application.
//!
//! One turn of a connection goes through these files in order: `receive` reads and parses until a
//! request is complete and gives it out as a job; `answer` encodes what the handler answered;
//! `output` writes it, once per turn; `leave` is about everything that ends early.

mod answer;
mod connection;
mod leave;
mod output;
mod receive;

use std::collections::VecDeque;
use std::sync::Arc;

use stepwell_proto::Time;
use stepwell_proto::date::HttpDate;
use stepwell_proto::http1::RecentHeads;
use stepwell_reactor::crew::{CostClass, Detach, Pool, Ticket};
use stepwell_reactor::{Driver, Event, LoopHandle, Peer, Resume, Token, sys};

use crate::counts::Counts;
use crate::exchange::{Exchange, Outcome, Work};
use crate::link::{Address, Hub, Letter};
use crate::request::Request;
use crate::router::table::RouteId;
use crate::site::Site;

use connection::{Conn, Phase};

/// What the driver works with.
pub(crate) type Io = stepwell_reactor::Io<HttpDriver>;

/// Bytes read at once.
const INPUT: usize = 64 * 1024;
/// A turn's output that has grown to this is written before the turn goes on.
const CORK: usize = 64 * 1024;
/// How much one connection may do before others get their turn: a request or a read each count
/// one.
const BUDGET: u32 = 128;
/// Recycled requests that a loop keeps.
const SPARES: usize = 64;

/// Input of the connection whose turn it is.
struct Input {
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Input {
    fn is_empty(&self) -> bool {
        self.start == self.end
    }

    fn bytes(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    fn clear(&mut self) {
        self.start = 0;
        self.end = 0;
    }
}

/// HTTP/1 on one event loop.
pub(crate) struct HttpDriver {
    site: Arc<Site>,
    hub: Arc<Hub>,
    pool: Arc<Pool<Work>>,
    counts: Arc<Counts>,
    date: HttpDate,
    recent: RecentHeads,
    input: Input,
    /// Whose input lies in `input`, and whose output in `out`.
    turn: Option<Token>,
    out: Vec<u8>,
    /// What is left of the turn.
    budget: u32,
    /// An empty buffer to be exchanged with a full one of a pipe.
    draw: Vec<u8>,
    /// Exchanges travel boxed, so they are kept boxed.
    #[allow(clippy::vec_box)]
    spares: Vec<Box<Exchange>>,
    /// The route of the job that was given out last and is neither complete nor detached.
    current: Option<RouteId>,
    /// The request whose job was offered to the queue last.
    offered: Option<Address>,
    /// Jobs for the queue: refused ones, and those that this loop made itself.
    offers: VecDeque<Work>,
    /// The queue is not known to be full.
    room: bool,
    stopping: bool,
    /// The loop's clock, in milliseconds.
    now: u64,
}

impl HttpDriver {
    pub(crate) fn new(
        site: Arc<Site>,
        pool: Arc<Pool<Work>>,
        counts: Arc<Counts>,
        handle: &LoopHandle<Letter>,
    ) -> HttpDriver {
        HttpDriver {
            hub: Hub::new(handle.clone(), site.clone()),
            site,
            pool,
            counts,
            date: HttpDate::new(sys::unix_seconds()),
            recent: RecentHeads::new(),
            input: Input {
                buffer: vec![0; INPUT].into_boxed_slice(),
                start: 0,
                end: 0,
            },
            turn: None,
            out: Vec::with_capacity(4096),
            budget: 0,
            draw: Vec::new(),
            spares: Vec::new(),
            current: None,
            offered: None,
            offers: VecDeque::new(),
            room: true,
            stopping: false,
            now: sys::monotonic_ms(),
        }
    }

    #[inline]
    fn fresh_exchange(&mut self) -> Box<Exchange> {
        match self.spares.pop() {
            Some(exchange) => exchange,
            None => self.new_exchange(),
        }
    }

    #[cold]
    fn new_exchange(&self) -> Box<Exchange> {
        Box::new(Exchange {
            site: self.site.clone(),
            hub: self.hub.clone(),
            address: Address {
                token: Token::from_bits(u64::MAX),
                number: 0,
            },
            route: RouteId(0),
            request: Request::new(),
            outcome: Outcome::Pending,
        })
    }

    #[inline]
    fn recycle(&mut self, mut exchange: Box<Exchange>) {
        if self.spares.len() < SPARES {
            exchange.request.clear();
            exchange.outcome = Outcome::Pending;
            self.spares.push(exchange);
        }
    }

    /// Takes a job back from the queue or from those that wait for room.
    fn withdraw(&mut self, address: Address, ticket: Option<Ticket>) -> Option<Work> {
        if let Some(ticket) = ticket {
            return self.pool.cancel(ticket);
        }
        // The oldest wait longest and are in front.
        let place = self
            .offers
            .iter()
            .position(|work| work.address() == address)?;
        self.offers.remove(place)
    }
}

impl Driver for HttpDriver {
    type Connection = Conn;
    type Job = Work;
    type Letter = Letter;

    fn open(&mut self, now: u64, peer: Peer, _listener: usize) -> Conn {
        let mut conn = Conn::new(now, peer, &self.site);
        if self.stopping {
            conn.http.close_after_response();
        }
        conn
    }

    fn opened(&mut self, io: &mut Io, token: Token) {
        self.arm(io, token);
    }

    #[inline]
    fn ready(&mut self, io: &mut Io, token: Token, event: Event) -> Resume {
        let Some(connection) = io.connections.get_mut(token) else {
            return Resume::Nothing;
        };
        let conn = &mut connection.state;
        if event.gone() {
            return self.gone(io, token);
        }
        if event.readable() {
            conn.readable = true;
        }
        if event.half_closed() && !conn.half_closed {
            conn.half_closed = true;
            self.arm(io, token);
            return Resume::Advance(token);
        }
        match conn.phase {
            Phase::Receive | Phase::Linger if conn.readable => Resume::Advance(token),
            Phase::Send => Resume::Advance(token),
            Phase::Handle if conn.lent.as_ref().is_some_and(|lent| lent.inflow.is_some()) => {
                Resume::Advance(token)
            }
            _ if conn.pending.is_some() => Resume::Advance(token),
            _ => Resume::Nothing,
        }
    }

    #[inline]
    fn advance(&mut self, io: &mut Io, token: Token) -> Option<Work> {
        if self.turn != Some(token) {
            self.begin_turn(io, token)?;
        }
        loop {
            let Some(connection) = io.connections.get_mut(token) else {
                self.turn = None;
                self.input.clear();
                self.out.clear();
                return None;
            };
            let conn = &mut connection.state;
            let goes_on = match conn.phase {
                _ if conn.dead => false,
                Phase::Receive if conn.pending.is_some() || self.out.len() >= CORK => {
                    // No new request before the client has taken the answers to earlier ones.
                    self.flush(connection);
                    !connection.state.dead && connection.state.pending.is_none()
                }
                Phase::Receive if self.budget == 0 => false,
                Phase::Receive => match self.receive(connection, token) {
                    receive::Step::Job(work) => return Some(work),
                    receive::Step::Again => true,
                    receive::Step::Stop => false,
                },
                Phase::Handle => {
                    self.feed_handler(connection);
                    false
                }
                Phase::Send => {
                    self.feed_handler(connection);
                    self.send_body(connection, token)
                }
                Phase::Linger => {
                    self.discard(connection);
                    false
                }
            };
            if !goes_on {
                self.end_turn(io, token);
                return None;
            }
        }
    }

    #[inline]
    fn complete(&mut self, io: &mut Io, job: Work) {
        self.current = None;
        if let Work::Exchange(exchange) = job {
            self.finished(io, exchange);
        }
    }

    fn detach(&mut self, io: &mut Io, token: Token, why: Detach) {
        let route = self.current.take();
        if let Some(connection) = io.connections.get_mut(token) {
            let conn = &mut connection.state;
            if let Some(route) = route {
                self.lend(conn, route, why == Detach::Stolen);
            }
            self.offered = (why == Detach::Lent).then(|| conn.address(token));
        }
        self.end_turn(io, token);
    }

    fn current_class(&self) -> Option<&CostClass> {
        self.current.map(|route| self.site.class(route))
    }

    fn queued(&mut self, io: &mut Io, ticket: Ticket) {
        let Some(address) = self.offered.take() else {
            return;
        };
        if let Some(connection) = io.connections.get_mut(address.token) {
            let conn = &mut connection.state;
            if conn.is_about(address) {
                if let Some(lent) = &mut conn.lent {
                    lent.ticket = Some(ticket);
                    lent.held_back = false;
                }
                self.arm(io, address.token);
            }
        }
    }

    fn refused(&mut self, io: &mut Io, job: Work) {
        self.room = false;
        let address = job.address();
        if self.offered.take().is_some() {
            Counts::one(&self.counts.held_back);
        }
        if let Some(connection) = io.connections.get_mut(address.token) {
            if let Some(lent) = &mut connection.state.lent {
                if !std::mem::replace(&mut lent.held_back, true) {
                    // The newest goes to the end; one that was offered again keeps its place.
                    self.offers.push_back(job);
                    self.arm(io, address.token);
                    return;
                }
            }
        }
        self.offers.push_front(job);
    }

    fn relieved(&mut self) {
        self.room = true;
    }

    #[inline]
    fn offer(&mut self, _io: &mut Io) -> Option<Work> {
        if !self.room || self.offers.is_empty() {
            return None;
        }
        let work = self.offers.pop_front()?;
        self.offered = Some(work.address());
        Some(work)
    }

    fn letter(&mut self, io: &mut Io, letter: Letter) -> Resume {
        self.read_letter(io, letter)
    }

    fn timeout(&mut self, io: &mut Io, token: Token) -> Resume {
        self.late(io, token)
    }

    fn waited(&mut self, io: &mut Io) {
        self.now = io.now;
        self.date.update(sys::unix_seconds());
    }

    fn finished(&self, io: &Io) -> bool {
        self.stopping && io.connections.is_empty()
    }
}

impl HttpDriver {
    /// Loads the input that a connection has kept; nothing if there is no such connection.
    fn begin_turn(&mut self, io: &mut Io, token: Token) -> Option<()> {
        let conn = &mut io.connections.get_mut(token)?.state;
        self.turn = Some(token);
        self.budget = BUDGET;
        self.input.clear();
        if !conn.rest.is_empty() {
            if self.input.buffer.len() < conn.rest.len() {
                // What is kept was read into this buffer once, so this does not happen.
                self.input.buffer = vec![0; conn.rest.len()].into_boxed_slice();
            }
            let rest = std::mem::take(&mut conn.rest);
            if let Some(room) = self.input.buffer.get_mut(..rest.len()) {
                room.copy_from_slice(&rest);
                self.input.end = rest.len();
            }
        }
        Some(())
    }

    /// Sets the deadline of a connection.
    fn arm(&mut self, io: &mut Io, token: Token) {
        let Some(connection) = io.connections.get_mut(token) else {
            return;
        };
        let deadline = connection.state.deadline(&self.site);
        io.set_deadline(token, deadline);
    }
}

fn time(now: u64) -> Time {
    Time::from_millis(now)
}
