//! The head parser. Input: how to cut (two bytes), then the bytes of a head.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stepwell_proto::http1::parse_head;
use stepwell_proto::{Field, Limits, Method, RequestHead, Version, syntax};

#[path = "../../crates/proto/tests/support/mod.rs"]
mod support;

fuzz_target!(|input: &[u8]| {
    let Some((&cut, bytes)) = input.split_first_chunk::<2>() else {
        return;
    };
    let limits = Limits {
        header_fields: 16,
        request_line: 256,
        ..Limits::default()
    };
    let mut head = RequestHead::new();
    let whole = parse_head(&mut head, bytes, &limits);

    // A prefix is unfinished or refused for the same reason, and never accepted.
    let cut = usize::from(u16::from_le_bytes(cut)) % (bytes.len() + 1);
    let mut short = RequestHead::new();
    match (parse_head(&mut short, &bytes[..cut], &limits), &whole) {
        (Ok(None), _) => {}
        (Ok(Some(end)), whole) => assert_eq!(*whole, Ok(Some(end))),
        (Err(early), whole) => assert_eq!(*whole, Err(early)),
    }

    if let Ok(Some(end)) = whole {
        assert!(bytes[..end].ends_with(b"\r\n\r\n"));
        check(&head);
        compare(&head, &bytes[..end]);
    }
});

/// What an accepted head promises.
fn check(head: &RequestHead) {
    assert!(head.field_count() <= 16);
    assert!(!head.path().is_empty());
    assert!(
        head.target()
            .iter()
            .all(|b| b.is_ascii_graphic() && !b"#\\".contains(b))
    );
    assert!(!(head.is_chunked() && head.content_length().is_some()));
    assert!(head.version() == Version::Http10 || head.authority().is_some());
    if let Some(authority) = head.authority() {
        assert!(syntax::is_authority(authority.as_bytes()));
    }
    for (name, value) in head.fields() {
        assert!(syntax::is_field_name(name.as_bytes()));
        assert!(syntax::is_field_value(value));
        assert_eq!(value.trim_ascii(), value);
        assert_eq!(head.get(name), head.get_all(name).next());
    }
    for &field in Field::ALL {
        assert_eq!(head.known(field), head.get_all(field.name()).next());
    }
}

/// `httparse` is more lenient: what we accept, it reads in the same way.
fn compare(head: &RequestHead, bytes: &[u8]) {
    let mut fields = [httparse::EMPTY_HEADER; 16];
    let mut theirs = httparse::Request::new(&mut fields);
    match theirs.parse(bytes) {
        Ok(httparse::Status::Complete(end)) => assert_eq!(end, bytes.len()),
        // It has its own idea of a few signs in targets.
        Err(httparse::Error::Token) => return,
        other => panic!("{other:?} for {}", bytes.escape_ascii()),
    }
    assert_eq!(theirs.method, Some(head.method_str()));
    assert_eq!(
        Method::from_bytes(head.method_str().as_bytes()),
        head.method()
    );
    assert_eq!(theirs.path.map(str::as_bytes), Some(head.target()));
    assert_eq!(theirs.version == Some(1), head.version() == Version::Http11);
    assert_eq!(theirs.headers.len(), head.field_count());
    for (theirs, (name, value)) in theirs.headers.iter().zip(head.fields()) {
        assert_eq!(theirs.name, name);
        assert_eq!(theirs.value.trim_ascii(), value);
    }
}
