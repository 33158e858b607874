//! Handlers with mistakes in them: whatever they do wrong, their server goes on.

use std::fmt;
use std::io::Write;

use stepwell::{Body, HttpError, Response, Router, StreamBody};
use stepwell_testkit::{RawClient, get};

use crate::support::serve;

/// Cannot be dropped, as some guards can't when their work was not done.
struct Undroppable;

impl Drop for Undroppable {
    fn drop(&mut self) {
        panic!("on purpose");
    }
}

/// An error that cannot be shown.
#[derive(Debug)]
struct Unspeakable;

impl fmt::Display for Unspeakable {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("on purpose");
    }
}

impl std::error::Error for Unspeakable {}

fn unspeakable() -> Result<&'static str, HttpError> {
    Err(HttpError::new(500).source(Unspeakable))
}

#[test]
fn destructors_that_panic_end_neither_event_loop_nor_connection() {
    let mut router = Router::new();
    router.get("/payload", |_| -> Response {
        std::panic::panic_any(Undroppable)
    });
    router.get("/extension", |req| {
        req.extensions_mut().insert(Undroppable);
        "answered"
    });
    router.get("/late", |req| {
        let responder = req.detach();
        std::thread::spawn(move || responder.send(unspeakable()));
    });
    router.get("/error", |_| unspeakable());
    router.get("/stream", |_| {
        let guard = Undroppable;
        Response::stream("text/plain", move |body| {
            let _guard = &guard;
            body.write_all(b"x")
        })
    });
    router.get("/", |_| "x");
    let running = serve(router);
    let mut client = RawClient::connect(running.addr());
    for path in ["/payload", "/extension", "/late", "/error", "/stream"] {
        for _ in 0..3 {
            assert_eq!(client.exchange(get(path)).status, 500, "{path}");
            assert_eq!(client.exchange(get("/")).text(), "x", "after {path}");
        }
    }
    // Nobody writes this body, but somebody has to drop its writer.
    client.send("HEAD /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(client.read_response_to("HEAD").status, 200);
    assert_eq!(client.exchange(get("/")).text(), "x");
}

#[test]
fn a_body_longer_than_announced_is_cut_and_its_writer_stopped() {
    let mut router = Router::new();
    router.get("/endless", |_| {
        let body = StreamBody::new(|body| {
            loop {
                body.write_all(&[b'x'; 1000])?;
            }
        });
        Response::new(200).body(Body::Stream(body.length(10)))
    });
    router.get("/", |_| "next");
    let running = serve(router);
    let mut client = RawClient::connect(running.addr());
    for _ in 0..3 {
        assert_eq!(client.exchange(get("/endless")).text(), "xxxxxxxxxx");
        assert_eq!(client.exchange(get("/")).text(), "next");
    }
}
