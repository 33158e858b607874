//! Which classes run on the loop's thread, and when they stop doing so.

use std::time::{Duration, Instant};

use stepwell_reactor::crew::{CrewConfig, Detach, Mode};

use crate::script::{Stage, Step, class, pool_class};

fn burn(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {}
}

#[test]
fn a_class_earns_the_loop_by_cheap_runs_and_stays_on_its_thread() {
    // Nobody is to be stolen from, whatever else the machine does.
    let config = CrewConfig {
        tick: Duration::from_millis(400),
        ..CrewConfig::default()
    };
    let stage = Stage::new(config, 1);
    let script = &stage.loops[0];
    let learner = class("learner");
    script.promote(&learner);
    let stats = learner.stats();
    assert!(stats.runs_in_pool >= 32, "{stats:?}");
    assert_eq!(stats.runs_in_place, 0, "{stats:?}");
    for _ in 0..100 {
        let id = script.give(&learner, |_| ());
        let answer = script.wait_for_answer(id);
        assert_eq!(answer.step, Step::Completed);
        assert_eq!(answer.ran_on, Some(answer.leader), "ran elsewhere");
    }
    assert_eq!(learner.stats().runs_in_place, 100);
    stage.stop();
}

#[test]
fn a_class_that_waits_never_earns_the_loop() {
    let stage = Stage::new(CrewConfig::default(), 1);
    let script = &stage.loops[0];
    let sleeper = class("sleeper");
    for _ in 0..100 {
        let id = script.give(&sleeper, |_| std::thread::sleep(Duration::from_micros(200)));
        assert_eq!(script.wait_for_answer(id).step, Step::Delivered);
    }
    assert!(!sleeper.runs_in_place());
    stage.stop();
}

#[test]
fn a_class_that_is_stolen_from_goes_back_and_needs_longer_the_next_time() {
    let stage = Stage::new(CrewConfig::default(), 1);
    let script = &stage.loops[0];
    let mixed = class("mixed");
    script.promote(&mixed);
    for _ in 0..20 {
        if !mixed.runs_in_place() {
            break;
        }
        let watcher = script.clone();
        let (tell, told) = std::sync::mpsc::channel();
        let id = script.give(&mixed, move |_| {
            let id = told.recv().unwrap();
            watcher.wait_for(id, Step::Detached(Detach::Stolen));
        });
        tell.send(id).unwrap();
        script.wait_for(id, Step::Delivered);
    }
    assert!(!mixed.runs_in_place(), "{:?}", mixed.stats());
    let id = script.give(&mixed, |_| ());
    script.wait_for(id, Step::Delivered);
    assert_eq!(
        script.steps(id)[..2],
        [Step::Detached(Detach::Lent), Step::Queued]
    );
    assert!(script.promote(&mixed) >= 63, "the streak must have doubled");
    stage.stop();
}

/// Nobody steals from a handler that is faster than a tick; samples find it.
#[test]
fn a_steady_cost_below_a_tick_is_found() {
    let config = CrewConfig {
        tick: Duration::from_millis(200),
        ..CrewConfig::default()
    };
    let stage = Stage::new(config, 1);
    let script = &stage.loops[0];
    let burner = class("burner");
    script.promote(&burner);
    for _ in 0..64 * 8 {
        if !burner.runs_in_place() {
            break;
        }
        let id = script.give(&burner, |_| burn(Duration::from_micros(500)));
        script.wait_for_answer(id);
    }
    assert!(!burner.runs_in_place());
    assert_eq!(burner.stats().thefts, 0);
    stage.stop();
}

/// Samples must not keep step with requests that come in turn, nor judge one class by another.
#[test]
fn a_steady_cost_is_found_among_others_that_come_in_turn() {
    let config = CrewConfig {
        tick: Duration::from_millis(200),
        ..CrewConfig::default()
    };
    let stage = Stage::new(config, 1);
    let script = &stage.loops[0];
    let (fast, burner) = (class("fast"), class("burner"));
    script.promote(&fast);
    script.promote(&burner);
    for _ in 0..64 * 64 {
        if !burner.runs_in_place() {
            break;
        }
        for _ in 0..3 {
            script.give(&fast, |_| ());
        }
        let id = script.give(&burner, |_| burn(Duration::from_micros(300)));
        script.wait_for_answer(id);
    }
    assert!(!burner.runs_in_place());
    assert!(fast.runs_in_place());
    stage.stop();
}

#[test]
fn without_learning_nothing_leaves_the_pool() {
    let config = CrewConfig {
        mode: Mode::Pool,
        ..CrewConfig::default()
    };
    let stage = Stage::new(config, 1);
    let script = &stage.loops[0];
    let fast = class("fast");
    for _ in 0..200 {
        let id = script.give(&fast, |_| ());
        let answer = script.wait_for_answer(id);
        assert_eq!(answer.step, Step::Delivered);
        assert_ne!(answer.ran_on, Some(answer.leader));
    }
    stage.stop();
}

#[test]
fn inline_everything_runs_on_the_loops_thread() {
    let config = CrewConfig {
        mode: Mode::Inline,
        ..CrewConfig::default()
    };
    let stage = Stage::new(config, 1);
    let script = &stage.loops[0];
    for class in [class("new"), pool_class("slow")] {
        let id = script.give(&class, |_| stepwell_reactor::crew::about_to_block());
        let answer = script.wait_for_answer(id);
        assert_eq!(script.steps(id), [Step::Completed]);
        assert_eq!(answer.ran_on, Some(answer.leader));
    }
    assert_eq!(stage.crew.hand_off_stats().announced, 0);
    stage.stop();
}
