//! Leading a loop: the hot path of the hand-off.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::announce::Here;
use super::fence::fenced;
use super::threads::Context;
use super::{Crew, Detach, Job, Lane, Loop, Mode, Remote, Turn};
use crate::slot::Parked;
use crate::sync::Ordering;
use crate::sys::ThreadUsage;

impl<L: Loop> Crew<L> {
    /// Leaves a fresh loop to the first free thread.
    pub(super) fn put_to_lead(&self, index: usize, fresh: L) {
        let seq = self.slots[index].park(Parked::new(fresh));
        self.pool.first_to_lead(index, seq);
    }

    /// Leads the loop that was left in its slot as `seq`, unless somebody does already.
    pub(super) fn lead_parked(self: &Arc<Self>, index: usize, seq: u64, context: &mut Context) {
        let slot = &self.slots[index];
        if slot.seq() != seq {
            return;
        }
        let Some(mut held) = slot.take() else { return };
        if held.seq() != seq {
            self.detach_uncharged(&mut held);
        }
        slot.renumber(&mut held);
        self.lead(index, held, context);
    }

    /// Takes over a loop that somebody else has parked for a handler just now, in the moment
    /// between a look and the grasp: nobody's fault. A loop that was given away has no handler.
    pub(super) fn detach_uncharged(&self, held: &mut Parked<L>) {
        if held.inner.current_class().is_some() {
            held.inner.detach(Detach::Stolen);
            self.pool.stray(1);
        }
    }

    /// Leads the loop until it ends or is lost to another leader.
    pub(super) fn lead(
        self: &Arc<Self>,
        index: usize,
        held: Box<Parked<L>>,
        context: &mut Context,
    ) {
        // Handlers have a fence of their own. What unwinds to here is a mistake of the loop's
        // driver and has taken the loop with it; the crew must not wait for its end.
        let led = fenced(|| self.lead_on(index, held, context));
        if led.is_none() {
            tracing::error!(index, "an event loop panicked and is gone");
            self.pool.loop_ended();
            self.watch.stir();
        }
    }

    fn lead_on(self: &Arc<Self>, index: usize, mut held: Box<Parked<L>>, context: &mut Context) {
        loop {
            match held.inner.next() {
                Turn::Job(mut job) => match self.config.mode {
                    Mode::HandOff if job.class().runs_in_place() && !self.pool.is_crowded() => {
                        match self.run_parked(index, held, job, context) {
                            Some(back) => held = back,
                            None => return,
                        }
                    }
                    Mode::Inline => {
                        self.run_fenced(&mut job, context);
                        job.class().ran_in_place();
                        held.inner.complete(job);
                    }
                    Mode::HandOff | Mode::Pool => {
                        held.inner.detach(Detach::Lent);
                        self.submit(index, &mut held, job);
                    }
                },
                Turn::Queue(job) => self.submit(index, &mut held, job),
                Turn::Stopped => {
                    drop(held);
                    self.pool.loop_ended();
                    self.watch.stir();
                    return;
                }
            }
        }
    }

    /// Runs a job while its loop lies parked. Answers the loop if this thread leads on.
    #[inline]
    fn run_parked(
        self: &Arc<Self>,
        index: usize,
        held: Box<Parked<L>>,
        mut job: L::Job,
        context: &mut Context,
    ) -> Option<Box<Parked<L>>> {
        let timing = context.timing(job.class());
        let slot = &self.slots[index];
        let seq = slot.park(held);
        self.watch.stir();

        Here::enter(index, seq);
        self.run_fenced(&mut job, context);
        Here::leave();

        job.class().ran_in_place();
        Context::judge(&timing, job.class());
        // A loop that somebody else has parked meanwhile is left alone: its leader is at work.
        if slot.seq() == seq {
            if let Some(mut back) = slot.take() {
                if back.seq() == seq {
                    back.inner.complete(job);
                    return Some(back);
                }
                // Whoever parked it will find the slot empty, so this thread has to lead.
                self.detach_uncharged(&mut back);
                slot.renumber(&mut back);
                self.come_back(job);
                return Some(back);
            }
        }
        self.come_back(job);
        None
    }

    /// The end of a handler that lost its loop.
    #[cold]
    fn come_back(&self, job: L::Job) {
        job.deliver();
        self.pool.stray(-1);
    }

    /// Runs a job from the pool queue.
    pub(super) fn run_pooled(&self, mut job: L::Job, context: &mut Context) -> Lane {
        let lane = job.lane();
        let before = job.class().wants_weighing().then(ThreadUsage::now);
        self.run_fenced(&mut job, context);
        job.class()
            .ran_in_pool(before.map(|before| before.is_cheap_since()));
        job.deliver();
        lane
    }

    #[inline]
    fn run_fenced(&self, job: &mut L::Job, context: &mut Context) {
        // Unwind safety: a job that panicked is told so and answers for its own state; the
        // thread's state belongs to the application, which sees the panic in its own code.
        let outcome = catch_unwind(AssertUnwindSafe(|| job.run(&mut context.state)));
        if let Err(cause) = outcome {
            self.counters.panics.fetch_add(1, Ordering::Relaxed);
            // The cause belongs to the application as well, and so does its destructor.
            fenced(|| job.panicked(cause, &mut context.state));
        }
    }

    fn submit(&self, index: usize, held: &mut Box<Parked<L>>, job: L::Job) {
        match self.pool.submit(job, index) {
            Ok(ticket) => held.inner.queued(ticket),
            Err(job) => held.inner.refused(job),
        }
        // The monitor sees to it that the pool grows if nobody takes the job.
        self.watch.stir();
    }

    /// Tells loops that the pool queue has room again.
    pub(super) fn relieve(&self, loops: &[usize]) {
        for index in loops {
            self.remotes[*index].relieved();
        }
    }
}
