//! What a handler answers.

mod attachment;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::Path;

use serde::Serialize;

use crate::body::{Body, BodyWriter, FileBody, StreamBody};
use crate::bytes::Bytes;
use crate::cookie::Cookie;
use crate::fields::{self, Field, InvalidField};
use crate::http_error::HttpError;
use crate::status;

const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";
const OCTETS: &str = "application/octet-stream";

/// A response: status, content type, header fields and body.
///
/// Made by a constructor and refined by chained calls. A header field that is not valid is never
/// repaired: the response becomes a logged `500 Internal Server Error`.
///
/// ```
/// use stepwell::{Cookie, Response};
///
/// let answer = Response::html("<h1>Welcome</h1>")
///     .status(201)
///     .header("Cache-Control", "no-store")
///     .cookie(Cookie::new("session", "8f2a").http_only());
/// assert_eq!(answer.get("cache-control"), Some("no-store"));
/// ```
pub struct Response {
    pub(crate) status: u16,
    pub(crate) content_type: Option<Cow<'static, str>>,
    pub(crate) fields: Vec<Field>,
    pub(crate) body: Body,
    fault: Option<Box<Fault>>,
}

/// What the log must hear about a response.
enum Fault {
    /// The application tried to send something that must not be sent: answered with 500.
    Invalid(InvalidField),
    /// The cause of an error response.
    Cause(Box<dyn std::error::Error + Send + Sync>),
}

impl Response {
    /// An empty response of the given status, from 200 to 999.
    #[must_use]
    pub fn new(status: u16) -> Self {
        Self {
            status: 200,
            content_type: None,
            fields: Vec::new(),
            body: Body::Empty,
            fault: None,
        }
        .status(status)
    }

    fn with_body(content_type: &'static str, body: impl Into<Body>) -> Self {
        Self {
            status: status::OK,
            content_type: Some(Cow::Borrowed(content_type)),
            fields: Vec::new(),
            body: body.into(),
            fault: None,
        }
    }

    /// Plain text in UTF-8.
    pub fn text(text: impl Into<Cow<'static, str>>) -> Self {
        Self::with_body(TEXT, Bytes::from(text.into()))
    }

    /// An HTML page in UTF-8.
    pub fn html(page: impl Into<Cow<'static, str>>) -> Self {
        Self::with_body(HTML, Bytes::from(page.into()))
    }

