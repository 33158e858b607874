//! Learning which handlers are fast enough for the event loop.
//!
//! What learns is a *cost class*: usually one route. Every class starts in the pool. It earns the
//! loop by a streak of cheap runs, and loses it by the rate of thefts (a handler that held its
//! loop until the monitor took it away), by announcing too often that it blocks, or by samples
//! that show a steady cost just below what the monitor notices. After each loss the streak that
//! is needed doubles, so a class that is fast most of the time settles in the pool instead of
//! flapping; a long time without trouble halves it again.

use std::time::Duration;

use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// A run is cheap when it takes less processor time than this and never waits.
pub const CHEAP: Duration = Duration::from_micros(100);
/// Cheap runs in a row that earn the loop at first.
const STREAK: u32 = 32;
/// While a class is costly, one run on a worker in this many is weighed.
const WEIGH_ONE_IN: u64 = 8;
/// The most that the needed streak grows to.
const STREAK_MAX: u32 = 1 << 15;
/// In place, one run in this many is timed. A prime, so that samples don't keep step with requests
/// that come in turn, which would hide all of them but one.
pub const SAMPLE_EVERY: u32 = 61;
/// Thefts in this many runs decide about the place of a class.
const WINDOW: u32 = 4096;
/// More thefts than this in a window, and the class goes back to the pool: about one in a
/// thousand runs, each of which stalls its neighbours for one or two ticks.
const THEFTS: u32 = 4;
/// A class that is stolen from before it had this many runs in place goes back at once.
const YOUNG: u32 = 256;
/// Announced blocking costs a wake-up, as the pool does: tolerated in one run of this many.
const ANNOUNCED_ONE_IN: u32 = 8;
/// Costly samples in a row (of one run in 61 each) that send a class back to the pool.
const COSTLY_SAMPLES: u32 = 3;
/// Runs in place without a loss after which the needed streak is halved.
const FORGIVE_AFTER: u32 = 1 << 20;

/// Where a class runs, and why: counters and thresholds of one cost class.
///
/// All counters are statistics: relaxed, and those of the hot path are written without atomic
/// read-modify-write, so two loops that run the same class at the same time may lose a count.
#[derive(Debug, Default)]
pub struct CostClass {
    name: Box<str>,
    /// Stays where it is, whatever its runs cost.
    pinned: bool,
    in_place: AtomicBool,
    streak: AtomicU32,
    /// The last run that was weighed was not cheap.
    dear: AtomicBool,
    lost: AtomicU32,
    window_runs: AtomicU32,
    window_thefts: AtomicU32,
    window_announced: AtomicU32,
    costly: AtomicU32,
    /// The last glance at a run took long: the next run is weighed.
    suspected: AtomicBool,
    since_loss: AtomicU32,
    runs_in_place: AtomicU64,
    runs_in_pool: AtomicU64,
    thefts: AtomicU64,
    announced: AtomicU64,
    promotions: AtomicU64,
    demotions: AtomicU64,
}

/// The counters of a class at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassStats {
    /// The name given to the class.
    pub name: String,
    /// Whether it runs on event loops now.
    pub in_place: bool,
    /// Runs on an event loop's thread.
    pub runs_in_place: u64,
    /// Runs on a worker.
    pub runs_in_pool: u64,
    /// Times that a run in place was so slow that its loop was taken away.
    pub thefts: u64,
    /// Times that a run in place handed its loop over by itself, before it blocked.
    pub announced: u64,
    /// Times that the class earned the loop.
    pub promotions: u64,
    /// Times that it lost it.
    pub demotions: u64,
}

