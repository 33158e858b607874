//! Quick handlers run on the event loop; whatever one of them does, its loop goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use stepwell::{Event, HandOff, Request, Response, Router};
use stepwell_testkit::{Pipeliner, RawClient, get};

use crate::support::{Gate, OpenAtEnd, earn_the_loop, route, serve, server, wait_for};

/// A route `/turn` that is quick until `slow` is set, and then does `turn` the next time.
fn turning(
    router: &mut Router,
    turn: impl Fn(&mut Request) + Send + Sync + 'static,
) -> Arc<AtomicBool> {
    let slow = Arc::new(AtomicBool::new(false));
    let set = slow.clone();
    router.get("/turn", move |req| {
        if set.swap(false, Ordering::SeqCst) {
            turn(req);
            "turned"
        } else {
            "quick"
        }
    });
    router.get("/other", |_| "other");
    slow
}

#[test]
fn a_route_starts_in_the_pool_and_earns_the_loop() {
    let mut router = Router::new();
    router.get("/", |_| "x");
    let running = serve(router);
    let mut client = RawClient::connect(running.addr());
    client.exchange(get("/"));
    wait_for(&running, "the first run is counted", |stats| {
        stats
            .routes
            .iter()
            .any(|route| route.runs_in_pool == 1 && route.runs_in_place == 0)
    });
    earn_the_loop(&running, "/");
    for _ in 0..100 {
        assert_eq!(client.exchange(get("/")).text(), "x");
    }
    let figures = route(&running, "GET /").unwrap();
    assert!(figures.runs_in_place > 0, "{figures:?}");
    assert_eq!(
        figures.promotions,
        figures.demotions + u64::from(figures.in_place)
    );
}

#[test]
fn a_handler_that_blocks_on_the_loop_loses_it_and_others_are_served() {
    let gate = Gate::new();
    let mut router = Router::new();
    let wait = gate.clone();
    let slow = turning(&mut router, move |_| wait.pass());
    let running = serve(router);
    let _open = OpenAtEnd(gate.clone());
    earn_the_loop(&running, "/turn");

    slow.store(true, Ordering::SeqCst);
    let mut blocked = RawClient::connect(running.addr());
    blocked.send(get("/turn"));
    gate.wait_for(1);
    let mut other = RawClient::connect(running.addr());
    for _ in 0..100 {
        assert_eq!(other.exchange(get("/other")).text(), "other");
        assert_eq!(other.exchange(get("/turn")).text(), "quick");
    }
    let stats = running.stats();
    assert!(stats.crew.thefts >= 1, "{stats:?}");
    assert_eq!(stats.crew.astray, 1, "{stats:?}");

    gate.open();
    assert_eq!(blocked.read_response().text(), "turned");
    assert_eq!(blocked.exchange(get("/turn")).text(), "quick");
    wait_for(&running, "the thread is back", |stats| {
        stats.crew.astray == 0
    });
}

#[test]
fn a_handler_that_burns_does_not_stop_its_loop() {
    let (burning, done) = (Gate::new(), Arc::new(AtomicBool::new(false)));
    let mut router = Router::new();
    let (begun, end) = (burning.clone(), done.clone());
    begun.open();
    let slow = turning(&mut router, move |_| {
        begun.pass();
        while !end.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    });
    let running = serve(router);
    earn_the_loop(&running, "/turn");

    slow.store(true, Ordering::SeqCst);
    let mut burner = RawClient::connect(running.addr());
    burner.send(get("/turn"));
    burning.wait_for(1);
    let mut other = RawClient::connect(running.addr());
    for _ in 0..100 {
        assert_eq!(other.exchange(get("/other")).text(), "other");
    }
    done.store(true, Ordering::Relaxed);
    assert_eq!(burner.read_response().text(), "turned");
}

#[test]
fn a_handler_that_says_it_will_block_gives_its_loop_away() {
    let mut router = Router::new();
    let gate = Gate::new();
    let wait = gate.clone();
    let slow = turning(&mut router, move |_| stepwell::blocking(|| wait.pass()));
    let running = serve(router);
    let _open = OpenAtEnd(gate.clone());
    earn_the_loop(&running, "/turn");
    let mut others: Vec<RawClient> = Vec::new();
    // The monitor may be quicker once, if this machine stops the thread in the wrong moment.
    for turn in 1..=3 {
        slow.store(true, Ordering::SeqCst);
        let mut client = RawClient::connect(running.addr());
        client.send(get("/turn"));
        gate.wait_for(turn);
        others.push(client);
        let mut other = RawClient::connect(running.addr());
        assert_eq!(other.exchange(get("/other")).text(), "other");
    }
    let stats = running.stats();
    assert!(stats.crew.announced >= 1, "{stats:?}");
    gate.open();
    for mut client in others {
        assert_eq!(client.read_response().text(), "turned");
    }
}

