//! Response heads as bytes.

use crate::field::Field;

/// The head of a response. The machine adds `Connection`, `Content-Length` and
/// `Transfer-Encoding`, and writes `Date` and `Content-Type` from here; `fields` are the others.
///
/// Names and values must have been checked where the application set them, by
/// [`crate::syntax::is_field_name`] and [`crate::syntax::is_field_value`]; the machine trusts them.
/// Fields that the machine itself writes (`Connection`, `Keep-Alive`, `Content-Length`,
/// `Transfer-Encoding`, `Date`) are left out wherever they occur in `fields`: two framings in one
/// message are worse than one field less.
#[derive(Clone, Copy, Debug)]
pub struct ResponseHead<'a, F = (&'a str, &'a str)> {
    /// Status, 200 to 999; anything else is sent as 500.
    pub status: u16,
    /// An IMF-fixdate, see [`crate::date::HttpDate`].
    pub date: &'a [u8; 29],
    /// `Content-Type`, if there is content.
    pub content_type: Option<&'a str>,
    /// All other fields, in order.
    pub fields: &'a [F],
}

/// A pair of field name and value, such as `(&str, &str)` or `(String, Vec<u8>)`.
pub trait AsField {
    /// The name: a token.
    fn name(&self) -> &str;
    /// The value, without line ends.
    fn value(&self) -> &[u8];
}

impl<N: AsRef<str>, V: AsRef<[u8]>> AsField for (N, V) {
    #[inline]
    fn name(&self) -> &str {
        self.0.as_ref()
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.1.as_ref()
    }
}

/// What the machine has to say about framing and connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// Neither length nor chunks.
    Silent,
    Known(u64),
    Chunked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connection {
    /// What the version does anyway.
    Default,
    Close,
    KeepAlive,
}

/// Appends a whole response head.
#[inline]
pub(super) fn head<F: AsField>(
    head: &ResponseHead<'_, F>,
    length: Length,
    connection: Connection,
    out: &mut Vec<u8>,
) {
    start(head.status, head.date, out);
    if let Some(content_type) = head.content_type {
        out.extend_from_slice(b"Content-Type: ");
        out.extend_from_slice(content_type.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    fields(head.fields, out);
    match length {
        Length::Silent => {}
        Length::Known(n) => {
            out.extend_from_slice(b"Content-Length: ");
            decimal(n, out);
            out.extend_from_slice(b"\r\n");
        }
        Length::Chunked => out.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
    }
    match connection {
        Connection::Default => {}
        Connection::Close => out.extend_from_slice(b"Connection: close\r\n"),
        Connection::KeepAlive => out.extend_from_slice(b"Connection: keep-alive\r\n"),
    }
    out.extend_from_slice(b"\r\n");
}

/// Appends the status line and `Date`; for the most usual status in one piece. The date goes over
/// a sample: building the lines elsewhere would read back what was written just before.
#[inline]
fn start(status: u16, date: &[u8; 29], out: &mut Vec<u8>) {
    if status == 200 {
        out.extend_from_slice(b"HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
    } else {
        status_line(status, out);
        out.extend_from_slice(b"Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
    }
    let end = out.len() - b"\r\n".len();
    out[end - date.len()..end].copy_from_slice(date);
}

/// Appends `fields` but those that the machine writes itself.
#[inline]
pub(super) fn fields<F: AsField>(fields: &[F], out: &mut Vec<u8>) {
    for field in fields {
        let name = field.name().as_bytes();
        if is_ours(name) {
            continue;
        }
        out.extend_from_slice(name);
        out.extend_from_slice(b": ");
        out.extend_from_slice(field.value());
        out.extend_from_slice(b"\r\n");
    }
}

#[inline]
fn is_ours(name: &[u8]) -> bool {
    matches!(name.len(), 4 | 10 | 14 | 17)
        && matches!(
            Field::lookup(name),
            Some(
                Field::Date
                    | Field::Connection
                    | Field::KeepAlive
                    | Field::ContentLength
                    | Field::TransferEncoding
            )
        )
}

#[inline]
pub(super) fn status_line(status: u16, out: &mut Vec<u8>) {
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(&[
        b'0' + (status / 100 % 10) as u8,
        b'0' + (status / 10 % 10) as u8,
        b'0' + (status % 10) as u8,
        b' ',
    ]);
    out.extend_from_slice(reason(status).as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Appends `n` in decimal, in place for the same reason as in [`start`].
#[inline]
pub(super) fn decimal(mut n: u64, out: &mut Vec<u8>) {
    let start = out.len();
    let end = start + n.checked_ilog10().unwrap_or(0) as usize + 1;
    out.extend_from_slice(b"00000000000000000000");
    out.truncate(end);
    for digit in out[start..].iter_mut().rev() {
        *digit = b'0' + (n % 10) as u8;
        n /= 10;
    }
}

/// Appends a chunk line: `n` in hex and a line end.
#[inline]
pub(super) fn chunk_line(n: usize, out: &mut Vec<u8>) {
    let digits = (usize::BITS - n.leading_zeros()).div_ceil(4).max(1);
    for i in (0..digits).rev() {
        out.push(b"0123456789abcdef"[(n >> (4 * i)) & 15]);
    }
    out.extend_from_slice(b"\r\n");
}

/// The registered reason phrase, or nothing.
const fn reason(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        101 => "Switching Protocols",
        102 => "Processing",
        103 => "Early Hints",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        203 => "Non-Authoritative Information",
        204 => "No Content",
        205 => "Reset Content",
        206 => "Partial Content",
        207 => "Multi-Status",
        208 => "Already Reported",
        226 => "IM Used",
        300 => "Multiple Choices",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        305 => "Use Proxy",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        407 => "Proxy Authentication Required",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        423 => "Locked",
        424 => "Failed Dependency",
        425 => "Too Early",
        426 => "Upgrade Required",
        428 => "Precondition Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        451 => "Unavailable For Legal Reasons",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        506 => "Variant Also Negotiates",
        507 => "Insufficient Storage",
        508 => "Loop Detected",
        511 => "Network Authentication Required",
        _ => "",
    }
}
