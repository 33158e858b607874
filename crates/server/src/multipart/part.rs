//! One part of a form, in memory or in a temporary file.

use std::borrow::Cow;
use std::fs::{File, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;

use crate::http_error::HttpError;
use crate::multipart::disposition::PartHead;
use crate::status;

/// Content up to this many bytes stays in memory.
const IN_MEMORY: usize = 64 * 1024;
/// The longest content that is given as bytes or text.
const AS_TEXT: u64 = 1024 * 1024;

/// A part of a [`Multipart`](crate::Multipart) form: the value of a field, or a file.
#[derive(Debug)]
pub struct Part {
    head: PartHead,
    content: Content,
    size: u64,
}

#[derive(Debug)]
enum Content {
    Memory(Vec<u8>),
    /// A file that has no name any more: it is gone when the part is dropped.
    Spilled(File),
}

impl Part {
    pub(super) fn new(head: PartHead) -> Self {
        Self {
            head,
            content: Content::Memory(Vec::new()),
            size: 0,
        }
    }

    pub(super) fn append(&mut self, data: &[u8]) -> io::Result<()> {
        match &mut self.content {
            Content::Memory(bytes) if bytes.len() + data.len() <= IN_MEMORY => {
                bytes.extend_from_slice(data);
            }
            Content::Memory(bytes) => {
                let mut file = nameless_file()?;
                file.write_all(bytes)?;
                file.write_all(data)?;
                self.content = Content::Spilled(file);
            }
            Content::Spilled(file) => file.write_all(data)?,
        }
        self.size += data.len() as u64;
        Ok(())
    }

    /// The name of the form's field.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.head.name
    }

    /// The name of the file, if the part is one: the last component of what the client sent, never
    /// empty, `.` or `..`, without slashes, backslashes and control characters.
    #[must_use]
    pub fn file_name(&self) -> Option<&str> {
        let sent = self.head.file_name.as_deref()?;
        let name = sent.rsplit(['/', '\\']).next().unwrap_or_default();
        let proper = !matches!(name, "" | "." | "..") && !name.contains(char::is_control);
        Some(if proper { name } else { "unnamed" })
    }

    /// The name of the file as the client sent it: anything at all.
    #[must_use]
    pub fn raw_file_name(&self) -> Option<&str> {
        self.head.file_name.as_deref()
    }

    /// The content type as sent. Clients guess it from the file's name.
    #[must_use]
    pub fn content_type(&self) -> Option<&str> {
        self.head.content_type.as_deref()
    }

    /// The length of the content in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether the content lies in a temporary file.
    #[must_use]
    pub fn is_spilled(&self) -> bool {
        matches!(self.content, Content::Spilled(_))
    }

    #[cfg(test)]
    pub(super) fn spill_metadata(&self) -> Option<std::fs::Metadata> {
        match &self.content {
            Content::Memory(_) => None,
            Content::Spilled(file) => file.metadata().ok(),
        }
    }

    /// The content, read into memory.
    ///
    /// # Errors
    /// 413 if it is longer than 1 MiB: use [`reader`](Self::reader) for that.
    pub fn bytes(&self) -> Result<Cow<'_, [u8]>, HttpError> {
        if self.size > AS_TEXT {
            return Err(HttpError::new(status::CONTENT_TOO_LARGE)
                .message(format!("the field \"{}\" is too large", self.name())));
        }
        Ok(match &self.content {
            Content::Memory(bytes) => Cow::Borrowed(bytes),
            Content::Spilled(_) => {
                let mut bytes = Vec::new();
                self.reader().read_to_end(&mut bytes)?;
                Cow::Owned(bytes)
            }
        })
    }

    /// The content as text.
    ///
    /// # Errors
    /// 400 if it is not UTF-8, 413 if it is longer than 1 MiB.
    pub fn text(&self) -> Result<Cow<'_, str>, HttpError> {
        let text = match self.bytes()? {
            Cow::Borrowed(bytes) => std::str::from_utf8(bytes).map(Cow::Borrowed).ok(),
            Cow::Owned(bytes) => String::from_utf8(bytes).map(Cow::Owned).ok(),
        };
        text.ok_or_else(|| {
            HttpError::bad_request(format!("the field \"{}\" is not UTF-8", self.name()))
        })
    }

    /// Reads the content from its beginning; every reader by itself.
    #[must_use]
    pub fn reader(&self) -> PartReader<'_> {
        PartReader {
            content: &self.content,
            at: 0,
        }
    }

    /// Writes the content to a file, replacing one that exists, and returns its length in bytes.
    /// Choose the path yourself, or join [`file_name`](Self::file_name) to a directory.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save_as(&self, path: impl AsRef<Path>) -> io::Result<u64> {
        let mut target = File::create(path)?;
        match &self.content {
            Content::Memory(bytes) => target.write_all(bytes)?,
            Content::Spilled(file) => {
                // Readers have places of their own, so the file's is free to use. From file to
                // file the system copies by itself.
                let mut source: &File = file;
                source.seek(SeekFrom::Start(0))?;
                io::copy(&mut source, &mut target)?;
            }
        }
        Ok(self.size)
    }
}

/// A file in the system's directory for temporary files, without a name and for this user only.
fn nameless_file() -> io::Result<File> {
    let file = tempfile::tempfile()?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

/// Reads the content of a [`Part`].
#[derive(Debug)]
pub struct PartReader<'a> {
    content: &'a Content,
    at: u64,
}

impl Read for PartReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = match self.content {
            Content::Spilled(file) => file.read_at(into, self.at)?,
            Content::Memory(bytes) => {
                let start = usize::try_from(self.at).unwrap_or(usize::MAX);
                bytes.get(start..).unwrap_or_default().read(into)?
            }
        };
        self.at += count as u64;
        Ok(count)
    }
}
