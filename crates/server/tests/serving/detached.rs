//! Requests that are answered later, from elsewhere.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};

use stepwell::{Responder, Router, Running};
use stepwell_testkit::{PATIENCE, Pipeliner, RawClient, VanishingClient, get, poll_until};

use crate::support::{earn_the_loop, server, wait_for};

/// `/later` hands its responder to the test.
fn detaching() -> (Running, Receiver<Responder>) {
    let (sender, responders) = channel();
    let sender = Mutex::new(sender);
    let mut router = Router::new();
    router.get("/later", move |req| {
        let responder = req.detach();
        if req.query("learn").is_some() {
            responder.send("learned");
        } else {
            sender.lock().unwrap().send(responder).unwrap();
        }
    });
    router.get("/now", |_| "now");
    let running = server(router).max_threads(2).start().unwrap();
    (running, responders)
}

#[test]
fn a_detached_request_is_answered_from_another_thread_and_occupies_none() {
    let (running, responders) = detaching();
    // Many more than there are threads.
    let mut clients: Vec<_> = (0..20)
        .map(|_| RawClient::connect(running.addr()))
        .collect();
    let mut waiting = Vec::new();
    for client in &mut clients {
        client.send(get("/later"));
        waiting.push(responders.recv_timeout(PATIENCE).unwrap());
    }
    assert_eq!(
        RawClient::connect(running.addr())
            .exchange(get("/now"))
            .text(),
        "now"
    );
    let answering = std::thread::spawn(move || {
        for (number, responder) in waiting.into_iter().enumerate().rev() {
            responder.send(format!("{number}"));
        }
    });
    for (number, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.read_response().text(), number.to_string());
    }
    answering.join().unwrap();
    assert_eq!(clients[0].exchange(get("/now")).text(), "now");
}

#[test]
fn a_detached_request_keeps_its_place_among_pipelined_ones() {
    let (running, responders) = detaching();
    for _ in 0..2 {
        let mut pipeliner = Pipeliner::connect(running.addr());
        pipeliner
            .push(get("/now"))
            .push(get("/later"))
            .push(get("/now"))
            .send();
        let responder = responders.recv_timeout(PATIENCE).unwrap();
        responder.send("later");
        let texts: Vec<_> = pipeliner
            .read_all()
            .iter()
            .map(|answer| answer.text())
            .collect();
        assert_eq!(texts, ["now", "later", "now"]);
        earn_the_loop(&running, "/now");
    }
}

#[test]
fn a_responder_that_is_dropped_answers_500() {
    let (running, responders) = detaching();
    let mut client = RawClient::connect(running.addr());
    client.send(get("/later"));
    drop(responders.recv_timeout(PATIENCE).unwrap());
    assert_eq!(client.read_response().status, 500);
    assert_eq!(client.exchange(get("/now")).text(), "now");
}

#[test]
fn a_handler_that_panics_after_it_has_detached_leaves_the_answer_to_the_responder() {
    let (sender, responders) = channel();
    let sender = Mutex::new(sender);
    let mut router = Router::new();
    router.get("/", move |req| -> () {
        sender.lock().unwrap().send(req.detach()).unwrap();
        if req.query("twice").is_some() {
            let _ = req.detach();
        }
        panic!("on purpose")
    });
    let running = server(router).start().unwrap();
    let mut client = RawClient::connect(running.addr());
    for path in ["/", "/?twice"] {
        client.send(get(path));
        let responder: Responder = responders.recv_timeout(PATIENCE).unwrap();
        responder.send("answered");
        assert_eq!(client.read_response().text(), "answered");
    }
}

#[test]
fn a_responder_knows_when_its_client_has_gone() {
    let (running, responders) = detaching();
    let client = VanishingClient::ask(running.addr(), get("/later"));
    let responder = responders.recv_timeout(PATIENCE).unwrap();
    assert!(!responder.is_cancelled());
    client.reset();
    assert!(poll_until(PATIENCE, || responder.is_cancelled()));
    responder.send("to nobody");
    wait_for(&running, "the late answer is counted", |stats| {
        stats.requests.late == 1
    });
    assert_eq!(
        RawClient::connect(running.addr())
            .exchange(get("/now"))
            .text(),
        "now"
    );
}

#[test]
fn a_detaching_route_may_run_on_the_loop() {
    let (running, responders) = detaching();
    let mut client = RawClient::connect(running.addr());
    let learned = poll_until(PATIENCE, || {
        assert_eq!(client.exchange(get("/later?learn")).text(), "learned");
        running
            .stats()
            .routes
            .iter()
            .any(|r| r.route == "GET /later" && r.in_place)
    });
    assert!(learned, "{:?}", running.stats());
    client.send(get("/later"));
    responders.recv_timeout(PATIENCE).unwrap().send("late");
    assert_eq!(client.read_response().text(), "late");
}
