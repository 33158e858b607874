//! The pool queue, and who of the crew does what next.
//!
//! One lock guards it all. Idle threads wait on a word of their own and are woken last in, first
//! out, so that the warm ones work and the cold ones time out. At most one thread is on its way
//! up at any time: it wakes the next one itself if it finds more work than its own, so a burst of
//! short jobs is worked off by few threads instead of waking all of them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::{Job, Lane};
use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering, Word, lock};

/// Names a queued job, so that it can be cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    lane: Lane,
    number: u64,
}

/// Bounds of the pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Jobs that run at the same time.
    pub(crate) ceiling: usize,
    /// Jobs that wait.
    pub(crate) queue: usize,
    /// How long an idle thread stays.
    pub(crate) idle: Duration,
    /// Idle threads that never leave.
    pub(crate) spare: usize,
}

/// What a free thread is to do.
pub(crate) enum Duty<J> {
    /// Run this job.
    Run(J),
    /// Lead this loop, which lies in its slot under this number.
    Lead(usize, u64),
    /// Watch over the loops.
    Watch,
    /// Only tell the loops that were waiting for room.
    Relieve,
    /// End.
    Leave,
}

/// A thread's duty, and the loops that were waiting for room in the queue and may go on.
pub(crate) struct Assignment<J> {
    pub(crate) duty: Duty<J>,
    pub(crate) relieved: Vec<usize>,
}

/// Where an idle thread waits.
pub(crate) struct Parker(Word);

const WAITING: u32 = 0;
const CALLED: u32 = 1;

impl Parker {
    pub(crate) fn new() -> Arc<Parker> {
        Arc::new(Parker(Word::new(CALLED)))
    }

    fn call(&self) {
        self.0.set(CALLED);
        self.0.wake();
    }
}

struct Queued<J> {
    number: u64,
    /// `None` once cancelled.
    job: Option<J>,
}

struct State<J> {
    lanes: [VecDeque<Queued<J>>; 2],
    next_number: u64,
    live: usize,
    idle: Vec<Arc<Parker>>,
    waking: usize,
    starting: usize,
    threads: usize,
    running: [usize; 2],
    /// Threads whose handler lost its loop and is still running. Below zero for a moment when one
    /// is back before he who took its loop has counted it.
    astray: isize,
    watched: bool,
    leaderless: Vec<(usize, u64)>,
    loops: usize,
    starved: Vec<usize>,
    stopping: bool,
    /// The newest job at the monitor's last look: if a job up to it still waits at the next look,
    /// the pool is too small.
    seen: u64,
}

/// The figures of a crew at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// All threads: leaders, monitor, workers, idle ones.
    pub threads: usize,
    /// Threads that wait for work.
    pub idle: usize,
    /// Jobs that run in the pool.
    pub running: usize,
    /// Of these, jobs that wait for the network (streamed bodies).
    pub running_long: usize,
    /// Handlers that lost their loop and are still running.
    pub astray: usize,
    /// Jobs that wait for a thread.
    pub queued: usize,
}

/// The queue of one crew, shared with its loops, which cancel by ticket.
pub struct Pool<J> {
    state: Mutex<State<J>>,
    waiting: AtomicUsize,
    crowded: AtomicBool,
    bounds: Bounds,
}

impl<J: Job> Pool<J> {
    pub(crate) fn new(bounds: Bounds) -> Pool<J> {
        let state = State {
            lanes: [VecDeque::new(), VecDeque::new()],
            next_number: 1,
            live: 0,
            idle: Vec::new(),
            waking: 0,
            starting: 0,
            threads: 0,
            running: [0, 0],
            astray: 0,
            watched: false,
            leaderless: Vec::new(),
            loops: 0,
            starved: Vec::new(),
            stopping: false,
            seen: 0,
        };
        Pool {
            state: Mutex::new(state),
            waiting: AtomicUsize::new(0),
            crowded: AtomicBool::new(false),
            bounds,
        }
    }

