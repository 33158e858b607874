use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex};

use crate::Request;
use crate::body::{BodyWriter, StreamSink};
use crate::compress::{self, Wish, apply_wish};
use crate::request::testing::{get, request};
use crate::{Body, Response};

const CODINGS: [&str; 3] = ["gzip", "br", "zstd"];

fn decode(coding: &str, encoded: &[u8]) -> io::Result<Vec<u8>> {
    let mut plain = Vec::new();
    match coding {
        "gzip" => flate2::read::GzDecoder::new(encoded).read_to_end(&mut plain),
        "br" => brotli::Decompressor::new(encoded, 4096).read_to_end(&mut plain),
        "zstd" => zstd::stream::read::Decoder::new(encoded)?.read_to_end(&mut plain),
        _ => unreachable!("a coding of ours"),
    }?;
    Ok(plain)
}

/// What can be decoded of an encoded body that has not ended.
fn decode_so_far(coding: &str, encoded: &[u8]) -> Vec<u8> {
    let mut plain = vec![0; 1 << 16];
    let mut reader: Box<dyn Read + '_> = match coding {
        "gzip" => Box::new(flate2::read::GzDecoder::new(encoded)),
        "br" => Box::new(brotli::Decompressor::new(encoded, 4096)),
        _ => Box::new(zstd::stream::read::Decoder::new(encoded).unwrap()),
    };
    let mut length = 0;
    while let Ok(count @ 1..) = reader.read(&mut plain[length..]) {
        length += count;
    }
    plain.truncate(length);
    plain
}

fn page(length: usize) -> String {
    "All office locations of the tenant, and when they are open. "
        .chars()
        .cycle()
        .take(length)
        .collect()
}

fn apply(req: &Request, mut response: Response) -> Response {
    compress::apply(req, &mut response);
    response
}

fn ask(accept: &str, response: Response) -> Response {
    apply(&get("/", &format!("Accept-Encoding: {accept}")), response)
}

fn encoding(response: &Response) -> Option<&str> {
    response.get("content-encoding")
}

/// A connection that keeps what is sent.
#[derive(Clone, Default)]
struct Sent(Arc<Mutex<(Vec<u8>, usize)>>);

impl StreamSink for Sent {
    fn write(&mut self, data: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap().0.extend_from_slice(data);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().unwrap().1 += 1;
        Ok(())
    }

    fn trailer(&mut self, _: &str, _: &str) -> io::Result<()> {
        Ok(())
    }
}

impl Sent {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().0.clone()
    }

    fn flushes(&self) -> usize {
        self.0.lock().unwrap().1
    }
}

/// Runs the streamed body of a response as the driver does.
fn run_stream(response: Response) -> Vec<u8> {
    let sent = Sent::default();
    let Body::Stream(stream) = response.body else {
        panic!("a streamed body")
    };
    assert_eq!(stream.length, None, "an encoded body has no known length");
    let mut writer = BodyWriter::new(Box::new(sent.clone()));
    stream.run(&mut writer).unwrap();
    sent.bytes()
}

#[test]
fn whole_bodies_come_back_as_they_were() {
    for coding in CODINGS {
        for length in [860, 5_000, 300_000] {
            // Twice: the second uses the compressor of the first again.
            for _ in 0..2 {
                let text = page(length);
                let response = ask(coding, Response::text(text.clone()));
                assert_eq!(encoding(&response), Some(coding));
                assert_eq!(response.get("vary"), Some("Accept-Encoding"));
                let encoded = response.body_bytes().unwrap();
                assert!(encoded.len() < length / 2);
                assert_eq!(
                    decode(coding, encoded).unwrap(),
                    text.as_bytes(),
                    "{coding}"
                );
            }
        }
    }
}

#[test]
fn leaves_alone_what_is_not_worth_it_or_not_allowed() {
    let text = || Response::text(page(2000));
    let mut seed = 1_u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 56) as u8
    };
    let noise: Vec<u8> = (0..2000).map(|_| random()).collect();
    let all = "gzip, br, zstd";
    for (name, accept, response, varies) in [
        ("nothing accepted", "identity", text(), true),
        ("unknown coding", "deflate", text(), true),
        ("small", all, Response::text(page(859)), false),
        ("empty", all, Response::new(200), false),
        ("no content", all, text().status(204), false),
        ("not modified", all, text().status(304), false),
        ("partial", all, text().status(206), false),
        (
            "binary",
            all,
            Response::bytes(page(2000).into_bytes()),
            false,
        ),
        ("image", all, text().content_type("image/png"), false),
        (
            "encoded already",
            all,
            text().header("Content-Encoding", "gzip"),
            false,
        ),
        (
            "no-transform",
            all,
            text().header("Cache-Control", "public, No-Transform"),
            false,
        ),
        ("incompressible", all, Response::text("").body(noise), true),
    ] {
        let before = response.body_bytes().map(<[u8]>::to_vec);
        let had = encoding(&response).map(String::from);
        let response = ask(accept, response);
        assert_eq!(encoding(&response), had.as_deref(), "{name}");
        assert_eq!(response.body_bytes(), before.as_deref(), "{name}");
        assert_eq!(response.get("vary").is_some(), varies, "{name}");
    }
    let response = apply(&get("/", ""), text());
    assert_eq!(
        (encoding(&response), response.get("vary")),
        (None, Some("Accept-Encoding"))
    );
}

