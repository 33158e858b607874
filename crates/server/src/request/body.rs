//! The body of a request: held whole, or read from the connection while the handler runs.

use std::cell::{OnceCell, RefCell};
use std::fmt;
use std::io::{self, Read};

use crate::http_error::BodyError;
use crate::status;

type Source = Box<dyn Read + Send>;

/// A recycled buffer larger than this is given back.
const KEPT: usize = 64 * 1024;

/// The body of one request, as the connection delivers it.
#[derive(Default)]
pub(crate) struct RequestBody {
    /// The whole body, or nothing for a streamed one.
    whole: Vec<u8>,
    /// For a streamed body: the reader, unless somebody is reading.
    stream: Option<RefCell<Option<Source>>>,
    /// A streamed body that the handler asked for in one piece.
    collected: OnceCell<Vec<u8>>,
}

impl RequestBody {
    /// The buffer that a whole body is received into.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.whole
    }

    /// Makes this a streamed body. Errors of the reader are best made by [`BodyError::io`], so that
    /// the client gets the right status.
    pub(crate) fn set_stream(&mut self, reader: Source) {
        self.stream = Some(RefCell::new(Some(reader)));
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        if !self.whole.is_empty() {
            self.whole.clear();
            self.whole.shrink_to(KEPT);
        }
        if self.stream.is_some() || self.collected.get().is_some() {
            self.stream = None;
            self.collected = OnceCell::new();
        }
    }

    /// The body in one piece of at most `limit` bytes where it is a streamed one; a whole one has
    /// been limited while it was received.
    pub(crate) fn bytes(&self, limit: u64) -> io::Result<&[u8]> {
        let Some(stream) = &self.stream else {
            return Ok(&self.whole);
        };
        if let Some(bytes) = self.collected.get() {
            return Ok(bytes);
        }
        let mut reader = StreamReader::take(stream)?;
        let mut bytes = Vec::new();
        // One byte more tells a body of exactly the limit from a longer one.
        (&mut reader)
            .take(limit.saturating_add(1))
            .read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Err(BodyError::io(
                status::CONTENT_TOO_LARGE,
                "the body is larger than may be held in memory",
            ));
        }
        Ok(self.collected.get_or_init(|| bytes))
    }

    pub(crate) fn reader(&self) -> BodyReader<'_> {
        let source = match (&self.stream, self.collected.get()) {
            (_, Some(bytes)) => ReaderKind::Bytes(bytes),
            (None, None) => ReaderKind::Bytes(&self.whole),
            (Some(stream), None) => match StreamReader::take(stream) {
                Ok(reader) => ReaderKind::Stream(reader),
                Err(_) => ReaderKind::Busy,
            },
        };
        BodyReader { source }
    }
}

impl fmt::Debug for RequestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.stream {
            Some(_) => f.write_str("RequestBody(streamed)"),
            None => write!(f, "RequestBody({} bytes)", self.whole.len()),
        }
    }
}

/// Reads the body of a request, whether it is held in memory or still arriving.
///
/// On a route with [`stream_body`](crate::Route::stream_body) a read waits for the client, which is
/// held back while nobody reads. Dropping the reader early is fine: a later one goes on where it
/// stopped, and what nobody reads is drained or ends the connection.
///
/// ```
/// use stepwell::{HttpError, Router};
///
/// let mut router = Router::new();
/// router
///     .put("/backup", |req| {
///         let mut file = std::fs::File::create("backup.tar")?;
///         let bytes = std::io::copy(&mut req.reader(), &mut file)?;
///         Ok(format!("{bytes} bytes\n"))
///     })
///     .stream_body();
/// ```
pub struct BodyReader<'a> {
    source: ReaderKind<'a>,
}

enum ReaderKind<'a> {
    Bytes(&'a [u8]),
    Stream(StreamReader<'a>),
    Busy,
}

impl Read for BodyReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match &mut self.source {
            ReaderKind::Bytes(bytes) => bytes.read(into),
            ReaderKind::Stream(reader) => reader.read(into),
            ReaderKind::Busy => Err(busy()),
        }
    }
}

impl fmt::Debug for BodyReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.source {
            ReaderKind::Bytes(_) => "BodyReader(in memory)",
            ReaderKind::Stream(_) => "BodyReader(streamed)",
            ReaderKind::Busy => "BodyReader(busy)",
        })
    }
}

fn busy() -> io::Error {
    io::Error::new(
        io::ErrorKind::ResourceBusy,
        "another reader of this request's body is alive",
    )
}

/// The connection's reader, lent out: it goes back when this is dropped.
struct StreamReader<'a> {
    home: &'a RefCell<Option<Source>>,
    reader: Option<Source>,
}

impl<'a> StreamReader<'a> {
    fn take(home: &'a RefCell<Option<Source>>) -> io::Result<Self> {
        let reader = home.borrow_mut().take().ok_or_else(busy)?;
        Ok(Self {
            home,
            reader: Some(reader),
        })
    }
}

impl Read for StreamReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.reader
            .as_mut()
            .map_or(Ok(0), |reader| reader.read(into))
    }
}

impl Drop for StreamReader<'_> {
    fn drop(&mut self) {
        *self.home.borrow_mut() = self.reader.take();
    }
}
