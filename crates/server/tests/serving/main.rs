//! The library as its clients meet it: real servers, real sockets, one file a topic.
//!
//! Nothing here sleeps to synchronise. Handlers that are to be slow wait at a gate that the test
//! opens; a timeout under test is set short, and only its lower bound is asserted.

mod support;

mod cancel;
mod connections;
mod detached;
mod events;
mod hand_off;
mod lifecycle;
mod mistakes;
mod refusals;
mod requests;
mod responses;
mod timeouts;
mod uploads;
