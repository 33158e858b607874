use std::io::{self, Read};

use crate::http_error::BodyError;
use crate::request::Request;
use crate::request::testing::{Pieces, get, request};
use crate::{HttpError, Router};

fn streamed(body: &[u8], length: usize) -> Request {
    let mut req = get("/", "");
    let bytes = body.to_vec();
    req.body.set_stream(Box::new(Pieces {
        bytes,
        at: 0,
        length,
        cut: 0,
    }));
    req
}

#[test]
fn reads_the_query_decoded_and_raw() {
    let req = get("/p?a=1&b=x%20y+z&a=2&flag&=empty&bad=%ff", "");
    assert_eq!(req.query("a"), Some("1"));
    assert_eq!(req.query_all("a").collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(req.query("b"), Some("x y z"));
    assert_eq!(req.query("flag"), Some(""));
    assert_eq!(req.query(""), Some("empty"));
    assert_eq!(req.query("bad"), Some("\u{fffd}"));
    assert_eq!(req.query("c"), None);
    assert_eq!(req.query_pairs().count(), 6);
    assert_eq!(
        req.raw_query(),
        Some("a=1&b=x%20y+z&a=2&flag&=empty&bad=%ff")
    );
    assert_eq!(get("/p", "").query("a"), None);
    assert_eq!(get("/p?", "").query("a"), None);
}

#[test]
fn a_recycled_request_forgets_the_query() {
    let mut req = get("/p?a=1", "");
    assert_eq!(req.query("a"), Some("1"));
    req.clear();
    req.head = get("/p?b=2", "").head;
    assert_eq!((req.query("a"), req.query("b")), (None, Some("2")));
}

#[test]
fn reads_cookies_of_several_fields() {
    let req = get(
        "/",
        "Cookie: a=1; b=\"two\"; =x; novalue;c = 3 \nCookie: d=x=y; a=9",
    );
    let pairs: Vec<_> = req.cookies().collect();
    assert_eq!(
        pairs,
        [
            ("a", "1"),
            ("b", "two"),
            ("c", "3"),
            ("d", "x=y"),
            ("a", "9")
        ]
    );
    assert_eq!(req.cookie("a"), Some("1"));
    assert_eq!(req.cookie("A"), None);
    assert_eq!(get("/", "").cookie("a"), None);
}

#[test]
fn reads_header_fields_in_any_case() {
    let req = get(
        "/",
        "X-One: 1\nX-Many: a\nx-many: b\nContent-Type: Text/HTML; charset=x",
    );
    assert_eq!(req.header("x-one"), Some("1"));
    assert_eq!(req.header_all("X-MANY").collect::<Vec<_>>(), [b"a", b"b"]);
    assert_eq!(req.header("absent"), None);
    assert_eq!(req.content_type(), Some("Text/HTML"));
    assert_eq!(req.host(), Some("a"));
    assert_eq!(req.headers().count(), 5);
}

#[test]
fn keeps_bytes_that_are_not_text_readable_as_bytes() {
    let req = get("/", "X-Odd: caf\u{e9}");
    assert_eq!(req.header("x-odd"), Some("café"));
    let mut req = Request::new();
    let wire = b"GET / HTTP/1.1\r\nHost: a\r\nX-Odd: \xff\r\n\r\n";
    let limits = stepwell_proto::Limits::default();
    stepwell_proto::http1::parse_head(&mut req.head, wire, &limits).unwrap();
    assert_eq!(req.header("x-odd"), None);
    assert_eq!(req.header_bytes("x-odd"), Some(&b"\xff"[..]));
}

#[test]
fn json_needs_its_content_type_and_says_where_it_is_wrong() {
    let post = |kind: &str, body: &str| {
        let head = format!("POST / HTTP/1.1\nHost: a\nContent-Type: {kind}\nContent-Length: 1");
        request(&head, body.as_bytes()).json::<Vec<u32>>()
    };
    assert_eq!(post("application/json", "[1,2]").unwrap(), [1, 2]);
    assert_eq!(post("Application/JSON; charset=utf-8", "[7]").unwrap(), [7]);
    assert_eq!(post("application/vnd.x+json", "[3]").unwrap(), [3]);
    assert_eq!(post("text/plain", "[1]").unwrap_err().status(), 415);
    let error = post("application/json", "[1,\n\"x\"]").unwrap_err();
    assert_eq!(error.status(), 400);
    assert!(error.to_string().contains("line 2 column 3"), "{error}");
}

#[test]
fn form_needs_its_content_type() {
    let head = "POST / HTTP/1.1\nHost: a\nContent-Length: 1\nContent-Type: ";
    let body = b"a=1&list=x&list=y&%C3%A9=%E2%82%AC";
    let req = request(&format!("{head}application/x-www-form-urlencoded"), body);
    let form = req.form().unwrap();
    assert_eq!(form.get("a"), Some("1"));
    assert_eq!(form.get_all("list").collect::<Vec<_>>(), ["x", "y"]);
    assert_eq!(form.get("é"), Some("€"));
    assert_eq!(form.iter().count(), 4);
    let req = request(&format!("{head}text/plain"), body);
    assert_eq!(req.form().unwrap_err().status(), 415);
}

#[test]
fn text_must_be_utf8() {
    let head = "POST / HTTP/1.1\nHost: a\nContent-Length: 1";
    assert_eq!(request(head, "é".as_bytes()).text().unwrap(), "é");
    assert_eq!(request(head, b"\xff").text().unwrap_err().status(), 400);
}

#[test]
fn a_streamed_body_reads_like_a_whole_one_in_pieces() {
    let req = streamed(b"hello", 2);
    let mut first = [0; 2];
    req.reader().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"he");
    let mut rest = String::new();
    req.reader().read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "llo");
}

