//! Loops that change hands: thefts, announcements, panics.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use stepwell_reactor::crew::{CrewConfig, Detach, about_to_block, blocking};

use crate::script::{Gate, Stage, Step, class, loop_class, pool_class, until};

/// So long that no handler of these tests is overdue, whatever else the machine does.
const PATIENT_TICK: Duration = Duration::from_millis(400);

fn ticking(tick: Duration) -> CrewConfig {
    CrewConfig {
        tick,
        ..CrewConfig::default()
    }
}

#[test]
fn a_handler_that_blocks_loses_the_loop_and_the_loop_goes_on() {
    const TICK: Duration = Duration::from_millis(20);
    let stage = Stage::new(ticking(TICK), 1);
    let script = &stage.loops[0];
    let class = class("class");
    script.promote(&class);
    let gate = Gate::closed();
    let blocker = gate.clone();
    let slow = script.give(&class, move |_| blocker.pass());
    gate.wait_for(1);
    let start = Instant::now();
    let next = script.give(&class, |_| ());
    let answer = script.wait_for(next, Step::Completed);
    // One to two ticks by design; the rest is for a machine with more to do.
    assert!(start.elapsed() < 100 * TICK, "{:?}", start.elapsed());
    assert_eq!(script.steps(slow), [Step::Detached(Detach::Stolen)]);
    gate.open();
    let late = script.wait_for(slow, Step::Delivered);
    assert_ne!(late.ran_on, Some(answer.leader), "the thief leads");
    assert_eq!(stage.crew.hand_off_stats().thefts, 1);
    assert_eq!(class.stats().thefts, 1);
    until("the stray thread is counted back", || {
        stage.crew.pool().stats().astray == 0
    });
    stage.stop();
}

#[test]
fn a_handler_that_announces_loses_the_loop_at_once() {
    let stage = Stage::new(ticking(PATIENT_TICK), 1);
    let script = &stage.loops[0];
    let class = loop_class("class");
    let gate = Gate::closed();
    let blocker = gate.clone();
    let slow = script.give(&class, move |_| {
        about_to_block();
        about_to_block();
        blocking(|| blocker.pass());
    });
    let next = script.give(&class, |_| ());
    assert_eq!(script.wait_for_answer(next).step, Step::Completed);
    assert_eq!(script.steps(slow), [Step::Detached(Detach::Announced)]);
    gate.open();
    script.wait_for(slow, Step::Delivered);
    let stats = stage.crew.hand_off_stats();
    assert_eq!((stats.announced, stats.thefts), (1, 0));
    assert_eq!(class.stats().announced, 1);
    stage.stop();
}

#[test]
fn announcing_in_the_pool_or_elsewhere_does_nothing() {
    about_to_block();
    let stage = Stage::new(CrewConfig::default(), 1);
    let id = stage.loops[0].give(&pool_class("slow"), |_| about_to_block());
    stage.loops[0].wait_for(id, Step::Delivered);
    assert_eq!(stage.crew.hand_off_stats().announced, 0);
    stage.stop();
}

/// Every loop at once loses its leader and the monitor its role, several times over.
#[test]
fn all_loops_blocked_at_once_go_on() {
    const LOOPS: usize = 4;
    let stage = Stage::new(CrewConfig::default(), LOOPS);
    let class = loop_class("class");
    let gate = Gate::closed();
    let mut blocked = Vec::new();
    for round in 0..4 {
        for (index, script) in stage.loops.iter().enumerate() {
            let blocker = gate.clone();
            let announces = (index + round) % 2 == 0;
            blocked.push((
                index,
                script.give(&class, move |_| {
                    if announces {
                        about_to_block();
                    }
                    blocker.pass();
                }),
            ));
        }
        gate.wait_for(LOOPS * (round + 1));
    }
    for script in &stage.loops {
        let id = script.give(&class, |_| ());
        script.wait_for_answer(id);
    }
    gate.open();
    for (index, id) in blocked {
        stage.loops[index].wait_for(id, Step::Delivered);
        assert_eq!(stage.loops[index].steps(id).len(), 2, "detached, delivered");
    }
    until("all are back", || stage.crew.pool().stats().astray == 0);
    stage.stop();
}

