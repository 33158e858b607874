//! A loop without sockets: it does what the test orders, and writes down all that happens.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use stepwell_reactor::crew::{
    CostClass, Crew, CrewConfig, Detach, Job, Lane, Loop, Pool, Remote, ThreadState, Ticket, Turn,
};

/// What no wait may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A value that threads wait for.
pub(crate) struct Watched<T> {
    value: Mutex<T>,
    changed: Condvar,
}

impl<T> Watched<T> {
    pub(crate) fn new(value: T) -> Watched<T> {
        Watched {
            value: Mutex::new(value),
            changed: Condvar::new(),
        }
    }

    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let result = change(&mut self.value.lock().unwrap());
        self.changed.notify_all();
        result
    }

    /// Waits until `ready` answers something; nothing after [`PATIENCE`].
    pub(crate) fn wait<R>(&self, mut ready: impl FnMut(&mut T) -> Option<R>) -> Option<R> {
        let deadline = Instant::now() + PATIENCE;
        let mut value = self.value.lock().unwrap();
        loop {
            if let Some(result) = ready(&mut value) {
                return Some(result);
            }
            let left = deadline.checked_duration_since(Instant::now())?;
            value = self.changed.wait_timeout(value, left).unwrap().0;
        }
    }
}

/// Holds handlers up until it is opened, and counts who came to it.
#[derive(Clone)]
pub(crate) struct Gate(Arc<Watched<(bool, usize)>>);

impl Gate {
    pub(crate) fn closed() -> Gate {
        Gate(Arc::new(Watched::new((false, 0))))
    }

    pub(crate) fn open(&self) {
        self.0.change(|gate| gate.0 = true);
    }

    pub(crate) fn pass(&self) {
        self.0.change(|gate| gate.1 += 1);
        let opened = self.0.wait(|gate| gate.0.then_some(()));
        assert!(opened.is_some(), "nobody opened the gate");
    }

    /// Waits until `count` handlers have come.
    pub(crate) fn wait_for(&self, count: usize) {
        let came = self.0.wait(|gate| (gate.1 >= count).then_some(()));
        assert!(came.is_some(), "{count} handlers were to come to the gate");
    }

    pub(crate) fn came(&self) -> usize {
        self.0.change(|gate| gate.1)
    }
}

/// Waits for something that nobody announces.
pub(crate) fn until(what: &str, mut ready: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !ready() {
        assert!(Instant::now() < deadline, "never came: {what}");
        thread::yield_now();
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    /// Answered at once, by the thread that ran it.
    Completed,
    /// Answered late.
    Delivered,
    Detached(Detach),
    Queued,
    Refused,
    Cancelled,
}

/// One line of what happened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) id: u64,
    pub(crate) step: Step,
    /// Who led the loop.
    pub(crate) leader: ThreadId,
    /// Who ran the job, once it has run.
    pub(crate) ran_on: Option<ThreadId>,
    pub(crate) panicked: bool,
}

pub(crate) type Work = Box<dyn FnMut(&mut ThreadState) + Send>;

pub(crate) struct Task {
    pub(crate) id: u64,
    class: Arc<CostClass>,
    lane: Lane,
    work: Work,
    ran_on: Option<ThreadId>,
    panicked: bool,
    home: Script,
}

impl Job for Task {
    fn class(&self) -> &CostClass {
        &self.class
    }

    fn lane(&self) -> Lane {
        self.lane
    }

    fn run(&mut self, state: &mut ThreadState) {
        self.ran_on = Some(thread::current().id());
        (self.work)(state);
    }

    fn panicked(&mut self, _: Box<dyn Any + Send>, _: &mut ThreadState) {
        self.panicked = true;
    }

    fn deliver(self) {
        let home = self.home.clone();
        home.order(Order::Answer(self));
    }
}

enum Order {
    Give(Task),
    Answer(Task),
    Cancel(u64),
    Relieved,
    Break,
    Stop,
}