    /// Queues a job of loop `from`. Answers the job itself when the queue is full; the loop is
    /// told as soon as there is room again.
    pub(crate) fn submit(&self, job: J, from: usize) -> Result<Ticket, J> {
        let mut state = lock(&self.state);
        if state.live >= self.bounds.queue {
            if !state.starved.contains(&from) {
                state.starved.push(from);
            }
            return Err(job);
        }
        let lane = job.lane();
        let number = state.next_number;
        state.next_number += 1;
        state.lanes[lane as usize].push_back(Queued {
            number,
            job: Some(job),
        });
        state.live += 1;
        // Sequentially consistent, so that the caller's look at a sleeping monitor can't come
        // first.
        self.waiting.store(state.live, Ordering::SeqCst);
        let called = state.call_one();
        drop(state);
        if let Some(parker) = called {
            parker.call();
        }
        Ok(Ticket { lane, number })
    }

    /// Takes a job out of the queue, if no thread has taken it yet. Its place is free at once.
    pub fn cancel(&self, ticket: Ticket) -> Option<J> {
        let mut state = lock(&self.state);
        let lane = &mut state.lanes[ticket.lane as usize];
        let at = lane
            .binary_search_by_key(&ticket.number, |queued| queued.number)
            .ok()?;
        let job = lane.get_mut(at)?.job.take()?;
        while lane.front().is_some_and(|queued| queued.job.is_none()) {
            lane.pop_front();
        }
        state.live -= 1;
        self.waiting.store(state.live, Ordering::Release);
        let called = if state.relief_is_due(&self.bounds) {
            state.call_one()
        } else {
            None
        };
        drop(state);
        if let Some(parker) = called {
            parker.call();
        }
        Some(job)
    }

    /// Whether jobs wait for a thread, without a lock.
    #[inline]
    pub(crate) fn has_waiting(&self) -> bool {
        self.waiting.load(Ordering::Acquire) != 0
    }

    /// Whether so many handlers have gone astray that none may run in place for now.
    #[inline]
    pub(crate) fn is_crowded(&self) -> bool {
        self.crowded.load(Ordering::Relaxed)
    }

    /// The next duty of a thread that has `finished` a job of some lane, or nothing. Waits.
    pub(crate) fn next(&self, parker: &Arc<Parker>, finished: Option<Lane>) -> Assignment<J> {
        let mut state = lock(&self.state);
        if let Some(lane) = finished {
            state.running[lane as usize] -= 1;
        }
        loop {
            if let Some(duty) = state.assign(&self.bounds) {
                self.waiting.store(state.live, Ordering::Release);
                let relieved = state.relieved(&self.bounds);
                let called = if state.runnable(&self.bounds).is_some() {
                    state.call_one()
                } else {
                    None
                };
                drop(state);
                if let Some(parker) = called {
                    parker.call();
                }
                return Assignment { duty, relieved };
            }
            // Room that came by cancelling: no job is left that would be taken with it.
            if state.relief_is_due(&self.bounds) {
                return Assignment {
                    duty: Duty::Relieve,
                    relieved: state.relieved(&self.bounds),
                };
            }
            parker.0.set(WAITING);
            state.idle.push(parker.clone());
            drop(state);
            let called = parker.0.wait_while(WAITING, Some(self.bounds.idle));
            state = lock(&self.state);
            let place = state.idle.iter().position(|idle| Arc::ptr_eq(idle, parker));
            match place {
                None => state.waking -= 1,
                Some(place) => {
                    state.idle.remove(place);
                    if !called && state.idle.len() >= self.bounds.spare {
                        state.threads -= 1;
                        return Assignment {
                            duty: Duty::Leave,
                            relieved: Vec::new(),
                        };
                    }
                }
            }
        }
    }

