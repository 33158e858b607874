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
mod reply;
mod state;
mod target;

pub use connection::{BodyKind, Eof, Event, ServerConnection, Timeout};
pub use encode::{AsField, ResponseHead};
pub use error::{Error, ErrorKind, Fault};
pub(crate) use parse::ParseState;
pub use reply::{BodyLength, BodyMode};