struct Shared {
    orders: Watched<VecDeque<Order>>,
    log: Watched<Vec<Line>>,
    next_id: Mutex<u64>,
}

/// Reaches a scripted loop.
#[derive(Clone)]
pub(crate) struct Script(Arc<Shared>);

impl Remote for Script {
    fn relieved(&self) {
        self.order(Order::Relieved);
    }
}

impl Script {
    fn order(&self, order: Order) {
        self.0.orders.change(|orders| orders.push_back(order));
    }

    /// Lets the loop give out a job; answers its number.
    pub(crate) fn give(
        &self,
        class: &Arc<CostClass>,
        work: impl FnMut(&mut ThreadState) + Send + 'static,
    ) -> u64 {
        self.give_in(Lane::Short, class, work)
    }

    pub(crate) fn give_in(
        &self,
        lane: Lane,
        class: &Arc<CostClass>,
        work: impl FnMut(&mut ThreadState) + Send + 'static,
    ) -> u64 {
        let id = {
            let mut next = self.0.next_id.lock().unwrap();
            *next += 1;
            *next
        };
        self.order(Order::Give(Task {
            id,
            class: class.clone(),
            lane,
            work: Box::new(work),
            ran_on: None,
            panicked: false,
            home: self.clone(),
        }));
        id
    }

    /// Lets the loop cancel a job of its own in the queue.
    pub(crate) fn cancel(&self, id: u64) {
        self.order(Order::Cancel(id));
    }

    pub(crate) fn stop(&self) {
        self.order(Order::Stop);
    }

    /// Lets the loop itself panic.
    pub(crate) fn break_down(&self) {
        self.order(Order::Break);
    }

    /// Waits until something has happened to a job.
    pub(crate) fn wait_for(&self, id: u64, step: Step) -> Line {
        self.wait_for_any(id, &[step])
    }

    pub(crate) fn wait_for_answer(&self, id: u64) -> Line {
        self.wait_for_any(id, &[Step::Completed, Step::Delivered])
    }

    fn wait_for_any(&self, id: u64, steps: &[Step]) -> Line {
        let found = self.0.log.wait(|log| {
            log.iter()
                .find(|line| line.id == id && steps.contains(&line.step))
                .copied()
        });
        found.unwrap_or_else(|| panic!("job {id}: no {steps:?} in {:#?}", self.lines(id)))
    }

    /// All that has happened to a job so far.
    pub(crate) fn lines(&self, id: u64) -> Vec<Line> {
        let of_job = |log: &mut Vec<Line>| log.iter().filter(|l| l.id == id).copied().collect();
        self.0.log.change(of_job)
    }

    pub(crate) fn steps(&self, id: u64) -> Vec<Step> {
        self.lines(id).iter().map(|line| line.step).collect()
    }

    /// Runs jobs that do nothing until `class` has earned the loop; answers how many it took.
    pub(crate) fn promote(&self, class: &Arc<CostClass>) -> usize {
        for count in 0..20_000 {
            if class.runs_in_place() {
                return count;
            }
            let id = self.give(class, |_| ());
            self.wait_for_answer(id);
        }
        panic!("{:?} never earned the loop", class.stats());
    }
}

pub(crate) struct ScriptedLoop {
    script: Script,
    pool: Arc<Pool<Task>>,
    current: Option<(u64, Arc<CostClass>)>,
    /// The job that the crew was given last.
    last: u64,
    tickets: HashMap<u64, Ticket>,
    refused: VecDeque<Task>,
    may_offer: bool,
}

impl ScriptedLoop {
    fn note(&self, id: u64, step: Step, task: Option<&Task>) {
        let line = Line {
            id,
            step,
            leader: thread::current().id(),
            ran_on: task.and_then(|task| task.ran_on),
            panicked: task.is_some_and(|task| task.panicked),
        };
        self.script.0.log.change(|log| log.push(line));
    }
}

