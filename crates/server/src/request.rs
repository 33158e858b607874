//! What a handler is asked.

pub(crate) mod body;
pub(crate) mod extensions;
pub(crate) mod pairs;
pub(crate) mod params;
pub(crate) mod path;
pub(crate) mod peer;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod typed;

use std::any::Any;
use std::cell::{OnceCell, RefCell, RefMut};
use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use stepwell_proto::{Field, Limits, Method, RequestHead, Version};

use crate::cookie;
use crate::form::Form;
use crate::http_error::HttpError;
use crate::link::Link;
use crate::multipart::Multipart;
use crate::router::table::{Entry, Table};
use crate::status;

use body::{BodyReader, RequestBody};
use extensions::Extensions;
use pairs::Pairs;
use params::Params;
use path::DecodedPath;
use peer::Peer;

/// A request: method, path, parameters, header fields and body.
///
/// Everything that is read from it borrows from it, so that a handler copies only what it keeps.
///
/// ```
/// use stepwell::{Request, Response};
///
/// fn greet(req: &mut Request) -> Response {
///     let name = req.param("name");
///     let greeting = req.query("greeting").unwrap_or("Hello");
///     Response::text(format!("{greeting}, {name}!\n"))
/// }
/// # let mut router = stepwell::Router::new();
/// # router.get("/hello/{name}", greet);
/// ```
pub struct Request {
    pub(crate) head: RequestHead,
    pub(crate) path: DecodedPath,
    pub(crate) params: Params,
    pub(crate) body: RequestBody,
    pub(crate) peer: Peer,
    pub(crate) extensions: Extensions,
    pub(crate) link: Link,
    /// The state of the thread that runs the handler, lent for the run.
    pub(crate) thread_state: RefCell<Option<Box<dyn Any + Send>>>,
    /// The routes of the server, and which of them this request has taken.
    pub(crate) table: Option<Arc<Table>>,
    pub(crate) route: u32,
    query: OnceCell<Pairs>,
}

impl Default for Request {
    fn default() -> Self {
        Self::new()
    }
}

impl Request {
    pub(crate) fn new() -> Self {
        Self {
            head: RequestHead::new(),
            path: DecodedPath::default(),
            params: Params::default(),
            body: RequestBody::default(),
            peer: Peer::Unknown,
            extensions: Extensions::default(),
            link: Link::default(),
            thread_state: RefCell::new(None),
            table: None,
            route: 0,
            query: OnceCell::new(),
        }
    }

