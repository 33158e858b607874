//! Forms with files: `multipart/form-data` (RFC 7578), read part by part.

mod disposition;
mod part;
mod scan;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::http_error::HttpError;
use crate::request::body::BodyReader;
use crate::status;

use disposition::boundary_of;
use scan::Scanner;

pub use part::{Part, PartReader};

/// The most parts of one form unless [`Multipart::max_parts`] says otherwise.
const PARTS: usize = 256;

/// The parts of a form, in the order sent. An iterator: each step reads one part from the client,
/// small ones into memory, those above 64 KiB into a temporary file without a name that only this
/// process can read. After an error nothing more comes.
///
/// On a route with [`stream_body`](crate::Route::stream_body) a form may be larger than memory.
///
/// ```
/// use stepwell::{HttpError, Request};
///
/// fn upload(req: &mut Request) -> Result<String, HttpError> {
///     let mut answer = String::new();
///     for part in req.multipart()?.max_part_bytes(100 << 20) {
///         let part = part?;
///         match part.file_name() {
///             Some(file) => answer += &format!("file {file}: {} bytes\n", part.size()),
///             None => answer += &format!("{} = {}\n", part.name(), part.text()?),
///         }
///     }
///     Ok(answer)
/// }
/// ```
pub struct Multipart<'a> {
    scanner: Scanner<BodyReader<'a>>,
    parts_left: usize,
    part_bytes: u64,
    total_left: u64,
    done: bool,
}

impl<'a> Multipart<'a> {
    pub(crate) fn new(content_type: &str, body: BodyReader<'a>) -> Result<Self, HttpError> {
        Ok(Self {
            scanner: Scanner::new(body, &boundary_of(content_type)?),
            parts_left: PARTS,
            part_bytes: u64::MAX,
            total_left: u64::MAX,
            done: false,
        })
    }

    /// The most parts there may be; more are answered with 413. Default 256.
    #[must_use]
    pub fn max_parts(mut self, parts: usize) -> Self {
        self.parts_left = parts;
        self
    }

    /// The most bytes a part's content may have; more are answered with 413. Without it only the
    /// limit of the whole body counts.
    #[must_use]
    pub fn max_part_bytes(mut self, bytes: u64) -> Self {
        self.part_bytes = bytes;
        self
    }

    /// The most bytes the contents of all parts may have together; more are answered with 413.
    /// Without it only the limit of the whole body counts.
    #[must_use]
    pub fn max_total_bytes(mut self, bytes: u64) -> Self {
        self.total_left = bytes;
        self
    }

    fn read_part(&mut self) -> Result<Option<Part>, HttpError> {
        let Some(head) = self.scanner.next_head()? else {
            return Ok(None);
        };
        self.parts_left = self
            .parts_left
            .checked_sub(1)
            .ok_or_else(|| too_large("too many parts"))?;
        let mut part = Part::new(head);
        while let Some(data) = self.scanner.next_data()? {
            // A piece is at most the scanner's buffer long.
            let length = data.len() as u64;
            let left = self.total_left.checked_sub(length);
            self.total_left = left.ok_or_else(|| too_large("the form is too large"))?;
            if part.size() + length > self.part_bytes {
                return Err(too_large("a part of the form is too large"));
            }
            part.append(data)?;
        }
        Ok(Some(part))
    }
}

impl Iterator for Multipart<'_> {
    type Item = Result<Part, HttpError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let result = self.read_part().transpose();
        self.done = !matches!(result, Some(Ok(_)));
        result
    }
}

impl fmt::Debug for Multipart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Multipart")
            .field("done", &self.done)
            .finish_non_exhaustive()
    }
}

fn too_large(message: &'static str) -> HttpError {
    HttpError::new(status::CONTENT_TOO_LARGE).message(message)
}
