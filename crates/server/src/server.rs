//! Servers: configured, started, stopped.

use std::any::Any;
use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stepwell_proto::Limits;
use stepwell_reactor::crew::{Crew, CrewConfig, Mode, ThreadHook};
use stepwell_reactor::{
    Address, BoundSet, EventLoop, ListenOptions, Listener, LoopConfig, LoopHandle, sys,
};

use crate::counts::Counts;
use crate::driver::HttpDriver;
use crate::ending::Ending;
use crate::error::{Error, Result};
use crate::link::Letter;
use crate::router::Router;
use crate::signals::{self, Watch};
use crate::site::{Bounds, Site};
use crate::stats::{Gauges, Stats};

/// How handlers meet event loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HandOff {
    /// Routes that have proved quick run on the event loop's own thread; should one turn out slow
    /// after all, another thread takes the loop over. The rest runs on worker threads.
    #[default]
    On,
    /// Every handler runs on a worker thread.
    Off,
    /// Every handler runs on the event loop's thread, and one that blocks stops its loop. For
    /// measurements, and for programs that know that none of their handlers ever blocks.
    Inline,
}

/// While a server ends, how often its deadline is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(25);

/// How long event loops may take to end that were told to do so at once.
const LAST_MOMENT: Duration = Duration::from_millis(500);

/// A server that is being configured.
///
/// ```no_run
/// use stepwell::{Response, Router, Server};
///
/// let mut router = Router::new();
/// router.get("/", |_| Response::text("Hello, World!"));
/// Server::new(router).bind("127.0.0.1:8080")?.serve()
/// # ; Ok::<(), stepwell::Error>(())
/// ```
#[derive(Debug)]
pub struct Server {
    router: Router,
    addresses: Vec<Address>,
    loops: Option<usize>,
    crew: CrewConfig,
    limits: Limits,
    bounds: Bounds,
    compression: bool,
    listen: ListenOptions,
    loop_config: LoopConfig,
    grace: Duration,
    signals: bool,
}

impl Server {
    /// A server for the routes of `router`, with the documented defaults.
    pub fn new(router: Router) -> Server {
        Server {
            router,
            addresses: Vec::new(),
            loops: None,
            crew: CrewConfig::default(),
            limits: Limits::default(),
            bounds: Bounds::default(),
            compression: true,
            listen: ListenOptions::default(),
            loop_config: LoopConfig::default(),
            grace: Duration::from_secs(30),
            signals: false,
        }
    }

    /// Adds an address to listen on: `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`, port 0 for
    /// any free one, or `unix:/run/app.sock`. May be called several times.
    ///
    /// The address is bound when the server is started; of a name with several addresses, the
    /// first.
    ///
    /// # Errors
    /// When it is not an address, or a name that can't be resolved.
    pub fn bind(mut self, address: impl fmt::Display) -> Result<Server> {
        self.addresses.push(parse_address(&address.to_string())?);
        Ok(self)
    }

    /// How many event loops accept and serve connections; by default one for each processor that
    /// the process may use. At least 1.
    #[must_use]
    pub fn event_loops(mut self, count: usize) -> Server {
        self.loops = Some(count.max(1));
        self
    }

    /// How many handlers may run at the same time outside of the event loops. Default 256.
    #[must_use]
    pub fn max_threads(mut self, count: usize) -> Server {
        self.crew.ceiling = count.max(1);
        self
    }

    /// How many requests may wait for a thread, and how long. Beyond the number, clients are held
    /// back; beyond the time, a request is answered with 503 and `Retry-After`. Default 4,096
    /// and 10 s.
    #[must_use]
    pub fn queue(mut self, requests: usize, deadline: Duration) -> Server {
        self.crew.queue = requests.max(1);
        self.bounds.queue_deadline = deadline;
        self
    }

    /// How long a thread without work stays. Default 10 s.
    #[must_use]
    pub fn thread_idle(mut self, time: Duration) -> Server {
        self.crew.idle = time;
        self
    }

