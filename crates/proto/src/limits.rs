//! Every bound of the protocol machines, with its default. The one place for these numbers.

use std::time::Duration;

/// Bounds and timeouts of a connection.
///
/// `Limits::default()` gives the documented defaults; change single fields from there. All sizes
/// are bytes. The status in brackets answers a request that goes beyond the limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Request line and header fields together, with their line ends (431). Default 16 KiB.
    pub header_bytes: usize,
    /// Header fields of one request (431). Default 100.
    pub header_fields: usize,
    /// The request line without its line end (414). Default 8 KiB.
    pub request_line: usize,
    /// Request body unless the route says otherwise (413). Default 1 MiB.
    pub body: u64,
    /// Extension bytes of one chunk line, and of a whole body beyond the bytes of data it has
    /// carried so far (400). Default 4 KiB.
    pub chunk_extension_bytes: u64,
    /// Trailer section with its line ends (431). Default 4 KiB.
    pub trailer_bytes: usize,
    /// Trailer fields (431). Default 32.
    pub trailer_fields: usize,
    /// Body that is read and dropped after the answer to keep a connection alive; when more is
    /// left, the connection closes. Default 64 KiB.
    pub drain_bytes: u64,
    /// Time for a whole head: for the first from accept, for later ones from their first byte
    /// (408). Default 10 s.
    pub header_timeout: Duration,
    /// Longest wait for the next piece of a body (408). Default 30 s.
    pub body_idle: Duration,
    /// Slowest body in bytes of content per second of waiting (408); 0 for no such limit.
    /// Default 240.
    pub body_rate: u32,
    /// Waiting time that a body is granted before `body_rate` counts. Default 5 s.
    pub body_grace: Duration,
    /// How long an idle connection is kept between two requests. Default 75 s.
    pub keep_alive: Duration,
    /// How long an unread body is dropped before the connection closes. Default 5 s.
    pub drain_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            header_bytes: 16 * 1024,
            header_fields: 100,
            request_line: 8 * 1024,
            body: 1024 * 1024,
            chunk_extension_bytes: 4 * 1024,
            trailer_bytes: 4 * 1024,
            trailer_fields: 32,
            drain_bytes: 64 * 1024,
            header_timeout: Duration::from_secs(10),
            body_idle: Duration::from_secs(30),
            body_rate: 240,
            body_grace: Duration::from_secs(5),
            keep_alive: Duration::from_secs(75),
            drain_timeout: Duration::from_secs(5),
        }
    }
}
