//! What all loops and threads of one server share: routes, limits, figures.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use stepwell_proto::Limits;
use stepwell_reactor::crew::CostClass;

use crate::router::App;
use crate::router::table::RouteId;
use crate::stats::{Gauges, Stats};

/// Times and sizes of a server beyond those of the protocol machines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// How long a request waits for a thread before it is answered with 503.
    pub(crate) queue_deadline: Duration,
    /// How long a client may take no byte of an answer before the connection is closed.
    pub(crate) write_idle: Duration,
    /// How long a connection that ends is read on, so that the last answer arrives.
    pub(crate) linger: Duration,
    /// How long an event stream is silent before a comment shows that it is alive.
    pub(crate) event_keep_alive: Duration,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            queue_deadline: Duration::from_secs(10),
            write_idle: Duration::from_secs(30),
            linger: Duration::from_secs(2),
            event_keep_alive: Duration::from_secs(15),
        }
    }
}

/// Shared by everything that belongs to one server.
pub(crate) struct Site {
    pub(crate) app: App,
    classes: Box<[CostClass]>,
    pub(crate) streams: CostClass,
    pub(crate) files: CostClass,
    pub(crate) limits: Arc<Limits>,
    pub(crate) bounds: Bounds,
    pub(crate) compression: bool,
    gauges: OnceLock<Weak<Gauges>>,
}

impl Site {
    pub(crate) fn new(app: App, limits: Limits, bounds: Bounds, compression: bool) -> Site {
        let classes = (0..app.len())
            .map(|index| class_of(&app, RouteId(index as u32)))
            .collect();
        Site {
            app,
            classes,
            streams: CostClass::pinned_to_pool("(streamed bodies)"),
            files: CostClass::pinned_to_pool("(files read ahead)"),
            limits: Arc::new(limits),
            bounds,
            compression,
            gauges: OnceLock::new(),
        }
    }

    /// What learns whether the handler of a route is fast.
    #[inline]
    pub(crate) fn class(&self, route: RouteId) -> &CostClass {
        // Route ids come from the router that the classes were made for.
        self.classes.get(route.index()).unwrap_or(&self.streams)
    }

    pub(crate) fn classes(&self) -> impl Iterator<Item = &CostClass> {
        self.classes.iter().chain([&self.streams, &self.files])
    }

    /// The server runs: where its figures are read.
    pub(crate) fn set_gauges(&self, gauges: &Arc<Gauges>) {
        // A site belongs to one server, which starts once.
        let _ = self.gauges.set(Arc::downgrade(gauges));
    }

    pub(crate) fn stats(&self) -> Stats {
        let gauges = self.gauges.get().and_then(Weak::upgrade);
        gauges.map(|gauges| gauges.read(self)).unwrap_or_default()
    }

    pub(crate) fn streams_body(&self, route: RouteId) -> bool {
        self.app
            .route(route)
            .is_some_and(|entry| entry.options.stream_body)
    }
}

fn class_of(app: &App, route: RouteId) -> CostClass {
    let Some(entry) = app.route(route) else {
        return CostClass::new("");
    };
    let name = format!("{} {}", entry.method, entry.pattern);
    if entry.options.builtin {
        CostClass::kept_in_place(&name)
    } else if entry.options.blocking || entry.options.stream_body {
        CostClass::pinned_to_pool(&name)
    } else {
        CostClass::new(&name)
    }
}
