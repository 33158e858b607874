//! Event loops on epoll, and the crew of threads that stands behind them.
//!
//! The reactor knows descriptors, timers, jobs and threads; it knows no protocol. A protocol
//! plugs in as a [`Driver`], which turns readiness into jobs and answers into bytes. Jobs run
//! where they are cheapest: on the loop's own thread while they prove fast, in a pool otherwise,
//! and a loop whose handler turns out slow changes hands (see [`crew`]).

#![deny(unsafe_code)]

#[cfg(not(loom))]
pub mod crew;
#[cfg(not(loom))]
mod event_loop;
#[cfg(not(loom))]
mod listener;
pub mod mailbox;
#[cfg(not(loom))]
mod slab;
#[allow(unsafe_code)]
pub mod slot;
mod sync;
#[cfg(not(loom))]
#[allow(unsafe_code)]
pub mod sys;
#[cfg(not(loom))]
mod wheel;

#[cfg(not(loom))]
pub use event_loop::{
    Connection, Driver, EventLoop, Io, LoopConfig, LoopHandle, LoopStats, Resume,
};
#[cfg(not(loom))]
pub use listener::{Address, BoundSet, ListenOptions, Listener};
#[cfg(not(loom))]
pub use slab::{Slab, Token};
#[cfg(not(loom))]
pub use sys::{Accepted, Event, Peer, Socket};
