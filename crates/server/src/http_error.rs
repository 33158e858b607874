//! The error of a handler: a status for the client, and a cause for the log only.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::io;

use crate::status;

/// An error that answers the request.
///
/// The client sees the status and, when one was given, the [message](HttpError::message); the
/// cause goes to the [log](crate#the-log) and nowhere else. Any error converts into it with `?` as
/// a 500. It doesn't implement [`std::error::Error`] itself: that is what makes the conversion
/// possible.
///
/// ```
/// use stepwell::{HttpError, Request};
///
/// fn office(req: &mut Request) -> Result<String, HttpError> {
///     let id: u32 = req.param_as("id")?; // 400
///     let mode = req.query("mode").unwrap_or("plain");
///     if mode != "plain" {
///         return Err(HttpError::new(501).message("there are only plain records"));
///     }
///     let record = std::fs::read_to_string(format!("offices/{id}.json"))?; // 500, logged
///     Ok(record)
/// }
/// ```
pub struct HttpError {
    status: u16,
    message: Cow<'static, str>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl HttpError {
    /// An error with a status from 400 to 599; anything else becomes 500.
    #[must_use]
    pub fn new(status: u16) -> Self {
        let status = if (400..600).contains(&status) {
            status
        } else {
            status::INTERNAL_SERVER_ERROR
        };
        Self {
            status,
            message: Cow::Borrowed(""),
            source: None,
        }
    }

    /// `400 Bad Request` with a message for the client.
    pub fn bad_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(status::BAD_REQUEST).message(message)
    }

    /// `404 Not Found`.
    #[must_use]
    pub fn not_found() -> Self {
        Self::new(status::NOT_FOUND)
    }

    /// Text that the client may read. Without one it gets the status in words.
    #[must_use]
    pub fn message(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        self.message = message.into();
        self
    }

    /// The cause, for the log.
    #[must_use]
    pub fn source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The status that the client gets.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The cause, if there is one.
    #[must_use]
    pub fn cause(&self) -> Option<&(dyn StdError + Send + Sync + 'static)> {
        self.source.as_deref()
    }

    pub(crate) fn into_parts(
        self,
    ) -> (
        u16,
        Cow<'static, str>,
        Option<Box<dyn StdError + Send + Sync>>,
    ) {
        (self.status, self.message, self.source)
    }
}

impl fmt::Debug for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpError")
            .field("status", &self.status)
            .field("message", &self.message)
            .field("source", &self.source)
            .finish()
    }
}

/// For the log: status, message and cause.
impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.status, status::reason(self.status))?;
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        if let Some(source) = &self.source {
            write!(f, ": {source}")?;
        }
        Ok(())
    }
}

impl<E: Into<Box<dyn StdError + Send + Sync>>> From<E> for HttpError {
    /// A 500, except for errors of reading the request body, which know their own status (413
    /// above the limit, 408 too slow, 400 malformed).
    fn from(error: E) -> Self {
        let source: Box<dyn StdError + Send + Sync> = error.into();
        let status = source
            .downcast_ref::<io::Error>()
            .and_then(|error| error.get_ref())
            .and_then(|inner| inner.downcast_ref::<BodyError>())
            .map_or(status::INTERNAL_SERVER_ERROR, |error| error.status);
        Self::new(status).source(source)
    }
}

/// Why a request body could not be read; travels inside an [`io::Error`] so that a blocking
/// reader has one error type.
#[derive(Debug)]
pub(crate) struct BodyError {
    status: u16,
    reason: &'static str,
}

impl BodyError {
    /// An `io::Error` that `?` turns into an answer with `status` instead of a 500.
    pub(crate) fn io(status: u16, reason: &'static str) -> io::Error {
        let kind = match status {
            status::REQUEST_TIMEOUT => io::ErrorKind::TimedOut,
            _ => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, Self { status, reason })
    }
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason)
    }
}

impl StdError for BodyError {}
