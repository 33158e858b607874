//! Stepwell: an application server as a library. Handlers are plain blocking functions; they run at
//! the speed of an event loop.
//!
//! ```no_run
//! use stepwell::{Response, Router, Server};
//!
//! fn main() -> stepwell::Result<()> {
//!     let mut router = Router::new();
//!     router.get("/", |_| Response::text("Hello, World!"));
//!     router.get("/hello/{name}", |req| Response::text(format!("Hello, {}!", req.param("name"))));
//!     Server::new(router).bind("127.0.0.1:8080")?.serve()
//! }
//! ```
//!
//! - A [`Router`] maps methods and paths to handlers, with [middleware](Router::middleware) around
//!   them.
//! - A handler takes a [`Request`] and returns anything that is [`IntoResponse`]: text, [`Json`], a
//!   [`Response`], or a `Result` with [`HttpError`], into which `?` turns any error.
//! - A handler may block: read files, ask a database, sleep. A route starts on worker threads; once
//!   it has proved quick, the event loop's own thread runs it in place, without queue or wake-up.
//!   Should it turn out slow after all, another thread takes the event loop over meanwhile.
//! - A panic in a handler is a 500 and a line in the log; the server lives on.
//!
//! # The log
//! What a client is not told, such as the error behind a 500, is written with the crate
//! [`tracing`](https://docs.rs/tracing), and goes nowhere until the program says where to. With the
//! crate `tracing-subscriber` one line at the beginning of `main` prints it:
//!
//! ```text
//! tracing_subscriber::fmt::init();
//! ```

#![forbid(unsafe_code)]

mod body;
mod bytes;
mod compress;
mod conditional;
mod cookie;
mod counts;
mod driver;
mod ending;
mod error;
mod exchange;
mod fields;
mod form;
mod http_error;
mod into_response;
mod link;
mod multipart;
mod pipe;
mod request;
mod response;
mod router;
mod server;
mod signals;
mod site;
mod sse;
mod sse_stream;
mod stats;
pub mod status;

pub use body::{Body, BodyWriter, FileBody, StreamBody};
pub use bytes::Bytes;
pub use cookie::{Cookie, SameSite};
pub use error::{Error, Result};
pub use form::Form;
pub use http_error::HttpError;
pub use into_response::{IntoResponse, Json};
pub use link::Responder;
pub use multipart::{Multipart, Part, PartReader};
pub use request::Request;
pub use request::body::BodyReader;
pub use request::extensions::Extensions;
pub use request::peer::Peer;
pub use response::Response;
pub use router::middleware::Next;
pub use router::{App, Route, Router};
pub use server::{HandOff, Running, Server, Stopper};
pub use sse::Event;
pub use sse_stream::EventStream;
pub use stats::{CrewFigures, LoopFigures, RequestFigures, RouteFigures, Stats};
pub use stepwell_proto::{Limits, Method, Version};
pub use stepwell_reactor::crew::{ThreadHook, ThreadStart, blocking};

/// The example of the readme is compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
