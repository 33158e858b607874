//! Bounded pipes between an event loop and a handler that blocks: request bodies one way,
//! response bodies the other.
//!
//! The handler's end waits, after it has given its loop away; the loop's end never does. Each
//! pipe holds a bounded number of bytes, and when it is full the other side is held back: the
//! loop stops reading from the client, the handler stops writing.

use std::io::{self, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use stepwell_reactor::crew::about_to_block;

use crate::body::StreamSink;
use crate::http_error::BodyError;
use crate::link::{Address, Hub, Letter};

/// Bytes that a pipe holds before it is full.
pub(crate) const CAPACITY: usize = 64 * 1024;
/// A response's pieces leave when they have grown to this, or on a flush.
const PIECE: usize = 16 * 1024;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing below panics while it holds a lock; application code never runs under one.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the client is gone")
}

/// How a request body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Complete,
    /// It broke off, with the status that the client gets or would get.
    Failed(u16, &'static str),
}

#[derive(Debug, Default)]
struct Inflow {
    bytes: Vec<u8>,
    /// How much of `bytes` was read.
    taken: usize,
    ending: Option<Ending>,
    /// The loop has stopped because the pipe was full, and wants to be told of room.
    held: bool,
    /// The reader has asked for the first byte: a client that waits for `100 Continue` gets it.
    asked: bool,
}

/// A request body on its way from the loop to a handler.
#[derive(Debug)]
pub(crate) struct InPipe {
    state: Mutex<Inflow>,
    changed: Condvar,
}

