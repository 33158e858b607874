//! What a head says about itself, and that it is recycled without allocating.

use stepwell_proto::http1::{Error, ErrorKind, Fault, parse_head};
use stepwell_proto::{Field, Limits, Method, RequestHead, Version, date::HttpDate, syntax};

fn head(text: &str) -> RequestHead {
    let mut head = RequestHead::new();
    let end = parse_head(&mut head, text.as_bytes(), &Limits::default());
    assert_eq!(end, Ok(Some(text.len())), "{text:?}");
    head
}

#[test]
fn parts_of_the_target() {
    let target = |method: &str, target: &str| {
        let head = head(&format!(
            "{method} {target} HTTP/1.1\r\nHost: host:1\r\n\r\n"
        ));
        assert_eq!(head.target(), target.as_bytes());
        let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
        let authority = head.authority().expect("there is a host").to_owned();
        (text(head.path()), head.query().map(text), authority)
    };
    let of = |p: &str, q: Option<&str>, a: &str| (p.into(), q.map(String::from), a.to_owned());
    assert_eq!(target("GET", "/"), of("/", None, "host:1"));
    assert_eq!(target("GET", "/?"), of("/", Some(""), "host:1"));
    assert_eq!(
        target("GET", "/a/b?c?d=/e"),
        of("/a/b", Some("c?d=/e"), "host:1")
    );
    assert_eq!(
        target("GET", "/a%2Fb?%00%"),
        of("/a%2Fb", Some("%00%"), "host:1")
    );
    let long = format!("/{}", "x".repeat(100));
    assert_eq!(
        target("GET", &format!("{long}?{long}")),
        of(&long, Some(&long), "host:1")
    );
    assert_eq!(target("OPTIONS", "*"), of("*", None, "host:1"));
    assert_eq!(
        target("CONNECT", "other:443"),
        of("other:443", None, "other:443")
    );
    assert_eq!(
        target("GET", "http://other/a?b"),
        of("/a", Some("b"), "other")
    );
    assert_eq!(
        target("GET", "HTTPS://other:8?b"),
        of("/", Some("b"), "other:8")
    );
    assert_eq!(target("GET", "http://[::1]"), of("/", None, "[::1]"));
}

#[test]
fn methods_and_versions() {
    for name in [
        "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH",
    ] {
        let head = head(&format!("{name} / HTTP/1.0\r\n\r\n"));
        assert_eq!((head.method().as_str(), head.method_str()), (name, name));
        assert_eq!(head.version(), Version::Http10);
        assert_eq!(head.authority(), None);
    }
    for name in ["get", "GETS", "GE", "PROPFIND", "X", "OPTIONSX", "PATCHES"] {
        let head = head(&format!("{name} / HTTP/1.1\r\nHost: h\r\n\r\n"));
        assert_eq!((head.method(), head.method_str()), (Method::Other, name));
        assert_eq!(head.version(), Version::Http11);
    }
    assert!(Version::Http10 < Version::Http11);
}

#[test]
fn fields_by_name_number_and_order() {
    let head =
        head("GET / HTTP/1.1\r\nhOsT: h\r\nAccept: a\r\nX-One: 1 \r\nx-one:\t2\r\naccept:\r\n\r\n");
    let all: Vec<_> = head.fields().collect();
    assert_eq!(
        all,
        [
            ("hOsT", &b"h"[..]),
            ("Accept", b"a"),
            ("X-One", b"1"),
            ("x-one", b"2"),
            ("accept", b""),
        ]
    );
    assert_eq!((head.fields().len(), head.field_count()), (5, 5));
    assert_eq!(head.get("HOST"), Some(&b"h"[..]));
    assert_eq!(head.known(Field::Accept), Some(&b"a"[..]));
    assert_eq!(head.get_all("ACCEPT").collect::<Vec<_>>(), [&b"a"[..], b""]);
    assert_eq!(head.get("x-ONE"), Some(&b"1"[..]));
    assert_eq!(head.get_all("x-one").count(), 2);
    assert_eq!(
        (head.get("X-Two"), head.get("Cookie"), head.get("")),
        (None, None, None)
    );
    assert_eq!(head.known(Field::Cookie), None);
    assert_eq!(head.trailers().len(), 0);
}

/// Each well-known field is noticed, alone and at the end of the bytes as well as far from it.
#[test]
fn well_known_fields_are_found_anywhere() {
    for &field in Field::ALL {
        let value = match field {
            Field::Host => continue,
            Field::ContentLength => "0",
            Field::TransferEncoding => "chunked",
            Field::Expect => "100-continue",
            _ => "v",
        };
        let line = format!("{}: {value}\r\n", field.name().to_uppercase());
        for behind in ["", "X-Something-Long: enough for another block\r\n"] {
            let head = head(&format!("GET / HTTP/1.1\r\nHost: h\r\n{line}{behind}\r\n"));
            assert_eq!(head.known(field), Some(value.as_bytes()), "{field:?}");
            assert_eq!(head.known(Field::Host), Some(&b"h"[..]));
        }
    }
}

