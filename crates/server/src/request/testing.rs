//! Requests made from text, for the tests of this crate.

use std::io::{self, Read};

use stepwell_proto::{Limits, http1};

use crate::request::Request;

/// The request that a head in lines ended by `\n` would make, with a whole body.
pub(crate) fn request(head: &str, body: &[u8]) -> Request {
    let mut req = Request::new();
    let wire = format!("{}\r\n\r\n", head.trim_end().replace('\n', "\r\n"));
    let length = http1::parse_head(&mut req.head, wire.as_bytes(), &Limits::default());
    assert_eq!(
        length.expect("a head that is not refused"),
        Some(wire.len())
    );
    req.body.buffer().extend_from_slice(body);
    req
}

/// A GET of a target with header fields in lines.
pub(crate) fn get(target: &str, fields: &str) -> Request {
    request(&format!("GET {target} HTTP/1.1\nHost: a\n{fields}"), b"")
}

/// Bytes that arrive in pieces of a given length, cut at one further place.
pub(crate) struct Pieces {
    pub(crate) bytes: Vec<u8>,
    pub(crate) at: usize,
    pub(crate) length: usize,
    pub(crate) cut: usize,
}

impl Read for Pieces {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let next = if self.at < self.cut {
            self.cut
        } else {
            self.bytes.len()
        };
        let count = (next - self.at).min(self.length).min(into.len());
        into[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}
