//! The head parser: one pass, left to right, resumable at any byte.
//!
//! The same code runs over a head that is there as a whole and over one that arrives byte by byte:
//! a scan that meets the end of the bytes notes where it stood and goes on from there. Whether a
//! head is refused, and why, depends only on its bytes and never on how they were cut.

use super::error::{Error, ErrorKind};
use super::{chunked, framing, target};
use crate::field::Field;
use crate::head::{Layout, Method, Slot, Span, Version};
use crate::limits::Limits;
use crate::syntax;

/// Methods longer than this are refused; the longest registered one has 17 letters.
const METHOD_MAX: usize = 32;

/// Sections are never longer, whatever the limits say, so that places fit a `u32`.
const BYTES_MAX: usize = 1 << 30;

/// Where the parser stands in an incomplete head.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParseState {
    phase: Phase,
    /// First byte of the method, target, version, field name or field value that is being read.
    start: u32,
    /// First byte that has not been looked at.
    at: u32,
    /// The field name in front of a value that is being read.
    name: Span,
    known: Option<Field>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Start,
    Method,
    Target,
    Version,
    Name,
    Value,
}

impl ParseState {
    pub(crate) const START: ParseState = ParseState {
        phase: Phase::Start,
        start: 0,
        at: 0,
        name: Span { start: 0, end: 0 },
        known: None,
    };

    /// The start of a section that has no request line: trailers.
    pub(crate) const FIELDS: ParseState = ParseState {
        phase: Phase::Name,
        ..ParseState::START
    };

    /// Has no byte of a request been seen, at most an empty line?
    pub(crate) fn is_blank(&self) -> bool {
        self.phase == Phase::Start || (self.phase == Phase::Method && self.start == self.at)
    }

    fn partial(&mut self, phase: Phase, start: usize, at: usize) -> Step {
        self.phase = phase;
        self.start = start as u32;
        self.at = at as u32;
        Ok(None)
    }
}

/// `None`: the bytes end before the thing does. `Some(i)`: it ends before byte `i`.
type Step = Result<Option<usize>, Error>;

/// Reads a request's head from the front of `bytes`, going on where the last call stopped;
/// `bytes` must begin with the bytes of that call. Gives the head's length when it is complete.
#[inline]
pub(crate) fn head(layout: &mut Layout, bytes: &[u8], limits: &Limits) -> Step {
    let window = &bytes[..bytes.len().min(limits.header_bytes).min(BYTES_MAX)];
    if !matches!(layout.parse.phase, Phase::Name | Phase::Value) {
        match request_line(layout, window, limits)? {
            Some(end) => {
                layout.parse.phase = Phase::Name;
                layout.parse.start = end as u32;
                layout.parse.at = end as u32;
            }
            None => return too_long(bytes, window, ErrorKind::HeadTooLarge),
        }
    }
    match fields(
        layout,
        window,
        limits.header_fields,
        ErrorKind::TooManyFields,
    )? {
        Some(end) => {
            framing::check(layout, window)?;
            Ok(Some(end))
        }
        None => too_long(bytes, window, ErrorKind::HeadTooLarge),
    }
}

/// Reads a trailer section the same way; gives its length with the empty line.
pub(crate) fn trailers(layout: &mut Layout, bytes: &[u8], limits: &Limits) -> Step {
    let window = &bytes[..bytes.len().min(limits.trailer_bytes).min(BYTES_MAX)];
    let end = match fields(
        layout,
        window,
        limits.trailer_fields,
        ErrorKind::TooManyTrailers,
    )? {
        Some(end) => end,
        None => return too_long(bytes, window, ErrorKind::TrailersTooLarge),
    };
    if layout
        .slots
        .iter()
        .filter_map(|s| s.known)
        .any(chunked::is_forbidden_trailer)
    {
        return Err(ErrorKind::TrailerForbidden.into());
    }
    Ok(Some(end))
}

/// Bytes that are copied at once to complete a section: more than most sections have, and little
/// enough to copy in vain when pipelined requests follow.
const STEP: usize = 1024;

