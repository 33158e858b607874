//! A clock by Server-Sent Events: one thread for all who watch it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use stepwell::{Error, Event, EventStream, IntoResponse, Request, Response, Result};

use crate::log::utc;

/// The most clients that may watch at the same time.
const MOST: usize = 1000;

/// The clock and who watches it.
pub(crate) struct Clock {
    watchers: Mutex<Vec<EventStream>>,
    /// Somebody came.
    came: Condvar,
}

impl Clock {
    /// Starts the thread that ticks, which ends with the process and sleeps while nobody watches.
    ///
    /// # Errors
    /// When the system has no thread for it.
    pub(crate) fn start() -> Result<Arc<Self>> {
        let clock = Arc::new(Self {
            watchers: Mutex::default(),
            came: Condvar::new(),
        });
        let ticking = clock.clone();
        std::thread::Builder::new()
            .name("stepwell-clock".to_owned())
            .stack_size(64 * 1024)
            .spawn(move || ticking.tick_for_ever())
            .map_err(|error| Error::os("the clock cannot be started", error))?;
        Ok(clock)
    }

    /// Lets a client watch from now on.
    pub(crate) fn attend(&self, req: &mut Request) -> Response {
        let mut watchers = self.lock();
        watchers.retain(EventStream::is_open);
        if watchers.len() >= MOST {
            let refusal = Response::text("too many watch the clock already\n");
            return refusal.status(503).header("Retry-After", "10");
        }
        let events = req.event_stream();
        // Nothing was sent yet, so there is room; a client that left already is dropped later.
        let _ = events.try_send(&now(watchers.len() + 1));
        watchers.push(events);
        self.came.notify_one();
        // Ignored: the client gets the events.
        ().into_response()
    }

    fn tick_for_ever(&self) {
        loop {
            let watched = self
                .came
                .wait_while(self.lock(), |watchers| watchers.is_empty());
            drop(watched.unwrap_or_else(PoisonError::into_inner));
            std::thread::sleep(until_next_second());
            let mut watchers = self.lock();
            watchers.retain(EventStream::is_open);
            let event = now(watchers.len());
            for watcher in &*watchers {
                // Who is too far behind misses a tick.
                let _ = watcher.try_send(&event);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<EventStream>> {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn now(watchers: usize) -> Event {
    let time = utc(SystemTime::now());
    Event::data(format!("{{\"time\":\"{time}\",\"watchers\":{watchers}}}")).event("clock")
}

fn until_next_second() -> Duration {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    Duration::from_nanos(1_000_000_000 - u64::from(since.subsec_nanos()))
}
