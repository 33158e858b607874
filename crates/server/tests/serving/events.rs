//! Server-Sent Events.

use std::io::ErrorKind;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use stepwell::{Event, EventStream, Router, Running};
use stepwell_testkit::{Ending, PATIENCE, RawClient, StalledReader, get, poll_until, request};

use crate::support::{serve, server, wait_for};

/// `/events` hands its stream to the test.
fn eventful() -> (Running, Receiver<EventStream>) {
    let (router, streams) = routes();
    (serve(router), streams)
}

fn routes() -> (Router, Receiver<EventStream>) {
    let (sender, streams) = channel();
    let sender = Mutex::new(sender);
    let mut router = Router::new();
    router.get("/events", move |req| {
        sender.lock().unwrap().send(req.event_stream()).unwrap()
    });
    router.get("/", |_| "x");
    (router, streams)
}

#[test]
fn events_arrive_in_order_and_the_stream_ends_with_its_last_owner() {
    let (running, streams) = eventful();
    let mut client = RawClient::connect(running.addr());
    client.send(get("/events"));
    let stream = streams.recv_timeout(PATIENCE).unwrap();
    let clone = stream.clone();
    for number in 0..1000 {
        stream.send(&Event::data(number.to_string())).unwrap();
    }
    drop(stream);
    clone
        .send(&Event::data("last").event("end").id("7"))
        .unwrap();
    drop(clone);
    let answer = client.read_response();
    assert_eq!(answer.header("Content-Type"), Some("text/event-stream"));
    assert_eq!(answer.header("Cache-Control"), Some("no-cache"));
    let mut expected: String = (0..1000)
        .map(|number| format!("data: {number}\n\n"))
        .collect();
    expected += "event: end\nid: 7\ndata: last\n\n";
    assert_eq!(answer.text(), expected);
    // The connection goes on.
    assert_eq!(client.exchange(get("/")).text(), "x");
}

#[test]
fn each_event_leaves_without_waiting_for_the_next() {
    let (running, streams) = eventful();
    let mut client = RawClient::connect(running.addr());
    client.send(get("/events"));
    let stream = streams.recv_timeout(PATIENCE).unwrap();
    for number in 0..50 {
        stream.send(&Event::data(format!("<{number}>"))).unwrap();
        client.read_through(format!("data: <{number}>\n\n"));
    }
}

#[test]
fn a_client_that_does_not_read_holds_the_sender_back() {
    let (running, streams) = eventful();
    let mut stalled = StalledReader::connect(running.addr());
    stalled.ask(get("/events"));
    let stream = streams.recv_timeout(PATIENCE).unwrap();
    let event = Event::data("e".repeat(10_000));
    let mut sent = 0;
    let full = poll_until(PATIENCE, || match stream.try_send(&event) {
        Ok(()) => {
            sent += 1;
            assert!(sent < 10_000, "100 MB went to a client that reads nothing");
            false
        }
        // The loop may be about to draw: full means that it stays full.
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            !poll_until(Duration::from_millis(200), || {
                let room = stream.try_send(&event).is_ok();
                sent += usize::from(room);
                room
            })
        }
    });
    assert!(full, "{sent} events were sent");
    println!("a stalled reader takes {sent} events of 10 kB");
    // A blocked sender goes on when the client reads.
    let sender = std::thread::spawn(move || stream.send(&Event::data("the end")));
    let mut client = stalled.wake();
    client.read_through("data: the end\n\n");
    sender.join().unwrap().unwrap();
}

#[test]
fn senders_learn_that_the_client_has_gone() {
    let (running, streams) = eventful();
    let mut client = RawClient::connect(running.addr());
    client.send(get("/events"));
    let stream = streams.recv_timeout(PATIENCE).unwrap();
    stream.send(&Event::data("hello")).unwrap();
    client.read_through("hello");
    assert!(stream.is_open());
    client.reset();
    assert!(poll_until(PATIENCE, || !stream.is_open()));
    let error = stream.send(&Event::data("x")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    assert_eq!(running.stats().loops[0].connections, 0);
}

#[test]
fn a_sender_that_waits_for_room_learns_that_the_client_has_gone() {
    let (running, streams) = eventful();
    let mut stalled = StalledReader::connect(running.addr());
    stalled.ask(get("/events"));
    let stream = streams.recv_timeout(PATIENCE).unwrap();
    let sender = std::thread::spawn(move || {
        let event = Event::data("e".repeat(60_000));
        (0..10_000)
            .find_map(|_| stream.send(&event).err())
            .map(|error| error.kind())
    });
    let mut client = stalled.wake();
    client.read_through("data: e");
    client.reset();
    assert_eq!(sender.join().unwrap(), Some(ErrorKind::BrokenPipe));
}

#[test]
fn a_silent_stream_is_kept_alive_by_comments() {
    let (router, streams) = routes();
    let running = server(router)
        .event_keep_alive(Duration::from_millis(20))
        .start()
        .unwrap();
    let mut client = RawClient::connect(running.addr());
    client.send(get("/events"));
    let stream = streams.recv_timeout(PATIENCE).unwrap();
    client.read_through("\r\n\r\n");
    for _ in 0..3 {
        assert_eq!(client.read_exactly(8), b"3\r\n:\n\n\r\n");
    }
    stream.send(&Event::data("x")).unwrap();
    client.read_through("data: x\n\n");
}

#[test]
fn http_1_0_gets_its_events_until_the_connection_ends() {
    let (running, streams) = eventful();
    let mut client = RawClient::connect(running.addr());
    client.send("GET /events HTTP/1.0\r\n\r\n");
    streams
        .recv_timeout(PATIENCE)
        .unwrap()
        .send(&Event::data("one"))
        .unwrap();
    let answer = client.read_response();
    assert_eq!(
        (answer.text().as_str(), answer.header("Transfer-Encoding")),
        ("data: one\n\n", None)
    );
    assert_eq!(client.expect_end(), Ending::Closed);
}

#[test]
fn head_gets_no_events() {
    let (running, streams) = eventful();
    let mut client = RawClient::connect(running.addr());
    assert_eq!(
        client.exchange(request("HEAD", "/events", &[], b"")).status,
        200
    );
    let stream = streams.recv_timeout(PATIENCE).unwrap();
    assert!(poll_until(PATIENCE, || !stream.is_open()));
    assert_eq!(client.exchange(get("/")).text(), "x");
}

#[test]
fn a_stopping_server_ends_its_event_streams() {
    let (running, streams) = eventful();
    let mut client = RawClient::connect(running.addr());
    client.send(get("/events"));
    let stream = streams.recv_timeout(PATIENCE).unwrap();
    stream.send(&Event::data("hello")).unwrap();
    client.read_through("hello\n\n");
    let stopper = running.stopper();
    stopper.begin();
    client.read_through("0\r\n\r\n");
    assert_eq!(client.expect_end(), Ending::Closed);
    assert!(!stream.is_open());
    drop(client);
    assert!(running.stop(PATIENCE));
}

#[test]
fn many_streams_cost_no_threads() {
    let (running, streams) = eventful();
    let mut clients: Vec<_> = (0..300)
        .map(|_| RawClient::connect(running.addr()))
        .collect();
    for client in &mut clients {
        client.send(get("/events"));
    }
    let open: Vec<_> = (0..300)
        .map(|_| streams.recv_timeout(PATIENCE).unwrap())
        .collect();
    wait_for(&running, "no handler runs any more", |stats| {
        stats.crew.running == 0
    });
    for stream in &open {
        stream.send(&Event::data("to all")).unwrap();
    }
    for client in &mut clients {
        client.read_through("data: to all\n\n");
    }
}