/// Moves `input` to `bytes` until `parse` finds the end of a section in them, at most `most` bytes
/// and one: `parse` refuses what is longer.
pub(crate) fn accumulate(
    bytes: &mut Vec<u8>,
    input: &mut &[u8],
    most: usize,
    mut parse: impl FnMut(&[u8]) -> Step,
) -> Step {
    while !input.is_empty() {
        let had = bytes.len();
        let room = most.min(BYTES_MAX).saturating_add(1).saturating_sub(had);
        let take = input.len().min(room.max(1)).min(STEP);
        bytes.extend_from_slice(&input[..take]);
        match parse(bytes)? {
            Some(end) => {
                bytes.truncate(end);
                *input = &input[end.saturating_sub(had).min(take)..];
                return Ok(Some(end));
            }
            None => *input = &input[take..],
        }
    }
    Ok(None)
}

#[cold]
fn too_long(bytes: &[u8], window: &[u8], kind: ErrorKind) -> Step {
    if bytes.len() > window.len() {
        Err(kind.into())
    } else {
        Ok(None)
    }
}

#[inline]
fn request_line(layout: &mut Layout, bytes: &[u8], limits: &Limits) -> Step {
    // One empty line may stand before a request (RFC 9112 §2.2): it takes part in no limit of the
    // line, nor does the line end.
    let skipped = if bytes.first() == Some(&b'\r') { 2 } else { 0 };
    let longest = limits.request_line.saturating_add(skipped + 2);
    let window = &bytes[..bytes.len().min(longest)];
    if layout.parse.phase == Phase::Start {
        if let Some(end) = usual_request_line(layout, window) {
            return Ok(Some(end));
        }
    }
    match request_line_in(layout, window)? {
        None => too_long(bytes, window, ErrorKind::RequestLineTooLong),
        done => Ok(done),
    }
}

/// Reads a whole request line with a registered method and a path without escapes in one go. It
/// accepts nothing that [`request_line_in`] refuses, and leaves to it whatever is out of line.
#[inline]
fn usual_request_line(layout: &mut Layout, bytes: &[u8]) -> Option<usize> {
    let first = u64::from_le_bytes(*bytes.first_chunk()?);
    let (name, method) = *METHODS.iter().find(|(name, _)| starts_with(first, name))?;
    let start = name.len();
    if *bytes.get(start)? != b'/' {
        return None;
    }
    let path_end = syntax::find_plain_path_end(bytes, start + 1);
    let mut end = path_end;
    if *bytes.get(end)? == b'?' {
        end = syntax::find_target_end(bytes, path_end + 1);
        layout.query = Some(Span::new(path_end + 1, end));
    }
    let Some(version) = usual_version(bytes, end) else {
        layout.query = None;
        return None;
    };
    layout.version = version;
    layout.method = method;
    layout.method_name = Span::new(0, start - 1);
    layout.target = Span::new(start, end);
    layout.path = Span::new(start, path_end);
    Some(end + VERSION_LINE + 1)
}

/// Which version the line ends in, space and line end included; two overlapping words of it.
#[inline]
fn usual_version(bytes: &[u8], at: usize) -> Option<Version> {
    const FIRST: u64 = u64::from_le_bytes(*b" HTTP/1.");
    const LAST_11: u64 = u64::from_le_bytes(*b"TP/1.1\r\n");
    const LAST_10: u64 = u64::from_le_bytes(*b"TP/1.0\r\n");
    let line = bytes.get(at..)?.first_chunk::<{ VERSION_LINE + 1 }>()?;
    if u64::from_le_bytes(*line.first_chunk()?) != FIRST {
        return None;
    }
    match u64::from_le_bytes(*line.last_chunk()?) {
        LAST_11 => Some(Version::Http11),
        LAST_10 => Some(Version::Http10),
        _ => None,
    }
}

/// With the space behind them; `CONNECT` has no path and `TRACE` no users.
const METHODS: [(&[u8], Method); 7] = [
    (b"GET ", Method::Get),
    (b"POST ", Method::Post),
    (b"HEAD ", Method::Head),
    (b"PUT ", Method::Put),
    (b"DELETE ", Method::Delete),
    (b"PATCH ", Method::Patch),
    (b"OPTIONS ", Method::Options),
];

/// Are these the first bytes of a word? There are at most eight.
#[inline(always)]
fn starts_with(word: u64, name: &[u8]) -> bool {
    let mut bytes = [0; 8];
    bytes[..name.len()].copy_from_slice(name);
    let want = u64::from_le_bytes(bytes);
    let unused = 8 * (8 - name.len() as u32);
    (word ^ want) << unused == 0
}