#[test]
fn a_recycled_head_forgets_everything_and_keeps_its_buffer() {
    let mut head = RequestHead::new();
    let limits = Limits::default();
    let long = "POST /path?query HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\
        Expect: 100-continue\r\nCookie: a=b\r\n\r\n";
    parse_head(&mut head, long.as_bytes(), &limits).expect("fine");
    let buffer = head.target().as_ptr();
    parse_head(&mut head, b"GET / HTTP/1.0\r\n\r\n", &limits).expect("fine");
    assert_eq!(
        head.target().as_ptr().addr() + 1,
        buffer.addr(),
        "GET is a letter shorter"
    );
    assert_eq!(
        (head.method(), head.path(), head.query()),
        (Method::Get, &b"/"[..], None)
    );
    assert_eq!((head.field_count(), head.content_length()), (0, None));
    assert_eq!((head.authority(), head.known(Field::Cookie)), (None, None));
    assert!(!head.expects_continue() && !head.is_chunked());
    head.clear();
    assert_eq!((head.target(), head.method_str()), (&b""[..], ""));
}

#[test]
fn incomplete_heads_are_not_accepted() {
    let text = "GET / HTTP/1.1\r\nHost: h\r\nX: y\r\n\r\n";
    for end in 0..text.len() {
        let mut head = RequestHead::new();
        let got = parse_head(&mut head, &text.as_bytes()[..end], &Limits::default());
        assert_eq!(got, Ok(None), "{end}");
    }
}

#[test]
fn errors_say_whose_fault_it_is_and_why() {
    let mut names = Vec::new();
    for &kind in ErrorKind::ALL {
        let error = Error::from(kind);
        assert!([400, 408, 413, 414, 417, 431, 501, 505].contains(&error.status()));
        assert!(error.reason().ends_with('.') && error.reason().len() > 20);
        let ours = matches!(error.status(), 417 | 501 | 505);
        assert_eq!(error.fault() == Fault::Local, ours);
        assert!(error.to_string().contains(error.name()));
        assert!(!names.contains(&error.name()), "{} names two", error.name());
        names.push(error.name());
    }
}

#[test]
fn names_and_values_that_applications_may_set() {
    assert!(syntax::is_field_name(b"X-Name_1"));
    for bad in [&b""[..], b"a b", b"a:", b"a\r", b"\xc3\xa4"] {
        assert!(!syntax::is_field_name(bad), "{}", bad.escape_ascii());
    }
    for good in [
        &b""[..],
        b"a\tb c",
        "ä and much more than sixteen bytes".as_bytes(),
    ] {
        assert!(syntax::is_field_value(good), "{}", good.escape_ascii());
    }
    for bad in [
        &b"a\r\nb"[..],
        b"a\n",
        b"\0",
        b"\x7f",
        b"more than sixteen bytes and then \r",
    ] {
        assert!(!syntax::is_field_value(bad), "{}", bad.escape_ascii());
    }
    // Every byte, at every place within and behind a block.
    for at in 0..40 {
        for byte in 0..=255u8 {
            let mut value = [b'x'; 40];
            value[at] = byte;
            let control = byte < 32 && byte != b'\t' || byte == 127;
            assert_eq!(syntax::is_field_value(&value), !control, "{byte} at {at}");
        }
    }
}

/// The quick check of short authorities agrees with the thorough one.
#[test]
fn hosts_of_every_byte() {
    for len in [1, 2, 7, 8, 9, 15, 16, 17, 24] {
        for at in 0..len {
            for byte in 0..=255u8 {
                let mut host = vec![b'7'; len];
                host[at] = byte;
                let text = [b"GET / HTTP/1.1\r\nHost: ".as_slice(), &host, b"\r\n\r\n"].concat();
                let got = parse_head(&mut RequestHead::new(), &text, &Limits::default());
                let blank = matches!(byte, b' ' | b'\t') && (at == 0 || at + 1 == len) && len > 1;
                let fine = syntax::is_authority(&host) || blank;
                assert_eq!(got.is_ok(), fine, "{}", host.escape_ascii());
            }
        }
    }
}

#[test]
fn dates() {
    let date = |seconds| String::from_utf8_lossy(HttpDate::new(seconds).as_bytes()).into_owned();
    assert_eq!(date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
    assert_eq!(date(951_782_400), "Tue, 29 Feb 2000 00:00:00 GMT");
    assert_eq!(date(951_868_799), "Tue, 29 Feb 2000 23:59:59 GMT");
    assert_eq!(date(951_868_800), "Wed, 01 Mar 2000 00:00:00 GMT");
    assert_eq!(date(1_735_689_599), "Tue, 31 Dec 2024 23:59:59 GMT");
    assert_eq!(
        date(4_107_542_400),
        "Mon, 01 Mar 2100 00:00:00 GMT",
        "2100 has no leap day"
    );
    assert_eq!(date(u64::MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
    let mut now = HttpDate::new(0);
    now.update(86_400);
    assert_eq!(now.as_bytes(), b"Fri, 02 Jan 1970 00:00:00 GMT");
}
