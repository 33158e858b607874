//! The crew: the threads that lead event loops and run handlers, with interchangeable roles.
//!
//! A handler that has proved fast runs on the thread that leads the loop, while the loop lies
//! parked in its [`Slot`]. Should it turn out slow after all, the monitor takes
//! the loop and leads it itself; should it be about to block, it says so ([`blocking`]) and the
//! loop is given away at once. Everything else runs in the pool. What is fast, [`CostClass`]
//! learns.
//!
//! The crew knows nothing of sockets or protocols: it is generic over the [`Loop`] and its
//! [`Job`]s.

mod announce;
mod class;
mod fence;
mod lead;
mod monitor;
mod pool;
mod threads;

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::slot::{Slot, Watch};
use crate::sync::{AtomicU64, Ordering};

pub use announce::{about_to_block, blocking};
pub use class::{CHEAP, ClassStats, CostClass, SAMPLE_EVERY};
pub use fence::fenced;
pub use pool::{Pool, PoolStats, Ticket};
pub use threads::{StateFactory, ThreadHook, ThreadStart, ThreadState};

/// In which half of the pool a job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Everything it needs is there; it may use all threads.
    Short = 0,
    /// It waits for the network in between; such jobs get at most half of the threads.
    Long = 1,
}

/// A piece of work that an event loop gives out: in essence, one call of a handler.
pub trait Job: Send + Sized + 'static {
    /// What learns whether jobs like this may run in place.
    fn class(&self) -> &CostClass;

    /// Which half of the pool it belongs to.
    fn lane(&self) -> Lane {
        Lane::Short
    }

    /// Does the work. `state` is what the application made for this thread.
    fn run(&mut self, state: &mut ThreadState);

    /// Called instead of the rest of `run` when that has panicked.
    fn panicked(&mut self, cause: Box<dyn Any + Send>, state: &mut ThreadState);

    /// Sends the finished job back to its loop, through the mailbox.
    fn deliver(self);
}

/// What a loop's iterator gives.
pub enum Turn<J> {
    /// A fresh job; the loop waits for [`Loop::complete`] or [`Loop::detach`].
    Job(J),
    /// A job for the pool that the loop does not wait for: refused earlier, or a second part.
    Queue(J),
    /// The loop has ended.
    Stopped,
}

/// Why the job that a loop gave out last will come back late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detach {
    /// It goes to the pool.
    Lent,
    /// It held the loop for too long.
    Stolen,
    /// It is about to block and said so.
    Announced,
}

/// An event loop as a value: only its holder can run it.
pub trait Loop: Send + 'static {
    /// What it gives out.
    type Job: Job;
    /// How other threads reach it.
    type Remote: Remote;

    /// A way to reach it that stays valid when it changes hands.
    fn remote(&self) -> Self::Remote;

    /// Runs the loop until it has a job to give out, or ends.
    fn next(&mut self) -> Turn<Self::Job>;

    /// The job given out last is back; nobody ran the loop in between.
    fn complete(&mut self, job: Self::Job);

    /// The job given out last will come back by [`Job::deliver`], the loop goes on without it.
    fn detach(&mut self, why: Detach);

    /// The class of the job that was given out last and has not come back yet.
    fn current_class(&self) -> Option<&CostClass>;

    /// The job detached last was queued; the ticket cancels it.
    fn queued(&mut self, ticket: Ticket);

    /// The queue had no room for the job. The loop keeps it, and offers it again by
    /// [`Turn::Queue`] after [`Remote::relieved`].
    fn refused(&mut self, job: Self::Job);
}

/// How other threads reach a loop.
pub trait Remote: Clone + Send + Sync + 'static {
    /// There is room in the pool queue again.
    fn relieved(&self);
}

/// How handlers meet event loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Fast classes in place, with the loop parked; the rest in the pool.
    #[default]
    HandOff,
    /// Everything in the pool.
    Pool,
    /// Everything in place and never parked: a handler that blocks stops its loop. For
    /// measurements, and for applications that know that no handler blocks.
    Inline,
}

