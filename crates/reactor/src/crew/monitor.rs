//! The monitor: a standby thread that takes loops away from handlers that hold them too long,
//! and lets the pool grow.

use std::sync::Arc;

use super::threads::Context;
use super::{Crew, Detach, Loop};
use crate::slot::Parked;
use crate::sync::Ordering;
use crate::sys;

/// Ticks without any sign of life after which the monitor goes to deep sleep.
const QUIET_TICKS: u32 = 64;

impl<L: Loop> Crew<L> {
    /// Watches until there is a loop to be led, then leads it: a theft needs no second wake-up.
    /// The role passes to another thread before.
    pub(super) fn monitor(self: &Arc<Self>, context: &mut Context) {
        let stolen = self.watch_loops();
        if self.pool.unwatched() {
            self.start_thread_or_log();
        }
        if let Some((index, held)) = stolen {
            self.lead(index, held, context);
        }
    }

    /// Answers a loop that was taken away, or nothing when the crew is dissolved.
    fn watch_loops(self: &Arc<Self>) -> Option<(usize, Box<Parked<L>>)> {
        // Ticks may be late by a tenth, which lets the kernel merge them with other timers.
        let tick = self.config.tick.as_nanos() as u64;
        sys::set_timer_slack(tick / 10);
        let mut seen: Vec<u64> = self.slots.iter().map(|_| 0).collect();
        let mut quiet = 0;
        let stolen = loop {
            sys::sleep_ns(tick);
            if self.pool.has_ended() {
                break None;
            }
            let mut alive = self.pool.has_waiting();
            let mut overdue = None;
            for (index, (slot, seen)) in self.slots.iter().zip(&mut seen).enumerate() {
                let seq = slot.seq();
                if seq != *seen {
                    *seen = seq;
                    alive = true;
                } else if slot.is_parked() {
                    overdue = overdue.or(Some((index, seq)));
                    alive = true;
                }
            }
            for _ in 0..self.pool.grow() {
                self.start_thread_or_log();
            }
            if let Some((index, seq)) = overdue {
                if let Some(held) = self.steal(index, seq) {
                    break Some((index, held));
                }
            }
            quiet = if alive { 0 } else { quiet + 1 };
            if quiet >= QUIET_TICKS {
                self.deep_sleep(&seen);
                quiet = 0;
            }
        };
        sys::set_timer_slack(Context::TIMER_SLACK_NS);
        stolen
    }

    fn deep_sleep(&self, seen: &[u64]) {
        self.watch.sleep_unless(|| {
            self.pool.has_waiting()
                || self.pool.has_ended()
                || self
                    .slots
                    .iter()
                    .zip(seen)
                    .any(|(slot, seen)| slot.seq() != *seen || slot.is_parked())
        });
    }

    /// Takes the loop that has been parked as `seq` for longer than a tick.
    fn steal(&self, index: usize, seq: u64) -> Option<Box<Parked<L>>> {
        let slot = &self.slots[index];
        let mut held = slot.take()?;
        // Parked anew since the look: its leader will miss it all the same, but is not charged.
        if held.seq() == seq {
            if let Some(class) = held.inner.current_class() {
                class.stolen();
            }
        }
        self.counters.thefts.fetch_add(1, Ordering::Relaxed);
        if held.inner.current_class().is_some() {
            self.pool.stray(1);
            held.inner.detach(Detach::Stolen);
        }
        slot.renumber(&mut held);
        Some(held)
    }
}
