//! Stepwell's reactor without a protocol: the floor's canned replies, but every request is a job
//! that goes through the event loop and the hand-off. What it costs more than the floor is the
//! reactor's; what Stepwell costs more than this is parsing, routing and encoding.
//!
//! `bench-reactor ADDRESS [--hand-off on|off|inline]`

use bench_floor::{BATCH, Counter, Replies};
use std::any::Any;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use stepwell_reactor::crew::{CostClass, Crew, CrewConfig, Detach, Job, Mode, ThreadState, Ticket};
use stepwell_reactor::{
    Address, BoundSet, Driver, Event, EventLoop, Io, ListenOptions, LoopConfig, LoopHandle, Peer,
    Resume, Token,
};

/// One request: the handler does nothing, so that only the way to it is measured.
struct Request {
    token: Token,
    class: Arc<CostClass>,
    home: LoopHandle<Request>,
}

impl Job for Request {
    fn class(&self) -> &CostClass {
        &self.class
    }

    fn run(&mut self, _: &mut ThreadState) {}

    fn panicked(&mut self, _: Box<dyn Any + Send>, _: &mut ThreadState) {}

    fn deliver(self) {
        self.home.clone().post(self);
    }
}

#[derive(Default)]
struct Connection {
    counter: Counter,
    json: bool,
    /// Requests that have arrived and are not answered, the one that runs included.
    waiting: usize,
    /// Requests that are answered and not sent.
    answered: usize,
    /// A request is away on the pool.
    away: bool,
    /// The socket may hold more than was read.
    readable: bool,
}

struct Canned {
    replies: Replies,
    buffer: Vec<u8>,
    class: Arc<CostClass>,
    home: LoopHandle<Request>,
    spare: Vec<Request>,
    /// A request is given out and neither complete nor detached.
    given: bool,
}

impl Canned {
    /// Reads once, or sends what is answered; false when there is nothing left to do.
    fn turn(&mut self, io: &mut Io<Canned>, token: Token) -> bool {
        let Some(connection) = io.connections.get_mut(token) else {
            return false;
        };
        let state = &mut connection.state;
        if state.answered > 0 {
            let kind: &[u8] = if state.json { b"GET /json" } else { b"GET /" };
            let count = state.answered.min(BATCH);
            state.answered -= count;
            let reply = self.replies.to(kind, count);
            if connection
                .socket
                .write(reply)
                .is_ok_and(|n| n == reply.len())
            {
                return true;
            }
            io.close(token);
            return false;
        }
        if !state.readable {
            return false;
        }
        match connection.socket.read(&mut self.buffer) {
            Ok(0) => {}
            Ok(read) => {
                state.readable = read == self.buffer.len();
                let bytes = &self.buffer[..read];
                state.json = bytes.get(5) == Some(&b'j');
                state.waiting += state.counter.count(bytes);
                return true;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                state.readable = false;
                return false;
            }
            Err(_) => {}
        }
        io.close(token);
        false
    }
}

impl Driver for Canned {
    type Connection = Connection;
    type Job = Request;
    type Letter = Request;

    fn open(&mut self, _: u64, _: Peer, _: usize) -> Connection {
        Connection::default()
    }

    fn opened(&mut self, _: &mut Io<Self>, _: Token) {}

    fn ready(&mut self, io: &mut Io<Self>, token: Token, event: Event) -> Resume {
        match io.connections.get_mut(token) {
            Some(connection) if event.readable() => {
                connection.state.readable = true;
                Resume::Advance(token)
            }
            _ => Resume::Nothing,
        }
    }

    fn advance(&mut self, io: &mut Io<Self>, token: Token) -> Option<Request> {
        loop {
            let state = &mut io.connections.get_mut(token)?.state;
            if state.away {
                return None;
            }
            if state.waiting > 0 {
                let mut job = self.spare.pop().unwrap_or_else(|| Request {
                    token,
                    class: self.class.clone(),
                    home: self.home.clone(),
                });
                job.token = token;
                self.given = true;
                return Some(job);
            }
            if !self.turn(io, token) {
                return None;
            }
        }
    }

    fn complete(&mut self, io: &mut Io<Self>, job: Request) {
        self.given = false;
        if let Some(connection) = io.connections.get_mut(job.token) {
            connection.state.waiting -= 1;
            connection.state.answered += 1;
        }
        self.spare.push(job);
    }

    fn detach(&mut self, io: &mut Io<Self>, token: Token, _: Detach) {
        self.given = false;
        if let Some(connection) = io.connections.get_mut(token) {
            connection.state.away = true;
        }
    }

    fn current_class(&self) -> Option<&CostClass> {
        self.given.then_some(&*self.class)
    }

    fn queued(&mut self, _: &mut Io<Self>, _: Ticket) {}

    /// Never happens with fewer connections than the queue has places: each has one job away.
    fn refused(&mut self, io: &mut Io<Self>, job: Request) {
        io.close(job.token);
    }

    fn relieved(&mut self) {}

    fn offer(&mut self, _: &mut Io<Self>) -> Option<Request> {
        None
    }

    fn letter(&mut self, io: &mut Io<Self>, job: Request) -> Resume {
        let token = job.token;
        if let Some(connection) = io.connections.get_mut(token) {
            connection.state.away = false;
        }
        self.complete(io, job);
        Resume::Advance(token)
    }

    fn timeout(&mut self, _: &mut Io<Self>, _: Token) -> Resume {
        Resume::Nothing
    }

    fn waited(&mut self, _: &mut Io<Self>) {}

    fn finished(&self, _: &Io<Self>) -> bool {
        false
    }
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mode = match arguments.last().map(String::as_str) {
        Some("off") => Mode::Pool,
        Some("inline") => Mode::Inline,
        _ => Mode::HandOff,
    };
    let address = arguments.first().and_then(|address| address.parse().ok());
    let address = Address::Inet(address.unwrap_or_else(|| ([127, 0, 0, 1], 8080).into()));
    let bound = BoundSet::bind(&address, 1, ListenOptions::default())?;
    let event_loop = EventLoop::new(LoopConfig::default(), bound.listeners, |home| Canned {
        replies: Replies::default(),
        buffer: vec![0; 16 * 1024],
        class: Arc::new(CostClass::new("canned")),
        home: home.clone(),
        spare: Vec::new(),
        given: false,
    })?;
    let config = CrewConfig {
        mode,
        ..CrewConfig::default()
    };
    let crew = Crew::start(config.clone(), config.pool(), vec![event_loop])?;
    while !crew.join(Duration::from_secs(3600)) {}
    Ok(())
}