#[test]
fn pipelined_answers_keep_their_order_across_a_hand_off() {
    let gate = Gate::new();
    let mut router = Router::new();
    let wait = gate.clone();
    let slow = turning(&mut router, move |_| wait.pass());
    let running = serve(router);
    let _open = OpenAtEnd(gate.clone());
    earn_the_loop(&running, "/turn");
    earn_the_loop(&running, "/other");

    slow.store(true, Ordering::SeqCst);
    let mut pipeliner = Pipeliner::connect(running.addr());
    let paths = ["/turn", "/other", "/turn", "/none", "/other"];
    for path in paths {
        pipeliner.push(get(path));
    }
    pipeliner.send();
    gate.wait_for(1);
    let mut other = RawClient::connect(running.addr());
    assert_eq!(other.exchange(get("/other")).text(), "other");
    gate.open();
    let answers = pipeliner.read_all();
    let answers: Vec<_> = answers
        .iter()
        .map(|answer| (answer.status, answer.text()))
        .collect();
    let expected = ["turned", "other", "quick", "404 Not Found\n", "other"];
    for (answer, expected) in answers.iter().zip(expected) {
        assert_eq!(answer.1, expected, "{answers:?}");
    }
}

#[test]
fn answers_of_earlier_pipelined_requests_leave_before_a_handler_blocks() {
    let gate = Gate::new();
    let mut router = Router::new();
    let wait = gate.clone();
    let slow = turning(&mut router, move |_| wait.pass());
    let running = serve(router);
    let _open = OpenAtEnd(gate.clone());
    earn_the_loop(&running, "/turn");
    earn_the_loop(&running, "/other");

    slow.store(true, Ordering::SeqCst);
    let mut pipeliner = Pipeliner::connect(running.addr());
    pipeliner.push(get("/other")).push(get("/turn")).send();
    gate.wait_for(1);
    // The second handler is still at the gate.
    assert_eq!(pipeliner.client().read_response().text(), "other");
    gate.open();
    assert_eq!(pipeliner.client().read_response().text(), "turned");
}

#[test]
fn an_event_sent_before_a_handler_blocks_leaves_at_once() {
    let gate = Gate::new();
    let mut router = Router::new();
    let wait = gate.clone();
    let slow = turning(&mut router, move |req| {
        let events = req.event_stream();
        events.send(&Event::data("early")).unwrap();
        wait.pass();
        events.send(&Event::data("late")).unwrap();
    });
    let running = serve(router);
    let _open = OpenAtEnd(gate.clone());
    earn_the_loop(&running, "/turn");

    slow.store(true, Ordering::SeqCst);
    let mut client = RawClient::connect(running.addr());
    client.send(get("/turn"));
    client.read_through("data: early\n\n");
    gate.open();
    client.read_through("data: late\n\n");
    client.read_through("0\r\n\r\n");
}

#[test]
fn a_panic_is_answered_with_500_in_place_and_in_the_pool() {
    let mut router = Router::new();
    let slow = turning(&mut router, |_| panic!("on purpose"));
    router
        .get("/pool", |_| -> Response { panic!("on purpose") })
        .blocking();
    let running = serve(router);
    let mut client = RawClient::connect(running.addr());
    assert_eq!(client.exchange(get("/pool")).status, 500);
    assert_eq!(client.exchange(get("/pool")).status, 500);
    earn_the_loop(&running, "/turn");
    slow.store(true, Ordering::SeqCst);
    assert_eq!(client.exchange(get("/turn")).status, 500);
    assert_eq!(client.exchange(get("/turn")).text(), "quick");
    assert_eq!(running.stats().crew.panics, 3);
}

#[test]
fn a_route_of_fast_and_slow_requests_does_not_flap() {
    let mut router = Router::new();
    // Slow is the work itself here: nothing waits for the end of the sleep.
    router.get("/", |req| {
        if req.query("slow").is_some() {
            std::thread::sleep(Duration::from_millis(10));
        }
        "x"
    });
    let running = serve(router);
    let mut client = RawClient::connect(running.addr());
    let mut seed = 7u64;
    for _ in 0..4000 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let slow = (seed >> 33) % 100 < 5;
        let path = if slow { "/?slow" } else { "/" };
        assert_eq!(client.exchange(get(path)).status, 200);
    }
    let figures = route(&running, "GET /").unwrap();
    println!("95 % fast, 5 % of 10 ms: {figures:?}");
    assert!(figures.promotions <= 8, "{figures:?}");
    assert!(figures.thefts <= 40, "{figures:?}");
}

#[test]
fn a_blocking_route_never_runs_on_the_loop() {
    let mut router = Router::new();
    router.get("/", |_| "x").blocking();
    let running = serve(router);
    let mut client = RawClient::connect(running.addr());
    for _ in 0..200 {
        client.exchange(get("/"));
    }
    let figures = route(&running, "GET /").unwrap();
    assert_eq!(
        (figures.runs_in_place, figures.promotions),
        (0, 0),
        "{figures:?}"
    );
}

#[test]
fn hand_off_can_be_switched_off_and_inline() {
    for (mode, in_place) in [(HandOff::Off, false), (HandOff::Inline, true)] {
        let mut router = Router::new();
        router.get("/", |_| "x");
        let running = server(router).hand_off(mode).start().unwrap();
        let mut client = RawClient::connect(running.addr());
        for _ in 0..200 {
            client.exchange(get("/"));
        }
        let figures = route(&running, "GET /").unwrap();
        assert_eq!(figures.runs_in_place > 0, in_place, "{mode:?}: {figures:?}");
        assert_eq!(figures.runs_in_pool > 0, !in_place, "{mode:?}: {figures:?}");
    }
}
