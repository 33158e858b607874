//! Request bodies: both framings, limits of routes, expectations, and what happens to a body that
//! nobody reads.

mod support;

use stepwell_proto::http1::{BodyKind, BodyLength, BodyMode, ErrorKind, Event};
use stepwell_proto::{Limits, Time};
use support::{Answer, Peer, Seen, response};

const LENGTH_5: &str = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n";
const CHUNKED: &str = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
const EXPECT: &str =
    "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n";
const GET: &str = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

fn fed(text: &str) -> Peer {
    let mut peer = Peer::with_defaults();
    peer.feed(text.as_bytes());
    peer
}

/// Polls once.
fn poll<'a>(peer: &mut Peer, input: &mut &'a [u8]) -> Event<'a> {
    peer.conn
        .poll(peer.now, input, &mut peer.head)
        .expect("nothing is refused here")
}

#[test]
fn a_body_by_length() {
    let peer = fed(&format!("{LENGTH_5}hello"));
    let [Seen::Head(head), Seen::Body(body), Seen::End(trailers)] = peer.seen.as_slice() else {
        panic!("{:?}", peer.seen);
    };
    assert_eq!(
        (head.kind, head.content_length),
        (BodyKind::Length(5), Some(5))
    );
    assert_eq!((body.as_slice(), trailers.len()), (&b"hello"[..], 0));
    assert_eq!(peer.statuses(), [200]);
}

#[test]
fn a_chunked_body_with_trailers() {
    let peer = fed(&format!(
        "{CHUNKED}5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nA: 1\r\nB:2\r\n\r\n{GET}"
    ));
    let [
        Seen::Head(head),
        Seen::Body(body),
        Seen::End(trailers),
        Seen::Head(_),
    ] = peer.seen.as_slice()
    else {
        panic!("{:?}", peer.seen);
    };
    assert_eq!((head.kind, head.chunked), (BodyKind::Chunked, true));
    assert_eq!(body, b"hello world");
    assert_eq!(trailers[0], ("A".to_owned(), b"1".to_vec()));
    assert_eq!(trailers[1], ("B".to_owned(), b"2".to_vec()));
    assert_eq!(peer.statuses(), [200, 200]);
    assert_eq!(peer.head.trailers().len(), 0, "the next request has none");
}

