//! The decoder of chunked bodies (RFC 9112 §7.1), byte by byte resumable and strict: line ends are
//! CRLF, sizes are hex digits alone, extensions follow their grammar without optional blanks.

use super::error::{Error, ErrorKind};
use super::parse::{self, ParseState};
use crate::field::Field;
use crate::head::{Layout, Trailers};
use crate::limits::Limits;
use crate::syntax;

/// Where the decoder stands between two pieces of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In the digits of a chunk size.
    Size,
    /// In a chunk extension.
    Extension(Extension),
    /// Before the line feed of a chunk line.
    SizeLf,
    /// In the data, so many bytes before its end.
    Data(u64),
    /// Before the CR that follows the data.
    DataCr,
    /// Before the LF that follows the data.
    DataLf,
    /// In the trailer section.
    Trailers,
}

/// Where in `;name=value` the decoder stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extension {
    NameStart,
    Name,
    ValueStart,
    Value,
    Quoted,
    Escaped,
    QuotedEnd,
}

/// Decodes one body.
#[derive(Debug)]
pub(crate) struct Chunked {
    state: State,
    /// The size read so far in a chunk line, and its digits.
    size: u64,
    digits: u8,
    /// Extension bytes of this line and of all lines.
    extension: u64,
    extensions: u64,
    /// Data bytes of all chunks that have begun.
    announced: u64,
    section: Option<Box<Section>>,
}

/// A trailer section that does not consist of the empty line alone.
#[derive(Debug)]
struct Section {
    bytes: Vec<u8>,
    layout: Layout,
}

/// A step of decoding.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Decoded<'a> {
    /// The input is used up.
    More,
    /// A piece of data, not empty.
    Data(&'a [u8]),
    /// The body and its trailers are complete.
    End,
}

/// More digits than a `u64` can hold are refused, even if they are zeros.
const DIGITS_MAX: u8 = 16;

impl Chunked {
    pub(crate) const fn new() -> Chunked {
        Chunked {
            state: State::Size,
            size: 0,
            digits: 0,
            extension: 0,
            extensions: 0,
            announced: 0,
            section: None,
        }
    }

