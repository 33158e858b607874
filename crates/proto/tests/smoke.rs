//! A request comes in, an answer goes out.

use std::sync::Arc;
use stepwell_proto::http1::{BodyKind, Event, ResponseHead, ServerConnection};
use stepwell_proto::{Field, Limits, Method, RequestHead, Time};

const DATE: &[u8; 29] = b"Sun, 06 Nov 1994 08:49:37 GMT";

#[test]
fn a_request_is_answered() {
    let now = Time::ZERO;
    let mut conn = ServerConnection::new(now, Arc::new(Limits::default()));
    let mut head = RequestHead::new();
    let mut input: &[u8] = b"GET /a%20b?q=1 HTTP/1.1\r\nHost: example.com\r\nX: y \r\n\r\nGET";
    let event = conn.poll(now, &mut input, &mut head);
    assert_eq!(event, Ok(Event::Head(BodyKind::None)));
    assert_eq!(input, b"GET");
    assert_eq!(head.method(), Method::Get);
    assert_eq!(head.path(), b"/a%20b");
    assert_eq!(head.query(), Some(&b"q=1"[..]));
    assert_eq!(head.authority(), Some("example.com"));
    assert_eq!(head.known(Field::Host), Some(&b"example.com"[..]));
    assert_eq!(head.get("x"), Some(&b"y"[..]));
    assert_eq!(conn.poll(now, &mut input, &mut head), Ok(Event::Paused));

    let mut out = Vec::new();
    let response = ResponseHead {
        status: 200,
        date: DATE,
        content_type: Some("text/plain"),
        fields: &[("Server", "stepwell")],
    };
    conn.respond(now, &response, b"Hello", &mut out);
    assert_eq!(
        String::from_utf8_lossy(&out),
        "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: text/plain\r\n\
         Server: stepwell\r\nContent-Length: 5\r\n\r\nHello"
    );
    assert_eq!(conn.poll(now, &mut input, &mut head), Ok(Event::NeedMore));
    assert!(!conn.is_finished());
}
