//! Clients that leave: their queued work is dropped, their running work can ask.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use stepwell::{Router, Running};
use stepwell_testkit::{Ending, PATIENCE, RawClient, VanishingClient, get, poll_until, post};

use crate::support::{Counter, Gate, NEVER, OpenAtEnd, earn_the_loop, serve, server, wait_for};

/// A server with one thread for handlers, which `/hold` occupies until the gate opens; `/run`
/// counts its calls.
fn one_thread(gate: &Gate, runs: &Counter) -> Running {
    let mut router = Router::new();
    let (wait, count) = (gate.clone(), runs.clone());
    router.get("/hold", move |_| wait.pass()).blocking();
    let post_count = runs.clone();
    router
        .get("/run", move |_| count.one().to_string())
        .blocking();
    router
        .post("/run", move |_| post_count.one().to_string())
        .blocking();
    server(router)
        .max_threads(1)
        .queue(8, NEVER)
        .start()
        .unwrap()
}

#[test]
fn a_reset_takes_a_request_out_of_the_queue_at_once() {
    let (gate, runs) = (Gate::new(), Counter::new());
    let running = one_thread(&gate, &runs);
    let _open = OpenAtEnd(gate.clone());
    let mut holder = RawClient::connect(running.addr());
    holder.send(get("/hold"));
    gate.wait_for(1);

    let first = VanishingClient::ask(running.addr(), get("/run"));
    let mut second = RawClient::connect(running.addr());
    wait_for(&running, "one request is queued", |stats| {
        stats.crew.queued == 1
    });
    second.send(get("/run"));
    wait_for(&running, "two requests are queued", |stats| {
        stats.crew.queued == 2
    });
    first.reset();
    wait_for(&running, "its place is free", |stats| {
        stats.crew.queued == 1
    });
    assert_eq!(running.stats().requests.cancelled, 1);

    gate.open();
    assert_eq!(
        second.read_response().text(),
        "1",
        "the other one never ran"
    );
    assert_eq!(holder.read_response().status, 204);
    assert_eq!(runs.get(), 1);
}

#[test]
fn a_reset_takes_a_request_with_a_body_out_of_the_queue() {
    let (gate, runs) = (Gate::new(), Counter::new());
    let running = one_thread(&gate, &runs);
    let _open = OpenAtEnd(gate.clone());
    let mut holder = RawClient::connect(running.addr());
    holder.send(get("/hold"));
    gate.wait_for(1);
    let victim = VanishingClient::ask(running.addr(), post("/run", &[b'x'; 10_000]));
    wait_for(&running, "the request is queued", |stats| {
        stats.crew.queued == 1
    });
    victim.reset();
    wait_for(&running, "its place is free", |stats| {
        stats.crew.queued == 0
    });
    gate.open();
    assert_eq!(holder.read_response().status, 204);
    assert_eq!(holder.exchange(get("/run")).text(), "1");
}

#[test]
fn a_reset_takes_back_a_request_that_waits_for_room_in_the_queue() {
    let (gate, runs) = (Gate::new(), Counter::new());
    let mut router = Router::new();
    let (wait, count) = (gate.clone(), runs.clone());
    router.get("/hold", move |_| wait.pass()).blocking();
    router
        .get("/run", move |_| count.one().to_string())
        .blocking();
    let running = server(router)
        .max_threads(1)
        .queue(1, NEVER)
        .start()
        .unwrap();
    let _open = OpenAtEnd(gate.clone());
    let mut holder = RawClient::connect(running.addr());
    holder.send(get("/hold"));
    gate.wait_for(1);
    let mut queued = RawClient::connect(running.addr());
    queued.send(get("/run"));
    wait_for(&running, "one request is queued", |stats| {
        stats.crew.queued == 1
    });
    let victim = VanishingClient::ask(running.addr(), get("/run"));
    wait_for(&running, "one is held back", |stats| {
        stats.requests.held_back == 1
    });
    victim.reset();
    wait_for(&running, "it is taken back", |stats| {
        stats.requests.cancelled == 1
    });
    gate.open();
    assert_eq!(queued.read_response().text(), "1");
    assert_eq!(
        queued.exchange(get("/run")).text(),
        "2",
        "the other one never ran"
    );
}

