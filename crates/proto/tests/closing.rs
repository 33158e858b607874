//! When connections live on and how they end: keep-alive, pipelining, half-close, graceful stop.

mod support;

use stepwell_proto::http1::{BodyLength, Eof, Event};
use support::{Peer, Seen, response};

const GET: &str = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

/// What is said about the connection after one GET with these lines, and whether it lives.
fn after(version: &str, lines: &str) -> (Option<String>, bool) {
    let mut peer = Peer::with_defaults();
    peer.feed(format!("GET / HTTP/{version}\r\nHost: h\r\n{lines}\r\n").as_bytes());
    let sent = peer.sent();
    let said = sent
        .lines()
        .find_map(|l| l.strip_prefix("Connection: "))
        .map(str::to_owned);
    (said, !peer.conn.is_finished())
}

#[test]
fn keep_alive() {
    let (close, keep) = (Some("close".to_owned()), Some("keep-alive".to_owned()));
    assert_eq!(after("1.1", ""), (None, true));
    assert_eq!(after("1.1", "Connection: keep-alive\r\n"), (None, true));
    assert_eq!(
        after("1.1", "Connection: close\r\n"),
        (close.clone(), false)
    );
    assert_eq!(
        after("1.1", "Connection: Upgrade, CLOSE\r\n"),
        (close.clone(), false)
    );
    assert_eq!(
        after("1.1", "Connection: a\r\nConnection: ,close ,\r\n"),
        (close.clone(), false)
    );
    assert_eq!(after("1.1", "Connection: closed\r\n"), (None, true));
    assert_eq!(after("1.0", ""), (close.clone(), false));
    assert_eq!(after("1.0", "Connection: Keep-Alive\r\n"), (keep, true));
    assert_eq!(
        after("1.0", "Connection: keep-alive, close\r\n"),
        (close, false)
    );
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let mut peer = Peer::with_defaults();
    let wire = ["a", "b", "c"]
        .map(|p| format!("GET /{p} HTTP/1.1\r\nHost: h\r\n\r\n"))
        .concat();
    let mut input = wire.as_bytes();
    for path in ["/a", "/b", "/c"] {
        let event = peer.conn.poll(peer.now, &mut input, &mut peer.head);
        assert!(matches!(event, Ok(Event::Head(_))));
        assert_eq!(peer.head.path(), path.as_bytes());
        let rest = input;
        // As long as it is not answered, the next one is not touched.
        for _ in 0..2 {
            let event = peer.conn.poll(peer.now, &mut input, &mut peer.head);
            assert_eq!((event, input), (Ok(Event::Paused), rest));
        }
        peer.ok();
    }
    assert_eq!(
        peer.conn.poll(peer.now, &mut input, &mut peer.head),
        Ok(Event::NeedMore)
    );
}

#[test]
fn nothing_is_read_behind_a_request_that_closes() {
    let mut peer = Peer::with_defaults();
    let close = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    peer.feed(format!("{GET}{close}{GET}").as_bytes());
    assert_eq!(peer.statuses(), [200, 200]);
    assert!(peer.closed && peer.conn.is_finished());
}

#[test]
fn nothing_is_read_behind_a_refusal() {
    let mut peer = Peer::with_defaults();
    peer.feed(format!("GET / HTTP/1.1\r\n\r\n{GET}").as_bytes());
    assert_eq!(peer.statuses(), [400]);
    assert!(peer.closed);
}

#[test]
fn end_of_stream_between_requests() {
    assert_eq!(Peer::with_defaults().eof(), Eof::Close);
    let mut peer = Peer::with_defaults();
    peer.feed(GET.as_bytes());
    assert_eq!(peer.eof(), Eof::Close);
    assert!(peer.conn.is_finished());
    let mut peer = Peer::with_defaults();
    peer.feed(format!("{GET}\r\n").as_bytes());
    assert_eq!(peer.eof(), Eof::Close);
}