#[inline(never)]
fn request_line_in(layout: &mut Layout, bytes: &[u8]) -> Step {
    let (mut start, mut at) = (layout.parse.start as usize, layout.parse.at as usize);
    if layout.parse.phase == Phase::Start {
        match empty_line(bytes)? {
            Some(end) => (start, at) = (end, end),
            None => return layout.parse.partial(Phase::Start, 0, 0),
        }
        layout.parse.phase = Phase::Method;
    }
    if layout.parse.phase == Phase::Method {
        let Some(end) = method(bytes, start, at)? else {
            return layout.parse.partial(Phase::Method, start, bytes.len());
        };
        layout.method = Method::from_bytes(&bytes[start..end]);
        layout.method_name = Span::new(start, end);
        (start, at) = (end + 1, end + 1);
        layout.parse.phase = Phase::Target;
    }
    if layout.parse.phase == Phase::Target {
        let end = syntax::find_target_end(bytes, at);
        match bytes.get(end) {
            None => return layout.parse.partial(Phase::Target, start, end),
            Some(b' ') => target::check(layout, bytes, start, end)?,
            Some(_) => return Err(ErrorKind::TargetByte.into()),
        }
        start = end + 1;
    }
    match version(bytes, start)? {
        Some(v) => {
            layout.version = v;
            Ok(Some(start + VERSION_LINE))
        }
        None => layout.parse.partial(Phase::Version, start, start),
    }
}

/// Skips at most one empty line.
fn empty_line(bytes: &[u8]) -> Step {
    match bytes {
        [] | [b'\r'] => Ok(None),
        [b'\r', b'\n', ..] => Ok(Some(2)),
        [b'\r', ..] => Err(ErrorKind::BareCr.into()),
        [b'\n', ..] => Err(ErrorKind::BareLf.into()),
        _ => Ok(Some(0)),
    }
}

/// The end of a method, which is followed by one space.
fn method(bytes: &[u8], start: usize, at: usize) -> Step {
    let end = syntax::find_token_end(bytes, at);
    if end - start > METHOD_MAX {
        return Err(ErrorKind::MethodTooLong.into());
    }
    match bytes.get(end) {
        None => Ok(None),
        Some(b' ') if end > start => Ok(Some(end)),
        Some(_) => Err(ErrorKind::Method.into()),
    }
}

/// Length of `HTTP/x.y` and the line end.
const VERSION_LINE: usize = 10;

fn version(bytes: &[u8], start: usize) -> Result<Option<Version>, Error> {
    let line = &bytes[start.min(bytes.len())..];
    if let Some(line) = line.first_chunk::<VERSION_LINE>() {
        match line {
            b"HTTP/1.1\r\n" => return Ok(Some(Version::Http11)),
            b"HTTP/1.0\r\n" => return Ok(Some(Version::Http10)),
            _ => {}
        }
    }
    // Not what it should be, or not all there: the first byte that does not fit decides.
    for (i, (&b, &want)) in line.iter().zip(b"HTTP/0.0\r\n").enumerate() {
        let fits = if want == b'0' {
            b.is_ascii_digit()
        } else {
            b == want
        };
        if !fits {
            return Err(match (i, b) {
                (_, b'\n') => ErrorKind::BareLf.into(),
                (9, _) => ErrorKind::BareCr.into(),
                _ => ErrorKind::Version.into(),
            });
        }
    }
    if line.len() >= VERSION_LINE {
        Err(ErrorKind::VersionUnsupported.into())
    } else {
        Ok(None)
    }
}

