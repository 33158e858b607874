//! Responses compressed by what the client accepts and what is worth it.

mod encoder;
mod negotiate;
#[cfg(test)]
mod tests;

use std::io::{self, Read, Seek, SeekFrom, Write};

use stepwell_proto::{Field, Method};

use crate::body::{Body, FileBody, StreamBody};
use crate::bytes::Bytes;
use crate::fields::lists_token;
use crate::request::Request;
use crate::response::Response;
use crate::status;

pub(crate) use encoder::Encoder;
pub(crate) use negotiate::Accepted;
use negotiate::Coding;

/// Bodies below this many bytes fit one packet with their head: encoding them saves nothing.
const LEAST: u64 = 860;

/// Files are encoded in pieces of this many bytes.
const FILE_PIECE: usize = 64 * 1024;

/// What of a request decides about compression, for responses that come after it is gone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    accepted: Accepted,
    /// Whether a body will be sent at all.
    has_body: bool,
}

impl Wish {
    pub(crate) fn of(req: &Request) -> Self {
        let accepted = match req.head.known(Field::AcceptEncoding) {
            None => Accepted::default(),
            Some(_) => Accepted::parse(req.head.get_all("accept-encoding")),
        };
        Self {
            accepted,
            has_body: req.head.method() != Method::Head,
        }
    }
}

/// Encodes a response to a request where that is wanted and worth it. In place, because moving a
/// response around costs more than looking at it.
#[inline]
pub(crate) fn apply(req: &Request, response: &mut Response) {
    // The usual answer is small: then only a client that refuses plain bodies gets it encoded.
    let small = response.body.length().is_some_and(|length| length < LEAST);
    if !small || has_weights(req) {
        let plain = std::mem::replace(response, Response::new(status::OK));
        *response = apply_wish(Wish::of(req), plain);
    }
}

/// Whether the client weighs codings: without a weight it refuses nothing.
fn has_weights(req: &Request) -> bool {
    req.head.known(Field::AcceptEncoding).is_some()
        && req
            .head
            .get_all("accept-encoding")
            .any(|value| memchr::memchr(b';', value).is_some())
}

/// The same for a request that is gone.
pub(crate) fn apply_wish(wish: Wish, mut response: Response) -> Response {
    if !may_encode(&response) {
        return response;
    }
    let Accepted {
        coding,
        refuses_plain,
    } = wish.accepted;
    let worth = is_worth_it(&response);
    if worth {
        add_vary(&mut response);
    }
    match coding {
        Some(coding) if worth || refuses_plain => encode(response, coding, wish.has_body),
        None if refuses_plain && response.status < 300 => {
            Response::plain(status::NOT_ACCEPTABLE).header("Vary", "Accept-Encoding")
        }
        _ => response,
    }
}

/// Whether another client might get this response encoded.
pub(crate) fn may_vary(response: &Response) -> bool {
    may_encode(response) && is_worth_it(response)
}

/// Whether the body is long enough and of a type to become notably smaller.
fn is_worth_it(response: &Response) -> bool {
    let small = response.body.length().is_some_and(|length| length < LEAST);
    !small && is_compressible(response.content_type.as_deref().unwrap_or_default())
}

/// Whether this response may be changed at all.
fn may_encode(response: &Response) -> bool {
    let has_body = !matches!(response.body, Body::Empty) && !status::forbids_body(response.status);
    has_body
        && response.status != status::PARTIAL_CONTENT
        && response.get("content-encoding").is_none()
        && !response.headers().any(|(name, value)| {
            name.eq_ignore_ascii_case("cache-control") && lists_token(value, "no-transform")
        })
}

/// Whether bytes of this content type become notably smaller: text in some form, not what is
/// compressed already. Event streams count: each event is flushed through the encoder.
fn is_compressible(content_type: &str) -> bool {
    let kind = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    kind.starts_with("text/")
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
        || matches!(
            &*kind,
            "application/javascript"
                | "application/json"
                | "application/manifest"
                | "application/rtf"
                | "application/vnd.ms-fontobject"
                | "application/wasm"
                | "application/x-javascript"
                | "application/x-ndjson"
                | "application/xml"
                | "application/yaml"
                | "font/otf"
                | "font/ttf"
                | "image/bmp"
                | "image/vnd.microsoft.icon"
                | "image/x-icon"
        )
}

pub(crate) fn add_vary(response: &mut Response) {
    let varies = response.headers().any(|(name, value)| {
        name.eq_ignore_ascii_case("vary")
            && (lists_token(value, "accept-encoding") || lists_token(value, "*"))
    });
    if !varies {
        response.push("Vary", "Accept-Encoding");
    }
}

fn encode(mut response: Response, coding: Coding, has_body: bool) -> Response {
    let body = std::mem::take(&mut response.body);
    let body = match body {
        // The answer to HEAD has the fields of the answer to GET; its length needs no encoding.
        Body::Bytes(_) | Body::File(_) if !has_body => Body::Stream(StreamBody::new(|_| Ok(()))),
        Body::Bytes(bytes) => match encode_bytes(&bytes, coding) {
            // What grew or failed goes as it is.
            Ok(encoded) if encoded.len() < bytes.len() => Body::Bytes(Bytes::from(encoded)),
            Ok(_) | Err(_) => {
                response.body = Body::Bytes(bytes);
                return response;
            }
        },
        Body::File(file) => Body::Stream(encode_stream(file_stream(file), coding)),
        Body::Stream(stream) => Body::Stream(encode_stream(stream, coding)),
        Body::Empty => Body::Empty,
    };
    response.body = body;
    response.push("Content-Encoding", coding.name());
    weaken_etag(&mut response);
    // Pieces of an encoded body would be pieces of the wrong thing.
    response
        .fields
        .retain(|field| !field.name.eq_ignore_ascii_case("accept-ranges"));
    response
}

fn encode_bytes(bytes: &[u8], coding: Coding) -> io::Result<Vec<u8>> {
    let mut encoded = Vec::with_capacity(bytes.len() / 3 + 256);
    let mut encoder = Encoder::new(coding)?;
    encoder.expect(bytes.len() as u64)?;
    encoder.write(bytes, &mut encoded)?;
    encoder.finish(&mut encoded)?;
    Ok(encoded)
}

fn encode_stream(stream: StreamBody, coding: Coding) -> StreamBody {
    StreamBody::new(move |writer| {
        writer.encode_with(Encoder::new(coding)?);
        stream.run(writer)?;
        writer.finish_encoding()
    })
}

/// A file as a stream that can be encoded.
fn file_stream(body: FileBody) -> StreamBody {
    StreamBody::new(move |writer| {
        let FileBody {
            mut file,
            offset,
            length,
        } = body;
        file.seek(SeekFrom::Start(offset))?;
        let mut piece = vec![0; FILE_PIECE];
        let mut rest = file.take(length);
        loop {
            let count = rest.read(&mut piece)?;
            match piece.get(..count) {
                Some(data) if count > 0 => writer.write_all(data)?,
                _ => break,
            }
        }
        match rest.limit() {
            0 => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    })
}

/// Two encodings of one thing are not the same bytes: a strong tag would promise that they are.
fn weaken_etag(response: &mut Response) {
    for field in &mut response.fields {
        if field.name.eq_ignore_ascii_case("etag") && field.value.starts_with('"') {
            field.value = format!("W/{}", field.value).into();
        }
    }
}
