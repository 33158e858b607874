//! The states of a connection. Every transition of [`super::ServerConnection`] is drawn here.
//!
//! Two machines run side by side: what is read, and what is owed.
//!
//! ```text
//!  Recv          head whole, no body
//!          ┌───────────────────────────────┐
//!          │   ┌──────┐ head whole, body   │
//!   ┌──────┴┐  │ Head ├─────────┐          ▼
//!   │ Idle  ├─►└──────┘         ▼    end ┌────────┐ answer finished, keep alive
//!   └───────┘ part of head   ┌──────┐ ──►│ Paused ├────────────────────────────► Idle
//!       ▲                    │ Body │    └───┬────┘
//!       │                    └──┬───┘        │ answer finished, no keep alive
//!       │       answer finished │            ▼
//!       │       before the body │         Closed ◄── any error, timeout, end of stream
//!       │                       ▼            ▲
//!       │   rest dropped    ┌───────┐        │
//!       └───────────────────┤ Drain ├────────┘ more than drain_bytes, or too slow,
//!                           └───────┘          or no keep alive
//!
//!  Send     head whole, or        respond            (Idle: nothing is owed)
//!           error                ┌───────────────────────────────► Idle
//!   Idle ──────────────────► Due ┤
//!                                └─ start_response ─► Streaming ─► Idle
//!                                                     finish_response
//! ```
//!
//! `respond` and `finish_response` are "answer finished". A request that is refused goes to
//! `Closed` and `Due`: its answer is written, then nothing more is read. The connection is
//! finished when `Recv` is `Closed` and `Send` is `Idle`. An error after the answer (in a body that
//! is being dropped) goes to `Closed` without a word; so does everything that ends `Idle` early.

/// What the next received byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recv {
    /// The first byte of a request, if one comes.
    Idle,
    /// A byte of a head that has begun.
    Head,
    /// A byte of a body that the caller wants.
    Body(Framing),
    /// Nothing to look at before the answer is out.
    Paused,
    /// A byte of a body that nobody wants.
    Drain(Framing),
    /// Nothing to look at, ever.
    Closed,
}

/// How the end of a request's body is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// So many bytes are still to come.
    Length(u64),
    /// The chunk decoder knows.
    Chunked,
}

/// What is owed to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Send {
    /// Nothing.
    Idle,
    /// A whole answer.
    Due,
    /// The rest of an answer whose head is out.
    Streaming {
        /// The body goes out in chunks.
        chunked: bool,
    },
}
