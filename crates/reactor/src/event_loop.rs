//! The event loop: readiness, letters and timers in, jobs out.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::crew::{CostClass, Detach, Job, Loop, Remote, Ticket, Turn};
use crate::listener::Listener;
use crate::mailbox::Mailbox;
use crate::slab::{RESERVED, Slab, Token};
use crate::sys::{self, Event, Events, Peer, Poller, Socket};
use crate::wheel::{Due, Timer, Wheel};

const WAKER: u64 = RESERVED as u64 + 0xffff;
/// While descriptors are short, new connections wait this long in the backlog, in milliseconds.
const ACCEPT_PAUSE: u64 = 100;

/// Bounds of one event loop.
#[derive(Clone, Copy, Debug)]
pub struct LoopConfig {
    /// Connections at the same time; more wait in the backlog.
    pub max_connections: usize,
    /// Events taken per wait.
    pub events: usize,
    /// Connections accepted in one go, before others get their turn.
    pub accept_burst: usize,
}

impl Default for LoopConfig {
    fn default() -> LoopConfig {
        LoopConfig {
            max_connections: 1 << 20,
            events: 512,
            accept_burst: 64,
        }
    }
}

/// A loop's figures, readable from any thread.
#[derive(Debug, Default)]
pub struct LoopStats {
    /// Connections that are open now.
    pub connections: AtomicU64,
    /// Connections accepted so far.
    pub accepted: AtomicU64,
    /// Times that accepting paused, because descriptors or places ran out.
    pub accept_pauses: AtomicU64,
    /// Waits for events so far.
    pub waits: AtomicU64,
}

impl LoopStats {
    /// Adds to a figure that only the loop's leader writes.
    #[inline]
    pub fn add(counter: &AtomicU64, by: u64) {
        counter.store(
            counter.load(Ordering::Relaxed).wrapping_add(by),
            Ordering::Relaxed,
        );
    }
}

enum Letter<M> {
    Driver(M),
    Relieved,
    StopListening,
}

/// Reaches a loop from any thread, wherever it runs.
pub struct LoopHandle<M> {
    mailbox: Arc<Mailbox<Letter<M>>>,
    stats: Arc<LoopStats>,
}

impl<M> Clone for LoopHandle<M> {
    fn clone(&self) -> LoopHandle<M> {
        LoopHandle {
            mailbox: self.mailbox.clone(),
            stats: self.stats.clone(),
        }
    }
}

impl<M> LoopHandle<M> {
    /// Sends a letter to the loop's driver.
    pub fn post(&self, letter: M) {
        self.mailbox.post(Letter::Driver(letter));
    }

    /// Makes the loop accept what waits in its backlog, and then close its listeners.
    pub fn stop_listening(&self) {
        self.mailbox.post(Letter::StopListening);
    }

    /// The loop's figures.
    pub fn stats(&self) -> &LoopStats {
        &self.stats
    }
}

impl<M: Send + 'static> Remote for LoopHandle<M> {
    fn relieved(&self) {
        self.mailbox.post(Letter::Relieved);
    }
}

/// One connection, as the loop keeps it.
pub struct Connection<C> {
    /// The socket.
    pub socket: Socket,
    /// Its other end.
    pub peer: Peer,
    /// What the driver keeps.
    pub state: C,
    timer: Timer,
}

/// Whether a connection wants to be worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// [`Driver::advance`] is to be called for this connection.
    Advance(Token),
    /// Nothing to do now.
    Nothing,
}

