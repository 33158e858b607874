//! Event streams: detached answers that consist of events.

use std::fmt;
use std::io;

use crate::pipe::PipeWriter;
use crate::sse::Event;

/// Sends Server-Sent Events to one client, from any thread and for as long as the client stays,
/// while no thread waits for it. Made by [`Request::event_stream`](crate::Request::event_stream).
///
/// Clones send to the same client. The stream ends when the last of them is dropped; it is kept
/// alive with a comment when nothing was sent for 15 s.
///
/// ```
/// use std::time::Duration;
/// use stepwell::{Event, Router};
///
/// let mut router = Router::new();
/// router.get("/clock", |req| {
///     let events = req.event_stream();
///     std::thread::spawn(move || {
///         for tick in 0.. {
///             if events.send(&Event::data(tick.to_string())).is_err() {
///                 return; // the client has left
///             }
///             std::thread::sleep(Duration::from_secs(1));
///         }
///     });
/// });
/// ```
#[derive(Clone)]
pub struct EventStream {
    writer: Option<std::sync::Arc<Ending>>,
}

/// Ends the stream with its last owner.
struct Ending(PipeWriter);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end(false);
    }
}

impl EventStream {
    pub(crate) fn new(writer: Option<PipeWriter>) -> EventStream {
        EventStream {
            writer: writer.map(|writer| std::sync::Arc::new(Ending(writer))),
        }
    }

    /// Sends an event. Waits while the client is more than 64 KiB behind.
    ///
    /// # Errors
    /// `BrokenPipe` once the client is gone; `InvalidInput` when the event's name or id has a
    /// line break in it.
    pub fn send(&self, event: &Event) -> io::Result<()> {
        let text = event.to_text()?;
        match &self.writer {
            Some(writer) => writer.0.send(text.as_bytes()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Sends an event if the client is not too far behind; never waits.
    ///
    /// # Errors
    /// `WouldBlock` when the client is more than 64 KiB behind, and those of
    /// [`send`](Self::send).
    pub fn try_send(&self, event: &Event) -> io::Result<()> {
        let text = event.to_text()?;
        match &self.writer {
            Some(writer) => writer.0.try_send(text.as_bytes()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Whether the client is still there.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.writer
            .as_ref()
            .is_some_and(|writer| writer.0.is_open())
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream")
            .field("open", &self.is_open())
            .finish()
    }
}
