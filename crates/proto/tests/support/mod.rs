//! A driver for tests: feeds bytes in pieces, answers every request, notes what happened.

// Every test file uses its own part of this.
#![allow(dead_code, unreachable_pub)]

use std::sync::Arc;
use stepwell_proto::http1::{
    BodyKind, Eof, ErrorKind, Event, ResponseHead, ServerConnection, Timeout,
};
use stepwell_proto::{Limits, RequestHead, Time};

pub const DATE: &[u8; 29] = b"Sun, 06 Nov 1994 08:49:37 GMT";

/// What a connection made of its input, however it was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    Head(Box<Head>),
    Body(Vec<u8>),
    End(Vec<(String, Vec<u8>)>),
    Refused(ErrorKind),
}

/// Everything that a head says, copied out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub kind: BodyKind,
    pub method: String,
    pub version: String,
    pub target: Vec<u8>,
    pub path: Vec<u8>,
    pub query: Option<Vec<u8>>,
    pub authority: Option<String>,
    pub fields: Vec<(String, Vec<u8>)>,
    pub content_length: Option<u64>,
    pub chunked: bool,
    pub expects_continue: bool,
}

impl Head {
    pub fn of(head: &RequestHead, kind: BodyKind) -> Head {
        Head {
            kind,
            method: head.method_str().to_owned(),
            version: format!("{:?}", head.version()),
            target: head.target().to_vec(),
            path: head.path().to_vec(),
            query: head.query().map(<[u8]>::to_vec),
            authority: head.authority().map(str::to_owned),
            fields: head
                .fields()
                .map(|(n, v)| (n.to_owned(), v.to_vec()))
                .collect(),
            content_length: head.content_length(),
            chunked: head.is_chunked(),
            expects_continue: head.expects_continue(),
        }
    }
}

/// When the driver answers a request that has a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// When it has been read.
    AfterBody,
    /// As soon as its head is there.
    AtOnce,
}

/// One connection and what has happened on it.
pub struct Peer {
    pub conn: ServerConnection,
    pub head: RequestHead,
    pub now: Time,
    pub seen: Vec<Seen>,
    pub out: Vec<u8>,
    pub answer: Answer,
    pub closed: bool,
    /// Input that the connection has not taken yet.
    pub waiting: Vec<u8>,
}

impl Peer {
    pub fn new(limits: &Limits) -> Peer {
        Peer {
            conn: ServerConnection::new(Time::ZERO, Arc::new(limits.clone())),
            head: RequestHead::new(),
            now: Time::ZERO,
            seen: Vec::new(),
            out: Vec::new(),
            answer: Answer::AfterBody,
            closed: false,
            waiting: Vec::new(),
        }
    }

    pub fn with_defaults() -> Peer {
        Peer::new(&Limits::default())
    }

    /// Receives a piece and does all that can be done with it.
    pub fn feed(&mut self, piece: &[u8]) {
        let mut all = std::mem::take(&mut self.waiting);
        all.extend_from_slice(piece);
        let mut input = all.as_slice();
        loop {
            let before = input.len();
            let event = self.conn.poll(self.now, &mut input, &mut self.head);
            assert!(input.len() <= before, "input grew");
            match event {
                Ok(Event::NeedMore) => {
                    assert!(
                        input.is_empty(),
                        "more is needed but {} bytes lie there",
                        input.len()
                    );
                    break;
                }
                Ok(Event::Head(kind)) => {
                    self.seen
                        .push(Seen::Head(Box::new(Head::of(&self.head, kind))));
                    if kind == BodyKind::None || self.answer == Answer::AtOnce {
                        self.ok();
                    }
                }
                Ok(Event::Body(data)) => {
                    assert!(!data.is_empty(), "an empty piece of body");
                    match self.seen.last_mut() {
                        Some(Seen::Body(all)) => all.extend_from_slice(data),
                        _ => self.seen.push(Seen::Body(data.to_vec())),
                    }
                }
                Ok(Event::End) => {
                    let trailers = self.head.trailers();
                    let trailers = trailers.map(|(n, v)| (n.to_owned(), v.to_vec())).collect();
                    self.seen.push(Seen::End(trailers));
                    self.ok();
                }
                Ok(Event::Paused) => panic!("paused though everything was answered"),
                Ok(Event::Closed) => {
                    self.closed = true;
                    assert!(self.conn.is_finished());
                    return;
                }
                Err(error) => {
                    self.seen.push(Seen::Refused(error.kind()));
                    self.respond(error.status(), error.reason());
                }
            }
        }
        self.waiting = input.to_vec();
    }

    pub fn ok(&mut self) {
        self.respond(200, "OK");
    }

    pub fn respond(&mut self, status: u16, body: &str) {
        let head = response(status);
        self.conn
            .respond(self.now, &head, body.as_bytes(), &mut self.out);
    }

    /// Moves the clock.
    pub fn at(&mut self, millis: u64) -> &mut Peer {
        self.now = Time::from_millis(millis);
        self
    }

    pub fn eof(&mut self) -> Eof {
        self.conn.handle_eof(self.now)
    }

    pub fn timeout(&mut self) -> Timeout {
        self.conn.handle_timeout(self.now)
    }

    /// The deadline in milliseconds.
    pub fn deadline(&self) -> Option<u64> {
        self.conn.poll_timeout().map(Time::as_millis)
    }

    pub fn sent(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    /// The statuses of the answers written so far.
    pub fn statuses(&self) -> Vec<u16> {
        self.sent()
            .split("HTTP/1.1 ")
            .skip(1)
            .map(|answer| answer[..3].parse().expect("a status"))
            .collect()
    }
}

/// A plain response head.
pub fn response(status: u16) -> ResponseHead<'static> {
    ResponseHead {
        status,
        date: DATE,
        content_type: Some("text/plain"),
        fields: &[],
    }
}

/// What a connection makes of `pieces`.
pub fn run<'a>(
    limits: &Limits,
    answer: Answer,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Seen>, String, bool) {
    let mut peer = Peer::new(limits);
    peer.answer = answer;
    for piece in pieces {
        peer.feed(piece);
    }
    let sent = peer.sent();
    (peer.seen, sent, peer.closed)
}

/// The one refusal of `bytes`, if they are refused.
pub fn refusal(limits: &Limits, bytes: &[u8]) -> Option<ErrorKind> {
    let (seen, sent, closed) = run(limits, Answer::AfterBody, [bytes]);
    let refused = seen.iter().find_map(|s| match s {
        Seen::Refused(kind) => Some(*kind),
        _ => None,
    });
    if refused.is_some() {
        assert!(closed, "a refusal closes");
        assert!(
            sent.contains("Connection: close\r\n"),
            "a refusal says so: {sent}"
        );
    }
    refused
}

/// A small generator of pseudo-random numbers (xorshift), the same on every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % n.max(1) as u64) as usize
    }
}