/// A protocol on top of an event loop. Called by one thread at a time, whoever leads the loop.
///
/// [`Driver::advance`] may answer a job. The loop gives it out and then calls, before anything
/// else, either [`Driver::complete`] with the job, and `advance` again, or [`Driver::detach`].
pub trait Driver: Send + Sized + 'static {
    /// What it keeps per connection.
    type Connection: Send;
    /// What it gives out to be run.
    type Job: Job;
    /// What other threads send to it.
    type Letter: Send + 'static;

    /// A connection was accepted from the listener with this index.
    fn open(&mut self, now: u64, peer: Peer, listener: usize) -> Self::Connection;

    /// The connection is in the table: arm its timer.
    fn opened(&mut self, io: &mut Io<Self>, token: Token);

    /// A connection is ready for something.
    fn ready(&mut self, io: &mut Io<Self>, token: Token, event: Event) -> Resume;

    /// Works on a connection until it has a job, or nothing more to do. All output of the turn
    /// must have been handed to the socket, or stored, when this answers nothing.
    fn advance(&mut self, io: &mut Io<Self>, token: Token) -> Option<Self::Job>;

    /// The job given out last has come back at once. Letters that it posted while it ran are read
    /// afterwards (whereas a job that comes back late comes after its own letters).
    fn complete(&mut self, io: &mut Io<Self>, job: Self::Job);

    /// The job given out last, of connection `token`, will come back late, as a letter.
    fn detach(&mut self, io: &mut Io<Self>, token: Token, why: Detach);

    /// The class of the job that was given out last and is neither complete nor detached.
    fn current_class(&self) -> Option<&CostClass>;

    /// The job detached or offered last was queued.
    fn queued(&mut self, io: &mut Io<Self>, ticket: Ticket);

    /// The job detached or offered last found the queue full: to be offered again after
    /// [`Driver::relieved`].
    fn refused(&mut self, io: &mut Io<Self>, job: Self::Job);

    /// The queue has room again.
    fn relieved(&mut self);

    /// A job to be queued now, if there is one.
    fn offer(&mut self, io: &mut Io<Self>) -> Option<Self::Job>;

    /// A letter has come.
    fn letter(&mut self, io: &mut Io<Self>, letter: Self::Letter) -> Resume;

    /// The deadline of a connection has passed.
    fn timeout(&mut self, io: &mut Io<Self>, token: Token) -> Resume;

    /// The loop has waited; `io.now` is fresh.
    fn waited(&mut self, io: &mut Io<Self>);

    /// Whether the loop can end: it was asked to, and everything is answered or given up.
    fn finished(&self, io: &Io<Self>) -> bool;
}

/// What a driver works with: the connections and everything else of the loop except the driver.
pub struct Io<D: Driver> {
    /// The connections.
    pub connections: Slab<Connection<D::Connection>>,
    /// Milliseconds on the monotonic clock, read after each wait.
    pub now: u64,
    poller: Poller,
    wheel: Wheel,
    handle: LoopHandle<D::Letter>,
    /// Connections whose turn was cut short, so that others get theirs.
    revisits: VecDeque<Token>,
    listeners: Vec<Listener>,
    /// Until when accepting pauses.
    paused_until: Option<u64>,
    config: LoopConfig,
}

impl<D: Driver> Io<D> {
    /// Reaches this loop from other threads.
    pub fn handle(&self) -> &LoopHandle<D::Letter> {
        &self.handle
    }

    /// Sets, moves or clears the one deadline of a connection, in milliseconds on the clock of
    /// `now`.
    #[inline]
    pub fn set_deadline(&mut self, token: Token, deadline: Option<u64>) {
        if let Some(connection) = self.connections.get_mut(token) {
            self.wheel.set(&mut connection.timer, token, deadline);
        }
    }

    /// Lets [`Driver::advance`] be called again for this connection, after everybody else had a
    /// turn.
    pub fn revisit(&mut self, token: Token) {
        self.revisits.push_back(token);
    }

    /// Closes a connection and answers what the driver kept for it.
    pub fn close(&mut self, token: Token) -> Option<Connection<D::Connection>> {
        let connection = self.connections.remove(token)?;
        self.handle
            .stats
            .connections
            .store(self.connections.len() as u64, Ordering::Relaxed);
        Some(connection)
    }

    fn watch_listeners(&self) -> io::Result<()> {
        for (listener, index) in self.listeners.iter().zip(0u64..) {
            self.poller.add_listener(
                listener,
                u64::from(RESERVED) + index,
                listener.is_shared(),
            )?;
        }
        Ok(())
    }

    fn pause_accepting(&mut self, cause: &dyn std::fmt::Display) {
        if self.paused_until.is_some() {
            return;
        }
        LoopStats::add(&self.handle.stats.accept_pauses, 1);
        tracing::warn!(%cause, "new connections wait: raise the limit of open files (ulimit -n)");
        for listener in &self.listeners {
            let _ = self.poller.remove(listener);
        }
        self.paused_until = Some(self.now + ACCEPT_PAUSE);
    }

