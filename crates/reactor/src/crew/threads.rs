//! The threads of a crew: started, given their state, counted, joined.

use std::any::Any;
use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::announce::{GiveAway, Here};
use super::fence::fenced;
use super::pool::{Duty, Parker};
use super::{CHEAP, CostClass, Crew, Loop, SAMPLE_EVERY};
use crate::sync::{Ordering, relock};
use crate::sys::{self, ThreadUsage};

/// What a thread owns for the application: made before it takes work, dropped with it.
pub type ThreadState = Option<Box<dyn Any + Send>>;

/// Makes the state of one thread, on that thread.
pub type StateFactory = Arc<dyn Fn() -> Box<dyn Any + Send> + Send + Sync>;

/// Starts a thread of the host's (a Lisp thread, an attached Python thread…) that calls
/// [`ThreadStart::run`].
pub type ThreadHook = Arc<dyn Fn(ThreadStart) -> io::Result<()> + Send + Sync>;

/// What a thread supplied by the host has to run.
pub struct ThreadStart {
    body: Option<Box<dyn FnOnce() + Send>>,
    unused: Arc<dyn Fn() + Send + Sync>,
}

impl ThreadStart {
    /// Works for the crew; returns when the thread is not needed any more. Never unwinds.
    pub fn run(mut self) {
        if let Some(body) = self.body.take() {
            body();
        }
    }
}

impl Drop for ThreadStart {
    fn drop(&mut self) {
        if self.body.is_some() {
            (self.unused)();
        }
    }
}

impl fmt::Debug for ThreadStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadStart").finish_non_exhaustive()
    }
}

/// What a thread carries with it from duty to duty.
pub(super) struct Context {
    pub(super) state: ThreadState,
    until_sample: u32,
}

/// How a run in place is timed.
pub(super) enum Timing {
    None,
    /// By the wall clock, which costs no system call.
    Glance(Instant),
    /// By what the kernel knows of the thread.
    Weigh(ThreadUsage),
}

impl Context {
    /// Timed sleeps of handlers are late by at most this.
    pub(super) const TIMER_SLACK_NS: u64 = 10_000;

    pub(super) fn new(state: ThreadState) -> Context {
        Context {
            state,
            until_sample: SAMPLE_EVERY - 1,
        }
    }

    /// How the run of this class that comes next is to be timed. One in [`SAMPLE_EVERY`] is
    /// glanced at; when that took long, which may have been another process's fault, the next one
    /// of its class is weighed.
    #[inline]
    pub(super) fn timing(&mut self, class: &CostClass) -> Timing {
        let due = self.until_sample == 0;
        self.until_sample = if due { SAMPLE_EVERY } else { self.until_sample } - 1;
        if class.is_suspected() {
            Timing::Weigh(ThreadUsage::now())
        } else if due {
            Timing::Glance(Instant::now())
        } else {
            Timing::None
        }
    }

    /// Judges a run in place of this class.
    #[inline]
    pub(super) fn judge(timing: &Timing, class: &CostClass) {
        match timing {
            Timing::None => {}
            Timing::Glance(start) if start.elapsed() >= CHEAP => class.suspect(true),
            Timing::Glance(_) => class.sampled(true),
            Timing::Weigh(before) => {
                class.suspect(false);
                class.sampled(before.is_cheap_since());
            }
        }
    }
}

/// Who has not ended yet.
pub(super) struct Roster {
    present: Mutex<usize>,
    changed: Condvar,
    handles: Mutex<Vec<JoinHandle<()>>>,
}

impl Roster {
    pub(super) fn new() -> Roster {
        Roster {
            present: Mutex::new(0),
            changed: Condvar::new(),
            handles: Mutex::new(Vec::new()),
        }
    }

    fn enter(&self) {
        *relock(self.present.lock()) += 1;
    }

    fn leave(&self) {
        *relock(self.present.lock()) -= 1;
        self.changed.notify_all();
    }

    fn add(&self, handle: JoinHandle<()>) {
        let mut handles = relock(self.handles.lock());
        handles.retain(|handle| !handle.is_finished());
        handles.push(handle);
    }

    pub(super) fn join(&self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        let mut present = relock(self.present.lock());
        while *present > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            present = relock(self.changed.wait_timeout(present, left)).0;
        }
        drop(present);
        for handle in std::mem::take(&mut *relock(self.handles.lock())) {
            let _ = handle.join();
        }
        true
    }
}

impl<L: Loop> Crew<L> {
    /// Starts a thread that was counted as starting.
    pub(super) fn start_thread(self: &Arc<Self>) -> io::Result<()> {
        self.roster.enter();
        let crew = self.clone();
        let body = Box::new(move || crew.work());
        let result = match &self.config.hook {
            Some(hook) => {
                let crew = self.clone();
                let unused = Arc::new(move || crew.not_started());
                return hook(ThreadStart {
                    body: Some(body),
                    unused,
                });
            }
            None => std::thread::Builder::new()
                .name("stepwell".to_owned())
                .stack_size(self.config.stack_size)
                .spawn(body),
        };
        match result {
            Ok(handle) => {
                self.roster.add(handle);
                Ok(())
            }
            Err(error) => {
                self.not_started();
                Err(error)
            }
        }
    }

    fn not_started(&self) {
        self.pool.failed_to_start();
        self.roster.leave();
    }

    /// As [`Crew::start_thread`]; that it failed is for the log, the next tick tries again.
    pub(super) fn start_thread_or_log(self: &Arc<Self>) {
        if let Err(error) = self.start_thread() {
            tracing::error!(%error, "can't start a thread; raise the process limit of threads");
        }
    }

    /// The body of every thread.
    fn work(self: Arc<Self>) {
        self.counters.started.fetch_add(1, Ordering::Relaxed);
        sys::set_timer_slack(Context::TIMER_SLACK_NS);
        Here::join_crew(Some(self.clone() as Arc<dyn GiveAway>));
        if let Some(state) = self.make_state() {
            let mut context = Context::new(state);
            self.pool.started();
            self.do_duties(&mut context);
            // The application's destructor runs behind a fence, too.
            let state = context.state.take();
            fenced(|| drop(state));
        } else {
            self.pool.failed_to_start();
        }
        Here::join_crew(None);
        self.roster.leave();
    }

    /// The application's state for this thread. A factory that panics is tried again every
    /// second; nothing when the crew is dissolved meanwhile.
    fn make_state(&self) -> Option<ThreadState> {
        let Some(factory) = &self.config.state else {
            return Some(None);
        };
        loop {
            if let Some(state) = fenced(|| factory()) {
                return Some(Some(state));
            }
            tracing::error!("the factory of per-thread state panicked; trying again in a second");
            for _ in 0..100 {
                if self.pool.has_ended() {
                    return None;
                }
                sys::sleep_ns(10_000_000);
            }
        }
    }

    fn do_duties(self: &Arc<Self>, context: &mut Context) {
        let parker = Parker::new();
        let mut finished = None;
        loop {
            let assignment = self.pool.next(&parker, finished.take());
            self.relieve(&assignment.relieved);
            match assignment.duty {
                Duty::Run(job) => finished = Some(self.run_pooled(job, context)),
                Duty::Lead(index, seq) => self.lead_parked(index, seq, context),
                Duty::Watch => self.monitor(context),
                Duty::Relieve => {}
                Duty::Leave => return,
            }
        }
    }
}