    /// Takes the next step; `most` bounds the data of the whole body.
    pub(crate) fn decode<'a>(
        &mut self,
        input: &mut &'a [u8],
        limits: &Limits,
        most: u64,
    ) -> Result<Decoded<'a>, Error> {
        loop {
            if let State::Trailers = self.state {
                return self.trailers(input, limits);
            }
            let Some((&b, rest)) = input.split_first() else {
                return Ok(Decoded::More);
            };
            match self.state {
                State::Data(left) => {
                    let take = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
                    let (data, rest) = input.split_at(take);
                    *input = rest;
                    let left = left - take as u64;
                    self.state = if left == 0 {
                        State::DataCr
                    } else {
                        State::Data(left)
                    };
                    return Ok(Decoded::Data(data));
                }
                State::Size => self.size_byte(b)?,
                State::Extension(at) => self.extension_byte(at, b, limits)?,
                State::SizeLf if b == b'\n' => self.line_end(most)?,
                State::SizeLf => return Err(ErrorKind::BareCr.into()),
                State::DataCr if b == b'\r' => self.state = State::DataLf,
                State::DataLf if b == b'\n' => self.state = State::Size,
                State::DataCr | State::DataLf | State::Trailers => {
                    return Err(ErrorKind::ChunkEnd.into());
                }
            }
            *input = rest;
        }
    }

    fn size_byte(&mut self, b: u8) -> Result<(), Error> {
        let digit = match b {
            b'0'..=b'9' => b - b'0',
            b'a'..=b'f' => b - b'a' + 10,
            b'A'..=b'F' => b - b'A' + 10,
            b'\r' if self.digits > 0 => {
                self.state = State::SizeLf;
                return Ok(());
            }
            b';' if self.digits > 0 => {
                self.extension = 0;
                self.state = State::Extension(Extension::NameStart);
                return Ok(());
            }
            b'\n' if self.digits > 0 => return Err(ErrorKind::BareLf.into()),
            _ => return Err(ErrorKind::ChunkSize.into()),
        };
        if self.digits == DIGITS_MAX {
            return Err(ErrorKind::ChunkSize.into());
        }
        self.digits += 1;
        self.size = self.size << 4 | u64::from(digit);
        Ok(())
    }

    fn extension_byte(&mut self, at: Extension, b: u8, limits: &Limits) -> Result<(), Error> {
        use Extension::*;
        let next = match (at, b) {
            (Name | Value | QuotedEnd, b'\r') => {
                self.state = State::SizeLf;
                return Ok(());
            }
            (Name | Value | QuotedEnd, b';') => NameStart,
            (Name, b'=') => ValueStart,
            (NameStart | Name, _) if syntax::is_token_byte(b) => Name,
            (ValueStart, b'"') => Quoted,
            (ValueStart | Value, _) if syntax::is_token_byte(b) => Value,
            (Quoted, b'"') => QuotedEnd,
            (Quoted, b'\\') => Escaped,
            (Quoted, _) if syntax::is_quoted_byte(b) => Quoted,
            (Escaped, b'"' | b'\\') => Quoted,
            (Escaped, _) if syntax::is_quoted_byte(b) => Quoted,
            (_, b'\n') => return Err(ErrorKind::BareLf.into()),
            _ => return Err(ErrorKind::ChunkExtension.into()),
        };
        // Data earns room for more extensions: signed chunks carry one each, an attack no data.
        self.extension += 1;
        self.extensions += 1;
        let earned = limits.chunk_extension_bytes.saturating_add(self.announced);
        if self.extension > limits.chunk_extension_bytes || self.extensions > earned {
            return Err(ErrorKind::ChunkExtensionTooLong.into());
        }
        self.state = State::Extension(next);
        Ok(())
    }

    fn line_end(&mut self, most: u64) -> Result<(), Error> {
        let size = std::mem::take(&mut self.size);
        self.digits = 0;
        self.announced = self.announced.saturating_add(size);
        if self.announced > most {
            return Err(ErrorKind::BodyTooLarge.into());
        }
        self.state = if size == 0 {
            State::Trailers
        } else {
            State::Data(size)
        };
        Ok(())
    }

    fn trailers<'a>(
        &mut self,
        input: &mut &'a [u8],
        limits: &Limits,
    ) -> Result<Decoded<'a>, Error> {
        if self.section.is_none() {
            if let Some(rest) = input.strip_prefix(b"\r\n") {
                *input = rest;
                return Ok(Decoded::End);
            }
            if input.is_empty() {
                return Ok(Decoded::More);
            }
        }
        let section = self.section.get_or_insert_with(|| {
            let mut layout = Layout::new();
            layout.parse = ParseState::FIELDS;
            Box::new(Section {
                bytes: Vec::new(),
                layout,
            })
        });
        let Section { bytes, layout } = &mut **section;
        let end = parse::accumulate(bytes, input, limits.trailer_bytes, |all| {
            parse::trailers(layout, all, limits)
        })?;
        Ok(if end.is_some() {
            Decoded::End
        } else {
            Decoded::More
        })
    }

    /// What the trailer section held, after [`Decoded::End`].
    pub(crate) fn take_trailers(&mut self) -> Option<Box<Trailers>> {
        let Section { bytes, layout } = *self.section.take()?;
        if layout.slots.is_empty() {
            return None;
        }
        Some(Box::new(Trailers {
            bytes,
            slots: layout.slots,
        }))
    }
}

/// Fields that decide about framing, routing, access or the meaning of the content come before it
/// or not at all (RFC 9110 §6.5.1).
pub(crate) fn is_forbidden_trailer(field: Field) -> bool {
    use Field::*;
    matches!(
        field,
        Authorization
            | CacheControl
            | Connection
            | ContentEncoding
            | ContentLength
            | ContentRange
            | ContentType
            | Cookie
            | Expect
            | Forwarded
            | Host
            | IfMatch
            | IfModifiedSince
            | IfNoneMatch
            | IfRange
            | IfUnmodifiedSince
            | KeepAlive
            | MaxForwards
            | Pragma
            | Proxy
            | ProxyAuthorization
            | Range
            | SetCookie
            | Te
            | Trailer
            | TransferEncoding
            | Upgrade
            | Via
            | XForwardedFor
            | XForwardedHost
            | XForwardedProto
    )
}
