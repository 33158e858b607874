//! What is written: framing for every kind of request and status, and that a lenient parser reads
//! the same out of it.

mod support;

use stepwell_proto::http1::{BodyLength, BodyMode, Event, RecentHeads, ResponseHead};
use support::{DATE, Peer, response};

/// A connection on which this request awaits its answer.
fn asked(request: &str) -> Peer {
    let mut peer = Peer::with_defaults();
    let mut input = request.as_bytes();
    let event = peer.conn.poll(peer.now, &mut input, &mut peer.head);
    assert!(matches!(event, Ok(Event::Head(_))), "{event:?}");
    peer
}

const GET: &str = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
const HEAD: &str = "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n";
const OLD: &str = "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";

/// Status, fields and whatever follows.
type Parsed = (u16, Vec<(String, String)>, Vec<u8>);

fn parse(bytes: &[u8]) -> Parsed {
    let mut fields = [httparse::EMPTY_HEADER; 16];
    let mut response = httparse::Response::new(&mut fields);
    let end = response.parse(bytes).expect("a response").unwrap();
    let fields = response
        .headers
        .iter()
        .map(|f| {
            (
                f.name.to_owned(),
                String::from_utf8_lossy(f.value).into_owned(),
            )
        })
        .collect();
    (
        response.code.expect("a status"),
        fields,
        bytes[end..].to_vec(),
    )
}

fn field(parsed: &Parsed, name: &str) -> Option<String> {
    let mut all = parsed.1.iter().filter(|f| f.0 == name);
    let value = all.next().map(|f| f.1.clone());
    assert_eq!(all.next(), None, "{name} is there once");
    value
}

/// One answer given as a whole: its Content-Length and its body.
fn whole(request: &str, status: u16, body: &str) -> (Option<String>, Vec<u8>) {
    let mut peer = asked(request);
    peer.respond(status, body);
    let parsed = parse(&peer.out);
    assert_eq!(parsed.0, status);
    assert_eq!(field(&parsed, "Transfer-Encoding"), None);
    (field(&parsed, "Content-Length"), parsed.2)
}

#[test]
fn whole_answers() {
    let some = |n: &str| Some(n.to_owned());
    assert_eq!(whole(GET, 200, "hello"), (some("5"), b"hello".to_vec()));
    assert_eq!(whole(GET, 404, ""), (some("0"), vec![]));
    assert_eq!(whole(HEAD, 200, "hello"), (some("5"), vec![]), "as for GET");
    assert_eq!(whole(GET, 204, "hello"), (None, vec![]));
    assert_eq!(whole(GET, 304, "hello"), (None, vec![]));
    assert_eq!(whole(GET, 205, "hello"), (some("0"), vec![]));
    assert_eq!(whole(OLD, 200, "hello"), (some("5"), b"hello".to_vec()));
}

/// With a memory of recent heads, for every kind of request and status, twice over.
#[test]
fn answers_given_again_are_the_same() {
    let mut recent = RecentHeads::new();
    let expect = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n";
    let closing = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    for _ in 0..2 {
        for request in [GET, HEAD, OLD, expect, closing] {
            for status in [200, 204, 205, 304, 404, 99] {
                for body in ["", "hello", "hello, world"] {
                    let mut plain = asked(request);
                    plain.respond(status, body);
                    let mut again = asked(request);
                    let head = response(status);
                    let (now, body) = (again.now, body.as_bytes());
                    again
                        .conn
                        .respond_again(now, &head, body, &mut recent, &mut again.out);
                    assert_eq!(again.sent(), plain.sent());
                    assert_eq!(again.conn.is_finished(), plain.conn.is_finished());
                    assert_eq!(again.deadline(), plain.deadline());
                }
            }
        }
    }
}

#[test]
fn every_status_has_a_line() {
    for status in 200..=999 {
        let mut peer = asked(GET);
        peer.respond(status, "");
        assert_eq!(parse(&peer.out).0, status);
    }
    for nonsense in [0, 99, 100, 101, 199, 1000, u16::MAX] {
        let mut peer = asked(GET);
        peer.respond(nonsense, "");
        assert_eq!(parse(&peer.out).0, 500);
    }
}

