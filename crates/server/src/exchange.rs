//! The jobs that an HTTP event loop gives out: calls of handlers, bodies to be written, files to
//! be fetched into memory.

use std::any::Any;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use stepwell_reactor::crew::{CostClass, Job, Lane, ThreadState};

use crate::body::{BodyWriter, StreamBody};
use crate::compress;
use crate::link::{Address, Hub, Letter};
use crate::pipe::PipeWriter;
use crate::request::Request;
use crate::response::Response;
use crate::router::table::RouteId;
use crate::site::Site;
use crate::status;

/// One request on its way through a handler, and back with the answer. Recycled.
pub(crate) struct Exchange {
    pub(crate) site: Arc<Site>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) address: Address,
    pub(crate) route: RouteId,
    pub(crate) request: Request,
    pub(crate) outcome: Outcome,
}

/// What came of a handler.
pub(crate) enum Outcome {
    /// It has not run.
    Pending,
    /// Its answer.
    Answer(Response),
    /// The answer comes from elsewhere.
    Detached,
}

impl Exchange {
    #[inline(always)]
    pub(crate) fn run(&mut self, state: &mut ThreadState) {
        *self.request.thread_state.get_mut() = state.take();
        let mut response = self.site.app.run(self.route, &mut self.request);
        *state = self.request.thread_state.get_mut().take();
        // Here and not on the event loop, which their destructors must neither hold up nor end.
        self.request.extensions.clear();
        self.outcome = if self.request.link.is_detached() {
            Outcome::Detached
        } else {
            if self.site.compression {
                compress::apply(&self.request, &mut response);
            }
            Outcome::Answer(response)
        };
    }

    fn panicked(&mut self, cause: &(dyn Any + Send), state: &mut ThreadState) {
        if state.is_none() {
            *state = self.request.thread_state.get_mut().take();
        }
        let what = cause
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| cause.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("(no message)")
            .escape_debug();
        let method = self.request.method_str();
        let route = self.request.route();
        tracing::error!("{method} {route}: the handler panicked: {what}");
        self.outcome = if self.request.link.is_detached() {
            Outcome::Detached
        } else {
            Outcome::Answer(Response::plain(status::INTERNAL_SERVER_ERROR))
        };
        self.request.extensions.clear();
    }
}

/// Writes the streamed body of a response.
pub(crate) struct StreamTask {
    pub(crate) site: Arc<Site>,
    pub(crate) address: Address,
    pub(crate) route: RouteId,
    pub(crate) body: Option<StreamBody>,
    pub(crate) writer: PipeWriter,
}

impl StreamTask {
    fn run(&mut self) {
        let Some(body) = self.body.take() else { return };
        let mut writer = BodyWriter::new(Box::new(self.writer.clone()));
        let result = body
            .run(&mut writer)
            .and_then(|()| writer.finish_encoding());
        if let Err(error) = &result {
            let route = self
                .site
                .app
                .route(self.route)
                .map_or("", |entry| &entry.pattern);
            tracing::warn!("{route}: the streamed body broke off: {error}");
        }
        self.writer.end(result.is_err());
    }
}

/// Fetches a piece of a file into memory, so that the loop can send it without waiting.
pub(crate) struct WarmTask {
    pub(crate) site: Arc<Site>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) address: Address,
    pub(crate) file: Arc<File>,
    pub(crate) offset: u64,
    pub(crate) length: usize,
}

impl WarmTask {
    fn run(&self) -> bool {
        let mut buffer = vec![0; self.length.min(64 * 1024)];
        let end = self.offset + self.length as u64;
        let mut at = self.offset;
        while at < end {
            match self.file.read_at(&mut buffer, at) {
                Ok(0) => return true,
                Ok(count) => at += count as u64,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    tracing::error!("a file could not be read while it was sent: {error}");
                    return false;
                }
            }
        }
        true
    }
}

/// What is given out.
pub(crate) enum Work {
    Exchange(Box<Exchange>),
    Stream(Box<StreamTask>),
    Warm(Box<WarmTask>),
}

impl Work {
    /// The request that it belongs to.
    pub(crate) fn address(&self) -> Address {
        match self {
            Work::Exchange(exchange) => exchange.address,
            Work::Stream(task) => task.address,
            Work::Warm(task) => task.address,
        }
    }
}

impl Job for Work {
    #[inline]
    fn class(&self) -> &CostClass {
        match self {
            Work::Exchange(exchange) => exchange.site.class(exchange.route),
            Work::Stream(task) => &task.site.streams,
            Work::Warm(task) => &task.site.files,
        }
    }

    fn lane(&self) -> Lane {
        match self {
            Work::Exchange(exchange) if exchange.site.streams_body(exchange.route) => Lane::Long,
            Work::Exchange(_) | Work::Warm(_) => Lane::Short,
            Work::Stream(_) => Lane::Long,
        }
    }

    #[inline]
    fn run(&mut self, state: &mut ThreadState) {
        match self {
            Work::Exchange(exchange) => exchange.run(state),
            Work::Stream(task) => task.run(),
            Work::Warm(task) => {
                let done = task.run();
                task.hub.post(Letter::Warmed(task.address, done));
            }
        }
    }

    fn panicked(&mut self, cause: Box<dyn Any + Send>, state: &mut ThreadState) {
        match self {
            Work::Exchange(exchange) => exchange.panicked(&*cause, state),
            Work::Stream(task) => {
                tracing::error!("the writer of a streamed body panicked");
                task.writer.end(true);
            }
            Work::Warm(task) => task.hub.post(Letter::Warmed(task.address, false)),
        }
    }

    fn deliver(self) {
        match self {
            Work::Exchange(exchange) => {
                let hub = exchange.hub.clone();
                hub.post(Letter::Finished(exchange));
            }
            // These have told the loop already, all that it wants to know.
            Work::Stream(_) | Work::Warm(_) => {}
        }
    }
}
