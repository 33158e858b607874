//! Stopping on signals, for programs that ask for it.

use std::thread::JoinHandle;

use signal_hook::consts::{SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use crate::error::{Error, Result};
use crate::server::Stopper;

/// Watches for signals until it is dropped.
pub(crate) struct Watch {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The first signal stops the server gracefully, the next one at once.
pub(crate) fn watch(stopper: Stopper) -> Result<Watch> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGQUIT])
        .map_err(|error| Error::os("signals cannot be watched", error))?;
    let handle = signals.handle();
    let thread = std::thread::Builder::new()
        .name("stepwell-signal".to_owned())
        .spawn(move || {
            let mut graceful = None;
            for signal in signals.forever() {
                if graceful.is_some() {
                    tracing::warn!(signal, "stopping at once");
                    stopper.abort();
                    continue;
                }
                tracing::info!(signal, "stopping; once more to stop at once");
                let stopper = stopper.clone();
                graceful = Some(std::thread::spawn(move || stopper.stop()));
            }
        })
        .map_err(|error| Error::os("no thread can be started", error))?;
    Ok(Watch {
        handle,
        thread: Some(thread),
    })
}
