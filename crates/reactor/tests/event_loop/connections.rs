//! Connections: order, deadlines, resets, stale tokens, back-pressure.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use stepwell_reactor::crew::{CrewConfig, Mode};

use crate::echo::{Gate, Letter, Server, Setup, until};

fn bounds(ceiling: usize, queue: usize) -> Setup {
    Setup {
        crew: CrewConfig {
            ceiling,
            queue,
            ..CrewConfig::default()
        },
        ..Setup::default()
    }
}

#[test]
fn answers_keep_the_order_of_their_requests() {
    for mode in [Mode::HandOff, Mode::Pool, Mode::Inline] {
        let setup = Setup {
            crew: CrewConfig {
                mode,
                ..CrewConfig::default()
            },
            ..Setup::default()
        };
        let server = Server::start(setup, |_, _| ());
        let mut client = server.connect();
        let operation = |id| if id % 3 == 0 { "slow" } else { "fast" };
        let requests: String = (0..300)
            .map(|id| format!("{id} {} 0\n", operation(id)))
            .collect();
        client.send(&requests);
        client.finish();
        for id in 0..300 {
            assert_eq!(client.line(), format!("{id} {}", operation(id)), "{mode:?}");
        }
        assert_eq!(client.line(), "", "closed after the last answer");
        server.stop();
    }
}

#[test]
fn a_request_may_come_byte_by_byte() {
    let server = Server::start(Setup::default(), |_, _| ());
    let mut client = server.connect();
    for byte in "17 fast 0\n".chars() {
        client.send(&byte.to_string());
    }
    assert_eq!(client.line(), "17 fast");
    server.stop();
}

#[test]
fn deadlines_are_met_not_before_and_move_with_each_sign_of_life() {
    const IDLE: Duration = Duration::from_millis(120);
    let setup = Setup {
        idle_ms: Some(120),
        ..Setup::default()
    };
    let server = Server::start(setup, |_, _| ());
    let mut silent = server.connect();
    let mut client = server.connect();
    let start = Instant::now();
    let mut last = start;
    let mut id = 0;
    while start.elapsed() < 2 * IDLE {
        last = Instant::now();
        id += 1;
        client.ask(id, "fast", 0);
    }
    assert_eq!(silent.line(), "", "closed meanwhile");
    assert_eq!(client.line(), "", "closed");
    // The loop's clock has the resolution of a kernel tick, up to 10 ms.
    assert!(
        last.elapsed() >= IDLE - Duration::from_millis(10),
        "too early"
    );
    until("both are gone", || server.connections() == 0);
    server.stop();
}

/// A late answer whose connection is gone must not reach the next one in the same place.
#[test]
fn stale_tokens_are_harmless() {
    let gate = Gate::default();
    let blocker = gate.clone();
    let tokens = Arc::new(Mutex::new(Vec::new()));
    let seen = tokens.clone();
    let server = Server::start(Setup::default(), move |request, _| {
        seen.lock().unwrap().push(request.token);
        if request.operation == "slow" {
            blocker.pass();
        }
    });
    let client = server.connect();
    client.send("1 slow 0\n");
    gate.wait_for(1);
    client.reset();
    until("the loop sees the reset", || server.connections() == 0);

    let mut next = server.connect();
    next.ask(2, "fast", 0);
    let [stale, fresh] = tokens.lock().unwrap()[..] else {
        panic!("two requests have run");
    };
    assert_eq!(
        stale.to_bits() as u32,
        fresh.to_bits() as u32,
        "the same place"
    );
    assert_ne!(stale, fresh);
    server.handles[0].post(Letter::Say(stale, "for a stranger\n".to_owned()));
    gate.open();
    until("the late answer is dropped", || {
        server.app.too_late.load(Ordering::SeqCst) == 1
    });
    next.ask(3, "fast", 0);
    server.stop();
}

#[test]
fn a_reset_takes_the_job_out_of_the_queue() {
    let gate = Gate::default();
    let blocker = gate.clone();
    let server = Server::start(bounds(1, 10), move |request, _| {
        assert_ne!(request.id, 2, "was cancelled");
        blocker.pass();
    });
    let mut first = server.connect();
    first.send("1 slow 0\n");
    gate.wait_for(1);
    let second = server.connect();
    second.send("2 slow 0\n");
    until("it waits", || server.crew.pool().stats().queued == 1);
    second.reset();
    until("it is cancelled", || {
        server.app.cancelled.load(Ordering::SeqCst) == 1
    });
    assert_eq!(server.crew.pool().stats().queued, 0);
    gate.open();
    assert_eq!(first.line(), "1 slow");
    first.ask(3, "slow", 0);
    server.stop();
}

/// More requests than queue and threads together: all wait, none is lost.
#[test]
fn back_pressure_answers_everybody_in_the_end() {
    let gate = Gate::default();
    let blocker = gate.clone();
    let server = Server::start(bounds(2, 4), move |_, _| blocker.pass());
    let mut clients: Vec<_> = (0..60).map(|_| server.connect()).collect();
    for (id, client) in clients.iter().enumerate() {
        client.send(&format!("{id} slow 0\n"));
    }
    gate.wait_for(2);
    until("the queue is full", || {
        server.crew.pool().stats().queued == 4
    });
    gate.open();
    for (id, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.line(), format!("{id} slow"));
    }
    server.stop();
}

/// The loop is held up until both have sent everything: one ten thousand requests, the other one.
#[test]
fn a_flood_on_one_connection_leaves_others_their_turn() {
    let gate = Gate::default();
    let blocker = gate.clone();
    let flooded = AtomicU64::new(0);
    let before_guest = Arc::new(AtomicU64::new(u64::MAX));
    let seen = before_guest.clone();
    let setup = Setup {
        crew: CrewConfig {
            mode: Mode::Inline,
            ..CrewConfig::default()
        },
        ..Setup::default()
    };
    let server = Server::start(setup, move |request, _| match &*request.operation {
        "slow" => blocker.pass(),
        "guest" => seen.store(flooded.load(Ordering::SeqCst), Ordering::SeqCst),
        _ => drop(flooded.fetch_add(1, Ordering::SeqCst)),
    });
    let mut flood = server.connect();
    flood.send("0 slow 0\n");
    gate.wait_for(1);
    let requests: String = (1..=10_000).map(|id| format!("{id} fast 0\n")).collect();
    flood.send(&requests);
    let mut guest = server.connect();
    guest.send("1 guest 0\n");
    gate.open();
    assert_eq!(guest.line(), "1 guest");
    assert_eq!(flood.line(), "0 slow");
    for id in 1..=10_000 {
        assert_eq!(flood.line(), format!("{id} fast"));
    }
    let before = before_guest.load(Ordering::SeqCst);
    assert!(before < 200, "{before} others were served first");
    server.stop();
}
