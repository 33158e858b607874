//! Each limit: what just fits is served, one more is refused with the right status.

mod support;

use stepwell_proto::Limits;
use stepwell_proto::http1::{Error, ErrorKind};
use support::refusal;

fn limits() -> Limits {
    Limits {
        header_bytes: 200,
        header_fields: 5,
        request_line: 50,
        body: 10,
        chunk_extension_bytes: 8,
        trailer_bytes: 30,
        trailer_fields: 2,
        ..Limits::default()
    }
}

#[track_caller]
fn check(bytes: &str, want: Option<(ErrorKind, u16)>) {
    let got = refusal(&limits(), bytes.as_bytes());
    assert_eq!(got.map(|kind| (kind, Error::from(kind).status())), want);
}

#[test]
fn defaults_are_the_documented_ones() {
    let limits = Limits::default();
    assert_eq!(
        (limits.header_bytes, limits.header_fields),
        (16 * 1024, 100)
    );
    assert_eq!((limits.request_line, limits.body), (8 * 1024, 1024 * 1024));
    assert_eq!(limits.drain_bytes, 64 * 1024);
    assert_eq!(limits.header_timeout.as_secs(), 10);
    assert_eq!((limits.body_idle.as_secs(), limits.body_rate), (30, 240));
    assert_eq!(
        (limits.keep_alive.as_secs(), limits.drain_timeout.as_secs()),
        (75, 5)
    );
}

#[test]
fn request_line() {
    let of = |len: usize| {
        format!(
            "GET /{} HTTP/1.1\r\nHost: h\r\n\r\n",
            "a".repeat(len - "GET / HTTP/1.1".len())
        )
    };
    check(&of(50), None);
    check(&format!("\r\n{}", of(50)), None);
    check(&of(51), Some((ErrorKind::RequestLineTooLong, 414)));
    check(&of(5000), Some((ErrorKind::RequestLineTooLong, 414)));
    // Without its end, too: it is not waited for.
    check(&of(5000)[..60], Some((ErrorKind::RequestLineTooLong, 414)));
}

#[test]
fn head_bytes() {
    let of = |len: usize| {
        let rest = "GET / HTTP/1.1\r\nHost: h\r\nX: \r\n\r\n".len();
        format!(
            "GET / HTTP/1.1\r\nHost: h\r\nX: {}\r\n\r\n",
            "a".repeat(len - rest)
        )
    };
    check(&of(200), None);
    check(&of(201), Some((ErrorKind::HeadTooLarge, 431)));
    check(&of(5000), Some((ErrorKind::HeadTooLarge, 431)));
    check(&of(5000)[..201], Some((ErrorKind::HeadTooLarge, 431)));
    let long_name = format!("GET / HTTP/1.1\r\nHost: h\r\n{}", "a".repeat(500));
    check(&long_name, Some((ErrorKind::HeadTooLarge, 431)));
}

#[test]
fn header_fields() {
    let of = |n: usize| {
        format!(
            "GET / HTTP/1.1\r\nHost: h\r\n{}\r\n",
            "a:\r\n".repeat(n - 1)
        )
    };
    check(&of(5), None);
    check(&of(6), Some((ErrorKind::TooManyFields, 431)));
}

#[test]
fn body() {
    let by_length = |n: usize| {
        format!(
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {n}\r\n\r\n{}",
            "x".repeat(n)
        )
    };
    check(&by_length(10), None);
    check(&by_length(11), Some((ErrorKind::BodyTooLarge, 413)));
    let chunked = |chunks: &str| {
        format!("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}")
    };
    check(&chunked("5\r\nhello\r\n5\r\nworld\r\n0\r\n\r\n"), None);
    check(
        &chunked("5\r\nhello\r\n6\r\nworld!\r\n0\r\n\r\n"),
        Some((ErrorKind::BodyTooLarge, 413)),
    );
    check(
        &chunked("ffffffffffffffff\r\n"),
        Some((ErrorKind::BodyTooLarge, 413)),
    );
    check(
        &chunked("5\r\nhello\r\nffffffffffffffff\r\n"),
        Some((ErrorKind::BodyTooLarge, 413)),
    );
}

#[test]
fn chunk_extensions() {
    let chunked = |chunks: &str| {
        format!("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n")
    };
    let too_long = Some((ErrorKind::ChunkExtensionTooLong, 400));
    // The first character is the size digit's semicolon, which does not count.
    check(&chunked("1;12345678\r\nx\r\n"), None);
    check(&chunked("1;123456789\r\nx\r\n"), too_long);
    // All lines together: each byte of data earns one byte more.
    check(&chunked("4;12345\r\ndata\r\n4;12345\r\ndata\r\n"), None);
    check(&chunked("1;12345\r\nx\r\n1;12345\r\nx\r\n"), too_long);
}

#[test]
fn trailers() {
    let chunked = |lines: &str| {
        format!("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n{lines}\r\n")
    };
    check(&chunked(&format!("a:{}\r\n", "x".repeat(24))), None);
    check(
        &chunked(&format!("a:{}\r\n", "x".repeat(25))),
        Some((ErrorKind::TrailersTooLarge, 431)),
    );
    check(&chunked("a:\r\nb:\r\n"), None);
    check(
        &chunked("a:\r\nb:\r\nc:\r\n"),
        Some((ErrorKind::TooManyTrailers, 431)),
    );
}

#[test]
fn limits_without_bounds_do_not_overflow() {
    let boundless = Limits {
        header_bytes: usize::MAX,
        header_fields: usize::MAX,
        request_line: usize::MAX,
        body: u64::MAX,
        chunk_extension_bytes: u64::MAX,
        trailer_bytes: usize::MAX,
        trailer_fields: usize::MAX,
        drain_bytes: u64::MAX,
        ..Limits::default()
    };
    let chunks = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\
        5;a=b\r\nhello\r\n0\r\na: b\r\n\r\n";
    assert_eq!(refusal(&boundless, chunks.as_bytes()), None);
    for byte in 0..chunks.len() {
        assert_eq!(refusal(&boundless, &chunks.as_bytes()[..byte]), None);
    }
    let huge = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 18446744073709551615\r\n\r\nx";
    assert_eq!(refusal(&boundless, huge.as_bytes()), None);
}
