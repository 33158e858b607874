//! The event loop with a small protocol over real sockets, loopback only.
#![cfg(not(loom))]

mod connections;
mod descriptors;
#[path = "../echo/mod.rs"]
mod echo;
mod letters;
mod listening;