    fn resume_accepting(&mut self) {
        if self.paused_until.is_some_and(|until| until <= self.now) {
            self.paused_until = None;
            if let Err(error) = self.watch_listeners() {
                self.pause_accepting(&error);
            }
        }
    }

    /// Takes a connection that came from elsewhere, or was accepted.
    fn adopt(&mut self, socket: Socket, peer: Peer, state: D::Connection) -> Option<Token> {
        let connection = Connection {
            socket,
            peer,
            state,
            timer: Timer::default(),
        };
        let token = self.connections.insert_with(|_| connection)?;
        let watched = match self.connections.get_mut(token) {
            Some(connection) => self.poller.add_stream(&connection.socket, token.to_bits()),
            None => return None,
        };
        if let Err(error) = watched {
            self.connections.remove(token);
            self.pause_accepting(&error);
            return None;
        }
        LoopStats::add(&self.handle.stats.accepted, 1);
        self.handle
            .stats
            .connections
            .store(self.connections.len() as u64, Ordering::Relaxed);
        Some(token)
    }

    /// Stops listening. What waits in the backlogs of this loop's own sockets has to be accepted
    /// before, or it is reset.
    fn close_listeners(&mut self) {
        for listener in self.listeners.drain(..) {
            let _ = self.poller.remove(&listener);
        }
        self.paused_until = None;
    }
}

/// An event loop with its driver; see [`Loop`] for who may run it.
pub struct EventLoop<D: Driver> {
    driver: D,
    io: Io<D>,
    events: Events,
    inbox: Vec<Letter<D::Letter>>,
    dues: Vec<Due>,
    /// How many of the connections to be revisited have their turn before the next wait.
    revisits_left: usize,
    current: Option<Token>,
}

impl<D: Driver> EventLoop<D> {
    /// A loop that accepts from `listeners`. `make` gets the loop's handle and makes the driver.
    ///
    /// # Errors
    /// The kernel's (out of descriptors).
    pub fn new(
        config: LoopConfig,
        listeners: Vec<Listener>,
        make: impl FnOnce(&LoopHandle<D::Letter>) -> D,
    ) -> io::Result<EventLoop<D>> {
        let mailbox = Arc::new(Mailbox::new()?);
        let poller = Poller::new()?;
        poller.add_waker(mailbox.waker(), WAKER)?;
        let now = sys::monotonic_ms();
        let handle = LoopHandle {
            mailbox,
            stats: Arc::default(),
        };
        let io = Io {
            connections: Slab::new(),
            now,
            poller,
            wheel: Wheel::new(now),
            handle,
            revisits: VecDeque::new(),
            listeners,
            paused_until: None,
            config,
        };
        io.watch_listeners()?;
        Ok(EventLoop {
            driver: make(&io.handle),
            io,
            events: Events::new(config.events.clamp(1, 65_536)),
            inbox: Vec::new(),
            dues: Vec::new(),
            revisits_left: 0,
            current: None,
        })
    }

    /// Reaches this loop from other threads.
    pub fn handle(&self) -> &LoopHandle<D::Letter> {
        &self.io.handle
    }