impl InPipe {
    pub(crate) fn new() -> Arc<InPipe> {
        Arc::new(InPipe {
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// How many bytes the loop may push now. Answering 0, the pipe promises a
    /// [`Letter::WantsBody`] when there is room.
    pub(crate) fn room(&self) -> usize {
        let mut state = locked(&self.state);
        let room = CAPACITY.saturating_sub(state.bytes.len() - state.taken);
        state.held = room == 0;
        room
    }

    /// Takes bytes that have arrived. The loop has asked for room first.
    pub(crate) fn push(&self, bytes: &[u8]) {
        let mut state = locked(&self.state);
        if state.taken == state.bytes.len() {
            state.bytes.clear();
            state.taken = 0;
        } else if state.taken > CAPACITY {
            let taken = state.taken;
            state.bytes.drain(..taken);
            state.taken = 0;
        }
        state.bytes.extend_from_slice(bytes);
        drop(state);
        self.changed.notify_one();
    }

    /// The body is complete.
    pub(crate) fn end(&self) {
        self.finish(Ending::Complete);
    }

    /// The body broke off; the reader gets an error of this status.
    pub(crate) fn fail(&self, status: u16, reason: &'static str) {
        self.finish(Ending::Failed(status, reason));
    }

    fn finish(&self, ending: Ending) {
        locked(&self.state).ending.get_or_insert(ending);
        self.changed.notify_one();
    }

    /// Whether the reader has asked for anything yet.
    pub(crate) fn was_asked(&self) -> bool {
        locked(&self.state).asked
    }
}

/// The handler's end of an [`InPipe`].
pub(crate) struct PipeReader {
    pipe: Arc<InPipe>,
    hub: Arc<Hub>,
    address: Address,
}

impl PipeReader {
    pub(crate) fn new(pipe: Arc<InPipe>, hub: Arc<Hub>, address: Address) -> PipeReader {
        PipeReader { pipe, hub, address }
    }
}

impl Read for PipeReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        let mut state = locked(&self.pipe.state);
        loop {
            let available = state.bytes.get(state.taken..).unwrap_or_default();
            if !available.is_empty() {
                let count = available.len().min(into.len());
                let (part, _) = available.split_at(count);
                into.iter_mut().zip(part).for_each(|(to, from)| *to = *from);
                state.taken += count;
                let left = state.bytes.len() - state.taken;
                let tell = state.held && left <= CAPACITY / 2;
                if tell {
                    state.held = false;
                }
                drop(state);
                if tell {
                    self.hub.post(Letter::WantsBody(self.address));
                }
                return Ok(count);
            }
            match state.ending {
                Some(Ending::Complete) => return Ok(0),
                Some(Ending::Failed(status, reason)) => return Err(BodyError::io(status, reason)),
                None => {}
            }
            if !std::mem::replace(&mut state.asked, true) {
                drop(state);
                self.hub.post(Letter::WantsBody(self.address));
                // From here on this thread waits for the network.
                about_to_block();
                state = locked(&self.pipe.state);
                continue;
            }
            state = self
                .pipe
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[derive(Debug, Default)]
struct Outflow {
    bytes: Vec<u8>,
    trailers: Vec<(String, String)>,
    /// A letter is on its way to the loop.
    announced: bool,
    ended: bool,
    /// The writer broke off: the client must not take the body for complete.
    failed: bool,
    /// The connection is gone, nothing will be sent any more.
    gone: bool,
}

/// A response body on its way from a handler to the loop.
#[derive(Debug)]
pub(crate) struct OutPipe {
    state: Mutex<Outflow>,
    changed: Condvar,
}

/// What the loop found in an [`OutPipe`].
#[derive(Debug, Default)]
pub(crate) struct Drawn {
    pub(crate) bytes: Vec<u8>,
    pub(crate) trailers: Vec<(String, String)>,
    /// Nothing will follow.
    pub(crate) ended: bool,
    /// Nothing will follow, although the body is not complete.
    pub(crate) failed: bool,
}

impl OutPipe {
    pub(crate) fn new() -> Arc<OutPipe> {
        Arc::new(OutPipe {
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// Takes everything that was written so far, in exchange for an empty buffer.
    pub(crate) fn draw(&self, empty: Vec<u8>) -> Drawn {
        let mut state = locked(&self.state);
        state.announced = false;
        let bytes = std::mem::replace(&mut state.bytes, empty);
        // They stay until the end, which may come with a later draw.
        let trailers = match state.ended {
            true => std::mem::take(&mut state.trailers),
            false => Vec::new(),
        };
        let drawn = Drawn {
            bytes,
            trailers,
            ended: state.ended,
            failed: state.failed,
        };
        drop(state);
        self.changed.notify_all();
        drawn
    }

    /// Tells the writer that nobody reads any more.
    pub(crate) fn abandon(&self) {
        locked(&self.state).gone = true;
        self.changed.notify_all();
    }
}

/// The handler's end of an [`OutPipe`]; every clone writes to the same body.
#[derive(Clone)]
pub(crate) struct PipeWriter {
    pipe: Arc<OutPipe>,
    hub: Arc<Hub>,
    address: Address,
}

impl PipeWriter {
    pub(crate) fn new(pipe: Arc<OutPipe>, hub: Arc<Hub>, address: Address) -> PipeWriter {
        PipeWriter { pipe, hub, address }
    }

    fn announce(&self, mut state: MutexGuard<'_, Outflow>) {
        if !std::mem::replace(&mut state.announced, true) {
            drop(state);
            self.hub.post(Letter::Output(self.address));
        }
    }

    /// Ends the body; `failed` if it is not complete.
    pub(crate) fn end(&self, failed: bool) {
        let mut state = locked(&self.pipe.state);
        if !std::mem::replace(&mut state.ended, true) {
            state.failed = failed;
            self.announce(state);
        }
    }

    /// Whether the client is still there.
    pub(crate) fn is_open(&self) -> bool {
        let state = locked(&self.pipe.state);
        !state.gone && !state.ended
    }

    /// Takes `data` whole, or nothing of it if it does not fit now (`WouldBlock`). Something that
    /// is larger than the pipe fits when the pipe is empty.
    pub(crate) fn try_send(&self, data: &[u8]) -> io::Result<()> {
        let mut state = locked(&self.pipe.state);
        if state.gone || state.ended {
            return Err(gone());
        }
        if !state.bytes.is_empty() && state.bytes.len() + data.len() > CAPACITY {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        state.bytes.extend_from_slice(data);
        self.announce(state);
        Ok(())
    }

    /// As [`PipeWriter::try_send`], waiting for room.
    pub(crate) fn send(&self, data: &[u8]) -> io::Result<()> {
        match self.try_send(data) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            result => return result,
        }
        about_to_block();
        let mut state = locked(&self.pipe.state);
        loop {
            if state.gone || state.ended {
                return Err(gone());
            }
            if state.bytes.is_empty() || state.bytes.len() + data.len() <= CAPACITY {
                state.bytes.extend_from_slice(data);
                self.announce(state);
                return Ok(());
            }
            state = self
                .pipe
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl StreamSink for PipeWriter {
    fn write(&mut self, mut data: &[u8]) -> io::Result<()> {
        let mut state = locked(&self.pipe.state);
        while !data.is_empty() {
            if state.gone {
                return Err(gone());
            }
            let room = CAPACITY.saturating_sub(state.bytes.len());
            if room == 0 {
                if !std::mem::replace(&mut state.announced, true) {
                    self.hub.post(Letter::Output(self.address));
                }
                drop(state);
                about_to_block();
                state = locked(&self.pipe.state);
                while state.bytes.len() >= CAPACITY && !state.gone {
                    state = self
                        .pipe
                        .changed
                        .wait(state)
                        .unwrap_or_else(PoisonError::into_inner);
                }
                continue;
            }
            let (now, later) = data.split_at(room.min(data.len()));
            state.bytes.extend_from_slice(now);
            data = later;
        }
        if state.bytes.len() >= PIECE {
            self.announce(state);
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let state = locked(&self.pipe.state);
        if state.gone {
            return Err(gone());
        }
        if !state.bytes.is_empty() {
            self.announce(state);
        }
        Ok(())
    }

    fn trailer(&mut self, name: &str, value: &str) -> io::Result<()> {
        locked(&self.pipe.state)
            .trailers
            .push((name.to_owned(), value.to_owned()));
        Ok(())
    }
}
