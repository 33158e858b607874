//! Finding the parts in a stream of bytes that may be cut anywhere.

use std::io::{self, Read};

use memchr::memmem::{self, Finder};

use crate::http_error::HttpError;
use crate::multipart::disposition::{PartHead, malformed, part_head};

/// Bytes read at a time, and the longest piece of content handed out.
const BUFFER: usize = 16 * 1024;
/// The longest header block of a part.
const HEAD: usize = 8 * 1024;

/// Reads heads and contents alternately.
pub(super) struct Scanner<R> {
    source: R,
    /// `buffer[start..end]` has been received and not yet handed out.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// CR LF, two dashes and the boundary: what ends every content.
    delimiter: Finder<'static>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before a delimiter that has not been seen yet.
    Content,
    /// Right behind a delimiter.
    Delimited,
    Finished,
}

impl<R: Read> Scanner<R> {
    pub(super) fn new(source: R, boundary: &[u8]) -> Self {
        let delimiter = [b"\r\n--", boundary].concat();
        let mut buffer = vec![0; BUFFER];
        // The first delimiter has no line before it: with one put there it looks like any other,
        // and the preamble like the content of a part.
        buffer[..2].copy_from_slice(b"\r\n");
        Self {
            source,
            buffer,
            start: 0,
            end: 2,
            delimiter: Finder::new(&delimiter).into_owned(),
            state: State::Content,
        }
    }

    /// The head of the next part, or `None` behind the last one. What is left of the part before
    /// is skipped.
    pub(super) fn next_head(&mut self) -> Result<Option<PartHead>, HttpError> {
        while self.state == State::Content {
            if self.next_data()?.is_none() {
                break;
            }
        }
        if self.state == State::Finished {
            return Ok(None);
        }
        while self.received().len() < 2 {
            self.fill()?;
        }
        if self.received().starts_with(b"--") {
            self.state = State::Finished;
            return Ok(None);
        }
        self.skip_padding()?;
        let length = loop {
            // The line end of the delimiter counts, so that an empty block has its end too.
            match memmem::find(self.received(), b"\r\n\r\n") {
                Some(length) => break length,
                None if self.received().len() > HEAD => {
                    return Err(malformed("a part's header is too long"));
                }
                None => self.fill()?,
            }
        };
        if length > HEAD {
            return Err(malformed("a part's header is too long"));
        }
        let head = part_head(self.received().get(..length).unwrap_or_default())?;
        // The last CR LF stays: content may begin with a delimiter at once.
        self.start += length + 2;
        self.state = State::Content;
        self.skip_line_end()?;
        Ok(Some(head))
    }

    /// The next piece of the content, or `None` at its end.
    pub(super) fn next_data(&mut self) -> Result<Option<&[u8]>, HttpError> {
        if self.state != State::Content {
            return Ok(None);
        }
        let length = loop {
            if let Some(at) = self.delimiter.find(self.received()) {
                if at == 0 {
                    self.start += self.delimiter.needle().len();
                    self.state = State::Delimited;
                    return Ok(None);
                }
                break at;
            }
            // The last bytes may be the beginning of a delimiter.
            let sure = (self.received().len() + 1).saturating_sub(self.delimiter.needle().len());
            if sure > 0 {
                break sure;
            }
            self.fill()?;
        };
        let start = self.start;
        self.start += length;
        Ok(self.buffer.get(start..self.start))
    }

    fn received(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Spaces and tabs may stand between a delimiter and its line end (RFC 2046 §5.1.1).
    fn skip_padding(&mut self) -> Result<(), HttpError> {
        loop {
            match self.received() {
                [b' ' | b'\t', ..] => self.start += 1,
                [b'\r', b'\n', ..] => return Ok(()),
                [] | [b'\r'] => self.fill()?,
                _ => return Err(malformed("text behind a boundary")),
            }
        }
    }

    /// Goes past the line end of an empty line before content, unless that line end begins a
    /// delimiter: then the content is empty and has none of its own.
    fn skip_line_end(&mut self) -> Result<(), HttpError> {
        let length = self.delimiter.needle().len();
        while self.received().len() < length && self.delimiter.needle().starts_with(self.received())
        {
            self.fill()?;
        }
        if !self.received().starts_with(self.delimiter.needle()) {
            self.start += 2;
        }
        Ok(())
    }

    /// Receives more, at least one byte.
    fn fill(&mut self) -> Result<(), HttpError> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        // There is room: callers wait for no more than a head or a delimiter, both far below
        // BUFFER.
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        let count = loop {
            match self.source.read(room) {
                Ok(count) => break count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        };
        if count == 0 {
            return Err(malformed("it ends before its last boundary"));
        }
        self.end += count;
        Ok(())
    }
}