impl Loop for ScriptedLoop {
    type Job = Task;
    type Remote = Script;

    fn remote(&self) -> Script {
        self.script.clone()
    }

    fn next(&mut self) -> Turn<Task> {
        assert!(self.current.is_none(), "led on with a job outstanding");
        loop {
            if self.may_offer {
                if let Some(task) = self.refused.pop_front() {
                    self.last = task.id;
                    return Turn::Queue(task);
                }
            }
            let script = self.script.clone();
            let order = script.0.orders.wait(VecDeque::pop_front);
            match order.expect("an order in time, at least to stop") {
                Order::Give(task) => {
                    self.current = Some((task.id, task.class.clone()));
                    self.last = task.id;
                    return Turn::Job(task);
                }
                Order::Answer(task) => self.note(task.id, Step::Delivered, Some(&task)),
                Order::Cancel(id) => {
                    let ticket = self.tickets[&id];
                    if let Some(task) = self.pool.cancel(ticket) {
                        assert_eq!(task.id, id);
                        self.note(id, Step::Cancelled, Some(&task));
                    }
                }
                Order::Relieved => self.may_offer = true,
                Order::Break => resume_unwind(Box::new("a broken driver")),
                Order::Stop => return Turn::Stopped,
            }
        }
    }

    fn complete(&mut self, task: Task) {
        let (id, _) = self.current.take().expect("a job outstanding");
        assert_eq!(id, task.id);
        self.note(id, Step::Completed, Some(&task));
    }

    fn detach(&mut self, why: Detach) {
        let (id, _) = self.current.take().expect("a job outstanding");
        self.note(id, Step::Detached(why), None);
    }

    fn current_class(&self) -> Option<&CostClass> {
        self.current.as_ref().map(|(_, class)| &**class)
    }

    fn queued(&mut self, ticket: Ticket) {
        self.tickets.insert(self.last, ticket);
        self.note(self.last, Step::Queued, None);
    }

    fn refused(&mut self, task: Task) {
        self.may_offer = false;
        self.note(task.id, Step::Refused, None);
        self.refused.push_front(task);
    }
}

/// A crew with its scripted loops.
pub(crate) struct Stage {
    pub(crate) crew: Arc<Crew<ScriptedLoop>>,
    pub(crate) loops: Vec<Script>,
}

impl Stage {
    pub(crate) fn new(config: CrewConfig, loops: usize) -> Stage {
        let pool = config.pool();
        let scripts: Vec<_> = (0..loops)
            .map(|_| {
                Script(Arc::new(Shared {
                    orders: Watched::new(VecDeque::new()),
                    log: Watched::new(Vec::new()),
                    next_id: Mutex::new(0),
                }))
            })
            .collect();
        let scripted = scripts.iter().map(|script| ScriptedLoop {
            script: script.clone(),
            pool: pool.clone(),
            current: None,
            last: 0,
            tickets: HashMap::new(),
            refused: VecDeque::new(),
            may_offer: true,
        });
        let crew = Crew::start(config, pool.clone(), scripted.collect()).unwrap();
        Stage {
            crew,
            loops: scripts,
        }
    }

    /// Stops all loops and waits for all threads.
    pub(crate) fn stop(self) {
        for script in &self.loops {
            script.stop();
        }
        assert!(
            self.crew.join(PATIENCE),
            "threads stayed behind: {:?}",
            self.crew
        );
        assert_eq!(self.crew.pool().stats().threads, 0);
    }
}

pub(crate) fn class(name: &str) -> Arc<CostClass> {
    Arc::new(CostClass::new(name))
}

pub(crate) fn pool_class(name: &str) -> Arc<CostClass> {
    Arc::new(CostClass::pinned_to_pool(name))
}

/// A class that is trusted to be fast from the start.
pub(crate) fn loop_class(name: &str) -> Arc<CostClass> {
    Arc::new(CostClass::kept_in_place(name))
}
