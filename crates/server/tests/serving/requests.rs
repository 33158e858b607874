//! Requests in every shape in which clients send them.

use stepwell::{Router, Running};
use stepwell_testkit::{Ending, Pipeliner, RawClient, every_split, get, in_chunks, post, request};

use crate::support::{Gate, OpenAtEnd, earn_the_loop, serve};

fn echo() -> Running {
    let mut router = Router::new();
    router.get("/", |_| "root");
    router.post("/echo", |req| req.text().map(str::to_owned));
    router
        .post("/streamed", |req| {
            let mut text = String::new();
            std::io::Read::read_to_string(&mut req.reader(), &mut text)?;
            Ok(text)
        })
        .stream_body();
    serve(router)
}

#[test]
fn a_request_may_come_byte_by_byte() {
    let running = echo();
    let mut client = RawClient::connect(running.addr());
    for _ in 0..3 {
        client.send_bytewise(get("/"));
        assert_eq!(client.read_response().text(), "root");
        client.send_bytewise(post("/echo", b"fragmented"));
        assert_eq!(client.read_response().text(), "fragmented");
        let chunked = request(
            "POST",
            "/streamed",
            &[("Transfer-Encoding", "chunked")],
            b"",
        );
        let head = String::from_utf8(chunked)
            .unwrap()
            .replace("Content-Length: 0\r\n", "");
        client.send_bytewise([head.as_bytes(), &in_chunks(b"in small pieces", 4)].concat());
        assert_eq!(client.read_response().text(), "in small pieces");
    }
}

