//! What can go wrong when a server is configured and started.

use std::error::Error as StdError;
use std::fmt;
use std::io;

/// The result of building and starting a server.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a server could not be built or started: what, where, and how to mend it.
///
/// `Debug` prints the same sentence as `Display`, so that a `main` returning
/// [`stepwell::Result`](Result) ends with a message for people.
///
/// ```
/// use stepwell::{Error, Router};
///
/// let mut router = Router::new();
/// router.get("/offices/{id", |_| "never reached");
/// let error: Error = router.build().err().expect("the brace is not closed");
/// assert!(error.to_string().contains("/offices/{id"));
/// assert_eq!(error.exit_code(), 78);
/// ```
pub struct Error {
    kind: Kind,
    what: String,
    place: Option<String>,
    mend: Option<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Config,
    Os,
    Internal,
}

impl Error {
    /// A mistake in the configuration or in the routes: exit code 78.
    pub fn config(what: impl Into<String>) -> Self {
        Self::new(Kind::Config, what.into())
    }

    /// Something the operating system refused, such as binding an address: exit code 71.
    pub fn os(what: impl Into<String>, source: io::Error) -> Self {
        Self {
            source: Some(Box::new(source)),
            ..Self::new(Kind::Os, what.into())
        }
    }

    /// A fault of the server itself: exit code 70.
    pub fn internal(what: impl Into<String>) -> Self {
        Self::new(Kind::Internal, what.into())
    }

    fn new(kind: Kind, what: String) -> Self {
        Self {
            kind,
            what,
            place: None,
            mend: None,
            source: None,
        }
    }

    /// Where it went wrong: an address, a file and line, a route.
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        self.place = Some(place.to_string());
        self
    }

    /// How the reader can mend it, as an order: "choose another port".
    #[must_use]
    pub fn mend(mut self, advice: impl Into<String>) -> Self {
        self.mend = Some(advice.into());
        self
    }

    /// The code a command should exit with: 78 configuration, 71 operating system, 70 internal
    /// (the numbers of `sysexits.h`).
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            Kind::Config => 78,
            Kind::Os => 71,
            Kind::Internal => 70,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(place) = &self.place {
            write!(f, ": {place}")?;
        }
        if let Some(source) = &self.source {
            write!(f, ": {source}")?;
        }
        if let Some(mend) = &self.mend {
            write!(f, " ({mend})")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}