    /// Makes a value for each thread that runs handlers, on that thread and before it takes work:
    /// a database client, an interpreter. Handlers reach it by
    /// [`Request::thread_state`](crate::Request::thread_state).
    #[must_use]
    pub fn thread_state<T, F>(mut self, factory: F) -> Server
    where
        T: Any + Send,
        F: Fn() -> T + Send + Sync + 'static,
    {
        self.crew.state = Some(Arc::new(move || Box::new(factory())));
        self
    }

    /// Lets the host start the threads: `hook` starts one that calls
    /// [`ThreadStart::run`](crate::ThreadStart::run). For runtimes that must know their threads.
    #[must_use]
    pub fn thread_hook(mut self, hook: ThreadHook) -> Server {
        self.crew.hook = Some(hook);
        self
    }

    /// How handlers meet event loops. On unless told otherwise.
    #[must_use]
    pub fn hand_off(mut self, hand_off: HandOff) -> Server {
        self.crew.mode = match hand_off {
            HandOff::On => Mode::HandOff,
            HandOff::Off => Mode::Pool,
            HandOff::Inline => Mode::Inline,
        };
        self
    }

    /// The limits of the protocol: sizes of heads and bodies, and how long clients may take.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Server {
        self.limits = limits;
        self
    }

    /// How large a request body may be, in bytes, where the route says nothing else. Default
    /// 1 MiB.
    #[must_use]
    pub fn body_limit(mut self, bytes: u64) -> Server {
        self.limits.body = bytes;
        self
    }

    /// How long a client may take no byte of its answer. Default 30 s.
    #[must_use]
    pub fn write_timeout(mut self, time: Duration) -> Server {
        self.bounds.write_idle = time;
        self
    }

    /// How long a stream of events may be silent before a comment tells client and proxies that it
    /// is alive. Default 15 s.
    #[must_use]
    pub fn event_keep_alive(mut self, time: Duration) -> Server {
        self.bounds.event_keep_alive = time.max(Duration::from_millis(1));
        self
    }

    /// Whether answers are compressed for clients that accept it. Default on.
    #[must_use]
    pub fn compression(mut self, on: bool) -> Server {
        self.compression = on;
        self
    }

    /// How many connections one event loop holds; more wait to be accepted. Default 1,048,576.
    #[must_use]
    pub fn max_connections(mut self, per_loop: usize) -> Server {
        self.loop_config.max_connections = per_loop.max(1);
        self
    }

    /// How many connections may wait to be accepted. Default 4,096, or what the system allows.
    #[must_use]
    pub fn backlog(mut self, connections: u32) -> Server {
        self.listen.backlog = connections.max(1);
        self
    }

    /// How long requests may take to end when the server is told to stop. Default 30 s.
    #[must_use]
    pub fn grace(mut self, time: Duration) -> Server {
        self.grace = time;
        self
    }

    /// Stops the server gracefully on the signals TERM, INT and QUIT, and at once on the second.
    /// Off unless called: a library leaves signals to the program.
    #[must_use]
    pub fn handle_signals(mut self) -> Server {
        self.signals = true;
        self
    }

    /// Serves until it is stopped, by a signal or otherwise.
    ///
    /// # Errors
    /// As [`start`](Server::start).
    pub fn serve(self) -> Result<()> {
        self.start()?.wait();
        Ok(())
    }

    /// Binds, starts the threads and returns.
    ///
    /// # Errors
    /// When the routes contradict each other, nothing was bound, an address is in use, or the
    /// system has no threads or descriptors left.
    pub fn start(self) -> Result<Running> {
        if self.addresses.is_empty() {
            return Err(Error::config("the server has no address to listen on")
                .mend("call bind, for example with \"127.0.0.1:8080\""));
        }
        let app = self.router.build()?;
        let loops = self.loops.unwrap_or_else(sys::available_cpus);
        let site = Arc::new(Site::new(app, self.limits, self.bounds, self.compression));
        let pool = self.crew.pool();
        let (addresses, listeners) = bind_all(&self.addresses, loops, self.listen)?;
        let counts: Vec<Arc<Counts>> = (0..loops).map(|_| Arc::default()).collect();
        let mut event_loops = Vec::with_capacity(loops);
        for (listeners, counts) in listeners.into_iter().zip(&counts) {
            let make = |handle: &LoopHandle<Letter>| {
                HttpDriver::new(site.clone(), pool.clone(), counts.clone(), handle)
            };
            let made = EventLoop::new(self.loop_config, listeners, make)
                .map_err(|error| Error::os("an event loop cannot be made", error))?;
            event_loops.push(made);
        }
        let handles: Vec<_> = event_loops
            .iter()
            .map(|each| each.handle().clone())
            .collect();
        let crew = Crew::start(self.crew, pool, event_loops)
            .map_err(|error| Error::os("the threads cannot be started", error))?;
        let gauges = Arc::new(Gauges {
            crew,
            loops: handles,
            counts,
            ending: Ending::default(),
        });
        site.set_gauges(&gauges);
        let mut running = Running {
            site,
            gauges,
            addresses,
            grace: self.grace,
            watch: None,
        };
        if self.signals {
            running.watch = Some(signals::watch(running.stopper())?);
        }
        Ok(running)
    }
}