#[test]
fn an_answer_is_read_as_it_was_meant() {
    let mut peer = asked(GET);
    let fields = [
        ("Set-Cookie", "a=b"),
        ("Set-Cookie", "c=d; Path=/"),
        ("X-Empty", ""),
    ];
    let head = ResponseHead {
        status: 201,
        date: DATE,
        content_type: Some("application/json"),
        fields: &fields,
    };
    peer.conn.respond(peer.now, &head, b"{}", &mut peer.out);
    let (status, got, body) = parse(&peer.out);
    let got: Vec<_> = got.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    assert_eq!((status, body.as_slice()), (201, &b"{}"[..]));
    assert_eq!(
        got,
        [
            ("Date", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ("Content-Type", "application/json"),
            ("Set-Cookie", "a=b"),
            ("Set-Cookie", "c=d; Path=/"),
            ("X-Empty", ""),
            ("Content-Length", "2"),
        ]
    );
}

/// An application that sets them itself must not make a message with two framings.
#[test]
fn fields_of_the_machine_are_left_out() {
    let mut peer = asked(GET);
    let fields = [
        (String::from("content-length"), b"99".to_vec()),
        (String::from("Transfer-Encoding"), b"chunked".to_vec()),
        (String::from("CONNECTION"), b"close".to_vec()),
        (String::from("Keep-Alive"), b"timeout=5".to_vec()),
        (String::from("Date"), b"now".to_vec()),
        (String::from("Etag"), b"\"x\"".to_vec()),
    ];
    let head = ResponseHead {
        status: 200,
        date: DATE,
        content_type: None,
        fields: &fields,
    };
    peer.conn.respond(peer.now, &head, b"hello", &mut peer.out);
    let names: Vec<String> = parse(&peer.out).1.into_iter().map(|f| f.0).collect();
    assert_eq!(names, ["Date", "Etag", "Content-Length"]);
}

/// Starts an answer; gives the mode, the two framing fields and what is said about the connection.
fn started(
    request: &str,
    status: u16,
    length: BodyLength,
) -> (BodyMode, Option<String>, bool, Option<String>) {
    let mut peer = asked(request);
    let mode = peer
        .conn
        .start_response(peer.now, &response(status), length, &mut peer.out);
    let parsed = parse(&peer.out);
    let chunked = field(&parsed, "Transfer-Encoding").is_some_and(|v| v == "chunked");
    (
        mode,
        field(&parsed, "Content-Length"),
        chunked,
        field(&parsed, "Connection"),
    )
}

#[test]
fn streamed_answers() {
    use BodyLength::*;
    let some = |n: &str| Some(n.to_owned());
    assert_eq!(
        started(GET, 200, Unknown),
        (BodyMode::Chunked, None, true, None)
    );
    assert_eq!(
        started(GET, 200, Known(7)),
        (BodyMode::Raw, some("7"), false, None)
    );
    assert_eq!(
        started(GET, 200, Known(0)),
        (BodyMode::None, some("0"), false, None)
    );
    assert_eq!(
        started(GET, 200, Empty),
        (BodyMode::None, some("0"), false, None)
    );
    assert_eq!(
        started(GET, 204, Unknown),
        (BodyMode::None, None, false, None)
    );
    assert_eq!(
        started(GET, 304, Known(7)),
        (BodyMode::None, None, false, None)
    );
    assert_eq!(
        started(HEAD, 200, Unknown),
        (BodyMode::None, None, true, None)
    );
    assert_eq!(
        started(HEAD, 200, Known(7)),
        (BodyMode::None, some("7"), false, None)
    );
    let keep = some("keep-alive");
    assert_eq!(
        started(OLD, 200, Known(7)),
        (BodyMode::Raw, some("7"), false, keep)
    );
    let close = some("close");
    assert_eq!(
        started(OLD, 200, Unknown),
        (BodyMode::UntilClose, None, false, close)
    );
}

#[test]
fn chunks_and_trailers() {
    let mut peer = asked(GET);
    peer.conn
        .start_response(peer.now, &response(200), BodyLength::Unknown, &mut peer.out);
    let head = peer.out.len();
    peer.conn.chunk(b"hello", &mut peer.out);
    peer.conn.chunk(b"", &mut peer.out);
    peer.conn.chunk_header(0, &mut peer.out);
    peer.conn.chunk_header(0x12a, &mut peer.out);
    peer.out.extend_from_slice(&[b'x'; 0x12a]);
    peer.conn.chunk_end(&mut peer.out);
    peer.conn.finish_response(
        peer.now,
        &[("A", "1"), ("Content-Length", "9")],
        &mut peer.out,
    );
    let want = format!(
        "5\r\nhello\r\n12a\r\n{}\r\n0\r\nA: 1\r\n\r\n",
        "x".repeat(0x12a)
    );
    assert_eq!(peer.sent()[head..], want);
    // And the connection goes on.
    peer.feed(GET.as_bytes());
    assert_eq!(peer.statuses(), [200, 200]);
}

/// What the encoder writes as a body, the decoder reads.
#[test]
fn chunks_round_trip() {
    for size in [1, 9, 10, 15, 16, 17, 255, 256, 4095, 4096, 70_000] {
        let mut peer = asked(GET);
        peer.conn
            .start_response(peer.now, &response(200), BodyLength::Unknown, &mut peer.out);
        let head = peer.out.len();
        let data: Vec<u8> = (0..size).map(|i| i as u8).collect();
        peer.conn.chunk(&data, &mut peer.out);
        peer.conn
            .finish_response(peer.now, &[("X-Sum", "7")], &mut peer.out);
        let mut reader = Peer::with_defaults();
        reader.feed(b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
        reader.feed(&peer.out[head..]);
        assert_eq!(reader.seen[1], support::Seen::Body(data));
        let trailers = vec![("X-Sum".to_owned(), b"7".to_vec())];
        assert_eq!(reader.seen[2], support::Seen::End(trailers));
    }
}

#[test]
fn content_length_of_any_size() {
    for n in [1, 9, 10, 99, 100, 12_345, u64::from(u32::MAX), u64::MAX] {
        let (_, length, _, _) = started(GET, 200, BodyLength::Known(n));
        assert_eq!(length, Some(n.to_string()));
    }
}

/// Chunks are for chunked answers: elsewhere they would be taken for content.
#[test]
fn chunks_are_ignored_where_they_do_not_belong() {
    for (request, length) in [
        (GET, BodyLength::Known(5)),
        (HEAD, BodyLength::Unknown),
        (OLD, BodyLength::Unknown),
    ] {
        let mut peer = asked(request);
        peer.conn
            .start_response(peer.now, &response(200), length, &mut peer.out);
        let head = peer.out.len();
        peer.conn.chunk(b"hello", &mut peer.out);
        peer.conn.chunk_header(5, &mut peer.out);
        peer.conn.chunk_end(&mut peer.out);
        peer.conn
            .finish_response(peer.now, &[("A", "1")], &mut peer.out);
        assert_eq!(peer.out.len(), head);
    }
}

#[test]
fn early_hints() {
    let mut peer = asked(GET);
    let link = [("Link", "</style.css>; rel=preload")];
    peer.conn.send_informational(103, &link, &mut peer.out);
    assert_eq!(
        peer.sent(),
        "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
    );
    for odd in [100, 101, 200, 99, 0] {
        peer.conn.send_informational(odd, &link, &mut peer.out);
    }
    assert_eq!(peer.statuses(), [103]);
    peer.ok();
    peer.conn.send_informational(103, &link, &mut peer.out);
    assert_eq!(peer.statuses(), [103, 200], "nothing is due any more");

    let mut old = asked(OLD);
    old.conn.send_informational(103, &link, &mut old.out);
    assert!(old.out.is_empty());
}

#[test]
fn nothing_is_written_when_nothing_is_due() {
    let mut peer = Peer::with_defaults();
    peer.ok();
    peer.conn
        .start_response(peer.now, &response(200), BodyLength::Unknown, &mut peer.out);
    peer.conn.chunk(b"x", &mut peer.out);
    peer.conn.finish_response(peer.now, &[], &mut peer.out);
    assert!(peer.out.is_empty());
    peer.feed(GET.as_bytes());
    peer.ok();
    assert_eq!(peer.statuses(), [200]);
}

#[test]
fn a_refused_head_request_has_no_body_in_its_answer() {
    let mut peer = Peer::with_defaults();
    peer.feed(b"HEAD / HTTP/1.1\r\nHost: h\r\nBad Name: x\r\n\r\n");
    assert!(peer.sent().starts_with("HTTP/1.1 400 "));
    assert!(peer.sent().ends_with("\r\n\r\n"));
}