#[test]
fn with_too_many_handlers_astray_fast_ones_go_to_the_pool() {
    let config = CrewConfig {
        ceiling: 8,
        ..CrewConfig::default()
    };
    let stage = Stage::new(config, 1);
    let script = &stage.loops[0];
    let class = loop_class("class");
    let gate = Gate::closed();
    let give_blocked = || {
        let blocker = gate.clone();
        script.give(&class, move |_| blocking(|| blocker.pass()))
    };
    for count in 1..=3 {
        let id = give_blocked();
        gate.wait_for(count);
        script.wait_for(id, Step::Detached(Detach::Announced));
    }
    let id = give_blocked();
    script.wait_for(id, Step::Detached(Detach::Lent));
    gate.open();
    until("all are back", || stage.crew.pool().stats().astray == 0);
    let id = script.give(&class, |_| ());
    script.wait_for_answer(id);
    assert!(!script.steps(id).contains(&Step::Detached(Detach::Lent)));
    stage.stop();
}

/// Handlers around the length of a tick end in the very moment of their theft. However that goes,
/// each answers once and nobody is counted as astray for ever.
#[test]
fn handlers_that_race_with_the_monitor_answer_once() {
    const JOBS: u64 = 4000;
    let stage = Stage::new(ticking(Duration::from_micros(60)), 2);
    let class = loop_class("class");
    let runs = Arc::new(AtomicU64::new(0));
    let mut given = Vec::new();
    for n in 0..JOBS {
        let script = &stage.loops[n as usize % 2];
        let runs = runs.clone();
        let burn = Duration::from_micros(n * 37 % 300);
        given.push(script.give(&class, move |_| {
            if n % 50 == 0 {
                about_to_block();
            }
            let start = Instant::now();
            while start.elapsed() < burn {}
            runs.fetch_add(1, Ordering::Relaxed);
        }));
    }
    for (n, id) in given.iter().enumerate() {
        stage.loops[n % 2].wait_for_answer(*id);
    }
    assert_eq!(runs.load(Ordering::Relaxed), JOBS);
    let thefts = stage.crew.hand_off_stats().thefts;
    assert!(thefts > 20, "{thefts} thefts are no race");
    until("nobody is astray", || stage.crew.pool().stats().astray == 0);
    let answers = |step: &Step| matches!(step, Step::Completed | Step::Delivered);
    for (n, id) in given.into_iter().enumerate() {
        let steps = stage.loops[n % 2].steps(id);
        assert_eq!(
            steps.iter().filter(|step| answers(step)).count(),
            1,
            "{steps:?}"
        );
    }
    stage.stop();
}

#[test]
fn panics_are_fenced_in_place_and_in_the_pool() {
    let stage = Stage::new(ticking(PATIENT_TICK), 1);
    let script = &stage.loops[0];
    for (class, step) in [
        (loop_class("in place"), Step::Completed),
        (pool_class("pool"), Step::Delivered),
    ] {
        // Unwinds like a panic, without the message.
        let id = script.give(&class, |_| resume_unwind(Box::new("fenced")));
        assert!(script.wait_for(id, step).panicked);
        let id = script.give(&class, |_| ());
        assert!(!script.wait_for(id, step).panicked, "the next one is fine");
    }
    // A handler that lost its loop before it panicked.
    let gate = Gate::closed();
    let blocker = gate.clone();
    let id = script.give(&loop_class("late"), move |_| {
        blocking(|| blocker.pass());
        resume_unwind(Box::new("fenced"));
    });
    script.wait_for(id, Step::Detached(Detach::Announced));
    gate.open();
    assert!(script.wait_for(id, Step::Delivered).panicked);
    assert_eq!(stage.crew.hand_off_stats().panics, 3);
    stage.stop();
}

/// Not a handler, the loop itself: a mistake of its driver. The others must not suffer.
#[test]
fn a_loop_that_panics_is_gone_and_the_others_go_on() {
    let stage = Stage::new(CrewConfig::default(), 2);
    stage.loops[0].break_down();
    for class in [loop_class("in place"), pool_class("pool")] {
        let id = stage.loops[1].give(&class, |_| ());
        stage.loops[1].wait_for_answer(id);
    }
    stage.stop();
}