fn parse_address(text: &str) -> Result<Address> {
    if let Some(path) = text.strip_prefix("unix:") {
        if path.is_empty() {
            return Err(Error::config("the unix socket has no path")
                .at(format_args!("\"{text}\""))
                .mend("write unix:/run/app.sock"));
        }
        return Ok(Address::Unix(PathBuf::from(path)));
    }
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok(Address::Inet(address));
    }
    let resolved = text.to_socket_addrs().ok().and_then(|mut all| all.next());
    resolved.map(Address::Inet).ok_or_else(|| {
        Error::config("not an address to listen on")
            .at(format_args!("\"{text}\""))
            .mend("write host:port, such as 127.0.0.1:8080, or unix:/run/app.sock")
    })
}

fn cannot_bind(address: &Address, error: io::Error) -> Error {
    let (what, mend) = match error.kind() {
        io::ErrorKind::AddrInUse => (
            "address already in use",
            "stop the program that listens there, or choose another port",
        ),
        io::ErrorKind::AddrNotAvailable => (
            "no such address on this machine",
            "bind 127.0.0.1, or 0.0.0.0 for all of them",
        ),
        io::ErrorKind::PermissionDenied => (
            "no permission to listen there",
            "choose a port from 1024 on, or give the program CAP_NET_BIND_SERVICE",
        ),
        _ => ("cannot listen", "see the cause"),
    };
    Error::os(what, error).at(address).mend(mend)
}

/// The addresses bound, and the listeners of each loop.
fn bind_all(
    addresses: &[Address],
    loops: usize,
    options: ListenOptions,
) -> Result<(Vec<Address>, Vec<Vec<Listener>>)> {
    let mut bound = Vec::new();
    let mut by_loop: Vec<Vec<Listener>> = (0..loops).map(|_| Vec::new()).collect();
    for address in addresses {
        let set =
            BoundSet::bind(address, loops, options).map_err(|error| cannot_bind(address, error))?;
        bound.push(set.address);
        for (own, listener) in by_loop.iter_mut().zip(set.listeners) {
            own.push(listener);
        }
    }
    Ok((bound, by_loop))
}

/// A server at work. Dropping it stops it at once; see [`stop`](Running::stop) for the polite
/// way.
pub struct Running {
    site: Arc<Site>,
    gauges: Arc<Gauges>,
    addresses: Vec<Address>,
    grace: Duration,
    watch: Option<Watch>,
}

