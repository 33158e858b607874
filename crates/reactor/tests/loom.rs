//! The hand-off under the model checker: every interleaving (up to a bound of preemptions) of the
//! real [`Slot`], [`Watch`] and [`Mailbox`], driven by the steps that the crew takes. The steps
//! are those of `crew/lead.rs`, `crew/monitor.rs` and `crew/announce.rs` without threads, queues
//! and statistics: keep them in line.
//!
//! Run by `make loom`. A deadlock (a wake-up that was lost) is a failure, too.
#![cfg(loom)]

use loom::cell::Cell;
use loom::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;
use stepwell_reactor::mailbox::Mailbox;
use stepwell_reactor::slot::{Parked, Slot, Watch};

/// An event loop that has some jobs to give out. The cells let the model checker see two leaders
/// at the same time.
struct Loop {
    /// Jobs not given out yet.
    left: Cell<u32>,
    /// The job that was given out and is neither complete nor detached.
    current: Cell<Option<u32>>,
    /// How often each job was answered, as decimal digits: job 0 counts ones, job 1 tens…
    answers: Cell<u32>,
}

type Held = Box<Parked<Loop>>;

fn digit(job: u32) -> u32 {
    10u32.pow(job)
}

/// What the threads of a crew share.
struct Crew {
    slot: Slot<Loop>,
    mailbox: Mailbox<u32>,
    /// Loops given away, under the number of their park (the pool's list).
    leaderless: Mutex<Vec<u64>>,
    /// Handlers without their loop.
    astray: AtomicIsize,
    /// The loop when it has nothing left to do.
    ended: Mutex<Option<Held>>,
}

/// What a handler does.
#[derive(Clone, Copy, PartialEq)]
enum Handler {
    Returns,
    /// Announces that it blocks, at job 0.
    Announces,
}

impl Crew {
    fn new() -> Arc<Crew> {
        Arc::new(Crew {
            slot: Slot::new(),
            mailbox: Mailbox::new().unwrap(),
            leaderless: Mutex::new(Vec::new()),
            astray: AtomicIsize::new(0),
            ended: Mutex::new(None),
        })
    }

    fn fresh(jobs: u32) -> Held {
        Parked::new(Loop {
            left: Cell::new(jobs),
            current: Cell::new(None),
            answers: Cell::new(0),
        })
    }

    /// Leads until the loop ends or is lost.
    fn lead(&self, mut held: Held, handler: Handler) {
        loop {
            self.read_letters(&held.inner);
            let left = held.inner.left.get();
            if left == 0 {
                let before = self.ended.lock().unwrap().replace(held);
                assert!(before.is_none(), "the loop ended twice");
                return;
            }
            let job = left - 1;
            held.inner.left.set(job);
            held.inner.current.set(Some(job));
            match self.run_parked(held, job, handler) {
                Some(back) => held = back,
                None => return,
            }
        }
    }

    fn read_letters(&self, held: &Loop) {
        let mut letters = Vec::new();
        self.mailbox.drain(&mut letters);
        for job in letters {
            held.answers.set(held.answers.get() + digit(job));
        }
    }

    fn run_parked(&self, held: Held, job: u32, handler: Handler) -> Option<Held> {
        let seq = self.slot.park(held);
        if handler == Handler::Announces && job == 0 {
            self.give_away(seq);
        }
        if self.slot.seq() == seq {
            if let Some(mut back) = self.slot.take() {
                if back.seq() == seq {
                    let lent = back.inner.current.replace(None);
                    assert_eq!(
                        lent,
                        Some(job),
                        "another handler's loop taken for one's own"
                    );
                    let answers = back.inner.answers.get();
                    back.inner.answers.set(answers + digit(job));
                    return Some(back);
                }
                self.detach(&back);
                self.slot.renumber(&mut back);
                self.come_back(job);
                return Some(back);
            }
        }
        self.come_back(job);
        None
    }

    fn come_back(&self, job: u32) {
        self.mailbox.post(job);
        self.astray.fetch_sub(1, Ordering::Relaxed);
    }

