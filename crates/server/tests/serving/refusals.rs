//! What is refused, with which status, and that the client can read it.

use stepwell::{Limits, Router, Running};
use stepwell_testkit::{Ending, RawClient, get, post, request};

use crate::support::{Counter, serve, server};

fn limited(runs: &Counter) -> Running {
    let mut router = Router::new();
    let (first, second, third) = (runs.clone(), runs.clone(), runs.clone());
    router.get("/", move |_| first.one().to_string());
    router.post("/", move |_| second.one().to_string());
    router
        .post("/small", move |_| third.one().to_string())
        .body_limit(10);
    let limits = Limits {
        body: 1000,
        ..Limits::default()
    };
    server(router).limits(limits).start().unwrap()
}

/// Sends bytes that are refused, with more of them behind; answers the status.
#[track_caller]
fn refused(running: &Running, bytes: impl AsRef<[u8]>) -> u16 {
    let mut client = RawClient::connect(running.addr());
    client.send(bytes);
    let answer = client.read_response();
    assert!(answer.lists("Connection", "close"), "{answer:?}");
    assert_eq!(client.expect_end(), Ending::Closed);
    answer.status
}

#[test]
fn malformed_requests_get_400_and_the_connection_ends() {
    let runs = Counter::new();
    let running = limited(&runs);
    for bad in [
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        "GET / HTTP/1.1\nHost: x\n\n",
        "\0\0\0\0",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ] {
        // Whatever follows must not be taken for a request.
        let smuggled = [bad.as_bytes(), &get("/")].concat();
        assert_eq!(refused(&running, smuggled), 400, "{bad:?}");
    }
    assert_eq!(runs.get(), 0);
    assert_eq!(running.stats().requests.refused, 9);
}

#[test]
fn oversized_requests_get_the_status_that_says_which_part() {
    let runs = Counter::new();
    let running = limited(&runs);
    let long_line = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "a".repeat(9000));
    assert_eq!(refused(&running, long_line), 414);
    let large = "x".repeat(20_000);
    assert_eq!(
        refused(&running, request("GET", "/", &[("Large", &large)], b"")),
        431
    );
    let many = (0..101).map(|n| format!("F{n}: x\r\n")).collect::<String>();
    assert_eq!(
        refused(&running, format!("GET / HTTP/1.1\r\nHost: x\r\n{many}\r\n")),
        431
    );
    assert_eq!(refused(&running, post("/", &[b'x'; 1001])), 413);
    let chunks = "400\r\n".to_owned() + &"x".repeat(1024) + "\r\n0\r\n\r\n";
    let head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(refused(&running, head.to_owned() + &chunks), 413);
    assert_eq!(runs.get(), 0, "no handler ran");
    let mut client = RawClient::connect(running.addr());
    assert_eq!(client.exchange(post("/", &[b'x'; 1000])).text(), "1");
}

#[test]
fn a_route_may_have_a_body_limit_of_its_own() {
    let runs = Counter::new();
    let running = limited(&runs);
    assert_eq!(refused(&running, post("/small", b"eleven byte")), 413);
    let mut client = RawClient::connect(running.addr());
    assert_eq!(client.exchange(post("/small", b"ten bytes!")).text(), "1");
}

#[test]
fn a_client_that_sends_on_can_still_read_why_it_was_refused() {
    let running = serve(Router::new());
    for _ in 0..20 {
        let mut client = RawClient::connect(running.addr());
        client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n");
        // More than fits into the socket buffers of the server, which reads it and says goodbye.
        let sent = client.try_send(&vec![b'x'; 1_999_999]);
        let answer = client.try_read_response_to("POST");
        let answer = answer.unwrap_or_else(|error| panic!("{error}, sent: {sent:?}"));
        assert!(matches!(answer.status, 404 | 413), "{answer:?}");
        // No reset, which could have overtaken the answer on a longer way.
        assert_eq!(client.expect_end(), Ending::Closed);
    }
}

#[test]
fn a_body_is_asked_for_only_if_it_is_wanted() {
    let runs = Counter::new();
    let mut router = Router::new();
    let count = runs.clone();
    router.post("/buffered", |req| req.text().map(str::to_owned));
    router
        .post("/small", move |_| count.one().to_string())
        .body_limit(3);
    router
        .post("/streamed", |req| {
            let mut text = String::new();
            std::io::Read::read_to_string(&mut req.reader(), &mut text)?;
            Ok(text)
        })
        .stream_body();
    router.post("/unread", |_| (403, "no")).stream_body();
    let running = serve(router);
    let expect = [("Expect", "100-continue"), ("Content-Length", "5")];
    let head = |path: &str| {
        let mut head = format!("POST {path} HTTP/1.1\r\nHost: x\r\n");
        expect
            .iter()
            .for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
        head + "\r\n"
    };
    for path in ["/buffered", "/streamed"] {
        let mut client = RawClient::connect(running.addr());
        for _ in 0..3 {
            client.send(head(path));
            assert_eq!(client.read_response().status, 100, "{path}");
            client.send("hello");
            assert_eq!(client.read_response().text(), "hello", "{path}");
        }
        // A client that does not wait gets no 100.
        client.send(head(path) + "hello");
        assert_eq!(client.read_response().text(), "hello", "{path}");
    }
    for (path, status) in [("/small", 413), ("/unread", 403), ("/none", 404)] {
        let mut client = RawClient::connect(running.addr());
        client.send(head(path));
        assert_eq!(client.read_response().status, status, "{path}");
        client.expect_end();
    }
    assert_eq!(runs.get(), 0);
    let mut client = RawClient::connect(running.addr());
    let other = request("POST", "/buffered", &[("Expect", "magic")], b"x");
    client.send(other);
    assert_eq!(client.read_response().status, 417);
}