impl Running {
    /// The first TCP address, with the port that was chosen.
    ///
    /// # Panics
    /// When the server listens on unix sockets only; see [`addresses`](Running::addresses).
    #[must_use]
    #[track_caller]
    pub fn addr(&self) -> SocketAddr {
        let first = self.addresses.iter().find_map(|address| match address {
            Address::Inet(address) => Some(*address),
            Address::Unix(_) => None,
        });
        match first {
            Some(address) => address,
            None => panic!("this server listens on no TCP address"),
        }
    }

    /// Everything it listens on, as text: `127.0.0.1:8080`, `unix:/run/app.sock`.
    pub fn addresses(&self) -> impl Iterator<Item = String> + '_ {
        self.addresses.iter().map(ToString::to_string)
    }

    /// The figures now.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.gauges.read(&self.site)
    }

    /// What stops this server from elsewhere.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper {
            gauges: self.gauges.clone(),
            grace: self.grace,
        }
    }

    /// Stops gracefully: no new connections, requests under way may end within `grace`, idle
    /// connections are closed. Answers whether everything ended in time; handlers that run on are
    /// left behind.
    pub fn stop(self, grace: Duration) -> bool {
        self.stopper().stop_within(grace)
    }

    /// Waits until the server was stopped, by a signal or a [`Stopper`]. Answers whether
    /// everything ended within the grace time; handlers that run on are left behind.
    pub fn wait(&self) -> bool {
        self.gauges.ending.wait_told();
        self.stopper().finish()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Its thread holds a stopper.
        drop(self.watch.take());
        if !self.gauges.ending.is_over() {
            self.stopper().abort();
            self.stopper().finish();
        }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("addresses", &self.addresses)
            .finish_non_exhaustive()
    }
}

/// Stops a server from any thread.
#[derive(Clone)]
pub struct Stopper {
    gauges: Arc<Gauges>,
    grace: Duration,
}

impl Stopper {
    /// Stops gracefully, within the server's grace time; waits for the end and answers whether
    /// everything ended in time. Must not be called by a handler, which would wait for itself:
    /// see [`begin`](Stopper::begin).
    pub fn stop(&self) -> bool {
        self.stop_within(self.grace)
    }

    /// As [`stop`](Stopper::stop), with another grace time.
    pub fn stop_within(&self, grace: Duration) -> bool {
        self.begin_within(grace);
        self.finish()
    }

    /// Begins to stop gracefully and returns. The server's grace time runs from now.
    pub fn begin(&self) {
        self.begin_within(self.grace);
    }

    /// Ends all connections now and returns.
    pub fn abort(&self) {
        self.gauges.ending.tell(Instant::now());
        self.cut_off();
    }

    fn begin_within(&self, grace: Duration) {
        self.gauges.ending.tell(Instant::now() + grace);
        for each in &self.gauges.loops {
            each.stop_listening();
            each.post(Letter::Stop);
        }
    }

    fn cut_off(&self) {
        for each in &self.gauges.loops {
            each.stop_listening();
            each.post(Letter::Abort);
        }
    }

    /// Waits for the end, which was begun; by the deadline at the latest, which somebody may
    /// bring forward meanwhile.
    fn finish(&self) -> bool {
        let ending = &self.gauges.ending;
        loop {
            let left = ending.deadline().saturating_duration_since(Instant::now());
            if self.gauges.crew.join(left.min(LOOK_AGAIN)) {
                ending.set_over();
                return true;
            }
            if left.is_zero() || ending.is_over() {
                break;
            }
        }
        self.cut_off();
        // The loops end at once; handlers that still run are not waited for.
        let joined = self.gauges.crew.join(LAST_MOMENT);
        if !joined {
            tracing::warn!("handlers that did not return in time were left behind");
        }
        ending.set_over();
        false
    }
}

impl fmt::Debug for Stopper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stopper")
            .field("grace", &self.grace)
            .finish_non_exhaustive()
    }
}
