//! The threads of a crew: their state, their number, their end.

use std::any::Any;
use std::io;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use stepwell_reactor::crew::{
    Crew, CrewConfig, StateFactory, ThreadHook, ThreadStart, ThreadState, blocking,
};

use crate::script::{Gate, ScriptedLoop, Stage, Step, loop_class, pool_class, until};

/// Where states were made and dropped.
#[derive(Default)]
struct Register {
    made: Mutex<Vec<ThreadId>>,
    dropped: Mutex<Vec<ThreadId>>,
}

struct Client {
    made_on: ThreadId,
    register: Arc<Register>,
}

impl Drop for Client {
    fn drop(&mut self) {
        let here = thread::current().id();
        assert_eq!(here, self.made_on, "dropped on another thread");
        self.register.dropped.lock().unwrap().push(here);
    }
}

fn factory(register: &Arc<Register>) -> StateFactory {
    let register = register.clone();
    Arc::new(move || {
        let made_on = thread::current().id();
        register.made.lock().unwrap().push(made_on);
        let register = register.clone();
        Box::new(Client { made_on, register })
    })
}

fn owned_by_this_thread(state: &mut ThreadState) -> bool {
    let client = state
        .as_ref()
        .and_then(|state| state.downcast_ref::<Client>());
    client.is_some_and(|client| client.made_on == thread::current().id())
}

#[test]
fn each_thread_owns_its_state_from_before_its_work_to_its_end() {
    let register = Arc::new(Register::default());
    let config = CrewConfig {
        state: Some(factory(&register)),
        ..CrewConfig::default()
    };
    let stage = Stage::new(config, 2);
    let gate = Gate::closed();
    let mut given = Vec::new();
    for (n, class) in [loop_class("in place"), pool_class("pool")]
        .iter()
        .cycle()
        .enumerate()
        .take(20)
    {
        let blocker = gate.clone();
        let script = &stage.loops[n / 2 % 2];
        let id = script.give(class, move |state| {
            assert!(owned_by_this_thread(state));
            blocking(|| blocker.pass());
            assert!(owned_by_this_thread(state));
        });
        given.push((script.clone(), id));
    }
    gate.wait_for(20);
    gate.open();
    for (script, id) in given {
        assert!(!script.wait_for_answer(id).panicked);
    }
    let crew = stage.crew.clone();
    stage.stop();
    let mut made = register.made.lock().unwrap().clone();
    let mut dropped = register.dropped.lock().unwrap().clone();
    made.sort_by_key(|id| format!("{id:?}"));
    dropped.sort_by_key(|id| format!("{id:?}"));
    assert_eq!(made, dropped);
    assert_eq!(made.len() as u64, crew.hand_off_stats().started);
}

#[test]
fn a_factory_that_panics_is_tried_again() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let config = CrewConfig {
        state: Some(Arc::new(move || {
            if counter.fetch_add(1, Ordering::SeqCst) < 3 {
                resume_unwind(Box::new("no database yet"));
            }
            Box::new(7u32) as Box<dyn Any + Send>
        })),
        ..CrewConfig::default()
    };
    let stage = Stage::new(config, 1);
    let id = stage.loops[0].give(&pool_class("class"), |state| {
        let state = state.as_ref().and_then(|state| state.downcast_ref());
        assert_eq!(state, Some(&7u32));
    });
    assert!(!stage.loops[0].wait_for(id, Step::Delivered).panicked);
    assert!(
        calls.load(Ordering::SeqCst) >= 5,
        "all three started threads came up"
    );
    stage.stop();
}

#[test]
fn threads_come_from_the_host_if_it_wants_so() {
    let hosts = Arc::new(Mutex::new(Vec::new()));
    let spawned = hosts.clone();
    let hook: ThreadHook = Arc::new(move |start: ThreadStart| {
        let thread = thread::Builder::new().name("host".to_owned());
        spawned
            .lock()
            .unwrap()
            .push(thread.spawn(move || start.run())?);
        Ok(())
    });
    let config = CrewConfig {
        hook: Some(hook),
        ..CrewConfig::default()
    };
    let stage = Stage::new(config, 1);
    for class in [loop_class("in place"), pool_class("pool")] {
        let id = stage.loops[0].give(&class, |_| {
            assert_eq!(thread::current().name(), Some("host"));
        });
        assert!(!stage.loops[0].wait_for_answer(id).panicked);
    }
    // A crew that needs more of them asks the host.
    let gate = Gate::closed();
    for _ in 0..6 {
        let blocker = gate.clone();
        stage.loops[0].give(&pool_class("slow"), move |_| blocker.pass());
    }
    gate.wait_for(6);
    gate.open();
    let crew = stage.crew.clone();
    stage.stop();
    let hosts = std::mem::take(&mut *hosts.lock().unwrap());
    assert_eq!(hosts.len() as u64, crew.hand_off_stats().started);
    for host in hosts {
        host.join().expect("the crew's part never unwinds");
    }
}

