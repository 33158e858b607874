//! Chunked bodies. Input: how to cut (two bytes), then what follows the head.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stepwell_proto::Limits;

#[path = "../../crates/proto/tests/support/mod.rs"]
mod support;

use support::{Answer, Seen, run};

const HEAD: &[u8] = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";

fuzz_target!(|input: &[u8]| {
    let Some((&[a, b], body)) = input.split_first_chunk::<2>() else {
        return;
    };
    let limits = Limits {
        body: 4096,
        chunk_extension_bytes: 64,
        trailer_bytes: 128,
        trailer_fields: 4,
        drain_bytes: 512,
        ..Limits::default()
    };
    let wire = [HEAD, body].concat();
    for answer in [Answer::AfterBody, Answer::AtOnce] {
        let whole = run(&limits, answer, [wire.as_slice()]);
        let (first, rest) = wire.split_at(HEAD.len() + usize::from(a) % (body.len() + 1));
        let (second, third) = rest.split_at(usize::from(b) % (rest.len() + 1));
        assert_eq!(run(&limits, answer, [first, second, third]), whole);
        assert_eq!(run(&limits, answer, wire.chunks(1)), whole);
        if answer == Answer::AfterBody {
            check(&whole.0, body);
        }
    }
});

/// A body that was read to its end is what a simple-minded decoder makes of it.
fn check(seen: &[Seen], body: &[u8]) {
    let data = match seen {
        [Seen::Head(_), Seen::Body(data), Seen::End(_), ..] => data.as_slice(),
        [Seen::Head(_), Seen::End(_), ..] => &[],
        _ => return,
    };
    assert!(data.len() <= 4096);
    assert_eq!(decode(body).as_deref(), Some(data));
}

fn decode(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    loop {
        // A quoted extension value holds no line end, so the first one ends the line.
        let end = body.windows(2).position(|w| w == b"\r\n")?;
        let line = std::str::from_utf8(&body[..end]).ok()?;
        let size = usize::from_str_radix(line.split(';').next()?, 16).ok()?;
        body = &body[end + 2..];
        if size == 0 {
            return Some(data);
        }
        data.extend_from_slice(body.get(..size)?);
        body = body.get(size..)?.strip_prefix(b"\r\n")?;
    }
}