#[test]
fn end_of_stream_within_a_head() {
    let mut peer = Peer::with_defaults();
    peer.feed(b"GET / HT");
    assert_eq!(peer.eof(), Eof::Truncated);
    assert!(peer.conn.is_finished());
}

#[test]
fn end_of_stream_within_a_body() {
    for body in [
        "Content-Length: 5\r\n\r\nhell",
        "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
    ] {
        let mut peer = Peer::with_defaults();
        peer.feed(format!("POST / HTTP/1.1\r\nHost: h\r\n{body}").as_bytes());
        assert_eq!(peer.eof(), Eof::Truncated);
        assert!(!peer.conn.is_finished(), "an answer may still be written");
        peer.respond(400, "");
        assert!(peer.conn.is_finished());
        assert!(peer.sent().contains("Connection: close\r\n"));
    }
}

/// A client that has closed its sending side still gets its answer.
#[test]
fn end_of_stream_before_the_answer() {
    let mut peer = Peer::with_defaults();
    let mut input = GET.as_bytes();
    peer.conn
        .poll(peer.now, &mut input, &mut peer.head)
        .expect("a request");
    assert_eq!(peer.eof(), Eof::AfterAnswer);
    assert_eq!(peer.eof(), Eof::AfterAnswer, "asking twice changes nothing");
    peer.ok();
    assert_eq!(peer.statuses(), [200]);
    assert!(peer.sent().contains("Connection: close\r\n"));
    assert!(peer.conn.is_finished());
}

#[test]
fn end_of_stream_while_the_answer_is_written() {
    let mut peer = Peer::with_defaults();
    let mut input = GET.as_bytes();
    peer.conn
        .poll(peer.now, &mut input, &mut peer.head)
        .expect("a request");
    peer.conn
        .start_response(peer.now, &response(200), BodyLength::Unknown, &mut peer.out);
    assert_eq!(peer.eof(), Eof::AfterAnswer);
    peer.conn.chunk(b"x", &mut peer.out);
    peer.conn.finish_response(peer.now, &[], &mut peer.out);
    assert!(peer.sent().ends_with("1\r\nx\r\n0\r\n\r\n"));
    assert!(peer.conn.is_finished());
}

#[test]
fn end_of_stream_while_a_body_is_dropped() {
    let mut peer = Peer::with_defaults();
    let mut input: &[u8] = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n";
    peer.conn
        .poll(peer.now, &mut input, &mut peer.head)
        .expect("a request");
    peer.ok();
    assert_eq!(peer.eof(), Eof::Close);
    assert!(peer.conn.is_finished());
}

#[test]
fn a_graceful_stop_lets_the_answer_out() {
    let mut peer = Peer::with_defaults();
    let wire = GET.repeat(2);
    let mut input = wire.as_bytes();
    peer.conn
        .poll(peer.now, &mut input, &mut peer.head)
        .expect("a request");
    peer.conn.close_after_response();
    assert!(!peer.conn.is_finished());
    peer.ok();
    assert!(peer.sent().contains("Connection: close\r\n"));
    assert!(peer.conn.is_finished());
    assert_eq!(
        peer.conn.poll(peer.now, &mut input, &mut peer.head),
        Ok(Event::Closed)
    );
}

#[test]
fn a_graceful_stop_ends_an_idle_connection_at_once() {
    let mut peer = Peer::with_defaults();
    peer.feed(GET.as_bytes());
    peer.conn.close_after_response();
    assert!(peer.conn.is_finished());
}

#[test]
fn a_graceful_stop_within_a_head_serves_that_request() {
    let mut peer = Peer::with_defaults();
    peer.feed(&GET.as_bytes()[..20]);
    peer.conn.close_after_response();
    peer.feed(&GET.as_bytes()[20..]);
    assert!(matches!(peer.seen.as_slice(), [Seen::Head(_)]));
    assert!(peer.sent().contains("Connection: close\r\n"));
    assert!(peer.conn.is_finished());
}
