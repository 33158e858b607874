//! The bytes of a response body, without copying what is already in memory.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Bytes that are static, owned or shared: what a response body is made of.
///
/// Static and shared bytes cost no copy and no allocation per response.
///
/// ```
/// use std::sync::Arc;
/// use stepwell::{Bytes, Response};
///
/// let logo: Arc<[u8]> = Arc::from(&b"<svg/>"[..]);
/// let answer = Response::bytes(Bytes::from(logo.clone())).content_type("image/svg+xml");
/// assert_eq!(answer.body_bytes(), Some(&b"<svg/>"[..]));
/// ```
#[derive(Clone)]
pub struct Bytes(Repr);

#[derive(Clone)]
enum Repr {
    Static(&'static [u8]),
    Owned(Vec<u8>),
    Shared(Arc<[u8]>),
    SharedVec(Arc<Vec<u8>>),
}

impl Bytes {
    /// No bytes.
    #[must_use]
    pub const fn new() -> Self {
        Self(Repr::Static(&[]))
    }

    /// Bytes that live as long as the program.
    #[must_use]
    pub const fn from_static(bytes: &'static [u8]) -> Self {
        Self(Repr::Static(bytes))
    }

    /// The bytes as a vector; copies unless they are owned.
    #[must_use]
    pub fn into_vec(self) -> Vec<u8> {
        match self.0 {
            Repr::Static(bytes) => bytes.to_vec(),
            Repr::Owned(bytes) => bytes,
            Repr::Shared(bytes) => bytes.to_vec(),
            Repr::SharedVec(bytes) => Arc::unwrap_or_clone(bytes),
        }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Repr::Static(bytes) => bytes,
            Repr::Owned(bytes) => bytes,
            Repr::Shared(bytes) => bytes,
            Repr::SharedVec(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Default for Bytes {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.escape_ascii())
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Bytes {}

impl From<&'static str> for Bytes {
    fn from(text: &'static str) -> Self {
        Self(Repr::Static(text.as_bytes()))
    }
}

impl From<&'static [u8]> for Bytes {
    fn from(bytes: &'static [u8]) -> Self {
        Self(Repr::Static(bytes))
    }
}

impl<const N: usize> From<&'static [u8; N]> for Bytes {
    fn from(bytes: &'static [u8; N]) -> Self {
        Self(Repr::Static(bytes))
    }
}

impl From<String> for Bytes {
    fn from(text: String) -> Self {
        Self(Repr::Owned(text.into_bytes()))
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Repr::Owned(bytes))
    }
}

impl From<Arc<[u8]>> for Bytes {
    fn from(bytes: Arc<[u8]>) -> Self {
        Self(Repr::Shared(bytes))
    }
}

impl From<Arc<str>> for Bytes {
    fn from(text: Arc<str>) -> Self {
        Self(Repr::Shared(Arc::from(text)))
    }
}

impl From<Arc<Vec<u8>>> for Bytes {
    fn from(bytes: Arc<Vec<u8>>) -> Self {
        Self(Repr::SharedVec(bytes))
    }
}

impl From<std::borrow::Cow<'static, str>> for Bytes {
    fn from(text: std::borrow::Cow<'static, str>) -> Self {
        match text {
            std::borrow::Cow::Borrowed(text) => text.into(),
            std::borrow::Cow::Owned(text) => text.into(),
        }
    }
}