    /// The monitor's look: how many threads are to be started, because jobs that waited at the
    /// last look still wait. They count as starting until [`Pool::started`].
    pub(crate) fn grow(&self) -> usize {
        if !self.has_waiting() {
            return 0;
        }
        let mut state = lock(&self.state);
        let seen = state.seen;
        state.seen = state.next_number;
        let Some(oldest) = state.runnable(&self.bounds) else {
            return 0;
        };
        if oldest >= seen || !state.idle.is_empty() || state.waking > 0 {
            return 0;
        }
        let room = self
            .bounds
            .ceiling
            .saturating_sub(state.running.iter().sum::<usize>());
        let workers = state.threads.saturating_sub(state.loops + 1);
        let wanted = state
            .live
            .min(room)
            .saturating_sub(state.starting)
            .min((workers / 2).max(2));
        state.threads += wanted;
        state.starting += wanted;
        wanted
    }

    /// Counts a thread that is about to be started outside of [`Pool::grow`].
    pub(crate) fn starting(&self) {
        let mut state = lock(&self.state);
        state.threads += 1;
        state.starting += 1;
    }

    /// A started thread is ready for its first duty.
    pub(crate) fn started(&self) {
        lock(&self.state).starting -= 1;
    }

    /// A thread could not be started, or ended before it was ready.
    pub(crate) fn failed_to_start(&self) {
        let mut state = lock(&self.state);
        state.threads -= 1;
        state.starting -= 1;
    }

    /// Counts the loops, once, before any thread starts.
    pub(crate) fn set_loops(&self, loops: usize) {
        lock(&self.state).loops = loops;
    }

    /// The monitor's role is free again. Answers whether a thread has to be started for it
    /// (counted as starting).
    pub(crate) fn unwatched(&self) -> bool {
        let mut state = lock(&self.state);
        state.watched = false;
        self.needs_thread(state)
    }

    /// Loop `index` was parked as `seq` and has no leader. Answers whether a thread has to be
    /// started for it (counted as starting).
    pub(crate) fn leaderless(&self, index: usize, seq: u64) -> bool {
        let mut state = lock(&self.state);
        state.leaderless.push((index, seq));
        self.needs_thread(state)
    }

    /// As [`Pool::leaderless`], before any thread was started.
    pub(crate) fn first_to_lead(&self, index: usize, seq: u64) {
        lock(&self.state).leaderless.push((index, seq));
    }

    fn needs_thread(&self, mut state: crate::sync::Guard<'_, State<J>>) -> bool {
        if state.stopping && state.loops == 0 {
            return false;
        }
        // Not by `call_one`: this can't wait until the thread that is waking up has looked around.
        if let Some(parker) = state.idle.pop() {
            state.waking += 1;
            drop(state);
            parker.call();
            return false;
        }
        // Each thread on its way up fills one role only.
        if state.waking + state.starting >= state.open_roles() {
            return false;
        }
        state.threads += 1;
        state.starting += 1;
        true
    }

    /// A handler has lost its loop, or a thread is back from such a handler.
    pub(crate) fn stray(&self, by: isize) {
        let mut state = lock(&self.state);
        state.astray += by;
        let crowded = state.astray > (self.bounds.ceiling / 4) as isize;
        self.crowded.store(crowded, Ordering::Relaxed);
    }

    /// A loop has ended for good; with the last one everybody goes.
    pub(crate) fn loop_ended(&self) {
        let mut state = lock(&self.state);
        state.loops -= 1;
        if state.loops > 0 {
            return;
        }
        state.stopping = true;
        let idle = std::mem::take(&mut state.idle);
        state.waking += idle.len();
        let jobs: Vec<_> = state.lanes.iter_mut().flat_map(std::mem::take).collect();
        state.live = 0;
        self.waiting.store(0, Ordering::Release);
        drop(state);
        drop(jobs);
        for parker in idle {
            parker.call();
        }
    }

    /// Whether the last loop has ended.
    pub(crate) fn has_ended(&self) -> bool {
        let state = lock(&self.state);
        state.stopping && state.loops == 0
    }

    /// The figures now.
    pub fn stats(&self) -> PoolStats {
        let state = lock(&self.state);
        PoolStats {
            threads: state.threads,
            idle: state.idle.len(),
            running: state.running.iter().sum(),
            running_long: state.running[Lane::Long as usize],
            astray: state.astray.max(0) as usize,
            queued: state.live,
        }
    }
}