    fn detach(&self, held: &Parked<Loop>) {
        if held.inner.current.replace(None).is_some() {
            self.astray.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn give_away(&self, seq: u64) {
        if self.slot.seq() != seq {
            return;
        }
        let Some(held) = self.slot.take() else { return };
        self.detach(&held);
        let seq = self.slot.park(held);
        self.leaderless.lock().unwrap().push(seq);
    }

    /// A thread that was called to lead.
    fn lead_leaderless(&self) {
        let Some(seq) = self.leaderless.lock().unwrap().pop() else {
            return;
        };
        if self.slot.seq() != seq {
            return;
        }
        let Some(mut held) = self.slot.take() else {
            return;
        };
        if held.seq() != seq {
            self.detach(&held);
        }
        self.slot.renumber(&mut held);
        self.lead(held, Handler::Returns);
    }

    /// A look of the monitor that finds whatever is parked overdue.
    fn steal(&self) -> Option<Held> {
        if !self.slot.is_parked() {
            return None;
        }
        let mut held = self.slot.take()?;
        self.detach(&held);
        self.slot.renumber(&mut held);
        Some(held)
    }

    /// Everybody is done: the loop must be there, once, with one answer for each job.
    fn check(&self, jobs: u32) {
        self.lead_leaderless();
        assert!(self.slot.take().is_none(), "a loop was left in its slot");
        let held = self
            .ended
            .lock()
            .unwrap()
            .take()
            .expect("the loop was lost");
        self.read_letters(&held.inner);
        let expected = (0..jobs).map(digit).sum::<u32>();
        assert_eq!(
            held.inner.answers.get(),
            expected,
            "answers for each job, as digits"
        );
        assert_eq!(self.astray.load(Ordering::Relaxed), 0, "strays miscounted");
    }
}

fn model(preemptions: usize, test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(test);
}

#[test]
fn a_stolen_loop_has_one_leader_and_each_job_one_answer() {
    model(4, || {
        let crew = Crew::new();
        let leader = {
            let crew = crew.clone();
            thread::spawn(move || crew.lead(Crew::fresh(3), Handler::Returns))
        };
        if let Some(stolen) = crew.steal() {
            crew.lead(stolen, Handler::Returns);
        }
        leader.join().unwrap();
        crew.check(3);
    });
}

#[test]
fn two_thefts_in_a_row_lose_nothing() {
    model(3, || {
        let crew = Crew::new();
        let mut threads = Vec::new();
        for _ in 0..2 {
            let crew = crew.clone();
            threads.push(thread::spawn(move || {
                if let Some(stolen) = crew.steal() {
                    crew.lead(stolen, Handler::Returns);
                }
            }));
        }
        crew.lead(Crew::fresh(2), Handler::Returns);
        for thread in threads {
            thread.join().unwrap();
        }
        crew.check(2);
    });
}

#[test]
fn a_loop_given_away_is_led_once_by_the_monitor_or_the_thread_called() {
    model(3, || {
        let crew = Crew::new();
        let monitor = {
            let crew = crew.clone();
            thread::spawn(move || {
                if let Some(stolen) = crew.steal() {
                    crew.lead(stolen, Handler::Returns);
                }
            })
        };
        let called = {
            let crew = crew.clone();
            thread::spawn(move || crew.lead_leaderless())
        };
        crew.lead(Crew::fresh(2), Handler::Announces);
        monitor.join().unwrap();
        called.join().unwrap();
        crew.check(2);
    });
}

/// Politeness: a handler that comes back when its loop is already led by somebody else does not
/// take it from him, although he has not parked it yet at that moment.
#[test]
fn a_late_handler_leaves_a_led_loop_alone() {
    model(4, || {
        let crew = Crew::new();
        let led = Arc::new(AtomicBool::new(false));
        let seq = crew.slot.park(Crew::fresh(1));
        let thief = {
            let (crew, led) = (crew.clone(), led.clone());
            thread::spawn(move || {
                let stolen = crew.steal().expect("it lies there");
                led.store(true, Ordering::Release);
                let seq = crew.slot.park(stolen);
                let back = crew.slot.take().expect("taken from a thief at work");
                assert_eq!(back.seq(), seq);
            })
        };
        if led.load(Ordering::Acquire) && crew.slot.seq() == seq {
            drop(crew.slot.take());
        }
        thief.join().unwrap();
    });
}

/// The monitor watches two loops whose leaders park. Whatever it sleeps through would hang.
#[test]
fn deep_sleep_misses_no_park() {
    model(3, || {
        let shared = Arc::new(([Slot::new(), Slot::new()], Watch::new()));
        let mut leaders = Vec::new();
        for (index, parks) in [(0, 2), (1, 1)] {
            let shared = shared.clone();
            leaders.push(thread::spawn(move || {
                let (slots, watch) = &*shared;
                let mut held = Parked::new(());
                for _ in 0..parks {
                    let seq = slots[index].park(held);
                    watch.stir();
                    held = slots[index].take().unwrap();
                    assert_eq!(held.seq(), seq);
                }
            }));
        }
        let (slots, watch) = &*shared;
        let mut seen = [0, 0];
        while seen != [2, 1] {
            watch.sleep_unless(|| {
                slots
                    .iter()
                    .zip(seen)
                    .any(|(slot, seen)| slot.seq() != seen)
            });
            seen = [slots[0].seq(), slots[1].seq()];
        }
        for leader in leaders {
            leader.join().unwrap();
        }
    });
}

/// A loop that is parked and stays so must be found: that is the theft of an overdue handler.
#[test]
fn deep_sleep_finds_what_stays_parked() {
    model(4, || {
        let shared = Arc::new((Slot::new(), Watch::new()));
        let leader = {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.0.park(Parked::new(7));
                shared.1.stir();
            })
        };
        let (slot, watch) = &*shared;
        watch.sleep_unless(|| slot.is_parked());
        assert_eq!(slot.take().expect("parked").inner, 7);
        leader.join().unwrap();
    });
}