/// A host that can't give more threads: the crew goes on with those it has.
#[test]
fn a_host_that_refuses_threads_is_no_reason_to_stop() {
    let given = Arc::new(AtomicUsize::new(0));
    let refused = Arc::new(AtomicUsize::new(0));
    let (gives, refuses) = (given.clone(), refused.clone());
    let hook: ThreadHook = Arc::new(move |start: ThreadStart| {
        if gives.fetch_add(1, Ordering::SeqCst) >= 3 {
            refuses.fetch_add(1, Ordering::SeqCst);
            drop(start);
            return Err(io::Error::other("no more"));
        }
        thread::spawn(move || start.run());
        Ok(())
    });
    let config = CrewConfig {
        hook: Some(hook),
        ..CrewConfig::default()
    };
    let stage = Stage::new(config, 1);
    let script = &stage.loops[0];
    let gate = Gate::closed();
    let ids: Vec<_> = (0..3)
        .map(|_| {
            let blocker = gate.clone();
            script.give(&pool_class("slow"), move |_| blocker.pass())
        })
        .collect();
    until("a thread was asked for", || {
        refused.load(Ordering::SeqCst) > 0
    });
    let fast = script.give(&loop_class("fast"), |_| ());
    script.wait_for_answer(fast);
    gate.open();
    for id in ids {
        script.wait_for(id, Step::Delivered);
    }
    assert_eq!(stage.crew.pool().stats().threads, 3);
    stage.stop();
}

#[test]
fn a_crew_that_gets_no_threads_at_all_says_so() {
    let config = CrewConfig {
        hook: Some(Arc::new(|_| Err(io::Error::other("none at all")))),
        ..CrewConfig::default()
    };
    let pool = config.pool();
    let crew = Crew::<ScriptedLoop>::start(config, pool, Vec::new());
    assert_eq!(crew.unwrap_err().to_string(), "none at all");
}

#[test]
fn threads_come_with_the_need_and_go_when_idle() {
    const JOBS: usize = 20;
    let config = CrewConfig {
        idle: Duration::from_millis(50),
        ..CrewConfig::default()
    };
    let stage = Stage::new(config, 1);
    let gate = Gate::closed();
    for _ in 0..JOBS {
        let blocker = gate.clone();
        stage.loops[0].give(&pool_class("slow"), move |_| blocker.pass());
    }
    gate.wait_for(JOBS);
    let threads = stage.crew.pool().stats().threads;
    assert!(
        (JOBS + 2..=JOBS + 12).contains(&threads),
        "{threads} threads"
    );
    gate.open();
    // Leader, monitor and a spare one stay.
    until("the others go", || stage.crew.pool().stats().threads == 3);
    stage.stop();
}

#[test]
fn stopping_waits_for_handlers_within_its_limit_and_joins_all() {
    let stage = Stage::new(CrewConfig::default(), 3);
    let gate = Gate::closed();
    let ended = Arc::new(AtomicUsize::new(0));
    for (script, class) in
        stage
            .loops
            .iter()
            .zip([loop_class("stolen"), loop_class("also"), pool_class("pool")])
    {
        let (blocker, ended) = (gate.clone(), ended.clone());
        script.give(&class, move |_| {
            blocker.pass();
            ended.fetch_add(1, Ordering::SeqCst);
        });
        script.stop();
    }
    gate.wait_for(3);
    assert!(
        !stage.crew.join(Duration::from_millis(50)),
        "handlers still run"
    );
    gate.open();
    let (crew, scripts) = (stage.crew.clone(), stage.loops.len());
    stage.stop();
    assert_eq!(ended.load(Ordering::SeqCst), scripts);
    assert!(crew.join(Duration::ZERO), "nobody is left");
}
