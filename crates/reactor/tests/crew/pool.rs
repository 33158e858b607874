//! The pool queue: bounds, relief, cancelling, growth.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stepwell_reactor::crew::{CostClass, CrewConfig, Lane};

use crate::script::{Gate, Script, Stage, Step, class, loop_class, pool_class, until};

fn bounds(ceiling: usize, queue: usize) -> CrewConfig {
    CrewConfig {
        ceiling,
        queue,
        ..CrewConfig::default()
    }
}

/// A job that waits at `gate` and is known to run.
fn occupy(script: &Script, class: &Arc<CostClass>, gate: &Gate) -> u64 {
    let before = gate.came();
    let blocker = gate.clone();
    let id = script.give(class, move |_| blocker.pass());
    gate.wait_for(before + 1);
    id
}

#[test]
fn a_full_queue_refuses_and_relieves() {
    let stage = Stage::new(bounds(1, 2), 1);
    let script = &stage.loops[0];
    let class = pool_class("class");
    let gate = Gate::closed();
    let running = occupy(script, &class, &gate);
    let waiting: Vec<_> = (0..2).map(|_| script.give(&class, |_| ())).collect();
    let refused: Vec<_> = (0..2).map(|_| script.give(&class, |_| ())).collect();
    for id in &refused {
        script.wait_for(*id, Step::Refused);
    }
    assert_eq!(stage.crew.pool().stats().queued, 2);
    gate.open();
    for id in waiting.into_iter().chain(refused).chain([running]) {
        script.wait_for(id, Step::Delivered);
    }
    stage.stop();
}

#[test]
fn a_queue_full_of_one_loops_jobs_relieves_the_other_loop() {
    let stage = Stage::new(bounds(1, 1), 2);
    let class = pool_class("class");
    let gate = Gate::closed();
    occupy(&stage.loops[0], &class, &gate);
    let queued = stage.loops[0].give(&class, |_| ());
    stage.loops[0].wait_for(queued, Step::Queued);
    let refused = stage.loops[1].give(&class, |_| ());
    stage.loops[1].wait_for(refused, Step::Refused);
    gate.open();
    stage.loops[1].wait_for(refused, Step::Delivered);
    stage.stop();
}

#[test]
fn a_cancelled_job_frees_its_place_at_once_and_never_runs() {
    let stage = Stage::new(bounds(1, 1), 1);
    let script = &stage.loops[0];
    let class = pool_class("class");
    let gate = Gate::closed();
    let running = occupy(script, &class, &gate);
    let cancelled = script.give(&class, |_| panic!("cancelled jobs don't run"));
    script.wait_for(cancelled, Step::Queued);
    script.cancel(cancelled);
    script.wait_for(cancelled, Step::Cancelled);
    let next = script.give(&class, |_| ());
    script.wait_for(next, Step::Queued);
    // Too late: it runs already.
    script.cancel(running);
    gate.open();
    script.wait_for(running, Step::Delivered);
    script.wait_for(next, Step::Delivered);
    stage.stop();
}

/// Nobody takes a job from a queue that was emptied by cancelling.
#[test]
fn room_that_comes_by_cancelling_relieves() {
    let stage = Stage::new(bounds(1, 1), 1);
    let script = &stage.loops[0];
    let class = pool_class("class");
    let gate = Gate::closed();
    occupy(script, &class, &gate);
    let cancelled = script.give(&class, |_| ());
    let refused = script.give(&class, |_| ());
    script.wait_for(refused, Step::Refused);
    script.cancel(cancelled);
    script.wait_for(cancelled, Step::Cancelled);
    gate.open();
    script.wait_for(refused, Step::Delivered);
    stage.stop();
}

/// Runs `jobs` jobs of a lane, all of which try to run at once, and answers how many did.
fn at_once(script: &Script, lane: Lane, jobs: usize, allowed: usize, stage: &Stage) -> usize {
    let class = pool_class("class");
    let gate = Gate::closed();
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let ids: Vec<_> = (0..jobs)
        .map(|_| {
            let (blocker, now, most) = (gate.clone(), now.clone(), most.clone());
            script.give_in(lane, &class, move |_| {
                let running = now.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(running, Ordering::SeqCst);
                blocker.pass();
                now.fetch_sub(1, Ordering::SeqCst);
            })
        })
        .collect();
    gate.wait_for(allowed);
    until("the others wait", || {
        stage.crew.pool().stats().queued == jobs - allowed
    });
    if lane == Lane::Long {
        assert_eq!(stage.crew.pool().stats().running_long, allowed);
        let short = script.give(&class, |_| ());
        script.wait_for(short, Step::Delivered);
    }
    gate.open();
    for id in ids {
        script.wait_for(id, Step::Delivered);
    }
    most.load(Ordering::SeqCst)
}

#[test]
fn the_ceiling_holds_and_is_reached() {
    let stage = Stage::new(bounds(6, 100), 1);
    assert_eq!(at_once(&stage.loops[0], Lane::Short, 30, 6, &stage), 6);
    stage.stop();
}

#[test]
fn jobs_that_wait_for_the_network_get_half_of_it() {
    let stage = Stage::new(bounds(6, 100), 1);
    assert_eq!(at_once(&stage.loops[0], Lane::Long, 30, 3, &stage), 3);
    stage.stop();
}

#[test]
fn a_full_pool_stops_no_loop() {
    let stage = Stage::new(bounds(16, 2), 2);
    let (slow, fast) = (pool_class("slow"), loop_class("fast"));
    let gate = Gate::closed();
    let script = &stage.loops[0];
    for _ in 0..16 {
        occupy(script, &slow, &gate);
    }
    let waiting = [(); 3].map(|()| script.give(&slow, |_| ()));
    let last = waiting[2];
    script.wait_for(last, Step::Refused);
    for script in &stage.loops {
        let id = script.give(&fast, |_| ());
        script.wait_for_answer(id);
        // Not even when a handler in place blocks as well.
        let blocked = occupy(script, &fast, &gate);
        let id = script.give(&fast, |_| ());
        script.wait_for_answer(id);
        assert_eq!(script.steps(blocked).len(), 1, "detached, not answered");
    }
    gate.open();
    script.wait_for(last, Step::Delivered);
    stage.stop();
}

/// New classes start in the pool: a burst of them is no reason for a crowd of threads.
#[test]
fn a_burst_of_fast_jobs_starts_few_threads() {
    let stage = Stage::new(CrewConfig::default(), 1);
    let script = &stage.loops[0];
    let ids: Vec<_> = (0..200)
        .map(|n| script.give(&class(&format!("route {n}")), |_| ()))
        .collect();
    for id in ids {
        script.wait_for(id, Step::Delivered);
    }
    let started = stage.crew.hand_off_stats().started;
    assert!(started <= 24, "{started} threads");
    stage.stop();
}