#[test]
fn a_streamed_body_can_be_had_whole_up_to_the_limit() {
    let req = streamed(b"hello", 2);
    assert_eq!(req.body().unwrap(), b"hello");
    assert_eq!(req.text().unwrap(), "hello");
    let mut again = String::new();
    req.reader().read_to_string(&mut again).unwrap();
    assert_eq!(again, "hello");

    let mut router = Router::new();
    router.get("/", |_| ()).body_limit(4).stream_body();
    let app = router.build().unwrap();
    let mut req = streamed(b"hello", 2);
    app.find(&mut req);
    assert_eq!(req.body().unwrap_err().status(), 413);
    let mut req = streamed(b"hell", 2);
    app.find(&mut req);
    assert_eq!(req.body().unwrap(), b"hell");
}

#[test]
fn two_readers_of_a_stream_do_not_mix() {
    let req = streamed(b"hello", 5);
    let first = req.reader();
    let error = req.reader().read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
    drop(first);
    assert_eq!(req.reader().read(&mut [0; 9]).unwrap(), 5);
}

#[test]
fn errors_of_the_body_keep_their_status() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(BodyError::io(408, "too slow"))
        }
    }
    let mut req = get("/", "");
    req.body.set_stream(Box::new(Broken));
    let copied = io::copy(&mut req.reader(), &mut io::sink());
    assert_eq!(HttpError::from(copied.unwrap_err()).status(), 408);
    assert_eq!(req.body().unwrap_err().status(), 408);
    assert_eq!(HttpError::from(io::Error::other("disk")).status(), 500);
}

#[test]
fn thread_state_is_found_by_type() {
    let mut req = get("/", "");
    *req.thread_state.get_mut() = Some(Box::new(7_u32));
    *req.thread_state::<u32>() += 1;
    assert_eq!(*req.thread_state::<u32>(), 8);
    let other = std::panic::AssertUnwindSafe(|| req.thread_state::<String>().is_empty());
    assert!(std::panic::catch_unwind(other).is_err());
}

#[test]
#[should_panic(expected = "borrowed already")]
fn thread_state_is_lent_once_at_a_time() {
    let mut req = get("/", "");
    *req.thread_state.get_mut() = Some(Box::new(7_u32));
    let _first = req.thread_state::<u32>();
    let _second = req.thread_state::<u32>();
}

#[test]
fn extensions_hold_one_value_of_each_type() {
    let mut req = get("/", "");
    assert_eq!(req.extensions_mut().insert(1_u32), None);
    assert_eq!(req.extensions_mut().insert(2_u32), Some(1));
    req.extensions_mut().insert("x");
    *req.extensions_mut().get_mut::<u32>().unwrap() += 1;
    assert_eq!(req.extensions().get::<u32>(), Some(&3));
    assert_eq!(req.extensions_mut().remove::<&str>(), Some("x"));
    assert_eq!(req.extensions().get::<&str>(), None);
    req.clear();
    assert_eq!(req.extensions().get::<u32>(), None);
}

#[test]
fn a_large_buffer_is_given_back() {
    let mut req = get("/", "");
    req.body.buffer().resize(1 << 20, 0);
    req.clear();
    assert!(req.body.buffer().capacity() <= 64 * 1024);
    assert!(
        req.body.buffer().capacity() > 0,
        "an ordinary buffer is kept"
    );
}
