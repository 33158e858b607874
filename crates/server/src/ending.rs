//! By when a server is to have ended.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Shared by all who stop a server and all who wait for its end.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    state: Mutex<State>,
    told: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Unset while the server is to go on.
    deadline: Option<Instant>,
    over: bool,
}

impl Ending {
    /// Tells the server to end. An earlier deadline that was set before stays: stopping can be
    /// hurried, not put off.
    pub(crate) fn tell(&self, deadline: Instant) {
        let mut state = self.lock();
        state.deadline = Some(state.deadline.map_or(deadline, |set| set.min(deadline)));
        self.told.notify_all();
    }

    /// Waits until the server was told to end.
    pub(crate) fn wait_told(&self) {
        let told = self
            .told
            .wait_while(self.lock(), |state| state.deadline.is_none());
        drop(told.unwrap_or_else(PoisonError::into_inner));
    }

    /// When the server is to have ended; now, if nobody said.
    pub(crate) fn deadline(&self) -> Instant {
        self.lock().deadline.unwrap_or_else(Instant::now)
    }

    /// It has ended, or what is left of it is waited for no longer.
    pub(crate) fn set_over(&self) {
        self.lock().over = true;
    }

    pub(crate) fn is_over(&self) -> bool {
        self.lock().over
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
