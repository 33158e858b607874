//! What the driver keeps for one connection, and which deadline it waits for.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSlice};
use std::sync::Arc;

use stepwell_proto::Time;
use stepwell_proto::http1::{BodyMode, ServerConnection};
use stepwell_reactor::crew::Ticket;
use stepwell_reactor::{Peer, Socket, Token};

use crate::bytes::Bytes;
use crate::exchange::Exchange;
use crate::link::Address;
use crate::pipe::{InPipe, OutPipe};
use crate::response::Response;
use crate::router::table::RouteId;
use crate::site::Site;

/// What a connection is doing.
///
/// ```text
///              request complete           answer whole
///   Receive ────────────────────▶ Handle ──────────────▶ Receive
///      │                            │ answer streamed        ▲
///      │ refused                    ▼                        │ body out
///      │                          Send ──────────────────────┘
///      ▼
///   Linger ──▶ closed        (from everywhere: client gone, too slow ──▶ closed)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Reading a request, or waiting for one.
    Receive,
    /// A handler has the request; nothing is read, but a streamed body.
    Handle,
    /// The body of the answer is being sent from a file or a pipe.
    Send,
    /// Everything is said; what the client still sends is dropped until it has read that.
    Linger,
}

/// One connection.
pub(crate) struct Conn {
    pub(super) http: ServerConnection,
    pub(super) phase: Phase,
    /// Numbers the requests.
    pub(super) number: u32,
    pub(super) peer: Peer,
    /// The kernel may have more input than was read.
    pub(super) readable: bool,
    /// The client has closed its sending half; there may be input before that.
    pub(super) half_closed: bool,
    /// All input has been read, and the end of it.
    pub(super) eof: bool,
    /// The present request was read to its end.
    pub(super) body_done: bool,
    /// The connection broke: nothing can be sent.
    pub(super) dead: bool,
    pub(super) is_head: bool,
    /// When the present phase began, or output last moved, on the loop's clock.
    pub(super) since: u64,
    /// The request that is being received.
    pub(super) exchange: Option<Box<Exchange>>,
    /// Input that was read and not used yet.
    pub(super) rest: Vec<u8>,
    /// Output that the kernel did not take yet.
    pub(super) pending: Option<Box<Pending>>,
    /// The rare parts, so that an idle connection stays small.
    pub(super) lent: Option<Box<Lent>>,
}

/// What is known of a request while its handler runs, or its answer is streamed.
#[derive(Default)]
pub(super) struct Lent {
    pub(super) route: RouteId,
    pub(super) ticket: Option<Ticket>,
    /// Its handler held the loop for too long.
    pub(super) stolen: bool,
    /// It waits for room in the queue.
    pub(super) held_back: bool,
    pub(super) inflow: Option<Arc<InPipe>>,
    pub(super) outflow: Option<Outflow>,
}

impl Lent {
    /// Whether no thread has taken it, as far as the loop knows.
    pub(super) fn waits(&self) -> bool {
        self.ticket.is_some() || self.held_back
    }
}

/// The body of an answer on its way.
pub(super) struct Outflow {
    /// The head, until it is sent.
    pub(super) head: Option<Box<Response>>,
    pub(super) mode: BodyMode,
    pub(super) source: Source,
    /// A stream of events, which ends when the server does.
    pub(super) events: bool,
}

/// Where it comes from.
pub(super) enum Source {
    Pipe {
        pipe: Arc<OutPipe>,
        /// Bytes still owed when the length was announced.
        left: Option<u64>,
    },
    File {
        file: Arc<File>,
        offset: u64,
        left: u64,
        /// A thread is fetching the next piece.
        warming: bool,
        /// Up to here the file was found in memory, or fetched.
        warm_to: u64,
    },
}

impl Conn {
    pub(super) fn new(now: u64, peer: Peer, site: &Site) -> Conn {
        Conn {
            http: ServerConnection::new(Time::from_millis(now), site.limits.clone()),
            phase: Phase::Receive,
            number: 0,
            peer,
            readable: false,
            half_closed: false,
            eof: false,
            body_done: true,
            dead: false,
            is_head: false,
            since: now,
            exchange: None,
            rest: Vec::new(),
            pending: None,
            lent: None,
        }
    }

    pub(super) fn address(&self, token: Token) -> Address {
        Address {
            token,
            number: self.number,
        }
    }

    /// Whether `address` names the request that is being handled or answered now.
    pub(super) fn is_about(&self, address: Address) -> bool {
        self.number == address.number && matches!(self.phase, Phase::Handle | Phase::Send)
    }

    /// Nothing is under way: the connection may be closed without harm.
    pub(super) fn is_idle(&self) -> bool {
        self.phase == Phase::Receive
            && self.http.is_idle()
            && self.rest.is_empty()
            && self.pending.is_none()
    }

    /// When something has to happen at the latest.
    pub(super) fn deadline(&self, site: &Site) -> Option<u64> {
        let after = |wait: std::time::Duration| {
            self.since
                .saturating_add(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX))
        };
        if self.pending.is_some() {
            return Some(after(site.bounds.write_idle));
        }
        let protocol = self.http.poll_timeout().map(Time::as_millis);
        match self.phase {
            Phase::Receive => protocol,
            Phase::Linger => Some(after(site.bounds.linger)),
            Phase::Handle => {
                let lent = self.lent.as_deref()?;
                let entry = site.app.route(lent.route);
                let mut first = entry.and_then(|entry| entry.options.timeout).map(after);
                let mut earlier = |at: u64| first = Some(first.map_or(at, |first| first.min(at)));
                if lent.waits() {
                    earlier(after(site.bounds.queue_deadline));
                    if self.half_closed {
                        earlier(after(super::leave::HALF_CLOSE_PATIENCE));
                    }
                }
                if lent.inflow.is_some() {
                    protocol.map(earlier);
                }
                first
            }
            Phase::Send => match self.lent.as_deref()?.outflow.as_ref()? {
                Outflow { events: true, .. } => Some(after(site.bounds.event_keep_alive)),
                Outflow {
                    source: Source::File { warming: false, .. },
                    ..
                } => Some(after(site.bounds.write_idle)),
                // The head waits until a thread writes the body.
                Outflow { head: Some(_), .. } => Some(after(site.bounds.queue_deadline)),
                _ => None,
            },
        }
    }
}

/// Output that waits until the kernel takes it.
#[derive(Default)]
pub(super) struct Pending {
    pieces: VecDeque<Piece>,
}

struct Piece {
    bytes: Bytes,
    sent: usize,
}

impl Pending {
    pub(super) fn push(&mut self, bytes: impl Into<Bytes>) {
        let bytes = bytes.into();
        if !bytes.is_empty() {
            self.pieces.push_back(Piece { bytes, sent: 0 });
        }
    }

    /// Writes until all is out (`true`) or the kernel takes no more (`false`); `moved` tells
    /// whether anything went out.
    pub(super) fn write_to(&mut self, socket: &Socket, moved: &mut bool) -> io::Result<bool> {
        while !self.pieces.is_empty() {
            let slices: Vec<IoSlice<'_>> = self
                .pieces
                .iter()
                .take(64)
                .map(|piece| IoSlice::new(piece.bytes.get(piece.sent..).unwrap_or_default()))
                .collect();
            let mut written = match socket.write_vectored(&slices) {
                Ok(written) => written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            *moved = true;
            while let Some(piece) = self.pieces.front_mut() {
                let left = piece.bytes.len() - piece.sent;
                if written < left {
                    piece.sent += written;
                    break;
                }
                written -= left;
                self.pieces.pop_front();
            }
        }
        Ok(true)
    }
}