#[test]
fn deep_sleep_misses_no_job_for_the_pool() {
    model(4, || {
        let shared = Arc::new((AtomicUsize::new(0), Watch::new()));
        let leader = {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.0.store(1, Ordering::SeqCst);
                shared.1.stir();
            })
        };
        let (waiting, watch) = &*shared;
        watch.sleep_unless(|| waiting.load(Ordering::Acquire) != 0);
        assert_eq!(waiting.load(Ordering::Acquire), 1);
        leader.join().unwrap();
    });
}

/// Reads letters like a loop that has nothing else to do, until `count` have come.
fn wait_for_letters(mailbox: &Mailbox<u32>, count: usize) -> Vec<u32> {
    let mut got = Vec::new();
    let mut letters = Vec::new();
    loop {
        while mailbox.drain(&mut letters) {
            while let Some(letter) = letters.pop() {
                got.push(letter);
            }
        }
        if got.len() >= count {
            return got;
        }
        if mailbox.fall_asleep() {
            mailbox.waker().wait();
        }
        mailbox.woken();
    }
}

#[test]
fn letters_wake_a_loop_that_falls_asleep_and_keep_their_order() {
    model(3, || {
        let mailbox = Arc::new(Mailbox::new().unwrap());
        let mut senders = Vec::new();
        for letters in [[10, 11].as_slice(), [20].as_slice()] {
            let mailbox = mailbox.clone();
            senders.push(thread::spawn(move || {
                for letter in letters {
                    mailbox.post(*letter);
                }
            }));
        }
        let got = wait_for_letters(&mailbox, 3);
        let first: Vec<_> = got.iter().filter(|letter| **letter < 20).collect();
        assert_eq!(first, [&10, &11]);
        assert_eq!(got.len(), 3);
        for sender in senders {
            sender.join().unwrap();
        }
    });
}

/// The outbox: what a handler in place sends before it goes astray is read by whoever leads next,
/// be it the thief, already asleep on the loop, or the thread itself.
#[test]
fn a_letter_from_a_handler_in_place_reaches_the_next_leader() {
    model(4, || {
        let crew = Crew::new();
        let handler = {
            let crew = crew.clone();
            thread::spawn(move || {
                let seq = crew.slot.park(Crew::fresh(0));
                crew.mailbox.post(7);
                let back = match crew.slot.seq() == seq {
                    true => crew.slot.take(),
                    false => None,
                };
                if back.is_some() {
                    assert_eq!(wait_for_letters(&crew.mailbox, 1), [7]);
                }
                back.is_some()
            })
        };
        let stolen = crew.steal();
        if stolen.is_some() {
            assert_eq!(wait_for_letters(&crew.mailbox, 1), [7]);
        }
        assert!(
            handler.join().unwrap() || stolen.is_some(),
            "the loop was lost"
        );
    });
}