#[test]
fn knows_the_types_that_shrink() {
    for (kind, shrinks) in [
        ("text/html; charset=utf-8", true),
        ("TEXT/CSS", true),
        ("text/event-stream", true),
        ("application/json", true),
        ("application/problem+json", true),
        ("image/svg+xml", true),
        ("application/wasm", true),
        ("application/javascript", true),
        ("image/jpeg", false),
        ("video/mp4", false),
        ("application/zip", false),
        ("application/octet-stream", false),
        ("font/woff2", false),
    ] {
        let response = Response::text(page(2000)).content_type(kind);
        assert_eq!(
            encoding(&ask("gzip", response)).is_some(),
            shrinks,
            "{kind}"
        );
    }
}

#[test]
fn a_client_that_refuses_plain_bodies_gets_none() {
    let small = || {
        Response::text(
            "small but long enough to shrink shrink shrink shrink shrink shrink shrink shrink",
        )
    };
    assert_eq!(encoding(&ask("identity;q=0, gzip", small())), Some("gzip"));
    assert_eq!(ask("identity;q=0", small()).status_code(), 406);
    assert_eq!(ask("*;q=0", small()).status_code(), 406);
    assert_eq!(
        ask("*;q=0", small().status(404)).status_code(),
        404,
        "errors are always told"
    );
    assert_eq!(
        ask("*;q=0", Response::new(200)).status_code(),
        200,
        "there is no body to encode"
    );
}

#[test]
fn keeps_other_fields_true() {
    let response = Response::text(page(2000))
        .header("ETag", "\"abc\"")
        .header("Vary", "Origin")
        .header("Accept-Ranges", "bytes");
    let response = ask("gzip", response);
    assert_eq!(response.get("etag"), Some("W/\"abc\""));
    assert_eq!(response.get("accept-ranges"), None);
    let vary: Vec<_> = response
        .headers()
        .filter(|(name, _)| *name == "Vary")
        .collect();
    assert_eq!(vary, [("Vary", "Origin"), ("Vary", "Accept-Encoding")]);
    for vary in ["*", "Origin, accept-encoding"] {
        let response = ask("gzip", Response::text(page(2000)).header("Vary", vary));
        assert_eq!(
            response
                .headers()
                .filter(|(name, _)| *name == "Vary")
                .count(),
            1
        );
    }
    let weak = ask("gzip", Response::text(page(2000)).header("ETag", "W/\"x\""));
    assert_eq!(weak.get("etag"), Some("W/\"x\""));
}

#[test]
fn head_has_the_fields_of_get() {
    let head = request("HEAD / HTTP/1.1\nHost: a\nAccept-Encoding: br", b"");
    let response = apply(&head, Response::text(page(2000)));
    assert_eq!(encoding(&response), Some("br"));
    assert_eq!(
        response.body.length(),
        None,
        "the length would be that of the plain body"
    );
    let late = apply_wish(Wish::of(&head), Response::text(page(2000)));
    assert_eq!(encoding(&late), Some("br"));
}

#[test]
fn streams_are_encoded_while_they_are_written() {
    for coding in CODINGS {
        let response = ask(
            coding,
            Response::stream("text/plain", |body| {
                for number in 0..50_000 {
                    writeln!(body, "{number}")?;
                }
                Ok(())
            }),
        );
        assert_eq!(encoding(&response), Some(coding));
        let expected: String = (0..50_000).map(|number| format!("{number}\n")).collect();
        let encoded = run_stream(response);
        assert!(encoded.len() < expected.len() / 2);
        assert_eq!(
            decode(coding, &encoded).unwrap(),
            expected.as_bytes(),
            "{coding}"
        );
    }
}

#[test]
fn a_flush_brings_out_everything_written() {
    for coding in CODINGS {
        let sent = Sent::default();
        let outside = sent.clone();
        let response = ask(
            coding,
            Response::stream("text/event-stream", move |body| {
                for (count, event) in ["data: one\n\n", "data: two\n\n", "data: three\n\n"]
                    .iter()
                    .enumerate()
                {
                    body.write_all(event.as_bytes())?;
                    body.flush()?;
                    assert_eq!(outside.flushes(), count + 1);
                    let seen = decode_so_far(coding, &outside.bytes());
                    assert!(
                        seen.ends_with(event.as_bytes()),
                        "{coding}: {}",
                        seen.escape_ascii()
                    );
                }
                Ok(())
            }),
        );
        let Body::Stream(stream) = response.body else {
            panic!("a streamed body")
        };
        let mut writer = BodyWriter::new(Box::new(sent.clone()));
        stream.run(&mut writer).unwrap();
        let all = decode(coding, &sent.bytes()).unwrap();
        assert_eq!(all, b"data: one\n\ndata: two\n\ndata: three\n\n");
    }
}

#[test]
fn files_are_encoded_as_streams() {
    let mut file = tempfile::Builder::new().suffix(".css").tempfile().unwrap();
    let text = page(200_000);
    file.write_all(text.as_bytes()).unwrap();
    for coding in CODINGS {
        let response = ask(coding, Response::file(file.path()));
        assert_eq!(
            response.get("content-type"),
            Some("text/css; charset=utf-8")
        );
        assert!(response.get("etag").unwrap().starts_with("W/\""));
        assert_eq!(
            decode(coding, &run_stream(response)).unwrap(),
            text.as_bytes()
        );
    }
    let plain = ask("identity", Response::file(file.path()));
    assert!(matches!(plain.body_ref(), Body::File(_)));
}

#[test]
fn a_stream_that_fails_stays_a_failure() {
    let response = ask(
        "gzip",
        Response::stream("text/plain", |body| {
            body.write_all(b"some")?;
            Err(io::Error::other("broken"))
        }),
    );
    let Body::Stream(stream) = response.body else {
        panic!("a streamed body")
    };
    let mut writer = BodyWriter::new(Box::new(Sent::default()));
    assert!(stream.run(&mut writer).is_err());
}
