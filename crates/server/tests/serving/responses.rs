//! Answers that are streamed, large, or read slowly.

use std::io::{ErrorKind, Write};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use stepwell::{Body, Response, Router, StreamBody};
use stepwell_testkit::{Ending, PATIENCE, Pipeliner, RawClient, StalledReader, get, poll_until};

use crate::support::{Counter, Gate, OpenAtEnd, earn_the_loop, serve};

/// Bytes that tell where they belong.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at / 7 % 251) as u8).collect()
}

#[test]
fn what_is_flushed_leaves_before_the_writer_goes_on() {
    let gate = Gate::new();
    let mut router = Router::new();
    let wait = gate.clone();
    router.get("/", move |_| {
        let wait = wait.clone();
        Response::stream("text/plain", move |body| {
            body.write_all(b"early")?;
            body.flush()?;
            wait.pass();
            body.write_all(b"late")
        })
    });
    let running = serve(router);
    let _open = OpenAtEnd(gate.clone());
    let mut client = RawClient::connect(running.addr());
    client.send(get("/"));
    client.read_through("5\r\nearly\r\n");
    gate.open();
    client.read_through("4\r\nlate\r\n0\r\n\r\n");
}

#[test]
fn a_client_that_does_not_read_stops_the_writer() {
    let written = Counter::new();
    let mut router = Router::new();
    let count = written.clone();
    const TOTAL: usize = 200 << 20;
    router.get("/", move |_| {
        let count = count.clone();
        Response::stream("text/plain", move |body| {
            let piece = [b'x'; 16 * 1024];
            for _ in 0..TOTAL / piece.len() {
                body.write_all(&piece)?;
                count.add(piece.len());
            }
            Ok(())
        })
    });
    router.get("/other", |_| "other");
    let running = serve(router);
    let mut stalled = StalledReader::connect(running.addr());
    stalled.ask(get("/"));
    assert!(poll_until(PATIENCE, || written.get() > 0));
    // It has stopped when nothing moves for a while; on a slow machine less has been written.
    let mut before = 0;
    while before != written.get() {
        before = written.get();
        assert!(
            before < TOTAL / 2,
            "{before} bytes went to a client that reads nothing"
        );
        assert_eq!(
            RawClient::connect(running.addr())
                .exchange(get("/other"))
                .text(),
            "other"
        );
        std::thread::park_timeout(Duration::from_millis(100));
    }
    println!("a stalled reader holds its writer back after {before} bytes");
    // It goes on when the client reads.
    let mut client = stalled.wake();
    client.read_through("\r\n\r\n");
    let mut taken = 0;
    while taken < 20 << 20 {
        taken += client.read_exactly(1 << 20).len();
    }
    assert!(written.get() > before, "the writer goes on");
}

#[test]
fn a_writer_learns_that_its_client_has_gone() {
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    let mut router = Router::new();
    router.get("/", move |_| {
        let tell = tell.lock().unwrap().clone();
        Response::stream("text/plain", move |body| {
            let error = loop {
                if let Err(error) = body.write_all(&[b'x'; 10_000]) {
                    break error;
                }
            };
            tell.send(error.kind()).unwrap();
            Err(error)
        })
    });
    let running = serve(router);
    for _ in 0..3 {
        let mut client = RawClient::connect(running.addr());
        client.send(get("/"));
        client.read_through("xxx");
        client.reset();
        assert_eq!(told.recv_timeout(PATIENCE).unwrap(), ErrorKind::BrokenPipe);
    }
}