impl<J: Job> State<J> {
    fn assign(&mut self, bounds: &Bounds) -> Option<Duty<J>> {
        if self.stopping && self.loops == 0 {
            self.threads -= 1;
            return Some(Duty::Leave);
        }
        if let Some((index, seq)) = self.leaderless.pop() {
            return Some(Duty::Lead(index, seq));
        }
        if !self.watched {
            self.watched = true;
            return Some(Duty::Watch);
        }
        self.pop(bounds).map(Duty::Run)
    }

    /// Loops without a leader, and the monitor's role while nobody has it.
    fn open_roles(&self) -> usize {
        self.leaderless.len() + usize::from(!self.watched)
    }

    /// The lane whose job is to run next, if any may run.
    fn lane(&self, bounds: &Bounds) -> Option<Lane> {
        if self.running.iter().sum::<usize>() >= bounds.ceiling {
            return None;
        }
        let front = |lane: Lane| {
            self.lanes[lane as usize]
                .front()
                .map(|queued| queued.number)
        };
        let long_allowed = self.running[Lane::Long as usize] < (bounds.ceiling / 2).max(1);
        match (
            front(Lane::Short),
            front(Lane::Long).filter(|_| long_allowed),
        ) {
            (Some(short), Some(long)) if long < short => Some(Lane::Long),
            (Some(_), _) => Some(Lane::Short),
            (None, Some(_)) => Some(Lane::Long),
            (None, None) => None,
        }
    }

    /// The number of the job that is to run next, if any may run.
    fn runnable(&self, bounds: &Bounds) -> Option<u64> {
        let lane = self.lane(bounds)?;
        self.lanes[lane as usize]
            .front()
            .map(|queued| queued.number)
    }

    fn pop(&mut self, bounds: &Bounds) -> Option<J> {
        loop {
            let lane = self.lane(bounds)?;
            let queued = self.lanes[lane as usize].pop_front()?;
            if let Some(job) = queued.job {
                self.live -= 1;
                self.running[lane as usize] += 1;
                return Some(job);
            }
        }
    }

    /// An idle thread to be called, unless one is on its way up already.
    fn call_one(&mut self) -> Option<Arc<Parker>> {
        if self.waking > 0 {
            return None;
        }
        let parker = self.idle.pop()?;
        self.waking += 1;
        Some(parker)
    }

    /// Whether loops may try again: once a quarter of the queue is free.
    fn relief_is_due(&self, bounds: &Bounds) -> bool {
        !self.starved.is_empty() && self.live <= bounds.queue / 4 * 3
    }

    /// The loops that may try again.
    fn relieved(&mut self, bounds: &Bounds) -> Vec<usize> {
        if !self.relief_is_due(bounds) {
            return Vec::new();
        }
        std::mem::take(&mut self.starved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crew::{CostClass, ThreadState};

    struct Nothing;

    impl Job for Nothing {
        fn class(&self) -> &CostClass {
            unreachable!("never run")
        }
        fn run(&mut self, _: &mut ThreadState) {}
        fn panicked(&mut self, _: Box<dyn std::any::Any + Send>, _: &mut ThreadState) {}
        fn deliver(self) {}
    }

    fn pool() -> Pool<Nothing> {
        Pool::new(Bounds {
            ceiling: 1,
            queue: 1,
            idle: Duration::from_secs(1),
            spare: 1,
        })
    }

    #[test]
    fn every_open_role_gets_a_thread_of_its_own() {
        let pool = pool();
        pool.set_loops(2);
        assert!(pool.unwatched(), "a thread for the monitor");
        assert!(pool.leaderless(0, 1), "another one for the loop");
        assert!(pool.leaderless(1, 1), "and one for the other loop");
        assert_eq!(pool.stats().threads, 3);
        assert!(!pool.unwatched(), "that role was open already");
    }

    /// A handler may be back before the thief has counted it as lost.
    #[test]
    fn strays_are_counted_whatever_comes_first() {
        let pool = pool();
        for _ in 0..10 {
            pool.stray(-1);
            pool.stray(1);
        }
        assert_eq!(pool.stats().astray, 0);
        assert!(!pool.is_crowded());
    }
}
