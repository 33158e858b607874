//! A request's head: owned, recyclable, the same for every HTTP version.

use crate::field::Field;
use crate::http1::ParseState;
use std::fmt;

/// A request method. Extension methods are [`Method::Other`]; their name is
/// [`RequestHead::method_str`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Delete,
    Connect,
    Options,
    Trace,
    Patch,
    /// Any other token.
    Other,
}

impl Method {
    /// The method of that name; names are case-sensitive.
    #[inline]
    pub fn from_bytes(name: &[u8]) -> Method {
        match name {
            b"GET" => Method::Get,
            b"HEAD" => Method::Head,
            b"POST" => Method::Post,
            b"PUT" => Method::Put,
            b"DELETE" => Method::Delete,
            b"CONNECT" => Method::Connect,
            b"OPTIONS" => Method::Options,
            b"TRACE" => Method::Trace,
            b"PATCH" => Method::Patch,
            _ => Method::Other,
        }
    }

    /// The name; empty for [`Method::Other`].
    #[inline]
    pub const fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Delete => "DELETE",
            Method::Connect => "CONNECT",
            Method::Options => "OPTIONS",
            Method::Trace => "TRACE",
            Method::Patch => "PATCH",
            Method::Other => "",
        }
    }
}

/// The protocol version of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum Version {
    Http10,
    Http11,
}

/// A part of the head's bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    /// Both ends are below `header_bytes`, which machines cap at `u32::MAX`.
    #[inline]
    pub(crate) fn new(start: usize, end: usize) -> Span {
        Span {
            start: start as u32,
            end: end as u32,
        }
    }

    #[inline]
    pub(crate) fn of(self, bytes: &[u8]) -> &[u8] {
        bytes
            .get(self.start as usize..self.end as usize)
            .unwrap_or(&[])
    }
}

/// One field line: where its name and value lie, and which well-known field it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) name: Span,
    pub(crate) value: Span,
    pub(crate) known: Option<Field>,
}

/// What has been understood of a head: everything but the bytes themselves.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) slots: Vec<Slot>,
    /// Set of the well-known fields among `slots`, by [`Field::bit`].
    pub(crate) present: u64,
    pub(crate) method: Method,
    pub(crate) version: Version,
    pub(crate) method_name: Span,
    pub(crate) target: Span,
    pub(crate) path: Span,
    pub(crate) query: Option<Span>,
    pub(crate) authority: Option<Span>,
    pub(crate) content_length: Option<u64>,
    pub(crate) chunked: bool,
    pub(crate) expects_continue: bool,
    /// How far the parser has come, while the head is incomplete.
    pub(crate) parse: ParseState,
}

const NOWHERE: Span = Span { start: 0, end: 0 };

impl Layout {
    pub(crate) const fn new() -> Layout {
        Layout {
            slots: Vec::new(),
            present: 0,
            method: Method::Other,
            version: Version::Http11,
            method_name: NOWHERE,
            target: NOWHERE,
            path: NOWHERE,
            query: None,
            authority: None,
            content_length: None,
            chunked: false,
            expects_continue: false,
            parse: ParseState::START,
        }
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        // One by one: cheaper than a new layout around the old vector.
        self.slots.clear();
        self.present = 0;
        self.method = Method::Other;
        self.version = Version::Http11;
        self.method_name = NOWHERE;
        self.target = NOWHERE;
        self.path = NOWHERE;
        self.query = None;
        self.authority = None;
        self.content_length = None;
        self.chunked = false;
        self.expects_continue = false;
        self.parse = ParseState::START;
    }

    #[inline]
    pub(crate) fn has(&self, field: Field) -> bool {
        self.present & field.bit() != 0
    }

    /// The first field of that kind.
    #[inline]
    pub(crate) fn find(&self, field: Field) -> Option<&Slot> {
        if !self.has(field) {
            return None;
        }
        self.slots.iter().find(|s| s.known == Some(field))
    }
}

/// Bytes and places of a trailer section.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trailers {
    pub(crate) bytes: Vec<u8>,
    pub(crate) slots: Vec<Slot>,
}

/// The head of a request, owning its bytes.
///
/// One buffer holds the head as it was sent; everything else is places in it. A head is made once,
/// filled by a protocol machine, and recycled with [`clear`](Self::clear), so that a steady stream
/// of requests allocates nothing.
#[derive(Clone)]
pub struct RequestHead {
    pub(crate) bytes: Vec<u8>,
    pub(crate) layout: Layout,
    pub(crate) trailers: Option<Box<Trailers>>,
}

/// Buffers above these sizes are given back by [`RequestHead::clear`].
const KEEP_BYTES: usize = 4096;
const KEEP_SLOTS: usize = 64;

impl RequestHead {
    /// An empty head; allocates nothing yet.
    pub const fn new() -> RequestHead {
        RequestHead {
            bytes: Vec::new(),
            layout: Layout::new(),
            trailers: None,
        }
    }

