//! Deadlines, with a clock that the test moves.

mod support;

use std::time::Duration;
use stepwell_proto::http1::{ErrorKind, Event, Timeout};
use stepwell_proto::{Limits, Time};
use support::Peer;

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";
const POST_900: &[u8] = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 900\r\n\r\n";

#[track_caller]
fn fails(peer: &mut Peer, kind: ErrorKind) {
    let Timeout::Fail(error) = peer.timeout() else {
        panic!("no failure")
    };
    assert_eq!((error.kind(), error.status()), (kind, 408));
}

#[test]
fn a_silent_client_is_closed_without_a_word() {
    let mut peer = Peer::with_defaults();
    assert_eq!(peer.deadline(), Some(10_000));
    assert_eq!(peer.at(9_999).timeout(), Timeout::Nothing);
    assert_eq!(peer.at(10_000).timeout(), Timeout::CloseQuietly);
    assert!(peer.conn.is_finished());
    assert_eq!(peer.deadline(), None);
}

/// However the bytes trickle in, the head has ten seconds from accept.
#[test]
fn a_slow_head_is_answered_408() {
    let mut peer = Peer::with_defaults();
    for (i, byte) in GET[..9].iter().enumerate() {
        peer.at(1000 * (i as u64 + 1)).feed(&[*byte]);
    }
    assert_eq!(peer.deadline(), Some(10_000));
    peer.at(10_000);
    fails(&mut peer, ErrorKind::HeaderTimeout);
    assert!(peer.conn.awaits_response());
    peer.respond(408, "");
    assert!(peer.sent().contains("Connection: close\r\n"));
    assert!(peer.conn.is_finished());
}

#[test]
fn later_heads_have_their_time_from_the_first_byte() {
    let mut peer = Peer::with_defaults();
    peer.at(1000).feed(GET);
    assert_eq!(peer.deadline(), Some(76_000), "keep-alive from the answer");
    peer.at(50_000).feed(&GET[..1]);
    assert_eq!(peer.deadline(), Some(60_000));
    peer.at(59_000).feed(&GET[1..2]);
    assert_eq!(peer.deadline(), Some(60_000));
    peer.at(60_000);
    fails(&mut peer, ErrorKind::HeaderTimeout);
}

#[test]
fn an_idle_connection_is_closed_without_a_word() {
    let mut peer = Peer::with_defaults();
    peer.at(1000).feed(GET);
    assert_eq!(peer.at(75_999).timeout(), Timeout::Nothing);
    assert_eq!(peer.at(76_000).timeout(), Timeout::CloseQuietly);
    assert_eq!(peer.statuses(), [200]);
}

/// An empty line between requests is no request that could be late.
#[test]
fn an_empty_line_is_not_answered_408() {
    let mut peer = Peer::with_defaults();
    peer.feed(GET);
    peer.feed(b"\r\n");
    assert_eq!(peer.at(10_000).timeout(), Timeout::CloseQuietly);
}

#[test]
fn nothing_is_due_while_the_client_waits_for_us() {
    let mut peer = Peer::with_defaults();
    let mut input = GET;
    peer.conn
        .poll(peer.now, &mut input, &mut peer.head)
        .expect("a request");
    assert_eq!(peer.deadline(), None);
    assert_eq!(peer.at(1_000_000).timeout(), Timeout::Nothing);
}

#[test]
fn a_body_has_a_grace_of_five_seconds() {
    let mut peer = Peer::with_defaults();
    peer.at(1000).feed(POST_900);
    assert_eq!(peer.deadline(), Some(6000));
    peer.at(6000);
    fails(&mut peer, ErrorKind::BodyTimeout);
    assert!(peer.conn.awaits_response());
}

