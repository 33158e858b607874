//! HTTP/1.0 and HTTP/1.1 as pure state machines (RFC 9110, RFC 9112).
//!
//! [`ServerConnection`] is one connection on the server side. Its parser is strict on purpose:
//! where two implementations could read a message differently, the request is refused and the
//! connection closed, because that difference is what request smuggling lives on.

mod chunked;
mod connection;
mod encode;
mod error;
mod framing;
mod parse;
mod recent;
mod reply;
mod state;
mod target;

use crate::head::RequestHead;
use crate::limits::Limits;
pub use connection::{BodyKind, Eof, Event, ServerConnection, Timeout};
pub use encode::{AsField, ResponseHead};
pub use error::{Error, ErrorKind, Fault};
pub(crate) use parse::ParseState;

pub use recent::RecentHeads;
pub use reply::{BodyLength, BodyMode};

/// Reads one request head from the front of `bytes` into `head`, which is cleared first; gives its
/// length, or `None` if it is not there as a whole. [`ServerConnection`] does this and more.
///
/// # Errors
/// The head is refused.
pub fn parse_head(
    head: &mut RequestHead,
    bytes: &[u8],
    limits: &Limits,
) -> Result<Option<usize>, Error> {
    head.clear();
    let end = parse::head(&mut head.layout, bytes, limits)?;
    head.bytes
        .extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
    Ok(end)
}