#[test]
fn a_half_closed_client_gets_its_answer() {
    let gate = Gate::new();
    let mut router = Router::new();
    let wait = gate.clone();
    router.get("/quick", |_| "quick");
    router.get("/pool", |_| "pool").blocking();
    router.post("/echo", |req| req.text().map(str::to_owned));
    router
        .get("/held", move |_| {
            wait.pass();
            "held"
        })
        .blocking();
    let running = serve(router);
    let _open = OpenAtEnd(gate.clone());
    let ask = |request: Vec<u8>| {
        let mut client = VanishingClient::ask(running.addr(), request).half_close();
        let answer = client.read_response();
        assert_eq!(client.expect_end(), Ending::Closed);
        answer.text()
    };
    for _ in 0..20 {
        assert_eq!(ask(get("/pool")), "pool");
        assert_eq!(ask(get("/quick")), "quick");
        assert_eq!(ask(post("/echo", b"body")), "body");
    }
    earn_the_loop(&running, "/quick");
    for _ in 0..20 {
        assert_eq!(ask(get("/quick")), "quick");
    }
    // Two requests before the end: both are answered.
    let mut client =
        VanishingClient::ask(running.addr(), [get("/quick"), get("/pool")].concat()).half_close();
    assert_eq!(client.read_response().text(), "quick");
    assert_eq!(client.read_response().text(), "pool");
    assert_eq!(client.expect_end(), Ending::Closed);
    // One that half-closes while its handler runs.
    let mut client = RawClient::connect(running.addr());
    client.send(get("/held"));
    gate.wait_for(1);
    client.finish();
    gate.open();
    assert_eq!(client.read_response().text(), "held");
    assert_eq!(client.expect_end(), Ending::Closed);
}

#[test]
fn a_half_closed_client_is_given_up_after_a_second_in_the_queue() {
    let (gate, runs) = (Gate::new(), Counter::new());
    let running = one_thread(&gate, &runs);
    let _open = OpenAtEnd(gate.clone());
    let mut holder = RawClient::connect(running.addr());
    holder.send(get("/hold"));
    gate.wait_for(1);
    let start = Instant::now();
    let mut client = VanishingClient::ask(running.addr(), get("/run")).half_close();
    client.expect_end();
    assert!(
        start.elapsed() >= Duration::from_millis(900),
        "{:?}",
        start.elapsed()
    );
    let stats = running.stats();
    assert_eq!(
        (stats.requests.cancelled, stats.crew.queued),
        (1, 0),
        "{stats:?}"
    );
    gate.open();
    assert_eq!(holder.read_response().status, 204);
    assert_eq!(
        holder.exchange(get("/run")).text(),
        "1",
        "the other one never ran"
    );
}

#[test]
fn a_running_handler_sees_that_its_client_has_gone() {
    let (begun, seen) = (Gate::new(), mpsc::channel());
    begun.open();
    let mut router = Router::new();
    let begin = begun.clone();
    let tell = std::sync::Mutex::new(seen.0);
    router
        .get("/watch", move |req| {
            assert!(!req.is_cancelled(), "too early");
            begin.pass();
            let gone = poll_until(PATIENCE, || req.is_cancelled());
            tell.lock().unwrap().send(gone).unwrap();
        })
        .blocking();
    let running = serve(router);
    for round in 1..=3 {
        let client = VanishingClient::ask(running.addr(), get("/watch"));
        begun.wait_for(round);
        client.reset();
        assert!(seen.1.recv_timeout(PATIENCE).unwrap());
    }
    wait_for(&running, "their answers came too late", |stats| {
        stats.requests.late == 3
    });
}

#[test]
fn a_handler_on_the_loop_sees_that_its_client_has_gone() {
    let (begun, seen) = (Gate::new(), mpsc::channel());
    begun.open();
    let mut router = Router::new();
    let begin = begun.clone();
    let tell = std::sync::Mutex::new(seen.0);
    let slow = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let set = slow.clone();
    router.get("/watch", move |req| {
        if set.load(std::sync::atomic::Ordering::SeqCst) {
            begin.pass();
            let gone = poll_until(PATIENCE, || req.is_cancelled());
            tell.lock().unwrap().send(gone).unwrap();
        }
        "x"
    });
    let running = serve(router);
    earn_the_loop(&running, "/watch");
    slow.store(true, std::sync::atomic::Ordering::SeqCst);
    let client = VanishingClient::ask(running.addr(), get("/watch"));
    begun.wait_for(1);
    client.reset();
    assert!(seen.1.recv_timeout(PATIENCE).unwrap());
}

#[test]
fn connections_that_come_and_go_leave_nothing_behind() {
    let mut router = Router::new();
    router.get("/", |_| "x");
    router.get("/big", |_| vec![b'x'; 1 << 20]);
    let running = serve(router);
    for round in 0..300 {
        let path = if round % 2 == 0 { "/" } else { "/big" };
        let client = VanishingClient::ask(running.addr(), get(path));
        match round % 3 {
            0 => client.reset(),
            1 => client.close(),
            _ => drop(client.half_close()),
        }
    }
    wait_for(&running, "all connections are closed", |stats| {
        stats.loops[0].accepted == 300 && stats.loops[0].connections == 0
    });
    let mut client = RawClient::connect(running.addr());
    assert_eq!(client.exchange(get("/")).text(), "x");
}
