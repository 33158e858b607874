//! Everything at once: fast, sleeping, burning, flaky, announcing, sending and panicking handlers
//! on several loops, with clients that stay, vanish, reset and stall. A few seconds by default;
//! `STEPWELL_SOAK_SECONDS` says otherwise (`make soak`).
#![cfg(not(loom))]

mod echo;

use std::fs;
use std::net::SocketAddr;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use echo::{Client, Letter, Request, Server, Setup, until};
use stepwell_reactor::crew::{CrewConfig, ThreadState, blocking};

const LOOPS: usize = 3;
const OPERATIONS: [&str; 8] = [
    "fast", "fast", "fast", "sleep", "burn", "flaky", "announce", "panic",
];

/// A small generator of numbers; each client has its own, so a run can't depend on timing more
/// than it must.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }

    fn operation(&mut self) -> &'static str {
        OPERATIONS[self.below(OPERATIONS.len() as u64) as usize]
    }
}

fn burn(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

fn handle(request: &Request, state: &mut ThreadState) {
    let runs = state.as_mut().and_then(|state| state.downcast_mut::<u64>());
    *runs.expect("every thread has its state") += 1;
    let number = request.number;
    match &*request.operation {
        "sleep" => thread::sleep(Duration::from_micros(300 * (number % 16))),
        "burn" => burn(Duration::from_micros(400 * (number % 10))),
        "flaky" if number % 100 == 0 => thread::sleep(Duration::from_millis(8)),
        "announce" if number % 4 == 0 => blocking(|| thread::sleep(Duration::from_millis(2))),
        // Not by the macro, which would fill the log.
        "panic" if number % 3 == 0 => resume_unwind(Box::new("soak")),
        "say" => {
            let line = format!("said {}\n", request.id);
            request.home.post(Letter::Say(request.token, line));
            thread::sleep(Duration::from_micros(200 * (number % 20)));
        }
        _ => {}
    }
}

/// What an answer looks like.
fn answer(id: u64, operation: &str, number: u64) -> String {
    let mark = if operation == "panic" && number % 3 == 0 {
        "!"
    } else {
        ""
    };
    format!("{id} {operation}{mark}")
}

struct Soak {
    address: SocketAddr,
    over: AtomicBool,
    answered: AtomicU64,
    id: AtomicU64,
}

impl Soak {
    fn next_id(&self) -> u64 {
        self.id.fetch_add(1, Ordering::Relaxed)
    }

    fn goes_on(&self) -> bool {
        !self.over.load(Ordering::Relaxed)
    }

    /// Sends a batch and expects its answers, each once, in order.
    fn exchange(&self, client: &mut Client, dice: &mut Dice, last: bool) {
        let batch: Vec<_> = (0..1 + dice.below(8))
            .map(|_| (self.next_id(), dice.operation(), dice.below(1000)))
            .collect();
        let line =
            |(id, operation, number): &(u64, &str, u64)| format!("{id} {operation} {number}\n");
        client.send(&batch.iter().map(line).collect::<String>());
        if last {
            client.finish();
        }
        for (id, operation, number) in batch {
            assert_eq!(client.line(), answer(id, operation, number));
            self.answered.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Keeps one connection, and at last closes its sending half before the answers are there.
    fn stay(&self, mut dice: Dice) {
        let mut client = Client::connect(self.address);
        while self.goes_on() {
            self.exchange(&mut client, &mut dice, false);
        }
        self.exchange(&mut client, &mut dice, true);
        assert_eq!(client.line(), "", "nothing after the last answer");
    }

    /// Gets a line that the handler sends before its answer.
    fn listen(&self, mut dice: Dice) {
        let mut client = Client::connect(self.address);
        while self.goes_on() {
            let (id, number) = (self.next_id(), dice.below(1000));
            client.send(&format!("{id} say {number}\n"));
            // A handler that keeps its loop to the end completes before its letter is read.
            let mut lines = [client.line(), client.line()];
            lines.sort();
            assert_eq!(lines, [format!("{id} say"), format!("said {id}")]);
            self.answered.fetch_add(2, Ordering::Relaxed);
        }
    }

    /// Connects, asks, and goes: before the answer, in the middle of a line, by reset or FIN.
    fn vanish(&self, mut dice: Dice) {
        while self.goes_on() {
            let mut client = Client::connect(self.address);
            if dice.below(3) == 0 {
                self.exchange(&mut client, &mut dice, false);
            }
            for _ in 0..dice.below(4) {
                let operation = dice.operation();
                client.send(&format!(
                    "{} {operation} {}\n",
                    self.next_id(),
                    dice.below(1000)
                ));
            }
            if dice.below(2) == 0 {
                client.send("17 fa");
            }
            if dice.below(2) == 0 {
                client.reset();
            }
        }
    }

    /// Leaves several connections in the middle of a line and comes back to them in turn.
    fn stall(&self, mut dice: Dice) {
        let mut stalled = Vec::new();
        while self.goes_on() {
            let (client, id) = (Client::connect(self.address), self.next_id());
            client.send(&format!("{id} fa"));
            stalled.push((client, id));
            if stalled.len() > 20 {
                let (mut client, id) = stalled.swap_remove(dice.below(20) as usize);
                client.send("st 0\n");
                assert_eq!(client.line(), format!("{id} fast"));
                self.answered.fetch_add(1, Ordering::Relaxed);
            }
            thread::yield_now();
        }
    }
}

/// What a client does until the soak is over.
type Behaviour = fn(&Soak, Dice);

fn count(directory: &str) -> usize {
    fs::read_dir(directory).unwrap().count()
}

fn seconds() -> u64 {
    let wish = std::env::var("STEPWELL_SOAK_SECONDS").ok();
    wish.map_or(3, |wish| {
        wish.parse().expect("STEPWELL_SOAK_SECONDS is a number")
    })
}

#[test]
fn soak() {
    let before = (count("/proc/self/fd"), count("/proc/self/task"));
    let setup = Setup {
        loops: LOOPS,
        crew: CrewConfig {
            ceiling: 12,
            queue: 24,
            idle: Duration::from_millis(100),
            state: Some(Arc::new(|| Box::new(0u64))),
            ..CrewConfig::default()
        },
        in_place: &["say", "announce"],
        ..Setup::default()
    };
    let server = Server::start(setup, handle);
    let soak = Soak {
        address: server.address(),
        over: AtomicBool::new(false),
        answered: AtomicU64::new(0),
        id: AtomicU64::new(0),
    };
    let end = Instant::now() + Duration::from_secs(seconds());
    thread::scope(|scope| {
        let clients: [(Behaviour, u64); 4] = [
            (Soak::stay, 8),
            (Soak::listen, 2),
            (Soak::vanish, 3),
            (Soak::stall, 1),
        ];
        for (kind, (client, number)) in clients.into_iter().enumerate() {
            for seed in 0..number {
                let soak = &soak;
                scope.spawn(move || client(soak, Dice(seed * 4 + kind as u64)));
            }
        }
        while Instant::now() < end {
            thread::park_timeout(end.saturating_duration_since(Instant::now()));
        }
        soak.over.store(true, Ordering::Relaxed);
    });
    until("all connections are closed", || server.connections() == 0);
    until("nobody is astray", || {
        server.crew.pool().stats().astray == 0
    });

    let stats = server.crew.hand_off_stats();
    let (cancelled, late) = (&server.app.cancelled, &server.app.too_late);
    println!(
        "{} answers, {} connections, {} late answers dropped, {} jobs cancelled, {stats:?}",
        soak.answered.load(Ordering::Relaxed),
        server.total(|stats| &stats.accepted),
        late.load(Ordering::Relaxed),
        cancelled.load(Ordering::Relaxed),
    );
    for (what, happened) in [
        ("answers", soak.answered.load(Ordering::Relaxed)),
        ("thefts", stats.thefts),
        ("announcements", stats.announced),
        ("panics", stats.panics),
        ("late answers", late.load(Ordering::Relaxed)),
    ] {
        assert!(happened > 0, "no {what}: this was no soak");
    }
    assert!(server.crew.pool().stats().threads <= LOOPS + 1 + 12 + 2 * LOOPS);
    server.stop();
    until("every thread has ended", || {
        count("/proc/self/task") == before.1
    });
    assert_eq!(count("/proc/self/fd"), before.0, "descriptors leaked");
}
