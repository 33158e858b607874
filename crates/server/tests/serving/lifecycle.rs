//! Starting, stopping, and the threads in between.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use stepwell::{Router, Running, ThreadStart};
use stepwell_testkit::{Ending, PATIENCE, RawClient, get};

use crate::support::{Counter, Gate, OpenAtEnd, earn_the_loop, serve, server, wait_for};

fn holding(gate: &Gate) -> Running {
    let wait = gate.clone();
    let mut router = Router::new();
    router
        .get("/hold", move |_| {
            wait.pass();
            "held"
        })
        .blocking();
    router.get("/", |_| "x");
    serve(router)
}

#[test]
fn a_graceful_stop_ends_requests_under_way_and_closes_idle_connections() {
    let gate = Gate::new();
    let running = holding(&gate);
    let _open = OpenAtEnd(gate.clone());
    let addr = running.addr();
    let mut idle = RawClient::connect(addr);
    assert_eq!(idle.exchange(get("/")).text(), "x");
    let mut busy = RawClient::connect(addr);
    busy.send(get("/hold"));
    gate.wait_for(1);
    let stopper = running.stopper();
    let stopping = std::thread::spawn(move || stopper.stop_within(PATIENCE));
    assert_eq!(idle.expect_end(), Ending::Closed);
    // Nobody listens any more, the request is still under way.
    assert!(RawClient::try_connect(addr).is_err());
    gate.open();
    let answer = busy.read_response();
    assert_eq!(answer.text(), "held");
    assert!(answer.lists("Connection", "close"), "{answer:?}");
    assert_eq!(busy.expect_end(), Ending::Closed);
    drop(busy);
    assert!(stopping.join().unwrap(), "everything ended in time");
    assert_eq!(running.stats().crew.threads, 0);
}

#[test]
fn what_does_not_end_within_the_grace_time_is_cut_off() {
    let gate = Gate::new();
    let running = holding(&gate);
    let _open = OpenAtEnd(gate.clone());
    let mut busy = RawClient::connect(running.addr());
    busy.send(get("/hold"));
    gate.wait_for(1);
    let start = Instant::now();
    assert!(
        !running.stopper().stop_within(Duration::from_millis(100)),
        "a handler still runs"
    );
    assert!(start.elapsed() >= Duration::from_millis(100));
    let answer = busy.read_response();
    assert_eq!(answer.status, 503);
    assert!(answer.lists("connection", "close"));
    busy.expect_end();
}

#[test]
fn a_stop_serves_what_was_sent_before_it() {
    // The loop is kept busy by its own handler meanwhile, so that everything waits in sockets.
    let gate = Gate::new();
    let wait = gate.clone();
    let mut router = Router::new();
    router.get("/hold", move |_| {
        wait.pass();
        "held"
    });
    router.get("/", |_| "x");
    let running = server(router)
        .hand_off(stepwell::HandOff::Inline)
        .start()
        .unwrap();
    let _open = OpenAtEnd(gate.clone());
    let mut known = RawClient::connect(running.addr());
    assert_eq!(known.exchange(get("/")).text(), "x");
    let mut busy = RawClient::connect(running.addr());
    busy.send(get("/hold"));
    gate.wait_for(1);
    known.send(get("/"));
    let mut fresh = RawClient::connect(running.addr());
    fresh.send(get("/"));
    running.stopper().begin();
    gate.open();
    assert_eq!(busy.read_response().text(), "held");
    assert_eq!(
        known.read_response().text(),
        "x",
        "sent on an open connection"
    );
    assert_eq!(
        fresh.read_response().text(),
        "x",
        "sent on one that waited in the backlog"
    );
    drop((known, busy, fresh));
    assert!(running.stop(PATIENCE));
}

#[test]
fn a_server_is_stopped_from_any_thread_and_wait_returns() {
    let running = Arc::new(holding(&Gate::new()));
    let (tell, told) = channel();
    let waiting = running.clone();
    let waiter = std::thread::spawn(move || {
        waiting.wait();
        tell.send(()).unwrap();
    });
    let stopper = running.stopper();
    std::thread::spawn(move || assert!(stopper.stop()))
        .join()
        .unwrap();
    told.recv_timeout(PATIENCE).unwrap();
    waiter.join().unwrap();
    assert!(running.stopper().stop(), "a second stop does no harm");
}