#[test]
fn streams_are_framed_as_the_client_understands_it() {
    let mut router = Router::new();
    router.get("/long", |_| {
        Response::stream("text/plain", |body| {
            for _ in 0..1000 {
                body.write_all(&[b'x'; 1000])?;
            }
            body.trailer("Checksum", "abc")
        })
    });
    router.get("/known", |_| {
        let body = StreamBody::new(|body| body.write_all(&[b'y'; 100_000])).length(100_000);
        Response::new(200).body(Body::Stream(body))
    });
    router.get("/empty", |_| Response::stream("text/plain", |_| Ok(())));
    router.get("/", |_| "x");
    let running = serve(router);
    let mut client = RawClient::connect(running.addr());
    let answer = client.exchange(get("/long"));
    assert_eq!(answer.body, vec![b'x'; 1_000_000]);
    assert_eq!(answer.header("Transfer-Encoding"), Some("chunked"));
    assert_eq!(answer.trailers, [("Checksum".to_owned(), "abc".to_owned())]);
    let answer = client.exchange(get("/known"));
    assert_eq!(answer.header("Content-Length"), Some("100000"));
    assert_eq!(answer.body, vec![b'y'; 100_000]);
    assert_eq!(client.exchange(get("/empty")).body, b"");
    assert_eq!(client.exchange(get("/")).text(), "x");
    let mut old = RawClient::connect(running.addr());
    let answer = old.exchange("GET /long HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_eq!(
        (answer.header("Transfer-Encoding"), answer.body.len()),
        (None, 1_000_000)
    );
    assert_eq!(old.expect_end(), Ending::Closed);
}

#[test]
fn trailers_may_be_set_long_before_the_end() {
    let gate = Gate::new();
    let mut router = Router::new();
    let wait = gate.clone();
    router.get("/", move |_| {
        let wait = wait.clone();
        Response::stream("text/plain", move |body| {
            body.write_all(b"early")?;
            body.trailer("Checksum", "abc")?;
            body.flush()?;
            wait.pass();
            body.write_all(b"late")
        })
    });
    let running = serve(router);
    let _open = OpenAtEnd(gate.clone());
    let mut client = RawClient::connect(running.addr());
    client.send(get("/"));
    client.read_through("5\r\nearly\r\n");
    gate.open();
    client.read_through("4\r\nlate\r\n0\r\nChecksum: abc\r\n\r\n");
}

#[test]
fn a_stream_that_breaks_off_is_not_taken_for_complete() {
    let gate = Gate::new();
    let mut router = Router::new();
    for (path, panics) in [("/fails", false), ("/panics", true)] {
        let wait = gate.clone();
        router.get(path, move |_| {
            let wait = wait.clone();
            Response::stream("text/plain", move |body| {
                body.write_all(b"some")?;
                body.flush()?;
                wait.pass();
                assert!(!panics, "on purpose");
                Err(std::io::Error::other("on purpose"))
            })
        });
    }
    let wait = gate.clone();
    router.get("/short", move |_| {
        let wait = wait.clone();
        let body = StreamBody::new(move |body| {
            body.write_all(b"some")?;
            body.flush()?;
            wait.pass();
            Ok(())
        });
        Response::new(200).body(Body::Stream(body.length(100)))
    });
    router.get("/", |_| "x");
    let running = serve(router);
    let _open = OpenAtEnd(gate.clone());
    let mut clients = Vec::new();
    for (path, first) in [
        ("/fails", "4\r\nsome\r\n"),
        ("/panics", "4\r\nsome\r\n"),
        ("/short", "\r\n\r\nsome"),
    ] {
        let mut client = RawClient::connect(running.addr());
        client.send(get(path));
        client.read_through(first);
        clients.push(client);
    }
    gate.open();
    for mut client in clients {
        // Not even the empty chunk that ends a body.
        client.expect_end();
    }
    let mut client = RawClient::connect(running.addr());
    assert_eq!(client.exchange(get("/")).text(), "x");
}

#[test]
fn a_stream_that_fails_before_anything_left_is_answered_with_500() {
    let mut router = Router::new();
    router.get("/fails", |_| {
        Response::stream("text/plain", |_| Err(std::io::Error::other("on purpose")))
    });
    router.get("/panics", |_| {
        Response::stream("text/plain", |body| {
            body.write_all(b"not flushed")?;
            panic!("on purpose")
        })
    });
    router.get("/short", |_| {
        let body = StreamBody::new(|body| body.write_all(b"some")).length(100);
        Response::new(200).body(Body::Stream(body))
    });
    router.get("/", |_| "x");
    let running = serve(router);
    let mut client = RawClient::connect(running.addr());
    for path in ["/fails", "/panics", "/short"] {
        assert_eq!(client.exchange(get(path)).status, 500, "{path}");
        assert_eq!(client.exchange(get("/")).text(), "x");
    }
}

