//! The smallest protocol that needs everything a driver can do. A request is a line
//! `<id> <operation> <number>`, its answer is `<id> <operation>`; a connection's requests are
//! answered in their order. What an operation does, the test decides.

// Each test binary uses a part of it.
#![allow(dead_code, unused_imports)]

mod driver;
mod server;

pub(crate) use driver::{Letter, Request};
pub(crate) use server::{Client, Gate, Server, Setup, until};