    /// A value as JSON. A value that cannot be serialised becomes a logged 500.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Self {
        let mut text = Vec::with_capacity(128);
        match serde_json::to_writer(&mut text, value) {
            Ok(()) => Self::with_body(JSON, text),
            Err(error) => Self::from(HttpError::from(error)),
        }
    }

    /// Bytes, as `application/octet-stream` unless [`content_type`](Self::content_type) says
    /// otherwise.
    pub fn bytes(bytes: impl Into<Bytes>) -> Self {
        Self::with_body(OCTETS, bytes.into())
    }

    /// A whole file, with the content type of its name, `Last-Modified` and `ETag`. As with any
    /// response that has one of these, a client whose copy is still good gets 304 instead.
    ///
    /// A path that doesn't exist or isn't a file gives 404, one that may not be read 403, anything
    /// else a logged 500. The path is opened as it is given: to serve files that a client names,
    /// join the value of a `{*rest}` parameter, which has no `..` left in it, to a root of yours,
    /// and keep symbolic links that lead elsewhere out of that root. See
    /// [`attachment`](Self::attachment) for a file that browsers are to save. Ranges are not served
    /// yet: a client that asks for a part gets the whole.
    pub fn file(path: impl AsRef<Path>) -> Self {
        match Self::open(path.as_ref()) {
            Ok(response) => response,
            Err(error) => {
                let status = match error.kind() {
                    io::ErrorKind::NotFound
                    | io::ErrorKind::NotADirectory
                    | io::ErrorKind::IsADirectory
                    | io::ErrorKind::InvalidInput => status::NOT_FOUND,
                    // `InvalidFilename` is newer than the oldest Rust that is supported.
                    _ if error.raw_os_error() == Some(libc::ENAMETOOLONG) => status::NOT_FOUND,
                    io::ErrorKind::PermissionDenied => status::FORBIDDEN,
                    _ => status::INTERNAL_SERVER_ERROR,
                };
                HttpError::new(status).source(error).into()
            }
        }
    }

    fn open(path: &Path) -> io::Result<Self> {
        // A FIFO would block the open until somebody writes to it, so look before opening.
        if !std::fs::metadata(path)?.is_file() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let file = std::fs::File::open(path)?;
        let metadata = file.metadata()?;
        let length = metadata.len();
        let mut response = Self::new(status::OK);
        response.content_type = Some(content_type_of(path));
        if let Ok(modified) = metadata.modified() {
            let since = modified
                .duration_since(std::time::UNIX_EPOCH)
                .unwrap_or_default();
            response.push("ETag", format!("\"{:x}-{length:x}\"", since.as_micros()));
            response.push("Last-Modified", httpdate::fmt_http_date(modified));
        }
        response.body = Body::File(FileBody::new(file, 0, length));
        Ok(response)
    }

    /// `303 See Other`: the client fetches `location` with GET, as after a form was sent.
    pub fn redirect(location: impl AsRef<str>) -> Self {
        Self::redirect_with(status::SEE_OTHER, location)
    }

    /// `302 Found`: the client uses `location` this time; most turn POST into GET.
    pub fn redirect_found(location: impl AsRef<str>) -> Self {
        Self::redirect_with(status::FOUND, location)
    }

    /// `307 Temporary Redirect`: the client repeats method and body at `location` this time.
    pub fn redirect_temporary(location: impl AsRef<str>) -> Self {
        Self::redirect_with(status::TEMPORARY_REDIRECT, location)
    }

    /// `308 Permanent Redirect`: the client repeats method and body at `location` from now on.
    pub fn redirect_permanent(location: impl AsRef<str>) -> Self {
        Self::redirect_with(status::PERMANENT_REDIRECT, location)
    }

    fn redirect_with(status: u16, location: impl AsRef<str>) -> Self {
        Self::new(status).header("Location", ascii_location(location.as_ref()))
    }

    /// A body written while it is sent, by a closure that may block: see [`BodyWriter`].
    ///
    /// Bytes that are written before the closure fails have left already; the failure then ends
    /// the connection instead of the body, so that the client sees it.
    pub fn stream(
        content_type: impl Into<Cow<'static, str>>,
        write: impl FnOnce(&mut BodyWriter) -> io::Result<()> + Send + 'static,
    ) -> Self {
        Self::new(status::OK)
            .content_type(content_type)
            .body(Body::Stream(StreamBody::new(write)))
    }

    /// Sets the status, from 200 to 999. Anything else becomes a logged 500.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        if (200..1000).contains(&status) {
            self.status = status;
        } else {
            let name = format!(":status {status}");
            self.refuse(InvalidField {
                name,
                reason: "a final status is from 200 to 999",
            });
        }
        self
    }

    /// Sets the content type.
    #[must_use]
    pub fn content_type(self, content_type: impl Into<Cow<'static, str>>) -> Self {
        self.header("Content-Type", content_type)
    }

    /// Sets a header field, replacing fields of the same name.
    ///
    /// The name must be a token and the value free of control characters; `Content-Length`,
    /// `Transfer-Encoding`, `Connection`, `Date` and the like are the server's. Anything else turns
    /// the response into a logged 500, so that nothing a client sent can inject a header.
    #[must_use]
    pub fn header(
        mut self,
        name: impl Into<Cow<'static, str>>,
        value: impl Into<Cow<'static, str>>,
    ) -> Self {
        let name = name.into();
        self.fields
            .retain(|field| !field.name.eq_ignore_ascii_case(&name));
        self.append_header(name, value)
    }

    /// Adds a header field beside those of the same name; the same rules as for
    /// [`header`](Self::header).
    #[must_use]
    pub fn append_header(
        mut self,
        name: impl Into<Cow<'static, str>>,
        value: impl Into<Cow<'static, str>>,
    ) -> Self {
        let (name, value) = (name.into(), value.into());
        match fields::check(&name, &value) {
            Err(error) => self.refuse(error),
            Ok(()) if name.eq_ignore_ascii_case("content-type") => self.content_type = Some(value),
            Ok(()) => self.fields.push(Field { name, value }),
        }
        self
    }

    /// Adds a `Set-Cookie` field.
    #[must_use]
    pub fn cookie(mut self, cookie: Cookie) -> Self {
        match cookie.to_field() {
            Ok(value) => self.push("Set-Cookie", value),
            Err(error) => self.refuse(error),
        }
        self
    }

    /// Replaces the body; the content type stays.
    #[must_use]
    pub fn body(mut self, body: impl Into<Body>) -> Self {
        self.body = body.into();
        self
    }

    /// The status that the client gets: 500 once something was set that is not valid.
    #[must_use]
    pub fn status_code(&self) -> u16 {
        match self.fault.as_deref() {
            Some(Fault::Invalid(_)) => status::INTERNAL_SERVER_ERROR,
            _ => self.status,
        }
    }

    /// The first value of a header field, whatever the case of its name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        if name.eq_ignore_ascii_case("content-type") {
            return self.content_type.as_deref();
        }
        self.headers()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// The header fields in order, without `Content-Type` and those the server adds.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields
            .iter()
            .map(|field| (&*field.name, &*field.value))
    }

    /// The body.
    #[must_use]
    pub fn body_ref(&self) -> &Body {
        &self.body
    }

    /// The body where it is in memory; `None` for files and streams.
    #[must_use]
    pub fn body_bytes(&self) -> Option<&[u8]> {
        match &self.body {
            Body::Empty => Some(&[]),
            Body::Bytes(bytes) => Some(bytes),
            Body::File(_) | Body::Stream(_) => None,
        }
    }

    /// The cause of an error response, for middleware that reports errors. Clients never see it.
    #[must_use]
    pub fn error(&self) -> Option<&(dyn std::error::Error + Send + Sync + 'static)> {
        match self.fault.as_deref()? {
            Fault::Invalid(field) => Some(field),
            Fault::Cause(cause) => Some(&**cause),
        }
    }

    /// Adds a field that this library made itself and knows to be valid.
    pub(crate) fn push(&mut self, name: &'static str, value: impl Into<Cow<'static, str>>) {
        self.fields.push(Field {
            name: Cow::Borrowed(name),
            value: value.into(),
        });
    }

    fn refuse(&mut self, error: InvalidField) {
        self.fault = Some(Box::new(Fault::Invalid(error)));
    }

    /// Whether something about this response must be logged or replaced before it is sent.
    pub(crate) fn is_faulty(&self) -> bool {
        self.fault.is_some()
    }

    /// Takes the fault out: a response with something invalid in it is replaced by a plain 500.
    /// Returns the line for the log.
    pub(crate) fn settle(&mut self) -> Option<String> {
        match *self.fault.take()? {
            Fault::Cause(cause) => Some(chain(&*cause)),
            Fault::Invalid(field) => {
                *self = Self::plain(status::INTERNAL_SERVER_ERROR);
                Some(field.to_string())
            }
        }
    }

    /// The status in words as the body: what the server itself answers.
    pub(crate) fn plain(status: u16) -> Self {
        let mut response = Self::with_body(TEXT, status_line(status));
        response.status = status;
        response
    }
}

