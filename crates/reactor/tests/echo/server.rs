//! An echo server in this process, and its clients.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use stepwell_reactor::crew::{CostClass, Crew, CrewConfig, ThreadState};
use stepwell_reactor::{Address, BoundSet, EventLoop, ListenOptions, LoopConfig, LoopHandle};

use super::driver::{App, Echo, Letter, Request};

/// What no wait may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for something that nobody announces.
pub(crate) fn until(what: &str, mut ready: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !ready() {
        assert!(Instant::now() < deadline, "never came: {what}");
        std::thread::yield_now();
    }
}

/// Holds handlers up until it is opened, and counts who came to it.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<(bool, usize)>, Condvar)>);

impl Gate {
    pub(crate) fn open(&self) {
        self.0.0.lock().unwrap().0 = true;
        self.0.1.notify_all();
    }

    pub(crate) fn pass(&self) {
        self.0.0.lock().unwrap().1 += 1;
        self.0.1.notify_all();
        self.wait(|gate| gate.0);
    }

    /// Waits until `count` handlers have come.
    pub(crate) fn wait_for(&self, count: usize) {
        self.wait(|gate| gate.1 >= count);
    }

    fn wait(&self, ready: impl Fn(&(bool, usize)) -> bool) {
        let gate = self.0.0.lock().unwrap();
        let waiting = |gate: &mut (bool, usize)| !ready(gate);
        let (_gate, result) = self
            .0
            .1
            .wait_timeout_while(gate, PATIENCE, waiting)
            .unwrap();
        assert!(!result.timed_out(), "the gate was never opened or reached");
    }
}

/// How a server is made up.
pub(crate) struct Setup {
    pub(crate) loops: usize,
    pub(crate) crew: CrewConfig,
    pub(crate) config: LoopConfig,
    pub(crate) addresses: Vec<Address>,
    pub(crate) idle_ms: Option<u64>,
    /// Operations that run in place from the start; `pool` says the opposite, others learn.
    pub(crate) in_place: &'static [&'static str],
    pub(crate) pool: &'static [&'static str],
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            loops: 1,
            crew: CrewConfig::default(),
            config: LoopConfig::default(),
            addresses: vec![Address::Inet(SocketAddr::from(([127, 0, 0, 1], 0)))],
            idle_ms: None,
            in_place: &["fast"],
            pool: &["slow"],
        }
    }
}

pub(crate) struct Server {
    pub(crate) crew: Arc<Crew<EventLoop<Echo>>>,
    pub(crate) handles: Vec<LoopHandle<Letter>>,
    pub(crate) app: Arc<App>,
    addresses: Vec<Address>,
}

impl Server {
    pub(crate) fn start(
        setup: Setup,
        handler: impl Fn(&Request, &mut ThreadState) + Send + Sync + 'static,
    ) -> Server {
        let sets: Vec<_> = setup
            .addresses
            .iter()
            .map(|address| BoundSet::bind(address, setup.loops, ListenOptions::default()).unwrap())
            .collect();
        let classes = Mutex::new(HashMap::new());
        let class = move |operation: &str| {
            let make = || match operation {
                kept if setup.in_place.contains(&kept) => CostClass::kept_in_place(kept),
                slow if setup.pool.contains(&slow) => CostClass::pinned_to_pool(slow),
                learner => CostClass::new(learner),
            };
            let mut classes = classes.lock().unwrap();
            let class = classes.entry(operation.to_owned());
            class.or_insert_with(|| Arc::new(make())).clone()
        };
        let app = Arc::new(App {
            handler: Box::new(handler),
            class: Box::new(class),
            idle_ms: setup.idle_ms,
            notes: Mutex::default(),
            too_late: AtomicU64::new(0),
            cancelled: AtomicU64::new(0),
        });
        let pool = setup.crew.pool();
        let loops: Vec<_> = (0..setup.loops)
            .map(|index| {
                let listeners = sets.iter().map(|set| set.listeners[index].clone());
                EventLoop::new(setup.config, listeners.collect(), |_| {
                    Echo::new(app.clone(), pool.clone())
                })
                .unwrap()
            })
            .collect();
        let handles = loops.iter().map(|each| each.handle().clone()).collect();
        Server {
            crew: Crew::start(setup.crew, pool, loops).unwrap(),
            handles,
            app,
            addresses: sets.into_iter().map(|set| set.address).collect(),
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        match &self.addresses[0] {
            Address::Inet(address) => *address,
            Address::Unix(_) => panic!("this server has no TCP address"),
        }
    }

    pub(crate) fn connect(&self) -> Client {
        Client::connect(self.address())
    }

    /// A figure of all loops together.
    pub(crate) fn total(&self, figure: impl Fn(&stepwell_reactor::LoopStats) -> &AtomicU64) -> u64 {
        let of_loop = |handle: &LoopHandle<Letter>| figure(handle.stats()).load(Ordering::Relaxed);
        self.handles.iter().map(of_loop).sum()
    }

    pub(crate) fn connections(&self) -> u64 {
        self.total(|stats| &stats.connections)
    }

    /// Ends all loops and waits for all threads.
    pub(crate) fn stop(self) {
        for handle in &self.handles {
            handle.stop_listening();
            handle.post(Letter::Stop);
        }
        assert!(
            self.crew.join(PATIENCE),
            "threads stayed behind: {:?}",
            self.crew
        );
    }
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Read for &Stream {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Stream::Tcp(stream) => (&mut &*stream).read(buffer),
            Stream::Unix(stream) => (&mut &*stream).read(buffer),
        }
    }
}

/// A blocking client; nothing it does takes longer than [`PATIENCE`].
pub(crate) struct Client {
    stream: Arc<Stream>,
    reader: BufReader<Box<dyn Read + Send>>,
}

struct Reading(Arc<Stream>);

impl Read for Reading {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        (&mut &*self.0).read(buffer)
    }
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).expect("somebody listens");
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Client::new(Stream::Tcp(stream))
    }

    pub(crate) fn connect_unix(path: &Path) -> Client {
        let stream = UnixStream::connect(path).expect("somebody listens");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Client::new(Stream::Unix(stream))
    }

    fn new(stream: Stream) -> Client {
        let stream = Arc::new(stream);
        let reading: Box<dyn Read + Send> = Box::new(Reading(stream.clone()));
        Client {
            stream,
            reader: BufReader::new(reading),
        }
    }

    pub(crate) fn send(&self, text: &str) {
        let sent = match &*self.stream {
            Stream::Tcp(stream) => (&mut &*stream).write_all(text.as_bytes()),
            Stream::Unix(stream) => (&mut &*stream).write_all(text.as_bytes()),
        };
        sent.expect("the server reads");
    }

    /// The next line without its end; empty at the end of the stream.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).expect("an answer in time");
        line.truncate(line.trim_end().len());
        line
    }

    pub(crate) fn ask(&mut self, id: u64, operation: &str, number: u64) {
        self.send(&format!("{id} {operation} {number}\n"));
        assert_eq!(self.line(), format!("{id} {operation}"));
    }

    /// Sends nothing more (FIN); answers can still be read.
    pub(crate) fn finish(&self) {
        if let Stream::Tcp(stream) = &*self.stream {
            stream.shutdown(std::net::Shutdown::Write).unwrap();
        }
    }

    /// Ends the connection by a reset.
    pub(crate) fn reset(self) {
        if let Stream::Tcp(stream) = &*self.stream {
            let socket = socket2::SockRef::from(stream);
            socket.set_linger(Some(Duration::ZERO)).unwrap();
        }
    }
}