#[test]
fn length_zero_is_no_body() {
    let peer = fed("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
    let [Seen::Head(head)] = peer.seen.as_slice() else {
        panic!("{:?}", peer.seen)
    };
    assert_eq!(head.kind, BodyKind::None);
}

#[test]
fn body_pieces_borrow_from_the_input() {
    let mut peer = Peer::with_defaults();
    let wire = format!("{LENGTH_5}hello");
    let mut input = wire.as_bytes();
    assert_eq!(
        poll(&mut peer, &mut input),
        Event::Head(BodyKind::Length(5))
    );
    let before = input;
    assert_eq!(poll(&mut peer, &mut input), Event::Body(before));
    assert_eq!(poll(&mut peer, &mut input), Event::End);
    assert_eq!(poll(&mut peer, &mut input), Event::Paused);
}

#[test]
fn a_route_may_allow_less() {
    let mut peer = Peer::with_defaults();
    let mut input = LENGTH_5.as_bytes();
    poll(&mut peer, &mut input);
    let refused = peer.conn.set_body_limit(4).expect_err("five are announced");
    assert_eq!(
        (refused.kind(), refused.status()),
        (ErrorKind::BodyTooLarge, 413)
    );
    assert_eq!(poll(&mut peer, &mut input), Event::Closed);
    assert!(peer.conn.awaits_response());
    peer.respond(413, "");
    assert!(peer.conn.is_finished());
    assert!(peer.sent().contains("Connection: close\r\n"));
}

#[test]
fn a_route_may_allow_more() {
    let limits = Limits {
        body: 3,
        ..Limits::default()
    };
    for (head, body) in [(LENGTH_5, "hello"), (CHUNKED, "5\r\nhello\r\n0\r\n\r\n")] {
        let mut peer = Peer::new(&limits);
        let mut input = head.as_bytes();
        poll(&mut peer, &mut input);
        assert_eq!(peer.conn.set_body_limit(5), Ok(()));
        peer.feed(body.as_bytes());
        assert_eq!(peer.seen[0], Seen::Body(b"hello".to_vec()));
        assert_eq!(peer.statuses(), [200]);
    }
}

#[test]
fn continue_is_sent_once_and_only_while_the_body_is_awaited() {
    let mut peer = Peer::with_defaults();
    let mut input = EXPECT.as_bytes();
    poll(&mut peer, &mut input);
    assert_eq!(poll(&mut peer, &mut input), Event::NeedMore);
    assert!(peer.conn.expects_continue_now() && peer.head.expects_continue());
    assert_eq!(peer.deadline(), None, "the client is not late");
    peer.conn
        .send_continue(Time::from_millis(1000), &mut peer.out);
    assert_eq!(peer.sent(), "HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!(peer.deadline(), Some(6000), "from here on it can be");
    peer.conn.send_continue(peer.now, &mut peer.out);
    assert_eq!(peer.statuses(), [100]);
    peer.feed(format!("hello{GET}").as_bytes());
    assert_eq!(peer.statuses(), [100, 200, 200]);
}

#[test]
fn no_continue_when_the_body_is_already_there() {
    let mut peer = Peer::with_defaults();
    let wire = format!("{EXPECT}hel");
    let mut input = wire.as_bytes();
    poll(&mut peer, &mut input);
    assert!(peer.conn.expects_continue_now());
    assert_eq!(poll(&mut peer, &mut input), Event::Body(b"hel"));
    assert!(!peer.conn.expects_continue_now());
    peer.conn.send_continue(peer.now, &mut peer.out);
    assert!(peer.out.is_empty());
}

#[test]
fn no_continue_for_old_clients_or_without_a_body() {
    for wire in [
        "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n",
    ] {
        let mut peer = Peer::with_defaults();
        let mut input = wire.as_bytes();
        poll(&mut peer, &mut input);
        assert!(!peer.conn.expects_continue_now());
    }
}

/// A client that was not told to go on may send the body or not: the next bytes are ambiguous.
#[test]
fn an_answer_instead_of_continue_closes() {
    let mut peer = Peer::with_defaults();
    peer.answer = Answer::AtOnce;
    peer.feed(EXPECT.as_bytes());
    assert!(peer.sent().contains("Connection: close\r\n"));
    assert!(peer.conn.is_finished());

    let mut peer = Peer::with_defaults();
    let mut input = EXPECT.as_bytes();
    poll(&mut peer, &mut input);
    let mode =
        peer.conn
            .start_response(peer.now, &response(200), BodyLength::Unknown, &mut peer.out);
    assert_eq!(mode, BodyMode::Chunked);
    assert!(peer.sent().contains("Connection: close\r\n"));
    peer.conn.finish_response(peer.now, &[], &mut peer.out);
    assert!(peer.conn.is_finished());
}

/// Answers at once and gives the statuses after the rest and another request have come.
fn unread(head: &str, body: &str, drain_bytes: u64) -> (Vec<u16>, bool) {
    let mut peer = Peer::new(&Limits {
        drain_bytes,
        ..Limits::default()
    });
    peer.answer = Answer::AtOnce;
    peer.feed(head.as_bytes());
    peer.feed(body.as_bytes());
    peer.feed(GET.as_bytes());
    (
        peer.statuses(),
        peer.sent().contains("Connection: close\r\n"),
    )
}

#[test]
fn an_unread_body_is_dropped_up_to_a_cap() {
    assert_eq!(unread(LENGTH_5, "hello", 5), (vec![200, 200], false));
    assert_eq!(unread(LENGTH_5, "hello", 4), (vec![200], true));
    let chunks = "3\r\nhel\r\n2\r\nlo\r\n0\r\nA: b\r\n\r\n";
    assert_eq!(unread(CHUNKED, chunks, 5), (vec![200, 200], false));
    // How long it is comes out too late to announce the end.
    assert_eq!(unread(CHUNKED, chunks, 4), (vec![200], false));
}

#[test]
fn a_half_read_chunk_counts_for_the_cap() {
    let mut peer = Peer::new(&Limits {
        drain_bytes: 10,
        ..Limits::default()
    });
    let wire = format!("{CHUNKED}100\r\nx");
    let mut input = wire.as_bytes();
    poll(&mut peer, &mut input);
    assert_eq!(poll(&mut peer, &mut input), Event::Body(b"x"));
    peer.ok();
    peer.feed(&[b'x'; 10]);
    assert!(!peer.conn.is_finished());
    peer.feed(b"x");
    assert!(peer.conn.is_finished());
}

#[test]
fn a_broken_rest_closes_without_a_second_answer() {
    let (statuses, _) = unread(CHUNKED, "oops\r\n", 1000);
    assert_eq!(statuses, [200]);
}

/// Answering while the body still comes: neither side waits for the other.
#[test]
fn a_body_can_be_read_while_the_answer_is_written() {
    let mut peer = Peer::with_defaults();
    let mut input = CHUNKED.as_bytes();
    poll(&mut peer, &mut input);
    peer.conn
        .start_response(peer.now, &response(200), BodyLength::Unknown, &mut peer.out);
    let mut input: &[u8] = b"5\r\nhello\r\n0\r\n\r\n";
    let Event::Body(data) = poll(&mut peer, &mut input) else {
        panic!("a body")
    };
    peer.conn.chunk(data, &mut peer.out);
    assert_eq!(poll(&mut peer, &mut input), Event::End);
    assert_eq!(poll(&mut peer, &mut input), Event::Paused);
    peer.conn.finish_response(peer.now, &[], &mut peer.out);
    assert!(peer.sent().ends_with("\r\n\r\n5\r\nhello\r\n0\r\n\r\n"));
    peer.feed(GET.as_bytes());
    assert_eq!(peer.statuses(), [200, 200]);
}