impl From<HttpError> for Response {
    fn from(error: HttpError) -> Self {
        let (status, message, source) = error.into_parts();
        let mut response = if message.is_empty() {
            Self::plain(status)
        } else {
            Self::text(message).status(status)
        };
        response.fault = source.map(|source| Box::new(Fault::Cause(source)));
        response
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("content_type", &self.content_type)
            .field("fields", &self.fields)
            .field("body", &self.body)
            .field("error", &self.error().map(ToString::to_string))
            .finish()
    }
}

/// The error and the errors that caused it, on one line.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut line = error.to_string();
    let mut next = error.source();
    // Bounded: an error that names itself as its source must not loop for ever.
    for _ in 0..8 {
        let Some(error) = next else { break };
        let text = error.to_string();
        if !line.ends_with(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        next = error.source();
    }
    line
}

fn status_line(status: u16) -> Bytes {
    match status {
        status::NOT_FOUND => Bytes::from("404 Not Found\n"),
        status::INTERNAL_SERVER_ERROR => Bytes::from("500 Internal Server Error\n"),
        _ => Bytes::from(format!("{status} {}\n", status::reason(status))),
    }
}

fn content_type_of(path: &Path) -> Cow<'static, str> {
    let Some(kind) = mime_guess::from_path(path).first_raw() else {
        return Cow::Borrowed(OCTETS);
    };
    match kind {
        "text/plain" => Cow::Borrowed(TEXT),
        "text/html" => Cow::Borrowed(HTML),
        _ if kind.starts_with("text/") => Cow::Owned(format!("{kind}; charset=utf-8")),
        _ => Cow::Borrowed(kind),
    }
}

/// A location as ASCII: what isn't is percent-encoded, as a URI has to be. Control characters
/// stay, to be refused with the field.
fn ascii_location(location: &str) -> String {
    let mut encoded = String::with_capacity(location.len());
    for byte in location.bytes() {
        if byte == b' ' || byte >= 0x80 {
            encoded.push('%');
            encoded.push(char::from(b"0123456789ABCDEF"[usize::from(byte >> 4)]));
            encoded.push(char::from(b"0123456789ABCDEF"[usize::from(byte & 15)]));
        } else {
            encoded.push(char::from(byte));
        }
    }
    encoded
}