/// How a crew is made up.
#[derive(Clone)]
pub struct CrewConfig {
    /// How handlers meet event loops.
    pub mode: Mode,
    /// Jobs that run in the pool at the same time; leaders and the monitor lie outside.
    pub ceiling: usize,
    /// Jobs that wait for a thread.
    pub queue: usize,
    /// How long a thread without work stays.
    pub idle: Duration,
    /// The monitor's tick: a handler that runs in place loses its loop after one to two of them.
    pub tick: Duration,
    /// Bytes of stack per thread.
    pub stack_size: usize,
    /// Makes the state that each thread owns.
    pub state: Option<StateFactory>,
    /// Starts threads in place of the crew.
    pub hook: Option<ThreadHook>,
}

impl Default for CrewConfig {
    fn default() -> CrewConfig {
        CrewConfig {
            mode: Mode::HandOff,
            ceiling: 256,
            queue: 4096,
            idle: Duration::from_secs(10),
            tick: Duration::from_millis(2),
            stack_size: 512 * 1024,
            state: None,
            hook: None,
        }
    }
}

impl fmt::Debug for CrewConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CrewConfig")
            .field("mode", &self.mode)
            .field("ceiling", &self.ceiling)
            .field("queue", &self.queue)
            .field("idle", &self.idle)
            .field("tick", &self.tick)
            .field("stack_size", &self.stack_size)
            .finish_non_exhaustive()
    }
}

impl CrewConfig {
    /// The queue for a crew like this; the loops get it before the crew is started.
    pub fn pool<J: Job>(&self) -> Arc<Pool<J>> {
        let spare = if self.state.is_some() { 2 } else { 1 };
        Arc::new(Pool::new(pool::Bounds {
            ceiling: self.ceiling.max(1),
            queue: self.queue.max(1),
            idle: self.idle,
            spare,
        }))
    }
}

/// What happened to loops so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandOffStats {
    /// Loops taken away from an overdue handler.
    pub thefts: u64,
    /// Loops given away by a handler that was about to block.
    pub announced: u64,
    /// Handlers that panicked.
    pub panics: u64,
    /// Threads started so far.
    pub started: u64,
}

#[derive(Debug, Default)]
struct Counters {
    thefts: AtomicU64,
    announced: AtomicU64,
    panics: AtomicU64,
    started: AtomicU64,
}

/// The threads behind the loops of one server.
pub struct Crew<L: Loop> {
    slots: Box<[Slot<L>]>,
    remotes: Box<[L::Remote]>,
    watch: Watch,
    pool: Arc<Pool<L::Job>>,
    config: CrewConfig,
    counters: Counters,
    roster: threads::Roster,
}

impl<L: Loop> Crew<L> {
    /// Starts one leader per loop, the monitor and a spare thread.
    ///
    /// `pool` must come from [`CrewConfig::pool`] of the same configuration.
    ///
    /// # Errors
    /// The kernel's, when a thread can't be started. Loops that were started by then go on until
    /// they are told to stop.
    pub fn start(
        config: CrewConfig,
        pool: Arc<Pool<L::Job>>,
        loops: Vec<L>,
    ) -> std::io::Result<Arc<Crew<L>>> {
        crate::sys::register_barrier();
        let crew = Arc::new(Crew {
            slots: loops.iter().map(|_| Slot::new()).collect(),
            remotes: loops.iter().map(Loop::remote).collect(),
            watch: Watch::new(),
            pool,
            config,
            counters: Counters::default(),
            roster: threads::Roster::new(),
        });
        crew.pool.set_loops(loops.len());
        for (index, each) in loops.into_iter().enumerate() {
            crew.put_to_lead(index, each);
        }
        for _ in 0..crew.slots.len() + 2 {
            crew.pool.starting();
            crew.start_thread()?;
        }
        Ok(crew)
    }

    /// The queue of this crew.
    pub fn pool(&self) -> &Arc<Pool<L::Job>> {
        &self.pool
    }

    /// What happened to the loops so far.
    pub fn hand_off_stats(&self) -> HandOffStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        HandOffStats {
            thefts: read(&self.counters.thefts),
            announced: read(&self.counters.announced),
            panics: read(&self.counters.panics),
            started: read(&self.counters.started),
        }
    }

    /// Waits up to `limit` until all threads have ended, which they do after the last loop has;
    /// answers whether they have. Threads whose handler does not return stay behind.
    pub fn join(&self, limit: Duration) -> bool {
        self.roster.join(limit)
    }
}

impl<L: Loop> fmt::Debug for Crew<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Crew")
            .field("loops", &self.slots)
            .field("pool", &self.pool.stats())
            .finish_non_exhaustive()
    }
}