#[test]
fn a_handler_may_stop_its_own_server() {
    let (send, receive) = channel::<stepwell::Stopper>();
    let receive = std::sync::Mutex::new(receive);
    let mut router = Router::new();
    router.get("/stop", move |_| {
        receive.lock().unwrap().recv().unwrap().begin();
        "stopping"
    });
    let running = serve(router);
    send.send(running.stopper()).unwrap();
    let mut client = RawClient::connect(running.addr());
    assert_eq!(client.exchange(get("/stop")).text(), "stopping");
    client.expect_end();
    drop(client);
    running.wait();
}

#[test]
fn dropping_a_server_stops_it() {
    let running = holding(&Gate::new());
    let addr = running.addr();
    let mut client = RawClient::connect(addr);
    assert_eq!(client.exchange(get("/")).text(), "x");
    drop(running);
    client.expect_end();
    assert!(RawClient::try_connect(addr).is_err());
}

#[test]
fn every_thread_has_a_state_of_its_own_and_drops_it() {
    struct State {
        runs: usize,
        drops: Counter,
    }
    impl Drop for State {
        fn drop(&mut self) {
            self.drops.one();
        }
    }
    let (made, drops, gate) = (Counter::new(), Counter::new(), Gate::new());
    let mut router = Router::new();
    let wait = gate.clone();
    router.get("/", |req| {
        let mut state = req.thread_state::<State>();
        state.runs += 1;
        state.runs.to_string()
    });
    router
        .get("/hold", move |req| {
            req.thread_state::<State>().runs += 1;
            wait.pass();
        })
        .blocking();
    router.get("/panic", |req| -> () {
        let _state = req.thread_state::<State>();
        panic!("on purpose")
    });
    router.get("/wrong", |req| req.thread_state::<String>().clone());
    let (count, dropped) = (made.clone(), drops.clone());
    let running = server(router)
        .thread_state(move || {
            count.one();
            State {
                runs: 0,
                drops: dropped.clone(),
            }
        })
        .start()
        .unwrap();
    let _open = OpenAtEnd(gate.clone());
    // Three at the same time: three threads, three states.
    let mut held: Vec<_> = (0..3).map(|_| RawClient::connect(running.addr())).collect();
    for client in &mut held {
        client.send(get("/hold"));
    }
    gate.wait_for(3);
    assert!(made.get() >= 3, "{}", made.get());
    gate.open();
    held.iter_mut()
        .for_each(|client| assert_eq!(client.read_response().status, 204));
    let mut client = RawClient::connect(running.addr());
    assert_eq!(client.exchange(get("/panic")).status, 500);
    assert_eq!(client.exchange(get("/wrong")).status, 500);
    earn_the_loop(&running, "/");
    assert_eq!(client.exchange(get("/")).status, 200);
    drop((client, held));
    assert!(running.stop(PATIENCE));
    assert_eq!(drops.get(), made.get(), "every state was dropped");
}

#[test]
fn the_host_may_start_the_threads() {
    let started = Counter::new();
    let mut router = Router::new();
    router.get("/", |_| {
        std::thread::current().name().unwrap_or_default().to_owned()
    });
    let count = started.clone();
    let hook = Arc::new(move |start: ThreadStart| {
        count.one();
        std::thread::Builder::new()
            .name("host".to_owned())
            .spawn(move || start.run())
            .map(|_| ())
    });
    let running = server(router).thread_hook(hook).start().unwrap();
    let mut client = RawClient::connect(running.addr());
    for _ in 0..100 {
        assert_eq!(client.exchange(get("/")).text(), "host");
    }
    wait_for(&running, "all were started by the hook", |stats| {
        stats.crew.started == started.get() as u64
    });
    drop(client);
    assert!(running.stop(PATIENCE));
}

#[test]
fn threads_without_work_leave() {
    let gate = Gate::new();
    let wait = gate.clone();
    let mut router = Router::new();
    router.get("/hold", move |_| wait.pass()).blocking();
    let running = server(router)
        .thread_idle(Duration::from_millis(50))
        .start()
        .unwrap();
    let _open = OpenAtEnd(gate.clone());
    let mut clients: Vec<_> = (0..30)
        .map(|_| RawClient::connect(running.addr()))
        .collect();
    for client in &mut clients {
        client.send(get("/hold"));
    }
    gate.wait_for(30);
    assert!(running.stats().crew.threads >= 30);
    gate.open();
    clients
        .iter_mut()
        .for_each(|client| assert_eq!(client.read_response().status, 204));
    wait_for(&running, "a handful is left", |stats| {
        stats.crew.threads <= 4
    });
}
