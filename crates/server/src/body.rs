//! Response bodies, and the writer that streamed ones are written to.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};

use stepwell_reactor::crew::fenced;

use crate::bytes::Bytes;
use crate::compress::Encoder;
use crate::fields;

/// The body of a response.
#[derive(Debug, Default)]
#[non_exhaustive]
pub enum Body {
    /// None at all.
    #[default]
    Empty,
    /// All of it, in memory.
    Bytes(Bytes),
    /// A piece of a file, sent without passing through this program where the system can.
    File(FileBody),
    /// Written while it is sent.
    Stream(StreamBody),
}

impl Body {
    /// The length in bytes where it is known beforehand.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        match self {
            Self::Empty => Some(0),
            Self::Bytes(bytes) => Some(bytes.len() as u64),
            Self::File(file) => Some(file.length),
            Self::Stream(stream) => stream.length,
        }
    }
}

impl<B: Into<Bytes>> From<B> for Body {
    fn from(bytes: B) -> Self {
        Self::Bytes(bytes.into())
    }
}

/// `length` bytes of an open file from `offset` on.
#[derive(Debug)]
pub struct FileBody {
    pub(crate) file: File,
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

impl FileBody {
    /// A piece of a file. `offset` and `length` are bytes; a file that turns out shorter when it
    /// is sent ends the connection, because the length was announced.
    #[must_use]
    pub fn new(file: File, offset: u64, length: u64) -> Self {
        Self {
            file,
            offset,
            length,
        }
    }
}

/// What writes a streamed body.
pub(crate) type StreamFn = Box<dyn FnOnce(&mut BodyWriter) -> io::Result<()> + Send>;

/// A body that a closure writes while it is being sent.
pub struct StreamBody {
    /// Announced as `Content-Length` when given; the closure must then write exactly as much.
    pub(crate) length: Option<u64>,
    /// Nothing once it runs.
    write: Option<StreamFn>,
}

impl StreamBody {
    /// A body of unknown length.
    pub fn new(write: impl FnOnce(&mut BodyWriter) -> io::Result<()> + Send + 'static) -> Self {
        Self {
            length: None,
            write: Some(Box::new(write)),
        }
    }

    /// Announces the length in bytes beforehand.
    #[must_use]
    pub fn length(mut self, bytes: u64) -> Self {
        self.length = Some(bytes);
        self
    }

    /// Writes the body.
    pub(crate) fn run(mut self, writer: &mut BodyWriter) -> io::Result<()> {
        self.write.take().map_or(Ok(()), |write| write(writer))
    }
}

impl Drop for StreamBody {
    fn drop(&mut self) {
        // A body that nobody wants is mostly dropped by an event loop, and what the application's
        // closure holds must not end it.
        if let Some(write) = self.write.take() {
            fenced(|| drop(write));
        }
    }
}

impl fmt::Debug for StreamBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamBody")
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}

/// Where a [`BodyWriter`] puts its bytes: the connection.
pub(crate) trait StreamSink {
    /// Takes all of `data`, waiting while the connection's output is full. Fails with
    /// `BrokenPipe` once the client is gone.
    fn write(&mut self, data: &[u8]) -> io::Result<()>;

    /// Sends what was written so far; need not wait until it has left.
    fn flush(&mut self) -> io::Result<()>;

    /// Adds a trailer field, already validated.
    fn trailer(&mut self, name: &str, value: &str) -> io::Result<()>;
}

/// Writes a streamed response body. It is an [`io::Write`]: a write waits while the client reads
/// more slowly than the body is written, and fails with [`io::ErrorKind::BrokenPipe`] once the
/// client is gone. What was written leaves in larger pieces or on [`flush`](Write::flush).
///
/// ```
/// use std::io::Write;
/// use stepwell::Response;
///
/// let numbers = Response::stream("text/plain", |body| {
///     for number in 0..1_000_000 {
///         writeln!(body, "{number}")?;
///     }
///     Ok(())
/// });
/// # assert_eq!(numbers.status_code(), 200);
/// ```
pub struct BodyWriter {
    sink: Box<dyn StreamSink + Send>,
    encoder: Option<Encoder>,
    encoded: Vec<u8>,
}

/// Encoded bytes are handed on in pieces of about this size.
const ENCODED_PIECE: usize = 16 * 1024;

impl BodyWriter {
    pub(crate) fn new(sink: Box<dyn StreamSink + Send>) -> Self {
        Self {
            sink,
            encoder: None,
            encoded: Vec::new(),
        }
    }

    /// Sends a trailer field after the body. Clients ignore trailers unless they asked for them
    /// with `TE: trailers`; HTTP/1.0 clients and bodies with an announced length get none.
    ///
    /// # Errors
    /// Refuses names and values that are not valid header fields, and those only the server may
    /// write.
    pub fn trailer(&mut self, name: &str, value: &str) -> io::Result<()> {
        fields::check(name, value)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        self.sink.trailer(name, value)
    }

    /// Encodes everything written from now on.
    pub(crate) fn encode_with(&mut self, encoder: Encoder) {
        self.encoder = Some(encoder);
    }

    /// Ends the encoding, if there is one.
    pub(crate) fn finish_encoding(&mut self) -> io::Result<()> {
        if let Some(encoder) = self.encoder.take() {
            encoder.finish(&mut self.encoded)?;
            self.hand_on(0)?;
        }
        Ok(())
    }

    /// Passes encoded bytes to the connection once there are at least `least` of them.
    fn hand_on(&mut self, least: usize) -> io::Result<()> {
        if self.encoded.len() >= least && !self.encoded.is_empty() {
            self.sink.write(&self.encoded)?;
            self.encoded.clear();
        }
        Ok(())
    }
}

impl Write for BodyWriter {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match &mut self.encoder {
            None => self.sink.write(data)?,
            Some(encoder) => {
                encoder.write(data, &mut self.encoded)?;
                self.hand_on(ENCODED_PIECE)?;
            }
        }
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(encoder) = &mut self.encoder {
            encoder.flush(&mut self.encoded)?;
            self.hand_on(0)?;
        }
        self.sink.flush()
    }
}

impl fmt::Debug for BodyWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BodyWriter")
            .field("encoded", &self.encoder.is_some())
            .finish_non_exhaustive()
    }
}
