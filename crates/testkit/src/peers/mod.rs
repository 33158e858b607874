//! Peers with a character, one file each.
//!
//! | peer | what it does |
//! |---|---|
//! | [`Pipeliner`] | sends many requests in one write, then reads their answers in order |
//! | [`SlowLoris`] | sends byte by byte with pauses, to hold a connection as long as it can |
//! | [`SlowUploader`] | announces a body and lets the server wait for it |
//! | [`StalledReader`] | asks for much and reads nothing |
//! | [`VanishingClient`] | asks and goes away, in each of the ways there are |
//! | [`Crowd`] | many connections at once, well-behaved otherwise |

mod crowd;
mod pipeliner;
mod slow_loris;
mod slow_uploader;
mod stalled_reader;
mod vanishing_client;

pub use crowd::Crowd;
pub use pipeliner::Pipeliner;
pub use slow_loris::{Endurance, SlowLoris};
pub use slow_uploader::SlowUploader;
pub use stalled_reader::StalledReader;
pub use vanishing_client::VanishingClient;

#[cfg(test)]
mod tests;