    /// Makes it ready for the next request of the same server. Buffers of ordinary size and the
    /// reference to the routes stay, and so does `link`, which is the driver's.
    ///
    /// Most requests have used few of these, and looking is cheaper than clearing. The head is
    /// cleared by the protocol machine when the next request begins.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.path.clear();
        self.params.clear();
        self.body.clear();
        self.extensions.clear();
        if self.thread_state.get_mut().is_some() {
            *self.thread_state.get_mut() = None;
        }
        if self.query.get().is_some() {
            self.query = OnceCell::new();
        }
    }

    /// The method; one without a name of its own is `Method::Other`, see
    /// [`method_str`](Self::method_str).
    #[must_use]
    pub fn method(&self) -> Method {
        self.head.method()
    }

    /// The method as sent, such as `GET`.
    #[must_use]
    pub fn method_str(&self) -> &str {
        self.head.method_str()
    }

    /// The version of HTTP that the client speaks.
    #[must_use]
    pub fn version(&self) -> Version {
        self.head.version()
    }

    /// The path in its canonical form, which routes are matched against: percent-decoded once,
    /// without `.` and `..` segments and repeated slashes. `*` for `OPTIONS *`.
    #[must_use]
    pub fn path(&self) -> &str {
        self.path.as_str(&self.head)
    }

    /// The path as sent, without the query.
    #[must_use]
    pub fn raw_path(&self) -> &str {
        ascii(self.head.path())
    }

    /// The request target as sent: path and query, or a whole URI.
    #[must_use]
    pub fn raw_target(&self) -> &str {
        ascii(self.head.target())
    }

    /// The query as sent, without the `?`.
    #[must_use]
    pub fn raw_query(&self) -> Option<&str> {
        self.head.query().map(ascii)
    }

    /// The first value of a name in the query, decoded. A name without `=` has an empty value. See
    /// [`query_as`](Self::query_as) for numbers and the like.
    #[must_use]
    pub fn query(&self, name: &str) -> Option<&str> {
        self.head.query()?;
        self.pairs().get(name)
    }

    /// Every value of a name in the query, decoded.
    pub fn query_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.pairs().get_all(name)
    }

    /// All names and values of the query, decoded, in order.
    pub fn query_pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs().iter()
    }

    fn pairs(&self) -> &Pairs {
        self.query
            .get_or_init(|| Pairs::parse(self.head.query().unwrap_or_default()))
    }

    /// The decoded value of a parameter that the route's pattern declares, as text; see
    /// [`param_as`](Self::param_as) for numbers and the like.
    ///
    /// # Panics
    /// If the pattern declares no parameter of this name: a mistake in the program, which the
    /// server answers with 500 and a log line that names route and parameter.
    #[must_use]
    #[track_caller]
    pub fn param(&self, name: &str) -> &str {
        let (start, end) = self.param_range(name);
        self.path().get(start..end).unwrap_or_default()
    }

    /// The value of a parameter as sent, still percent-encoded.
    ///
    /// # Panics
    /// As [`param`](Self::param).
    #[must_use]
    #[track_caller]
    pub fn param_raw(&self, name: &str) -> &str {
        let (start, end) = self.param_range(name);
        ascii(self.path.raw_of(self.head.path(), start, end))
    }

    #[track_caller]
    fn param_range(&self, name: &str) -> (usize, usize) {
        let entry = self.entry();
        let index = entry.and_then(|entry| entry.names.iter().position(|known| **known == *name));
        match index.and_then(|index| self.params.get(index)) {
            Some(range) => range,
            None => {
                let route = entry.map_or("none", |entry| &*entry.pattern);
                panic!("route \"{route}\" declares no parameter \"{name}\"")
            }
        }
    }

    fn entry(&self) -> Option<&Entry> {
        self.table.as_ref()?.routes.get(self.route as usize)
    }

    /// The pattern of the route that was chosen, such as `/offices/{id}`: a label for logs and
    /// metrics. A short description where no pattern matched.
    #[must_use]
    pub fn route(&self) -> &str {
        self.entry().map_or("", |entry| &entry.pattern)
    }

    /// The first value of a header field, whatever the case of its name; `None` as well if it is
    /// not UTF-8.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.head.get(name)?).ok()
    }

    /// The first value of a header field as bytes.
    #[must_use]
    pub fn header_bytes(&self, name: &str) -> Option<&[u8]> {
        self.head.get(name)
    }

    /// Every value of a header field, in order.
    pub fn header_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.head.get_all(name)
    }

    /// All header fields, in the order and spelling in which they were sent.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.head.fields()
    }

    /// The fields that followed a chunked body; none before the body has been read to its end.
    pub fn trailers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.head.trailers()
    }

    /// The value of a cookie, as sent.
    #[must_use]
    pub fn cookie(&self, name: &str) -> Option<&str> {
        self.head.known(Field::Cookie)?;
        self.cookies()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }

    /// All cookies, in the order sent.
    pub fn cookies(&self) -> impl Iterator<Item = (&str, &str)> {
        self.head
            .get_all("cookie")
            .filter_map(|value| std::str::from_utf8(value).ok())
            .flat_map(cookie::parse)
    }

    /// Who sent the request: the other end of the connection.
    #[must_use]
    pub fn remote_addr(&self) -> Peer {
        self.peer
    }

    /// The host, and the port if one was sent, that the client means. Only HTTP/1.0 clients may
    /// leave it out.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        self.head.authority()
    }

    /// The content type of the body, without parameters such as the character set.
    #[must_use]
    pub fn content_type(&self) -> Option<&str> {
        let value = std::str::from_utf8(self.head.known(Field::ContentType)?).ok()?;
        Some(value.split(';').next().unwrap_or_default().trim())
    }

    /// The length of the body in bytes, where the client announced it.
    #[must_use]
    pub fn content_length(&self) -> Option<u64> {
        self.head.content_length()
    }

    /// The whole body. On a route with a streamed body it is read now, up to the route's
    /// [`body_limit`](crate::Route::body_limit) or 1 MiB.
    ///
    /// # Errors
    /// On a route with a streamed body: 413 above the limit, 408 or 400 if the client is too slow
    /// or its body malformed.
    pub fn body(&self) -> Result<&[u8], HttpError> {
        let limit = self.entry().and_then(|entry| entry.options.body_limit);
        Ok(self
            .body
            .bytes(limit.unwrap_or_else(|| Limits::default().body))?)
    }

    /// The body as text.
    ///
    /// # Errors
    /// 400 if it is not UTF-8, or those of [`body`](Self::body).
    pub fn text(&self) -> Result<&str, HttpError> {
        std::str::from_utf8(self.body()?)
            .map_err(|error| HttpError::bad_request("the body is not UTF-8").source(error))
    }

    /// The body as a value in JSON. The content type must be `application/json` or end in `+json`,
    /// which also keeps other sites' forms from being taken for JSON.
    ///
    /// # Errors
    /// 415 for another content type, 400 if the body is not such a value, or those of
    /// [`body`](Self::body).
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, HttpError> {
        let kind = self.content_type().unwrap_or_default().to_ascii_lowercase();
        if kind != "application/json" && !kind.ends_with("+json") {
            return Err(unsupported("the body must be sent as application/json"));
        }
        serde_json::from_slice(self.body()?).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            HttpError::bad_request(format!(
                "not the JSON expected: line {line} column {column}"
            ))
            .source(error)
        })
    }

    /// The body as a form sent by a browser as `application/x-www-form-urlencoded`.
    ///
    /// # Errors
    /// 415 for another content type, or those of [`body`](Self::body).
    pub fn form(&self) -> Result<Form, HttpError> {
        let kind = self.content_type().unwrap_or_default();
        if !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(unsupported(
                "the body must be sent as application/x-www-form-urlencoded",
            ));
        }
        Ok(Form::parse(self.body()?))
    }

    /// The body as a form with files, sent as `multipart/form-data`, part by part.
    ///
    /// # Errors
    /// 415 for another content type, 400 if it names no boundary.
    pub fn multipart(&self) -> Result<Multipart<'_>, HttpError> {
        let kind = self.header("content-type").unwrap_or_default();
        Multipart::new(kind, self.reader())
    }

    /// The body as a blocking reader, the way to take bodies larger than memory: see
    /// [`BodyReader`].
    #[must_use]
    pub fn reader(&self) -> BodyReader<'_> {
        self.body.reader()
    }

    /// Values left by middleware.
    #[must_use]
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// Values for those who come later.
    pub fn extensions_mut(&mut self) -> &mut Extensions {
        &mut self.extensions
    }

    /// The state that this thread keeps between requests, such as a database connection, made by
    /// the factory that the server was given.
    ///
    /// # Panics
    /// If the server has no factory for this type or the state is borrowed already: a mistake in
    /// the program, answered with 500.
    #[must_use]
    #[track_caller]
    pub fn thread_state<T: Any + Send>(&self) -> RefMut<'_, T> {
        let Ok(state) = self.thread_state.try_borrow_mut() else {
            panic!("the state of this thread is borrowed already: drop the former borrow first");
        };
        let state = RefMut::filter_map(state, |state| {
            state
                .as_mut()
                .and_then(|state| (**state).downcast_mut::<T>())
        });
        match state {
            Ok(state) => state,
            Err(_) => panic!(
                "no factory makes a {} for each thread",
                std::any::type_name::<T>()
            ),
        }
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("head", &self.head)
            .field("path", &self.path())
            .field("peer", &self.peer)
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}

fn unsupported(message: &'static str) -> HttpError {
    HttpError::new(status::UNSUPPORTED_MEDIA_TYPE).message(message)
}

/// Text that the head's parser has found to be ASCII.
fn ascii(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}