fn bump(counter: &AtomicU64) {
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

fn bump32(counter: &AtomicU32) -> u32 {
    let next = counter.load(Ordering::Relaxed).wrapping_add(1);
    counter.store(next, Ordering::Relaxed);
    next
}

impl CostClass {
    /// A class that starts in the pool and learns.
    pub fn new(name: &str) -> CostClass {
        CostClass {
            name: name.into(),
            ..CostClass::default()
        }
    }

    /// A class that always runs in the pool.
    pub fn pinned_to_pool(name: &str) -> CostClass {
        CostClass {
            name: name.into(),
            pinned: true,
            ..CostClass::default()
        }
    }

    /// A class that always runs in place: answers of the server itself, which run no code of the
    /// application.
    pub fn kept_in_place(name: &str) -> CostClass {
        let in_place = AtomicBool::new(true);
        CostClass {
            name: name.into(),
            pinned: true,
            in_place,
            ..CostClass::default()
        }
    }

    /// The name given at creation.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it may run on an event loop now.
    #[inline]
    pub fn runs_in_place(&self) -> bool {
        self.in_place.load(Ordering::Relaxed)
    }

    fn needed(&self) -> u32 {
        STREAK
            .saturating_mul(1 << self.lost.load(Ordering::Relaxed).min(10))
            .min(STREAK_MAX)
    }

    /// Whether the run on a worker that comes next is to be weighed. As long as runs are costly
    /// most are not: weighing takes four system calls, and a class that waits will wait again.
    pub(crate) fn wants_weighing(&self) -> bool {
        let dear = self.dear.load(Ordering::Relaxed);
        !self.pinned && (!dear || self.runs_in_pool.load(Ordering::Relaxed) % WEIGH_ONE_IN == 0)
    }

    /// Counts a run on a worker; if it was weighed, whether it was cheap: cost less than [`CHEAP`]
    /// and never waited.
    pub(crate) fn ran_in_pool(&self, cheap: Option<bool>) {
        self.runs_in_pool.fetch_add(1, Ordering::Relaxed);
        match cheap {
            None => {}
            Some(false) => {
                self.streak.store(0, Ordering::Relaxed);
                self.dear.store(true, Ordering::Relaxed);
            }
            Some(true) if self.pinned => {}
            Some(true) => {
                let streak = self.streak.fetch_add(1, Ordering::Relaxed) + 1;
                if streak >= self.needed() {
                    self.promote();
                }
            }
        }
    }

    #[cold]
    fn promote(&self) {
        if self.in_place.swap(true, Ordering::Relaxed) {
            return;
        }
        for counter in [
            &self.window_runs,
            &self.window_thefts,
            &self.window_announced,
            &self.costly,
        ] {
            counter.store(0, Ordering::Relaxed);
        }
        self.since_loss.store(0, Ordering::Relaxed);
        self.promotions.fetch_add(1, Ordering::Relaxed);
    }

    #[cold]
    fn demote(&self) {
        if self.pinned || !self.in_place.swap(false, Ordering::Relaxed) {
            return;
        }
        self.streak.store(0, Ordering::Relaxed);
        self.lost.fetch_add(1, Ordering::Relaxed);
        self.demotions.fetch_add(1, Ordering::Relaxed);
        tracing::debug!(
            class = &*self.name,
            next_streak = self.needed(),
            "back to the pool"
        );
    }

    /// Counts a run in place.
    #[inline]
    pub(crate) fn ran_in_place(&self) {
        bump(&self.runs_in_place);
        if bump32(&self.window_runs) >= WINDOW {
            self.next_window();
        }
    }

    #[cold]
    fn next_window(&self) {
        for counter in [
            &self.window_runs,
            &self.window_thefts,
            &self.window_announced,
        ] {
            counter.store(counter.load(Ordering::Relaxed) / 2, Ordering::Relaxed);
        }
        let calm = self
            .since_loss
            .load(Ordering::Relaxed)
            .saturating_add(WINDOW / 2);
        if calm >= FORGIVE_AFTER {
            let lost = self.lost.load(Ordering::Relaxed);
            self.lost.store(lost.saturating_sub(1), Ordering::Relaxed);
            self.since_loss.store(0, Ordering::Relaxed);
        } else {
            self.since_loss.store(calm, Ordering::Relaxed);
        }
    }

    /// Whether the run in place that comes next is to be weighed.
    #[inline]
    pub(crate) fn is_suspected(&self) -> bool {
        self.suspected.load(Ordering::Relaxed)
    }

    /// A glance at a run has set off, or a weighed run has settled, a suspicion.
    pub(crate) fn suspect(&self, suspected: bool) {
        self.suspected.store(suspected, Ordering::Relaxed);
    }

    /// Counts a timed run in place.
    pub(crate) fn sampled(&self, cheap: bool) {
        if cheap {
            self.costly.store(0, Ordering::Relaxed);
        } else if bump32(&self.costly) >= COSTLY_SAMPLES {
            self.demote();
        }
    }

    /// Counts a theft of an overdue run of this class.
    pub(crate) fn stolen(&self) {
        self.thefts.fetch_add(1, Ordering::Relaxed);
        let thefts = bump32(&self.window_thefts);
        let young = self.window_runs.load(Ordering::Relaxed) < YOUNG
            && self.promotions.load(Ordering::Relaxed) >= 1;
        if thefts > THEFTS || (thefts > 1 && young) {
            self.demote();
        }
    }

    /// Counts a run that gave its loop away before it blocked.
    pub(crate) fn announced(&self) {
        self.announced.fetch_add(1, Ordering::Relaxed);
        let announced = bump32(&self.window_announced);
        let runs = self.window_runs.load(Ordering::Relaxed);
        if announced > THEFTS && announced > runs / ANNOUNCED_ONE_IN {
            self.demote();
        }
    }

    /// The counters now.
    pub fn stats(&self) -> ClassStats {
        ClassStats {
            name: self.name.to_string(),
            in_place: self.runs_in_place(),
            runs_in_place: self.runs_in_place.load(Ordering::Relaxed),
            runs_in_pool: self.runs_in_pool.load(Ordering::Relaxed),
            thefts: self.thefts.load(Ordering::Relaxed),
            announced: self.announced.load(Ordering::Relaxed),
            promotions: self.promotions.load(Ordering::Relaxed),
            demotions: self.demotions.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fast(class: &CostClass) {
        for _ in 0..class.needed() {
            assert!(!class.runs_in_place());
            class.ran_in_pool(Some(true));
        }
        assert!(class.runs_in_place());
    }

    #[test]
    fn a_class_earns_the_loop_by_a_streak() {
        let class = CostClass::new("c");
        for _ in 0..10 {
            for _ in 0..STREAK - 1 {
                class.ran_in_pool(Some(true));
            }
            class.ran_in_pool(Some(false));
        }
        assert!(!class.runs_in_place(), "no streak was long enough");
        fast(&class);
    }

    #[test]
    fn a_pinned_class_stays_in_the_pool() {
        let class = CostClass::pinned_to_pool("c");
        for _ in 0..10 * STREAK {
            class.ran_in_pool(Some(true));
        }
        assert!(!class.runs_in_place());
    }

    #[test]
    fn rare_thefts_are_forgiven_and_frequent_ones_are_not() {
        let class = CostClass::new("c");
        fast(&class);
        for run in 0..1_000_000u32 {
            class.ran_in_place();
            if run % 10_000 == 9_999 {
                class.stolen();
            }
        }
        assert!(class.runs_in_place(), "one in ten thousand");
        for run in 0..10_000u32 {
            class.ran_in_place();
            if run % 200 == 199 {
                class.stolen();
            }
        }
        assert!(!class.runs_in_place(), "five in a thousand");
    }

    /// 95 % cheap, 5 % slow: the class must settle in the pool after a few tries.
    #[test]
    fn a_mixed_class_does_not_flap() {
        let class = CostClass::new("c");
        let mut seed = 42u64;
        for _ in 0..200_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let slow = (seed >> 33) % 100 < 5;
            if class.runs_in_place() {
                class.ran_in_place();
                if slow {
                    class.stolen();
                }
            } else {
                class.ran_in_pool(class.wants_weighing().then_some(!slow));
            }
        }
        assert!(class.stats().promotions <= 6, "{:?}", class.stats());
        assert!(!class.runs_in_place());
    }

    #[test]
    fn a_steady_cost_below_a_tick_is_found_by_samples() {
        let class = CostClass::new("c");
        fast(&class);
        for cheap in [false, false, true, false, false] {
            class.sampled(cheap);
        }
        assert!(class.runs_in_place(), "outliers are not a steady cost");
        class.sampled(false);
        assert!(!class.runs_in_place());
    }

    #[test]
    fn blocking_announced_now_and_then_is_fine_and_every_time_is_not() {
        let class = CostClass::new("c");
        fast(&class);
        for run in 0..10_000 {
            class.ran_in_place();
            if run % 20 == 0 {
                class.announced();
            }
        }
        assert!(class.runs_in_place());
        for _ in 0..10_000 {
            class.ran_in_place();
            class.announced();
        }
        assert!(!class.runs_in_place());
    }
}