    fn accept(&mut self, listener: usize) {
        for _ in 0..self.io.config.accept_burst {
            if self.io.connections.len() >= self.io.config.max_connections {
                self.io
                    .pause_accepting(&"the limit of connections is reached");
                return;
            }
            let Some(socket) = self.io.listeners.get(listener) else {
                return;
            };
            match sys::accept(socket) {
                Ok(accepted) => {
                    let state = self.driver.open(self.io.now, accepted.peer, listener);
                    if let Some(token) = self.io.adopt(accepted.socket, accepted.peer, state) {
                        self.driver.opened(&mut self.io, token);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if out_of_resources(&error) => {
                    self.io.pause_accepting(&error);
                    return;
                }
                // A connection that died while it waited; the next one may be fine.
                Err(_) => {}
            }
        }
    }

    /// Accepts what waits, then closes the listeners.
    fn stop_listening(&mut self) {
        for listener in 0..self.io.listeners.len() {
            let mut before = usize::MAX;
            while self.io.paused_until.is_none() && self.io.connections.len() != before {
                before = self.io.connections.len();
                self.accept(listener);
            }
        }
        self.io.close_listeners();
    }

    fn dispatch(&mut self, event: Event) -> Resume {
        let token = Token::from_bits(event.data);
        let index = event.data as u32;
        if index < RESERVED {
            return self.driver.ready(&mut self.io, token, event);
        }
        if event.data != WAKER {
            self.accept((index - RESERVED) as usize);
        }
        Resume::Nothing
    }

    fn wait(&mut self) {
        let mut timeout = self.io.wheel.wait(self.io.now);
        if let Some(until) = self.io.paused_until {
            let left = until.saturating_sub(self.io.now);
            timeout = Some(timeout.map_or(left, |timeout| timeout.min(left)));
        }
        let timeout = timeout.map_or(-1, |ms| ms.min(60_000) as i32);
        let may_sleep =
            timeout != 0 && self.io.revisits.is_empty() && self.io.handle.mailbox.fall_asleep();
        self.io
            .poller
            .wait(&mut self.events, if may_sleep { timeout } else { 0 });
        self.io.handle.mailbox.woken();
        LoopStats::add(&self.io.handle.stats.waits, 1);
        self.io.now = sys::monotonic_ms();
        self.revisits_left = self.io.revisits.len();
        self.io.wheel.turn(self.io.now, &mut self.dues);
        self.io.resume_accepting();
        self.driver.waited(&mut self.io);
    }

    /// What comes next outside of the current connection, or nothing when it is time to wait.
    fn step(&mut self) -> Option<Resume> {
        if let Some(letter) = self.inbox.pop() {
            return Some(match letter {
                Letter::Driver(letter) => self.driver.letter(&mut self.io, letter),
                Letter::Relieved => {
                    self.driver.relieved();
                    Resume::Nothing
                }
                Letter::StopListening => {
                    self.stop_listening();
                    Resume::Nothing
                }
            });
        }
        if self.io.handle.mailbox.drain(&mut self.inbox) {
            return Some(Resume::Nothing);
        }
        if let Some(event) = self.events.pop() {
            return Some(self.dispatch(event));
        }
        let Some(due) = self.dues.pop() else {
            return self.revisit();
        };
        let Some(connection) = self.io.connections.get_mut(due.token) else {
            return Some(Resume::Nothing);
        };
        Some(
            match self.io.wheel.fires(&mut connection.timer, due, self.io.now) {
                true => self.driver.timeout(&mut self.io, due.token),
                false => Resume::Nothing,
            },
        )
    }
}

impl<D: Driver> EventLoop<D> {
    /// A connection that has been waiting for its next turn since before the last wait.
    fn revisit(&mut self) -> Option<Resume> {
        let left = self.revisits_left.checked_sub(1)?;
        self.revisits_left = left;
        self.io.revisits.pop_front().map(Resume::Advance)
    }
}

impl<D: Driver> Loop for EventLoop<D> {
    type Job = D::Job;
    type Remote = LoopHandle<D::Letter>;

    fn remote(&self) -> LoopHandle<D::Letter> {
        self.io.handle.clone()
    }

    #[inline]
    fn next(&mut self) -> Turn<D::Job> {
        loop {
            if let Some(token) = self.current {
                if let Some(job) = self.driver.advance(&mut self.io, token) {
                    return Turn::Job(job);
                }
                self.current = None;
            }
            if let Some(job) = self.driver.offer(&mut self.io) {
                return Turn::Queue(job);
            }
            match self.step() {
                Some(Resume::Advance(token)) => self.current = Some(token),
                Some(Resume::Nothing) => {}
                None if self.driver.finished(&self.io) => return Turn::Stopped,
                None => self.wait(),
            }
        }
    }

    #[inline]
    fn complete(&mut self, job: D::Job) {
        self.driver.complete(&mut self.io, job);
    }

    fn detach(&mut self, why: Detach) {
        if let Some(token) = self.current.take() {
            self.driver.detach(&mut self.io, token, why);
        }
    }

    fn current_class(&self) -> Option<&CostClass> {
        self.driver.current_class()
    }

    fn queued(&mut self, ticket: Ticket) {
        self.driver.queued(&mut self.io, ticket);
    }

    fn refused(&mut self, job: D::Job) {
        self.driver.refused(&mut self.io, job);
    }
}

fn out_of_resources(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM)
    )
}