#[test]
fn a_request_may_be_cut_anywhere() {
    let running = echo();
    let mut client = RawClient::connect(running.addr());
    let whole = [post("/echo", b"cut"), post("/streamed", b"streamed")].concat();
    for (first, second) in every_split(&whole) {
        client.send(first);
        client.send(second);
        assert_eq!(client.read_response().text(), "cut");
        assert_eq!(client.read_response().text(), "streamed");
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let gate = Gate::new();
    let mut router = Router::new();
    let wait = gate.clone();
    router.get("/quick/{n}", |req| req.param("n").to_owned());
    router
        .get("/held/{n}", move |req| {
            wait.pass();
            req.param("n").to_owned()
        })
        .blocking();
    router.post("/echo", |req| req.text().map(str::to_owned));
    router.get("/big", |_| "B".repeat(300_000));
    let running = serve(router);
    let _open = OpenAtEnd(gate.clone());
    let mut pipeliner = Pipeliner::connect(running.addr());
    let mut expected = Vec::new();
    for n in 0..200 {
        let text = n.to_string();
        match n % 5 {
            0 => pipeliner.push(get(&format!("/held/{n}"))),
            1 => pipeliner.push(post("/echo", text.as_bytes())),
            2 if n % 50 == 2 => pipeliner.push(get("/big")),
            _ => pipeliner.push(get(&format!("/quick/{n}"))),
        };
        expected.push(if n % 50 == 2 {
            "B".repeat(300_000)
        } else {
            text
        });
    }
    pipeliner.send();
    gate.wait_for(1);
    gate.open();
    for (answer, expected) in pipeliner.read_all().iter().zip(&expected) {
        assert_eq!((answer.status, &answer.text()), (200, expected));
    }
}

#[test]
fn a_request_behind_a_large_answer_is_not_forgotten() {
    let mut router = Router::new();
    router.get("/big", |_| "B".repeat(300_000));
    router.get("/small", |_| "s");
    let running = serve(router);
    for _ in 0..2 {
        let mut pipeliner = Pipeliner::connect(running.addr());
        pipeliner
            .push(get("/big"))
            .push(get("/small"))
            .push(get("/big"))
            .push(get("/small"));
        pipeliner.send();
        let lengths: Vec<_> = pipeliner.read_all().iter().map(|a| a.body.len()).collect();
        assert_eq!(lengths, [300_000, 1, 300_000, 1]);
        earn_the_loop(&running, "/big");
        earn_the_loop(&running, "/small");
    }
}

#[test]
fn pipelined_requests_cut_where_nobody_expects_it() {
    let running = echo();
    for size in [1, 7, 61, 1000] {
        let mut pipeliner = Pipeliner::connect(running.addr());
        for _ in 0..20 {
            pipeliner
                .push(get("/"))
                .push(post("/echo", b"x"))
                .push(post("/streamed", b"yz"));
        }
        pipeliner.send_in_pieces(size);
        let texts: Vec<_> = pipeliner
            .read_all()
            .iter()
            .map(|answer| answer.text())
            .collect();
        assert_eq!(texts, ["root", "x", "yz"].repeat(20), "pieces of {size}");
    }
}

#[test]
fn keep_alive_is_the_rule_in_http_1_1_and_close_is_heeded() {
    let running = echo();
    let mut client = RawClient::connect(running.addr());
    for _ in 0..3 {
        let answer = client.exchange(get("/"));
        assert_eq!((answer.status, answer.header("Connection")), (200, None));
    }
    let answer = client.exchange(request("GET", "/", &[("Connection", "close")], b""));
    assert!(answer.lists("Connection", "close"), "{answer:?}");
    assert_eq!(client.expect_end(), Ending::Closed);
    assert_eq!(running.stats().loops[0].accepted, 1);
}

#[test]
fn http_1_0_closes_unless_it_asks_for_more() {
    let running = echo();
    let mut client = RawClient::connect(running.addr());
    let answer = client.exchange("GET / HTTP/1.0\r\n\r\n");
    assert_eq!((answer.status, answer.text()), (200, "root".to_owned()));
    assert_eq!(client.expect_end(), Ending::Closed);
    let mut client = RawClient::connect(running.addr());
    for _ in 0..2 {
        let answer = client.exchange("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        assert!(answer.lists("Connection", "keep-alive"), "{answer:?}");
    }
}

#[test]
fn head_gets_the_head_of_get() {
    let mut router = Router::new();
    router.get("/", |_| "root");
    router.get("/big", |_| vec![b'x'; 100_000]);
    router.get("/stream", |_| {
        stepwell::Response::stream("text/plain", |body| std::io::Write::write_all(body, b"x"))
    });
    let running = serve(router);
    let mut client = RawClient::connect(running.addr());
    for (path, length) in [
        ("/", Some("4")),
        ("/big", Some("100000")),
        ("/stream", None),
    ] {
        let answer = client.exchange(request("HEAD", path, &[], b""));
        assert_eq!(
            (answer.status, answer.header("Content-Length")),
            (200, length),
            "{path}"
        );
        // Had a body come, this would read it.
        assert_eq!(client.exchange(get("/")).text(), "root");
    }
}

#[test]
fn options_and_unknown_methods_name_what_is_allowed() {
    let running = echo();
    let mut client = RawClient::connect(running.addr());
    let answer = client.exchange(request("OPTIONS", "/", &[], b""));
    assert!((200..300).contains(&answer.status), "{answer:?}");
    for method in ["GET", "HEAD", "OPTIONS"] {
        assert!(answer.lists("Allow", method), "{answer:?}");
    }
    let answer = client.exchange(request("DELETE", "/", &[], b""));
    assert_eq!(answer.status, 405);
    assert!(
        answer.lists("Allow", "GET") && !answer.lists("Allow", "DELETE"),
        "{answer:?}"
    );
    assert_eq!(client.exchange(get("/nowhere")).status, 404);
}

#[test]
fn a_body_for_nobody_is_read_away() {
    let running = echo();
    let mut client = RawClient::connect(running.addr());
    for path in ["/nowhere", "/"] {
        let answer = client.exchange(post(path, &[b'x'; 10_000]));
        assert!(matches!(answer.status, 404 | 405), "{answer:?}");
        assert_eq!(client.exchange(get("/")).text(), "root");
    }
}
