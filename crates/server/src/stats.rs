//! Figures of a running server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use stepwell_reactor::crew::{ClassStats, Crew};
use stepwell_reactor::{EventLoop, LoopHandle};

use crate::counts::Counts;
use crate::driver::HttpDriver;
use crate::ending::Ending;
use crate::link::Letter;
use crate::site::Site;

/// The figures of a server at one moment. Counts are since it was started.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// Each event loop.
    pub loops: Vec<LoopFigures>,
    /// The threads behind them.
    pub crew: CrewFigures,
    /// Requests and their answers.
    pub requests: RequestFigures,
    /// Each route that was used, the busiest first.
    pub routes: Vec<RouteFigures>,
}

/// One event loop.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct LoopFigures {
    /// Connections that are open now.
    pub connections: u64,
    /// Connections accepted.
    pub accepted: u64,
    /// Times that accepting paused, because descriptors or places ran out.
    pub accept_pauses: u64,
    /// Waits for events; many requests share one under load.
    pub waits: u64,
}

/// The threads of a server.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct CrewFigures {
    /// All threads now: those that lead loops, the monitor, workers, idle ones.
    pub threads: usize,
    /// Threads that wait for work.
    pub idle: usize,
    /// Requests that run in the pool now.
    pub running: usize,
    /// Of these, requests that wait for the network (streamed bodies).
    pub running_long: usize,
    /// Handlers that lost their loop and still run.
    pub astray: usize,
    /// Requests that wait for a thread.
    pub queued: usize,
    /// Loops taken away from a handler that held them too long.
    pub thefts: u64,
    /// Loops given away by a handler that was about to block.
    pub announced: u64,
    /// Handlers that panicked.
    pub panics: u64,
    /// Threads started.
    pub started: u64,
}

/// Requests and answers.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct RequestFigures {
    /// Answers sent, those of the server itself included.
    pub answered: u64,
    /// Answers by the first digit of their status, 1 to 5.
    pub by_class: [u64; 5],
    /// Requests that broke a rule or a limit of the protocol.
    pub refused: u64,
    /// Requests answered with 503, because no thread was free in time.
    pub queue_timeouts: u64,
    /// Requests that ran into the timeout of their route.
    pub handler_timeouts: u64,
    /// Connections closed because the client was too slow.
    pub slow_clients: u64,
    /// Queued requests dropped because their client had left.
    pub cancelled: u64,
    /// Answers that came when their client had left.
    pub late: u64,
    /// Times that a full queue held requests back.
    pub held_back: u64,
}

/// What was learned of a route.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RouteFigures {
    /// Method and pattern.
    pub route: String,
    /// Whether it runs on event loops now.
    pub in_place: bool,
    /// Runs on an event loop's thread.
    pub runs_in_place: u64,
    /// Runs in the pool.
    pub runs_in_pool: u64,
    /// Runs in place that were so slow that they lost their loop.
    pub thefts: u64,
    /// Runs in place that gave their loop away before they blocked.
    pub announced: u64,
    /// Times that it earned the loop.
    pub promotions: u64,
    /// Times that it went back to the pool.
    pub demotions: u64,
}

impl From<ClassStats> for RouteFigures {
    fn from(class: ClassStats) -> RouteFigures {
        RouteFigures {
            route: class.name,
            in_place: class.in_place,
            runs_in_place: class.runs_in_place,
            runs_in_pool: class.runs_in_pool,
            thefts: class.thefts,
            announced: class.announced,
            promotions: class.promotions,
            demotions: class.demotions,
        }
    }
}

/// Where the figures are read.
pub(crate) struct Gauges {
    pub(crate) crew: Arc<Crew<EventLoop<HttpDriver>>>,
    pub(crate) loops: Vec<LoopHandle<Letter>>,
    pub(crate) counts: Vec<Arc<Counts>>,
    pub(crate) ending: Ending,
}

impl Gauges {
    pub(crate) fn read(&self, site: &Site) -> Stats {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let pool = self.crew.pool().stats();
        let hand_off = self.crew.hand_off_stats();
        let sum = |of: fn(&Counts) -> &AtomicU64| -> u64 {
            self.counts.iter().map(|counts| load(of(counts))).sum()
        };
        let mut routes: Vec<RouteFigures> = site
            .classes()
            .map(|class| RouteFigures::from(class.stats()))
            .filter(|route| route.runs_in_place + route.runs_in_pool > 0)
            .collect();
        routes.sort_by_key(|route| std::cmp::Reverse(route.runs_in_place + route.runs_in_pool));
        Stats {
            loops: self
                .loops
                .iter()
                .map(|each| LoopFigures {
                    connections: load(&each.stats().connections),
                    accepted: load(&each.stats().accepted),
                    accept_pauses: load(&each.stats().accept_pauses),
                    waits: load(&each.stats().waits),
                })
                .collect(),
            crew: CrewFigures {
                threads: pool.threads,
                idle: pool.idle,
                running: pool.running,
                running_long: pool.running_long,
                astray: pool.astray,
                queued: pool.queued,
                thefts: hand_off.thefts,
                announced: hand_off.announced,
                panics: hand_off.panics,
                started: hand_off.started,
            },
            requests: RequestFigures {
                answered: self
                    .counts
                    .iter()
                    .flat_map(|counts| &counts.responses)
                    .map(load)
                    .sum(),
                by_class: std::array::from_fn(|class| {
                    self.counts
                        .iter()
                        .map(|counts| load(&counts.responses[class + 1]))
                        .sum()
                }),
                refused: sum(|counts| &counts.refused),
                queue_timeouts: sum(|counts| &counts.queue_timeouts),
                handler_timeouts: sum(|counts| &counts.handler_timeouts),
                slow_clients: sum(|counts| &counts.slow_clients),
                cancelled: sum(|counts| &counts.cancelled),
                late: sum(|counts| &counts.late),
                held_back: sum(|counts| &counts.held_back),
            },
            routes,
        }
    }
}
