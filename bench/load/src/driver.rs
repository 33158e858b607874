//! The loop: one thread, one epoll instance, a `recv` and a `send` for every batch of requests.

use crate::histogram::Histogram;
use crate::options::Options;
use crate::probe;
use bench_sys::{Epoll, NOTHING, Ready, Trigger, cpu_time, token};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// After so many errors the run ends: it measures nothing worth having.
const MOST_ERRORS: u64 = 1_000;

/// A kind of request with its own latencies.
pub struct Class {
    /// What is sent: one request, or a batch of pipelined ones.
    batch: Vec<u8>,
    /// The bytes that answer the batch.
    expected: usize,
    pub latencies: Histogram,
}

struct Connection {
    stream: TcpStream,
    class: usize,
    received: usize,
    sent: u64,
}

/// What a run has found.
pub struct Outcome {
    pub classes: Vec<Class>,
    pub seconds: f64,
    pub errors: u64,
    pub bytes: u64,
    pub server_cpu: Duration,
    pub load_cpu: Duration,
}

struct Driver<'a> {
    options: &'a Options,
    epoll: Epoll,
    start: Instant,
    classes: Vec<Class>,
    connections: Vec<Connection>,
    buffer: Vec<u8>,
    /// Of 2^32 requests so many are of the second class.
    slow_share: u64,
    random: u64,
    errors: u64,
    bytes: u64,
}

pub fn run(options: &Options) -> io::Result<Outcome> {
    let mut driver = Driver::new(options)?;
    driver.connect_all()?;
    driver.run_for(options.warmup, u64::MAX)?;
    for class in &mut driver.classes {
        class.latencies.clear();
    }
    (driver.bytes, driver.errors) = (0, 0);
    let (server, own) = (driver.server_cpu()?, cpu_time(std::process::id())?);
    let seconds = driver.run_for(options.seconds, options.requests)?;
    Ok(Outcome {
        server_cpu: driver.server_cpu()?.saturating_sub(server),
        load_cpu: cpu_time(std::process::id())?.saturating_sub(own),
        seconds,
        errors: driver.errors,
        bytes: driver.bytes,
        classes: driver.classes,
    })
}

impl<'a> Driver<'a> {
    fn new(options: &'a Options) -> io::Result<Driver<'a>> {
        let mut classes = Vec::new();
        for path in &options.paths {
            let request = options.request(path);
            let length = probe::reply_length(options.address, &request)?;
            classes.push(Class {
                batch: request.repeat(options.pipeline),
                expected: length * options.pipeline,
                latencies: Histogram::new(),
            });
        }
        if options.label.is_some() {
            let (batch, expected) = (Vec::new(), 0);
            classes.push(Class {
                batch,
                expected,
                latencies: Histogram::new(),
            });
        }
        let two_paths = options.paths.len() == 2;
        Ok(Driver {
            options,
            epoll: Epoll::new()?,
            start: Instant::now(),
            classes,
            connections: Vec::new(),
            buffer: vec![0; 64 * 1024],
            slow_share: if two_paths {
                (options.share / 100.0 * 2f64.powi(32)) as u64
            } else {
                0
            },
            random: 0x9E37_79B9_7F4A_7C15,
            errors: 0,
            bytes: 0,
        })
    }

    fn connect_all(&mut self) -> io::Result<()> {
        for index in 0..self.options.connections {
            let stream = self.connect(index)?;
            self.connections.push(Connection {
                stream,
                class: 0,
                received: 0,
                sent: 0,
            });
        }
        for index in 0..self.connections.len() {
            let now = self.now();
            self.send(index, now)?;
        }
        Ok(())
    }

    fn connect(&self, index: usize) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(self.options.address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        self.epoll.add(stream.as_fd(), index, Trigger::Edge)?;
        Ok(stream)
    }

    /// Nanoseconds since the start.
    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn server_cpu(&self) -> io::Result<Duration> {
        self.options.pids.iter().map(|&pid| cpu_time(pid)).sum()
    }

    /// Runs for a time or for a number of requests, whichever ends first; returns the seconds.
    fn run_for(&mut self, seconds: f64, requests: u64) -> io::Result<f64> {
        let begin = self.now();
        let end = begin + (seconds * 1e9) as u64;
        let mut events: [Ready; 512] = [NOTHING; 512];
        loop {
            // Even when no server answers, look at the clock from time to time.
            for event in self.epoll.wait(&mut events, 50)? {
                self.readable(token(event))?;
            }
            let now = self.now();
            if now >= end || self.errors > MOST_ERRORS || self.requests() >= requests {
                return Ok((now - begin) as f64 / 1e9);
            }
        }
    }

    fn requests(&self) -> u64 {
        self.classes
            .iter()
            .map(|class| class.latencies.total())
            .sum()
    }

    fn readable(&mut self, index: usize) -> io::Result<()> {
        loop {
            let connection = &mut self.connections[index];
            let read = match connection.stream.read(&mut self.buffer) {
                Ok(0) => return self.reconnect(index),
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(_) => return self.reconnect(index),
            };
            let bytes = &self.buffer[..read];
            // Lengths that do not add up show here too: the next reply then starts elsewhere.
            if connection.received == 0 && !bytes.starts_with(b"HTTP/1.1 2") {
                return self.reconnect(index);
            }
            connection.received += read;
            self.bytes += read as u64;
            let expected = self.classes[connection.class].expected;
            if connection.received > expected {
                return self.reconnect(index);
            }
            if connection.received == expected {
                let slow = self
                    .options
                    .label
                    .is_some_and(|label| bytes.last() == Some(&label));
                let class = if slow { 1 } else { connection.class };
                let (sent, now) = (connection.sent, self.now());
                let latencies = &mut self.classes[class].latencies;
                latencies.record(now - sent, self.options.pipeline as u64);
                return self.send(index, now);
            }
            if read < self.buffer.len() {
                return Ok(());
            }
        }
    }

    /// Sends the next batch; it always fits into a socket buffer that has been answered in full.
    fn send(&mut self, index: usize, now: u64) -> io::Result<()> {
        let class = self.pick();
        let connection = &mut self.connections[index];
        (connection.class, connection.received, connection.sent) = (class, 0, now);
        let batch = &self.classes[class].batch;
        match connection.stream.write(batch) {
            Ok(written) if written == batch.len() => Ok(()),
            _ => self.reconnect(index),
        }
    }

    /// The class of the next request.
    fn pick(&mut self) -> usize {
        if self.slow_share == 0 {
            return 0;
        }
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        usize::from(self.random >> 32 < self.slow_share)
    }

    /// Counts an error and starts anew; an error here, too, ends the run.
    fn reconnect(&mut self, index: usize) -> io::Result<()> {
        self.errors += 1;
        if self.errors > MOST_ERRORS {
            return Ok(());
        }
        self.connections[index].stream = self.connect(index)?;
        let now = self.now();
        self.send(index, now)
    }
}
