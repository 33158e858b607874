//! The echo driver: connections, and the job that each of them may have under way.

use std::any::Any;
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use stepwell_reactor::crew::{CostClass, Detach, Job, Pool, ThreadState, Ticket};
use stepwell_reactor::{Driver, Event, Io, LoopHandle, Peer, Resume, Token};

/// Output that waits to be taken; above it, no more requests are read from a connection.
const HIGH_WATER: usize = 64 * 1024;

/// Requests of one connection in a row, before the others get their turn.
const TURN: usize = 16;

/// One request on its way through a handler.
pub(crate) struct Request {
    pub(crate) id: u64,
    pub(crate) operation: String,
    pub(crate) number: u64,
    pub(crate) token: Token,
    pub(crate) home: LoopHandle<Letter>,
    panicked: bool,
    class: Arc<CostClass>,
    app: Arc<App>,
}

pub(crate) type Handler = dyn Fn(&Request, &mut ThreadState) + Send + Sync;
pub(crate) type Classify = dyn Fn(&str) -> Arc<CostClass> + Send + Sync;

/// What the test supplies, shared by all loops.
pub(crate) struct App {
    /// What a request does.
    pub(crate) handler: Box<Handler>,
    /// The cost class of an operation.
    pub(crate) class: Box<Classify>,
    /// Connections are closed after so many milliseconds without a sign of life.
    pub(crate) idle_ms: Option<u64>,
    /// Notes in the order in which the loops read them.
    pub(crate) notes: Mutex<Vec<(u64, u64)>>,
    /// Answers that came when their connection was gone.
    pub(crate) too_late: AtomicU64,
    /// Jobs that were cancelled in the queue.
    pub(crate) cancelled: AtomicU64,
}

impl Job for Request {
    fn class(&self) -> &CostClass {
        &self.class
    }

    fn run(&mut self, state: &mut ThreadState) {
        (self.app.handler)(self, state);
    }

    fn panicked(&mut self, _: Box<dyn Any + Send>, _: &mut ThreadState) {
        self.panicked = true;
    }

    fn deliver(self) {
        let home = self.home.clone();
        home.post(Letter::Answer(self));
    }
}

pub(crate) enum Letter {
    Answer(Request),
    /// Writes a line to a connection, whatever it is doing.
    Say(Token, String),
    /// To be written down: sender and number.
    Note(u64, u64),
    Stop,
}

pub(crate) struct Link {
    input: Vec<u8>,
    output: Vec<u8>,
    /// A request is in the pool, in the queue, or astray.
    busy: bool,
    ticket: Option<Ticket>,
    ended: bool,
    /// Requests given out in this turn.
    turn: usize,
}

pub(crate) struct Echo {
    app: Arc<App>,
    pool: Arc<Pool<Request>>,
    current: Option<Arc<CostClass>>,
    /// Whose job was detached or offered last.
    last: Option<Token>,
    refused: VecDeque<Request>,
    may_offer: bool,
    /// Jobs that will come back as letters.
    away: usize,
    stopping: bool,
}

impl Echo {
    pub(crate) fn new(app: Arc<App>, pool: Arc<Pool<Request>>) -> Echo {
        Echo {
            app,
            pool,
            current: None,
            last: None,
            refused: VecDeque::new(),
            may_offer: false,
            away: 0,
            stopping: false,
        }
    }

    fn touch(&self, io: &mut Io<Self>, token: Token) {
        if let Some(idle) = self.app.idle_ms {
            io.set_deadline(token, Some(io.now + idle));
        }
    }

    /// Closes a connection whose peer is gone, and takes its job out of the queue.
    fn lose(&mut self, io: &mut Io<Self>, token: Token) -> Resume {
        let ticket = io.close(token).and_then(|gone| gone.state.ticket);
        if ticket.is_some_and(|ticket| self.pool.cancel(ticket).is_some()) {
            self.app.cancelled.fetch_add(1, Ordering::SeqCst);
            self.away -= 1;
        }
        Resume::Nothing
    }

    fn next_line(&self, link: &mut Link) -> Option<String> {
        if link.busy || link.turn >= TURN || link.output.len() > HIGH_WATER {
            return None;
        }
        let end = link.input.iter().position(|byte| *byte == b'\n')?;
        link.turn += 1;
        let line = link.input.drain(..=end).collect();
        Some(String::from_utf8(line).expect("clients send ASCII"))
    }

    fn answer(&self, io: &mut Io<Self>, request: Request) -> Resume {
        let Some(connection) = io.connections.get_mut(request.token) else {
            self.app.too_late.fetch_add(1, Ordering::SeqCst);
            return Resume::Nothing;
        };
        let link = &mut connection.state;
        link.busy = false;
        link.ticket = None;
        let mark = if request.panicked { "!" } else { "" };
        let line = format!("{} {}{mark}\n", request.id, request.operation);
        link.output.extend_from_slice(line.as_bytes());
        Resume::Advance(request.token)
    }
}

