//! Pure protocol machines: bytes in, events and bytes out.
//!
//! Nothing here owns a socket, reads a clock or starts a thread. The caller feeds received bytes
//! and the current [`Time`], drains events, and writes what the machine appended to its output
//! buffer. That is what makes every rule of a protocol testable with plain byte strings and a
//! virtual clock.
//!
//! - [`http1`]: one HTTP/1.0 or 1.1 connection, server role
//! - [`RequestHead`]: a request's head, owned and recyclable, shared by all HTTP versions
//! - [`Limits`]: every bound and timeout, with its default
//! - [`date`]: the `Date` field, rendered once a second
//! - [`syntax`]: the byte rules that applications' field names and values have to obey

#![forbid(unsafe_code)]

pub mod date;
mod field;
mod head;
pub mod http1;
mod limits;
pub mod syntax;
mod time;

pub use field::Field;
pub use head::{Fields, Method, RequestHead, Version};
pub use limits::Limits;
pub use time::Time;
