//! Scripted and hostile peers for Stepwell's tests.
//!
//! Everything here is blocking, speaks over real sockets and knows nothing of the server's own
//! code, so that a mistake in the server's parser or encoder can't hide behind the same mistake
//! here. Three rules hold throughout:
//!
//! - **Nothing waits for ever.** Every read, write and wait has a deadline ([`PATIENCE`] unless
//!   told otherwise); a test that would hang fails with what it had seen so far.
//! - **Nothing sleeps to synchronise.** Waiting means waiting for bytes, for the end of a
//!   connection or for a condition ([`wait_until`]).
//! - **Misfortune panics.** The short forms (`send`, `read_response`…) panic with the reason, as
//!   an assertion would, at the line of the test; forms that begin with `try_` return it.
//!
//! ```no_run
//! use stepwell_testkit::RawClient;
//!
//! let mut client = RawClient::connect("127.0.0.1:8080".parse().unwrap());
//! client.send_bytewise(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
//! assert_eq!(client.read_response().status, 200);
//! ```
//!
//! Peers that misbehave have a name and a file each in [`peers`].
#![forbid(unsafe_code)]

mod answer;
mod client;
mod files;
mod parse;
pub mod peers;
mod pieces;
mod process;
mod request;
mod wait;

pub use answer::Answer;
pub use client::{Ending, RawClient};
pub use files::raise_file_limit;
pub use peers::{Crowd, Pipeliner, SlowLoris, SlowUploader, StalledReader, VanishingClient};
pub use pieces::{every_split, fragments};
pub use process::{Program, built_example};
pub use request::{get, in_chunks, post, request};
pub use wait::{PATIENCE, poll_until, wait_until};
