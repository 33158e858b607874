//! Request bodies that are read while they arrive.

use std::io::Read;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use stepwell::Router;
use stepwell_testkit::{
    Ending, PATIENCE, RawClient, SlowUploader, VanishingClient, get, in_chunks, raise_file_limit,
};

use crate::support::{Counter, Gate, OpenAtEnd, serve, wait_for};

/// Reads everything; answers length and sum.
fn sum(reader: &mut impl Read) -> std::io::Result<String> {
    let (mut length, mut sum) = (0u64, 0u64);
    let mut buffer = [0; 10_000];
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok(format!("{length} {sum}")),
            count => {
                length += count as u64;
                sum += buffer[..count]
                    .iter()
                    .map(|byte| u64::from(*byte))
                    .sum::<u64>();
            }
        }
    }
}

#[test]
fn a_body_larger_than_any_buffer_passes_through() {
    let mut router = Router::new();
    router
        .post("/", |req| Ok(sum(&mut req.reader())?))
        .stream_body();
    let running = serve(router);
    let body: Vec<u8> = (0..4 << 20)
        .map(|at: usize| (at / 11 % 253) as u8)
        .collect();
    let expected = format!(
        "{} {}",
        body.len(),
        body.iter().map(|b| u64::from(*b)).sum::<u64>()
    );
    let mut client = RawClient::connect(running.addr());
    for _ in 0..2 {
        client.send(format!(
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n",
            body.len()
        ));
        client.send(&body);
        assert_eq!(client.read_response().text(), expected);
        client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
        client.send(in_chunks(&body, 77_777));
        assert_eq!(client.read_response().text(), expected);
    }
}

#[test]
fn a_client_is_held_back_while_the_handler_does_not_read() {
    let gate = Gate::new();
    let mut router = Router::new();
    let wait = gate.clone();
    router
        .post("/", move |req| {
            wait.pass();
            Ok(std::io::copy(&mut req.reader(), &mut std::io::sink())?.to_string())
        })
        .stream_body();
    router.get("/", |_| "x");
    let running = serve(router);
    let _open = OpenAtEnd(gate.clone());
    // Far more than the sockets between the two hold.
    const LENGTH: usize = 40 << 20;
    let mut client = RawClient::connect(running.addr());
    client.send(format!(
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {LENGTH}\r\n\r\n"
    ));
    gate.wait_for(1);
    let body = vec![b'x'; LENGTH];
    let taken = client
        .send_what_fits(&body, Duration::from_secs(1))
        .unwrap();
    println!("{taken} bytes of a body that nobody reads were taken");
    assert!(
        taken < LENGTH / 4 * 3,
        "{taken} bytes were taken though nobody reads"
    );
    assert_eq!(
        RawClient::connect(running.addr()).exchange(get("/")).text(),
        "x"
    );
    gate.open();
    client.send(&body[taken..]);
    assert_eq!(client.read_response().text(), LENGTH.to_string());
}

#[test]
fn many_slow_uploads_do_not_stop_other_requests() {
    raise_file_limit();
    let mut router = Router::new();
    let begun = Counter::new();
    let count = begun.clone();
    router
        .post("/streamed", move |req| {
            count.one();
            Ok(sum(&mut req.reader())?)
        })
        .stream_body();
    router.post("/buffered", |req| {
        req.body().map(|body| body.len().to_string())
    });
    router.get("/pool", |_| "pool").blocking();
    router.get("/", |_| "x");
    let running = serve(router);
    let upload = |path: &str| {
        let mut upload = SlowUploader::start(running.addr(), path, 1000);
        upload.trickle(1);
        upload
    };
    // Streamed ones may use half of the threads; the rest of them waits.
    let mut streamed: Vec<_> = (0..256).map(|_| upload("/streamed")).collect();
    let mut buffered: Vec<_> = (0..256).map(|_| upload("/buffered")).collect();
    wait_for(&running, "half of the threads read slow uploads", |stats| {
        stats.crew.running_long == 128
    });
    let mut client = RawClient::connect(running.addr());
    for _ in 0..100 {
        assert_eq!(client.exchange(get("/pool")).text(), "pool");
        assert_eq!(client.exchange(get("/")).text(), "x");
    }
    assert_eq!(begun.get(), 128);
    for upload in streamed.iter_mut().chain(&mut buffered) {
        assert_eq!(upload.complete().status, 200);
    }
    assert_eq!(begun.get(), 256);
}

#[test]
fn a_body_that_breaks_off_is_an_error_for_its_reader() {
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    let begun = Gate::new();
    begun.open();
    let mut router = Router::new();
    let begin = begun.clone();
    router
        .post("/", move |req| {
            begin.pass();
            let result = sum(&mut req.reader());
            tell.lock().unwrap().send(result.is_err()).unwrap();
            Ok(result?)
        })
        .stream_body();
    let running = serve(router);
    let head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nsome";
    let ways: [fn(VanishingClient); 3] =
        [VanishingClient::reset, VanishingClient::close, |client| {
            assert_eq!(client.half_close().read_response().status, 400)
        }];
    for (round, leave) in ways.into_iter().enumerate() {
        let client = VanishingClient::ask(running.addr(), head);
        begun.wait_for(round + 1);
        leave(client);
        assert!(told.recv_timeout(PATIENCE).unwrap(), "way {round}");
    }
}

#[test]
fn a_streamed_body_beyond_the_limit_gets_413() {
    let mut router = Router::new();
    router
        .post("/", |req| Ok(sum(&mut req.reader())?))
        .stream_body()
        .body_limit(1000);
    router
        .post("/whole", |req| {
            req.body().map(|body| body.len().to_string())
        })
        .stream_body();
    let running = serve(router);
    let mut client = RawClient::connect(running.addr());
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n");
    assert_eq!(client.read_response().status, 413);
    let mut client = RawClient::connect(running.addr());
    client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.send(in_chunks(&[b'x'; 1001], 500));
    assert_eq!(client.read_response().status, 413);
    // What is asked for in one piece is limited to what may be held in memory.
    let mut client = RawClient::connect(running.addr());
    client.send("POST /whole HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n");
    let _ = client.try_send(&vec![b'x'; 3_000_000]);
    assert_eq!(client.try_read_response_to("POST").unwrap().status, 413);
}

#[test]
fn a_handler_may_answer_before_the_body_is_there() {
    let mut router = Router::new();
    router.post("/", |_| "enough").stream_body();
    router.get("/", |_| "x");
    let running = serve(router);
    // A short rest is read away and the connection goes on.
    let mut client = RawClient::connect(running.addr());
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n");
    assert_eq!(client.read_response().text(), "enough");
    client.send([b'x'; 1000]);
    assert_eq!(client.exchange(get("/")).text(), "x");
    // A long one ends it, and the answer arrives all the same.
    for _ in 0..20 {
        let mut client = RawClient::connect(running.addr());
        client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n");
        let _ = client.send_what_fits(&[b'x'; 500_000], Duration::from_millis(200));
        let answer = client.read_response();
        assert_eq!(answer.text(), "enough");
        assert!(answer.lists("Connection", "close"), "{answer:?}");
        // Not by a reset, which could overtake the answer.
        assert_eq!(client.expect_end(), Ending::Closed);
    }
}