    /// Empties the head for the next request; keeps buffers of ordinary size.
    #[inline]
    pub fn clear(&mut self) {
        if self.bytes.capacity() > KEEP_BYTES {
            self.bytes = Vec::new();
        }
        if self.layout.slots.capacity() > KEEP_SLOTS {
            self.layout.slots = Vec::new();
        }
        self.bytes.clear();
        self.layout.clear();
        if self.trailers.is_some() {
            self.trailers = None;
        }
    }

    /// The method.
    #[inline]
    pub fn method(&self) -> Method {
        self.layout.method
    }

    /// The method's name, also of one that [`Method`] does not list.
    pub fn method_str(&self) -> &str {
        match self.layout.method {
            Method::Other => text(self.layout.method_name.of(&self.bytes)),
            known => known.as_str(),
        }
    }

    /// The protocol version.
    #[inline]
    pub fn version(&self) -> Version {
        self.layout.version
    }

    /// The request target as sent, in whatever form.
    #[inline]
    pub fn target(&self) -> &[u8] {
        self.layout.target.of(&self.bytes)
    }

    /// The path as sent: `/...`, or `*` for `OPTIONS *`. Percent-escapes are well-formed and hide
    /// no control characters. For `CONNECT` it is the authority. Never empty in a complete head.
    #[inline]
    pub fn path(&self) -> &[u8] {
        let span = self.layout.path;
        // An absolute target may have no path at all (`http://host` or `http://host?q`).
        if span.start == span.end && !self.target().is_empty() {
            return b"/";
        }
        span.of(&self.bytes)
    }

    /// What follows the first `?` of the target, as sent; `None` without a `?`.
    #[inline]
    pub fn query(&self) -> Option<&[u8]> {
        self.layout.query.map(|q| q.of(&self.bytes))
    }

    /// The server that is meant, `host` or `host:port`: the authority of an absolute target, else
    /// the `Host` field. Only HTTP/1.0 requests can lack it.
    #[inline]
    pub fn authority(&self) -> Option<&str> {
        self.layout.authority.map(|a| text(a.of(&self.bytes)))
    }

    /// All fields in the order and spelling in which they were sent.
    #[inline]
    pub fn fields(&self) -> Fields<'_> {
        Fields {
            bytes: &self.bytes,
            slots: self.layout.slots.iter(),
        }
    }

    /// How many fields there are.
    #[inline]
    pub fn field_count(&self) -> usize {
        self.layout.slots.len()
    }

    /// The value of the first field of that name, in any case.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        match Field::lookup(name.as_bytes()) {
            Some(field) => self.known(field),
            None => self.get_all(name).next(),
        }
    }

    /// The values of all fields of that name, in any case, in order.
    pub fn get_all<'h, 'n>(
        &'h self,
        name: &'n str,
    ) -> impl Iterator<Item = &'h [u8]> + use<'h, 'n> {
        self.layout
            .slots
            .iter()
            .filter(move |s| s.name.of(&self.bytes).eq_ignore_ascii_case(name.as_bytes()))
            .map(|s| s.value.of(&self.bytes))
    }

    /// The value of the first field of that kind. Fast, above all when there is none.
    #[inline]
    pub fn known(&self, field: Field) -> Option<&[u8]> {
        self.layout.find(field).map(|s| s.value.of(&self.bytes))
    }

    /// The body's length, where the request announces one.
    #[inline]
    pub fn content_length(&self) -> Option<u64> {
        self.layout.content_length
    }

    /// Does the body come in chunks, so that its length is not known?
    #[inline]
    pub fn is_chunked(&self) -> bool {
        self.layout.chunked
    }

    /// Does the client wait for `100 Continue` before it sends the body?
    #[inline]
    pub fn expects_continue(&self) -> bool {
        self.layout.expects_continue
    }

    /// The fields behind a chunked body; none before its end has been read.
    pub fn trailers(&self) -> Fields<'_> {
        match &self.trailers {
            Some(t) => Fields {
                bytes: &t.bytes,
                slots: t.slots.iter(),
            },
            None => Fields {
                bytes: &[],
                slots: [].iter(),
            },
        }
    }
}

impl Default for RequestHead {
    fn default() -> RequestHead {
        RequestHead::new()
    }
}

impl fmt::Debug for RequestHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestHead")
            .field("method", &self.method_str())
            .field("target", &text(self.target()))
            .field("version", &self.version())
            .field("fields", &self.field_count())
            .finish_non_exhaustive()
    }
}

/// Iterator over fields as pairs of name and value.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    bytes: &'a [u8],
    slots: std::slice::Iter<'a, Slot>,
}

impl<'a> Iterator for Fields<'a> {
    type Item = (&'a str, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let slot = self.slots.next()?;
        Some((text(slot.name.of(self.bytes)), slot.value.of(self.bytes)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.slots.size_hint()
    }
}

impl ExactSizeIterator for Fields<'_> {}

/// Bytes that the parser has found to be ASCII.
#[inline]
fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or("")
}
