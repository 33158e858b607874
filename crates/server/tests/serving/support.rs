//! Servers, gates and looks at figures, shared by the tests.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use stepwell::{RouteFigures, Router, Running, Server};
use stepwell_testkit::{PATIENCE, RawClient, get, poll_until};

/// A server for `router` with one event loop, on a port that the system chooses.
pub(crate) fn server(router: Router) -> Server {
    Server::new(router)
        .bind("127.0.0.1:0")
        .unwrap()
        .event_loops(1)
}

/// As [`server`], started.
pub(crate) fn serve(router: Router) -> Running {
    server(router).start().unwrap()
}

/// Where handlers wait until the test lets them go on.
#[derive(Clone, Default)]
pub(crate) struct Gate {
    state: Arc<(Mutex<GateState>, Condvar)>,
}

#[derive(Default)]
struct GateState {
    arrived: usize,
    open: bool,
}

impl Gate {
    pub(crate) fn new() -> Gate {
        Gate::default()
    }

    /// Waits until the gate is open; panics when the test forgets to open it.
    pub(crate) fn pass(&self) {
        let (state, changed) = &*self.state;
        let mut state = state.lock().unwrap();
        state.arrived += 1;
        changed.notify_all();
        let (_state, late) = changed
            .wait_timeout_while(state, 2 * PATIENCE, |state| !state.open)
            .unwrap();
        assert!(!late.timed_out(), "nobody opened the gate");
    }

    /// Lets everybody through, now and later.
    pub(crate) fn open(&self) {
        let (state, changed) = &*self.state;
        state.lock().unwrap().open = true;
        changed.notify_all();
    }

    pub(crate) fn is_open(&self) -> bool {
        self.state.0.lock().unwrap().open
    }

    /// Waits until so many have come to the gate, those included that went through.
    #[track_caller]
    pub(crate) fn wait_for(&self, count: usize) {
        let (state, changed) = &*self.state;
        let state = state.lock().unwrap();
        let (state, late) = changed
            .wait_timeout_while(state, PATIENCE, |state| state.arrived < count)
            .unwrap();
        assert!(
            !late.timed_out(),
            "{} of {count} came to the gate",
            state.arrived
        );
    }
}

/// Opens the gate whatever happens, so that a failing test ends at once.
pub(crate) struct OpenAtEnd(pub(crate) Gate);

impl Drop for OpenAtEnd {
    fn drop(&mut self) {
        self.0.open();
    }
}

/// Counts calls.
#[derive(Clone, Default)]
pub(crate) struct Counter(Arc<AtomicUsize>);

impl Counter {
    pub(crate) fn new() -> Counter {
        Counter::default()
    }

    /// Counts one more; answers how many that makes.
    pub(crate) fn one(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn add(&self, count: usize) {
        self.0.fetch_add(count, Ordering::SeqCst);
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// What the server has learned of a route, named by method and pattern.
pub(crate) fn route(running: &Running, name: &str) -> Option<RouteFigures> {
    running
        .stats()
        .routes
        .into_iter()
        .find(|route| route.route == name)
}

/// Asks for `path` until its route (method GET, pattern as `path`) runs on the event loop.
#[track_caller]
pub(crate) fn earn_the_loop(running: &Running, path: &str) {
    let name = format!("GET {path}");
    let mut client = RawClient::connect(running.addr());
    for _ in 0..20_000 {
        assert_eq!(client.exchange(get(path)).status, 200);
        if route(running, &name).is_some_and(|route| route.in_place) {
            return;
        }
    }
    panic!("{name} never earned the loop: {:?}", running.stats());
}

/// Waits until a figure of the server is as wanted.
#[track_caller]
pub(crate) fn wait_for(
    running: &Running,
    what: &str,
    mut holds: impl FnMut(&stepwell::Stats) -> bool,
) {
    let came = poll_until(PATIENCE, || holds(&running.stats()));
    assert!(came, "never: {what}; {:?}", running.stats());
}

/// A time that nothing in these tests reaches.
pub(crate) const NEVER: Duration = Duration::from_secs(3600);