impl Driver for Echo {
    type Connection = Link;
    type Job = Request;
    type Letter = Letter;

    fn open(&mut self, _: u64, _: Peer, _: usize) -> Link {
        Link {
            input: Vec::new(),
            output: Vec::new(),
            busy: false,
            ticket: None,
            ended: false,
            turn: 0,
        }
    }

    fn opened(&mut self, io: &mut Io<Self>, token: Token) {
        self.touch(io, token);
    }

    fn ready(&mut self, io: &mut Io<Self>, token: Token, event: Event) -> Resume {
        let Some(connection) = io.connections.get_mut(token) else {
            return Resume::Nothing;
        };
        let mut buffer = [0; 4096];
        while event.readable() || event.gone() {
            match connection.socket.read(&mut buffer) {
                Ok(0) => {
                    connection.state.ended = true;
                    break;
                }
                Ok(count) => connection.state.input.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return self.lose(io, token),
            }
        }
        self.touch(io, token);
        Resume::Advance(token)
    }

    fn advance(&mut self, io: &mut Io<Self>, token: Token) -> Option<Request> {
        let home = io.handle().clone();
        let connection = io.connections.get_mut(token)?;
        if let Some(line) = self.next_line(&mut connection.state) {
            let mut words = line.split_whitespace();
            let mut word = || words.next().expect("clients send three words");
            let (id, operation, number) = (word(), word().to_owned(), word());
            let class = (self.app.class)(&operation);
            self.current = Some(class.clone());
            return Some(Request {
                id: id.parse().unwrap(),
                operation,
                number: number.parse().unwrap(),
                token,
                home,
                panicked: false,
                class,
                app: self.app.clone(),
            });
        }
        let link = &mut connection.state;
        let cut_short = std::mem::take(&mut link.turn) >= TURN || link.output.len() > HIGH_WATER;
        while !link.output.is_empty() {
            match connection.socket.write(&link.output) {
                Ok(count) => drop(link.output.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Err(_) => {
                    self.lose(io, token);
                    return None;
                }
            }
        }
        if cut_short {
            io.revisit(token);
        } else if !link.busy && (link.ended || self.stopping) {
            io.close(token);
        }
        None
    }

    fn complete(&mut self, io: &mut Io<Self>, job: Request) {
        assert!(self.current.take().is_some(), "no job was out");
        self.answer(io, job);
    }

    fn detach(&mut self, io: &mut Io<Self>, token: Token, _: Detach) {
        assert!(self.current.take().is_some(), "no job was out");
        self.last = Some(token);
        self.away += 1;
        if let Some(connection) = io.connections.get_mut(token) {
            connection.state.busy = true;
        }
    }

    fn current_class(&self) -> Option<&CostClass> {
        self.current.as_deref()
    }

    fn queued(&mut self, io: &mut Io<Self>, ticket: Ticket) {
        let connection = self.last.and_then(|last| io.connections.get_mut(last));
        if let Some(connection) = connection {
            connection.state.ticket = Some(ticket);
        }
    }

    fn refused(&mut self, _: &mut Io<Self>, job: Request) {
        self.may_offer = false;
        self.refused.push_back(job);
    }

    fn relieved(&mut self) {
        self.may_offer = true;
    }

    fn offer(&mut self, _: &mut Io<Self>) -> Option<Request> {
        if !self.may_offer {
            return None;
        }
        let job = self.refused.pop_front()?;
        self.last = Some(job.token);
        Some(job)
    }

    fn letter(&mut self, io: &mut Io<Self>, letter: Letter) -> Resume {
        match letter {
            Letter::Answer(request) => {
                self.away -= 1;
                self.answer(io, request)
            }
            Letter::Say(token, line) => match io.connections.get_mut(token) {
                Some(connection) => {
                    connection.state.output.extend_from_slice(line.as_bytes());
                    Resume::Advance(token)
                }
                None => Resume::Nothing,
            },
            Letter::Note(sender, number) => {
                self.app.notes.lock().unwrap().push((sender, number));
                Resume::Nothing
            }
            Letter::Stop => {
                self.stopping = true;
                let tokens: Vec<_> = io.connections.tokens().collect();
                for token in tokens {
                    let link = &io.connections.get_mut(token).unwrap().state;
                    if !link.busy && link.output.is_empty() {
                        io.close(token);
                    }
                }
                Resume::Nothing
            }
        }
    }

    fn timeout(&mut self, io: &mut Io<Self>, token: Token) -> Resume {
        self.lose(io, token)
    }

    fn waited(&mut self, _: &mut Io<Self>) {}

    fn finished(&self, io: &Io<Self>) -> bool {
        self.stopping && self.away == 0 && io.connections.is_empty()
    }
}