#[test]
fn large_bodies_reach_slow_readers_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.bin");
    let content = pattern(20 << 20);
    std::fs::write(&path, &content).unwrap();
    let mut router = Router::new();
    let bytes = content.clone();
    router.get("/memory", move |_| bytes.clone());
    router.get("/file", move |_| Response::file(&path));
    router.get("/other", |_| "other");
    let running = serve(router);
    earn_the_loop(&running, "/other");
    for path in ["/memory", "/file"] {
        let mut stalled = StalledReader::connect(running.addr());
        stalled.ask(get(path));
        stalled.ask(get("/other"));
        let mut other = RawClient::connect(running.addr());
        let mut slow = stalled.wake();
        slow.read_through("\r\n\r\n");
        for (number, expected) in content.chunks(1 << 20).enumerate() {
            assert!(
                slow.read_exactly(expected.len()) == expected,
                "{path}: MiB {number}"
            );
            assert_eq!(other.exchange(get("/other")).text(), "other");
        }
        assert_eq!(
            slow.read_response().text(),
            "other",
            "{path}: the connection goes on"
        );
    }
}

#[test]
fn answers_to_a_pipeline_that_nobody_reads_are_not_piled_up() {
    let runs = Counter::new();
    let mut router = Router::new();
    let count = runs.clone();
    router.get("/", move |_| {
        count.one();
        vec![b'x'; 15_000]
    });
    let running = serve(router);
    earn_the_loop(&running, "/");
    let before = runs.get();
    let mut stalled = StalledReader::connect(running.addr());
    // 100,000 answers would be 1.5 GB.
    let taken = stalled
        .flood(&get("/"), Duration::from_millis(200), 100_000 * 27)
        .unwrap();
    let pending = (runs.get() - before) * 15_000;
    println!("{taken} bytes of requests were taken, {pending} bytes of answers written");
    assert!(
        pending < 64 << 20,
        "{pending} bytes of answers for a client that reads nothing"
    );
}

#[test]
fn a_fast_reader_of_a_long_answer_does_not_keep_others_waiting() {
    let mut router = Router::new();
    router.get("/endless", |_| {
        Response::stream("text/plain", |body| {
            let piece = [b'x'; 64 * 1024];
            while body.write_all(&piece).is_ok() {}
            Ok(())
        })
    });
    router.get("/other", |_| "other");
    let running = serve(router);
    let mut reader = RawClient::connect(running.addr());
    reader.send(get("/endless"));
    let stop = Gate::new();
    let (tell, told) = channel();
    let flag = stop.clone();
    let greedy = std::thread::spawn(move || {
        let mut first = Some(tell);
        while !flag.is_open() {
            reader.read_exactly(1 << 20);
            if let Some(tell) = first.take() {
                tell.send(()).unwrap();
            }
        }
        reader.reset();
    });
    told.recv_timeout(PATIENCE).unwrap();
    let mut other = RawClient::connect(running.addr());
    for _ in 0..50 {
        assert_eq!(other.exchange(get("/other")).text(), "other");
    }
    stop.open();
    greedy.join().unwrap();
}

#[test]
fn a_streamed_answer_keeps_its_place_among_pipelined_ones() {
    let mut router = Router::new();
    router.get("/stream", |_| {
        Response::stream("text/plain", |body| {
            for _ in 0..100 {
                body.write_all(&[b's'; 3000])?;
                body.flush()?;
            }
            Ok(())
        })
    });
    router.get("/", |_| "x");
    let running = serve(router);
    let mut pipeliner = Pipeliner::connect(running.addr());
    for _ in 0..10 {
        pipeliner.push(get("/")).push(get("/stream"));
    }
    pipeliner.send();
    let lengths: Vec<_> = pipeliner
        .read_all()
        .iter()
        .map(|answer| answer.body.len())
        .collect();
    assert_eq!(lengths, [1, 300_000].repeat(10));
}
