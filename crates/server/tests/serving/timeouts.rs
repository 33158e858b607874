//! Clients, handlers and queues that are too slow: each gets its answer, the others are served.

use std::time::{Duration, Instant};

use stepwell::{Limits, Router, Running};
use stepwell_testkit::{
    Ending, PATIENCE, RawClient, SlowLoris, StalledReader, get, peers::Endurance,
};

use crate::support::{Counter, Gate, NEVER, OpenAtEnd, serve, server, wait_for};

const SHORT: Duration = Duration::from_millis(150);

/// All timeouts of the protocol are out of reach, except those that `change` shortens.
fn impatient(router: Router, change: impl FnOnce(&mut Limits)) -> Running {
    let mut limits = Limits {
        header_timeout: NEVER,
        body_idle: NEVER,
        body_grace: NEVER,
        keep_alive: NEVER,
        ..Limits::default()
    };
    change(&mut limits);
    server(router).limits(limits).start().unwrap()
}

fn router() -> Router {
    let mut router = Router::new();
    router.get("/", |_| "x");
    router.post("/", |req| req.text().map(str::to_owned));
    router
        .post("/streamed", |req| {
            Ok(std::io::copy(&mut req.reader(), &mut std::io::sink())?.to_string())
        })
        .stream_body();
    router
}

/// A slow client must be answered 408, not before `SHORT`, while others are served.
#[track_caller]
fn gets_408(running: &Running, drip: impl AsRef<[u8]>) {
    let start = Instant::now();
    let mut loris = SlowLoris::connect(running.addr(), Duration::from_millis(10));
    let mut other = RawClient::connect(running.addr());
    assert_eq!(other.exchange(get("/")).status, 200);
    match loris.drip(drip, PATIENCE) {
        Endurance::Answered(answer) => {
            assert_eq!(answer.status, 408, "{answer:?}");
            assert!(answer.lists("Connection", "close"), "{answer:?}");
        }
        other => panic!("{other:?}"),
    }
    assert!(start.elapsed() >= SHORT, "{:?}", start.elapsed());
    assert_eq!(loris.client().read_to_end().1, Ending::Closed);
    assert_eq!(other.exchange(get("/")).status, 200);
}

#[test]
fn a_slow_head_gets_408() {
    let running = impatient(router(), |limits| limits.header_timeout = SHORT);
    gets_408(
        &running,
        "GET / HTTP/1.1\r\nHost: x\r\n".to_owned() + &"A: b\r\n".repeat(99),
    );
    assert_eq!(running.stats().requests.slow_clients, 1);
}

#[test]
fn a_slow_body_gets_408_wherever_it_goes() {
    for path in ["/", "/streamed"] {
        let running = impatient(router(), |limits| {
            limits.body_grace = SHORT;
            limits.body_rate = 1_000_000;
        });
        let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n");
        gets_408(&running, head + &"b".repeat(5000));
    }
}

#[test]
fn a_body_that_stops_gets_408() {
    // One that never begins counts as one that stops.
    for (path, begin) in [
        ("/", "bod"),
        ("/", ""),
        ("/streamed", "bod"),
        ("/streamed", ""),
    ] {
        let running = impatient(router(), |limits| {
            limits.body_idle = SHORT;
            limits.body_grace = SHORT;
        });
        let mut client = RawClient::connect(running.addr());
        let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n");
        client.send(head + begin);
        assert_eq!(client.read_response().status, 408, "{path} {begin}");
        assert_eq!(client.expect_end(), Ending::Closed, "{path} {begin}");
    }
}

#[test]
fn an_idle_connection_is_closed_without_a_word() {
    let running = impatient(router(), |limits| limits.keep_alive = SHORT);
    let mut client = RawClient::connect(running.addr());
    assert_eq!(client.exchange(get("/")).status, 200);
    let start = Instant::now();
    assert_eq!(client.expect_end(), Ending::Closed);
    assert!(start.elapsed() >= SHORT / 2);
    // One that never says anything has the time for a head.
    let running = impatient(router(), |limits| limits.header_timeout = SHORT);
    assert_eq!(
        RawClient::connect(running.addr()).expect_end(),
        Ending::Closed
    );
}

#[test]
fn a_client_that_takes_nothing_of_its_answer_is_dropped() {
    let mut big = Router::new();
    big.get("/", |_| vec![b'x'; 64 << 20]);
    big.get("/other", |_| "other");
    let running = server(big).write_timeout(SHORT).start().unwrap();
    let mut stalled = StalledReader::connect(running.addr());
    stalled.ask(get("/"));
    let mut other = RawClient::connect(running.addr());
    assert_eq!(other.exchange(get("/other")).text(), "other");
    wait_for(&running, "the stalled reader is gone", |stats| {
        stats.requests.slow_clients == 1
    });
    assert_eq!(other.exchange(get("/other")).text(), "other");
    assert_eq!(running.stats().loops[0].connections, 1);
}

#[test]
fn a_request_that_waits_too_long_for_a_thread_gets_503() {
    let (gate, runs) = (Gate::new(), Counter::new());
    let mut router = Router::new();
    let (wait, count) = (gate.clone(), runs.clone());
    router.get("/hold", move |_| wait.pass()).blocking();
    router
        .get("/run", move |_| count.one().to_string())
        .blocking();
    let running = server(router)
        .max_threads(1)
        .queue(1, SHORT)
        .start()
        .unwrap();
    let _open = OpenAtEnd(gate.clone());
    let mut holder = RawClient::connect(running.addr());
    holder.send(get("/hold"));
    gate.wait_for(1);
    let start = Instant::now();
    // One in the queue, two held back before it: all get the same answer.
    let mut waiting: Vec<_> = (0..3).map(|_| RawClient::connect(running.addr())).collect();
    for client in &mut waiting {
        client.send(get("/run"));
    }
    for client in &mut waiting {
        let answer = client.read_response();
        assert_eq!(answer.status, 503, "{answer:?}");
        assert!(answer.header("Retry-After").is_some(), "{answer:?}");
    }
    assert!(start.elapsed() >= SHORT, "{:?}", start.elapsed());
    assert_eq!(running.stats().requests.queue_timeouts, 3);
    gate.open();
    assert_eq!(holder.read_response().status, 204);
    // The connections live, and the queue is free.
    assert_eq!(
        waiting[0].exchange(get("/run")).text(),
        "1",
        "the others never ran"
    );
}

#[test]
fn a_route_that_runs_into_its_timeout_gets_503() {
    let (gate, seen) = (Gate::new(), std::sync::mpsc::channel());
    let mut router = Router::new();
    let wait = gate.clone();
    let tell = std::sync::Mutex::new(seen.0);
    router
        .get("/slow", move |req| {
            wait.pass();
            tell.lock().unwrap().send(req.is_cancelled()).unwrap();
        })
        .timeout(SHORT);
    router.get("/", |_| "x");
    let running = serve(router);
    let _open = OpenAtEnd(gate.clone());
    let start = Instant::now();
    let mut client = RawClient::connect(running.addr());
    let answer = client.exchange(get("/slow"));
    assert_eq!(answer.status, 503, "{answer:?}");
    assert_eq!(
        answer.text(),
        "the request took longer than its route allows"
    );
    assert!(start.elapsed() >= SHORT, "{:?}", start.elapsed());
    assert_eq!(running.stats().requests.handler_timeouts, 1);
    gate.open();
    assert!(
        seen.1.recv_timeout(PATIENCE).unwrap(),
        "the handler can know"
    );
    assert_eq!(
        RawClient::connect(running.addr()).exchange(get("/")).text(),
        "x"
    );
}