/// 240 bytes buy a second.
#[test]
fn a_body_must_keep_up_the_lowest_rate() {
    let mut peer = Peer::with_defaults();
    peer.feed(POST_900);
    peer.at(4000).feed(&[b'x'; 240]);
    assert_eq!(peer.deadline(), Some(6000));
    peer.at(5000).feed(&[b'x'; 480]);
    assert_eq!(peer.deadline(), Some(8000));
    peer.at(7999).feed(b"x");
    assert_eq!(peer.deadline(), Some(8005));
    peer.at(8005);
    fails(&mut peer, ErrorKind::BodyTimeout);
}

/// However much has come, no wait is longer than the idle limit.
#[test]
fn a_fast_body_may_not_stop_for_long() {
    let mut peer = Peer::with_defaults();
    peer.feed(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n");
    peer.feed(&[b'x'; 500_000]);
    assert_eq!(peer.deadline(), Some(30_000));
    peer.at(29_999).feed(&[b'x'; 100_000]);
    assert_eq!(peer.deadline(), Some(59_999));
    peer.at(59_999);
    fails(&mut peer, ErrorKind::BodyTimeout);
}

#[test]
fn chunk_framing_buys_no_time() {
    let mut peer = Peer::with_defaults();
    peer.feed(b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    peer.at(1000).feed(b"1;extension=");
    peer.at(2000).feed(&[b'x'; 1000]);
    assert_eq!(peer.deadline(), Some(5000));
}

#[test]
fn without_a_rate_only_the_idle_limit_holds() {
    let mut peer = Peer::new(&Limits {
        body_rate: 0,
        ..Limits::default()
    });
    peer.feed(POST_900);
    assert_eq!(peer.deadline(), Some(30_000));
    peer.at(29_000).feed(b"x");
    assert_eq!(peer.deadline(), Some(59_000));
}

/// Back-pressure is our doing, not the client's.
#[test]
fn the_clock_stands_still_while_we_do_not_read() {
    let mut peer = Peer::with_defaults();
    peer.feed(POST_900);
    peer.at(3000).conn.body_paused(Time::from_millis(3000));
    assert_eq!(peer.deadline(), None);
    peer.at(100_000).feed(b"");
    assert_eq!(
        peer.deadline(),
        Some(102_000),
        "two of five seconds are left"
    );
    // Time between a piece and the next poll is ours as well.
    peer.at(101_000).feed(&[b'x'; 240]);
    assert_eq!(peer.deadline(), Some(103_000));
}

#[test]
fn an_unread_body_is_not_dropped_for_ever() {
    let mut peer = Peer::with_defaults();
    let mut input = POST_900;
    peer.conn
        .poll(peer.now, &mut input, &mut peer.head)
        .expect("a request");
    peer.at(2000).ok();
    assert_eq!(peer.deadline(), Some(7000));
    peer.at(6000).feed(b"x");
    assert_eq!(peer.at(6999).timeout(), Timeout::Nothing);
    assert_eq!(peer.at(7000).timeout(), Timeout::CloseQuietly);
    assert!(peer.conn.is_finished());
}

#[test]
fn after_a_dropped_body_keep_alive_counts() {
    let mut peer = Peer::with_defaults();
    let mut input = POST_900;
    peer.conn
        .poll(peer.now, &mut input, &mut peer.head)
        .expect("a request");
    peer.ok();
    peer.at(1000).feed(&[b'x'; 900]);
    assert_eq!(peer.deadline(), Some(76_000));
    let mut input = GET;
    let event = peer.conn.poll(peer.now, &mut input, &mut peer.head);
    assert!(matches!(event, Ok(Event::Head(_))));
}

#[test]
fn the_clock_does_not_overflow() {
    let forever = Limits {
        header_timeout: Duration::MAX,
        ..Limits::default()
    };
    let peer = Peer::new(&forever);
    assert_eq!(peer.deadline(), Some(u64::MAX));
    assert_eq!(
        Time::from_millis(u64::MAX)
            .saturating_add(Duration::MAX)
            .as_millis(),
        u64::MAX
    );
    assert_eq!(Time::ZERO.since(Time::from_millis(5)), Duration::ZERO);
}
