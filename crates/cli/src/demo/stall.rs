//! "Try to stall me": the server calls itself with many slow requests.
//!
//! A browser opens only six connections to a server and would hold back everything else itself, so
//! the slow requests of that panel come from here: over real connections, each to a handler that
//! sleeps.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use stepwell::{HttpError, Json, Request};

/// The most requests at a time; fewer than the threads that run handlers.
const MOST: u64 = 200;

/// The longest that each sleeps, in milliseconds.
const LONGEST: u64 = 5000;

/// Calls the server; one call at a time.
#[derive(Default)]
pub(crate) struct Stall {
    at: OnceLock<SocketAddr>,
    busy: AtomicBool,
}

#[derive(Serialize)]
pub(crate) struct Outcome {
    requests: usize,
    answered: usize,
    sleep_ms: u64,
    seconds: f64,
}

impl Stall {
    /// The server listens at these addresses: the first over TCP is called.
    pub(crate) fn reach(&self, mut addresses: impl Iterator<Item = String>) {
        if let Some(mut address) = addresses.find_map(|text| text.parse::<SocketAddr>().ok()) {
            if address.ip().is_unspecified() {
                match &mut address {
                    SocketAddr::V4(address) => address.set_ip(std::net::Ipv4Addr::LOCALHOST),
                    SocketAddr::V6(address) => address.set_ip(std::net::Ipv6Addr::LOCALHOST),
                }
            }
            // Told once, when the server has started.
            let _ = self.at.set(address);
        }
    }

    /// Sends the slow requests and waits for their answers.
    pub(crate) fn answer(&self, req: &mut Request) -> Result<Json<Outcome>, HttpError> {
        let count = super::number(req, "count", 100, MOST)?;
        let sleep_ms = super::number(req, "ms", 2000, LONGEST)?;
        let at = *self.at.get().ok_or_else(|| HttpError::new(503))?;
        if self.busy.swap(true, Ordering::AcqRel) {
            return Err(HttpError::new(429).message("somebody is stalling the server already\n"));
        }
        let outcome = call(at, count, sleep_ms);
        self.busy.store(false, Ordering::Release);
        Ok(Json(outcome))
    }
}

fn call(at: SocketAddr, count: u64, sleep_ms: u64) -> Outcome {
    let start = Instant::now();
    let patience = Duration::from_millis(sleep_ms) + Duration::from_secs(10);
    let calls: Vec<_> = (0..count).map(|_| ask(at, sleep_ms, patience)).collect();
    let requests = calls.len();
    let answered = calls
        .into_iter()
        .filter(|call| matches!(call, Ok(call) if is_answered(call)));
    let answered = answered.count();
    Outcome {
        requests,
        answered,
        sleep_ms,
        seconds: start.elapsed().as_secs_f64(),
    }
}

fn ask(at: SocketAddr, sleep_ms: u64, patience: Duration) -> io::Result<TcpStream> {
    let mut call = TcpStream::connect_timeout(&at, Duration::from_secs(2))?;
    call.set_read_timeout(Some(patience))?;
    write!(
        call,
        "GET /slow?ms={sleep_ms} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n"
    )?;
    Ok(call)
}

fn is_answered(call: &TcpStream) -> bool {
    let mut line = String::new();
    BufReader::new(call).read_line(&mut line).is_ok() && line.starts_with("HTTP/1.1 200 ")
}
