//! How the crew treats loops, handlers and threads, seen through a loop that follows a script.
#![cfg(not(loom))]

mod hand_off;
mod learning;
mod pool;
mod script;
mod threads;