/// Reads field lines up to and with the empty line that ends them.
#[inline(always)]
fn fields(layout: &mut Layout, bytes: &[u8], most: usize, many: ErrorKind) -> Step {
    let mut start = layout.parse.start as usize;
    let mut at = layout.parse.at as usize;
    let mut in_value = layout.parse.phase == Phase::Value;
    let (mut name, mut known) = (layout.parse.name, layout.parse.known);
    loop {
        if !in_value {
            match bytes.get(start) {
                Some(b'\r') => match bytes.get(start + 1) {
                    Some(b'\n') => return Ok(Some(start + 2)),
                    Some(_) => return Err(ErrorKind::BareCr.into()),
                    None => return layout.parse.partial(Phase::Name, start, start),
                },
                Some(_) if layout.slots.len() >= most => return Err(many.into()),
                _ => {}
            }
            let end;
            (end, known) = match well_known(bytes, start) {
                Some((end, field)) => (end, Some(field)),
                None => match other_name(bytes, start, at)? {
                    Ok(found) => found,
                    Err(seen) => return layout.parse.partial(Phase::Name, start, seen),
                },
            };
            name = Span::new(start, end);
            start = end + 1;
            at = start;
        }
        let end = syntax::find_value_end(bytes, at);
        match (bytes.get(end), bytes.get(end + 1)) {
            (Some(b'\r'), Some(b'\n')) => {}
            (None, _) | (Some(b'\r'), None) => {
                (layout.parse.name, layout.parse.known) = (name, known);
                return layout.parse.partial(Phase::Value, start, end);
            }
            (Some(b'\r'), Some(_)) => return Err(ErrorKind::BareCr.into()),
            (Some(b'\n'), _) => return Err(ErrorKind::BareLf.into()),
            (Some(_), _) => return Err(ErrorKind::FieldValue.into()),
        }
        let value = trim(bytes, start, end);
        if let Some(field) = known {
            if layout.has(field) {
                framing::repeated(field)?;
            }
            if field == Field::ContentLength {
                layout.content_length = Some(framing::content_length(&bytes[start..end])?);
            }
            layout.present |= field.bit();
        }
        layout.slots.push(Slot { name, value, known });
        start = end + 2;
        at = start;
        in_value = false;
    }
}

/// The end of a name of at most sixteen bytes that is well-known, and which it is.
#[inline]
fn well_known(bytes: &[u8], start: usize) -> Option<(usize, Field)> {
    let (low, high) = syntax::block(bytes, start)?;
    let (in_low, in_high) = syntax::colons((low, high));
    let len = syntax::lowest(in_low, in_high);
    let (low, high) = if in_low != 0 {
        (low & keep(len), 0)
    } else if in_high != 0 {
        (low, high & keep(len - 8))
    } else {
        return None;
    };
    Some((start + len, Field::lookup_short(low, high, len)?))
}

/// A mask of the lowest `n` bytes, `n` less than 8.
#[inline]
fn keep(n: usize) -> u64 {
    (1u64 << (8 * n)) - 1
}

/// The end of any name, with the field if it is a well-known one after all. `Ok(Err(i))`: the name
/// is fine as far as the bytes go, which is up to `i`.
#[inline(never)]
fn other_name(
    bytes: &[u8],
    start: usize,
    at: usize,
) -> Result<Result<(usize, Option<Field>), usize>, Error> {
    let end = syntax::find_token_end(bytes, at);
    match bytes.get(end) {
        Some(b':') if end > start => {}
        Some(&b) => return Err(name_error(b, end == start).into()),
        None => return Ok(Err(end)),
    }
    let name = &bytes[start..end];
    if is_confusable(name) {
        return Err(ErrorKind::FieldNameConfusable.into());
    }
    Ok(Ok((end, Field::lookup(name))))
}

fn name_error(b: u8, first: bool) -> ErrorKind {
    match b {
        b' ' | b'\t' if first => ErrorKind::ObsFold,
        b' ' | b'\t' => ErrorKind::FieldNameSpace,
        b'\r' => ErrorKind::FieldNoColon,
        b'\n' => ErrorKind::BareLf,
        _ => ErrorKind::FieldName,
    }
}

/// `Content_Length` and `Transfer_Encoding`: gateways that fold `_` into `-` would see another
/// body than we do.
fn is_confusable(name: &[u8]) -> bool {
    const FRAMING: [&[u8]; 2] = [b"content-length", b"transfer-encoding"];
    FRAMING.iter().any(|real| {
        name.len() == real.len()
            && name.contains(&b'_')
            && name
                .iter()
                .zip(*real)
                .all(|(&n, &r)| n.to_ascii_lowercase() == r || (n == b'_' && r == b'-'))
    })
}

/// Without blanks and tabs around the value.
#[inline]
fn trim(bytes: &[u8], start: usize, end: usize) -> Span {
    let value = bytes.get(start..end).unwrap_or(&[]);
    // Nearly always there is one blank in front and none behind.
    match value {
        [b' ', rest @ ..] if !matches!(rest, [b' ' | b'\t', ..] | [.., b' ' | b'\t']) => {
            Span::new(start + 1, end)
        }
        _ => trim_all(value, start),
    }
}

fn trim_all(value: &[u8], start: usize) -> Span {
    let blank = |b: &&u8| matches!(**b, b' ' | b'\t');
    let before = value.iter().take_while(blank).count();
    let behind = value[before..].iter().rev().take_while(blank).count();
    Span::new(start + before, start + value.len() - behind)
}
