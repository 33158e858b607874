//! What ties a request to its connection: letters to the event loop, and the handles that answer
//! later.

use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use stepwell_reactor::{LoopHandle, Token};

use crate::compress::{self, Wish};
use crate::exchange::Exchange;
use crate::into_response::IntoResponse;
use crate::pipe::{InPipe, OutPipe, PipeReader, PipeWriter};
use crate::request::Request;
use crate::response::Response;
use crate::site::Site;
use crate::sse_stream::EventStream;
use crate::stats::Stats;
use crate::status;

/// Names one request of one connection. Whoever comes late with the address of a request that is
/// over finds nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    pub(crate) token: Token,
    pub(crate) number: u32,
}

/// What other threads say to an event loop.
pub(crate) enum Letter {
    /// A handler that did not run in place has returned.
    Finished(Box<Exchange>),
    /// A detached request is answered.
    Answer(Address, Box<Response>),
    /// A detached request is answered by events: this head, and whatever comes through the pipe.
    Events(Address, Box<Response>, Arc<OutPipe>),
    /// The body of a request is wanted, or wanted again.
    WantsBody(Address),
    /// There is something in the pipe of a streamed response.
    Output(Address),
    /// The next piece of a file lies in memory now, or could not be read.
    Warmed(Address, bool),
    /// Serve what has come, then end.
    Stop,
    /// End now.
    Abort,
}

/// What all requests of one loop share.
pub(crate) struct Hub {
    handle: LoopHandle<Letter>,
    site: Arc<Site>,
    gone: Mutex<HashSet<Address>>,
    /// How many there are in `gone`, to be read without the lock.
    gone_count: AtomicUsize,
}

impl Hub {
    pub(crate) fn new(handle: LoopHandle<Letter>, site: Arc<Site>) -> Arc<Hub> {
        Arc::new(Hub {
            handle,
            site,
            gone: Mutex::default(),
            gone_count: AtomicUsize::new(0),
        })
    }

    pub(crate) fn post(&self, letter: Letter) {
        self.handle.post(letter);
    }

    /// The client of a request that is still being handled has gone. The handler's return takes
    /// the note away, so there are at most as many as there are handlers.
    pub(crate) fn note_gone(&self, address: Address) {
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        gone.insert(address);
        self.gone_count.store(gone.len(), Ordering::Release);
    }

    pub(crate) fn forget_gone(&self, address: Address) {
        if self.gone_count.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        gone.remove(&address);
        self.gone_count.store(gone.len(), Ordering::Release);
    }

    fn is_gone(&self, address: Address) -> bool {
        self.gone_count.load(Ordering::Acquire) != 0
            && self
                .gone
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .contains(&address)
    }
}

/// What ties a request to its connection. A request without one (as in unit tests of handlers)
/// can do everything but detach.
#[derive(Default)]
pub(crate) struct Link {
    home: Option<(Arc<Hub>, Address)>,
    detached: Cell<bool>,
}

impl Link {
    /// Ties the request to the connection that it came from.
    #[inline]
    pub(crate) fn tie(&mut self, hub: &Arc<Hub>, address: Address) {
        self.detached.set(false);
        match &mut self.home {
            // A recycled request knows its loop already: no shared counter is touched.
            Some((known, at)) if Arc::ptr_eq(known, hub) => *at = address,
            home => *home = Some((hub.clone(), address)),
        }
    }

    /// Whether the answer will come from elsewhere.
    #[inline]
    pub(crate) fn is_detached(&self) -> bool {
        self.detached.get()
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.home
            .as_ref()
            .is_some_and(|(hub, address)| hub.is_gone(*address))
    }

    /// The handler's end of a streamed request body.
    pub(crate) fn reader(&self, pipe: Arc<InPipe>) -> Option<PipeReader> {
        self.home
            .as_ref()
            .map(|(hub, address)| PipeReader::new(pipe, hub.clone(), *address))
    }

    fn detach(&self) -> Option<(Arc<Hub>, Address)> {
        if self.detached.replace(true) {
            panic!("this request was detached before: it has one answer");
        }
        self.home.clone()
    }

    pub(crate) fn responder(&self, wish: Wish) -> Responder {
        Responder {
            home: self.detach(),
            wish,
        }
    }

    pub(crate) fn events(&self, head: Response) -> Option<PipeWriter> {
        let (hub, address) = self.detach()?;
        let pipe = OutPipe::new();
        hub.post(Letter::Events(address, Box::new(head), pipe.clone()));
        Some(PipeWriter::new(pipe, hub, address))
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("detached", &self.detached.get())
            .finish_non_exhaustive()
    }
}

impl Request {
    /// Takes the answer elsewhere: whatever the handler returns is ignored, and the client gets
    /// what the responder sends.
    ///
    /// ```
    /// use stepwell::Router;
    ///
    /// let mut router = Router::new();
    /// router.get("/later", |req| {
    ///     let responder = req.detach();
    ///     std::thread::spawn(move || responder.send("at last\n"));
    /// });
    /// ```
    ///
    /// # Panics
    /// When it was called before for this request, or [`event_stream`](Self::event_stream) was.
    pub fn detach(&mut self) -> Responder {
        self.link.responder(Wish::of(self))
    }

    /// Answers with a stream of Server-Sent Events that goes on after the handler has returned;
    /// whatever it returns is ignored.
    ///
    /// # Panics
    /// As [`detach`](Self::detach).
    pub fn event_stream(&mut self) -> EventStream {
        let head = Response::new(status::OK)
            .content_type("text/event-stream")
            .header("Cache-Control", "no-cache")
            .header("X-Accel-Buffering", "no");
        EventStream::new(self.link.events(head))
    }

    /// Whether the client has gone, or the server has stopped to wait for this request's answer:
    /// what is still to be done for it can be left out.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.link.is_cancelled()
    }

    /// The figures of the server.
    #[must_use]
    pub fn server_stats(&self) -> Stats {
        self.link
            .home
            .as_ref()
            .map(|(hub, _)| hub.site.stats())
            .unwrap_or_default()
    }
}

/// Answers a request later, from any thread, while no thread waits for it. Made by
/// [`Request::detach`](crate::Request::detach).
///
/// A responder that is dropped unused answers 500 and logs it.
#[must_use = "the client waits until the responder is used"]
pub struct Responder {
    home: Option<(Arc<Hub>, Address)>,
    wish: Wish,
}

impl Responder {
    /// Sends the answer. If the client has gone meanwhile, it is dropped.
    pub fn send(mut self, answer: impl IntoResponse) {
        let response = compress::apply_wish(self.wish, answer.into_response());
        self.deliver(response);
    }

    /// Whether the client has gone, so that nobody waits for the answer any more.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.home
            .as_ref()
            .is_some_and(|(hub, address)| hub.is_gone(*address))
    }

    fn deliver(&mut self, response: Response) {
        if let Some((hub, address)) = self.home.take() {
            hub.post(Letter::Answer(address, Box::new(response)));
        }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if self.home.is_some() {
            tracing::error!("a detached request was never answered: its responder was dropped");
            self.deliver(Response::plain(status::INTERNAL_SERVER_ERROR));
        }
    }
}

impl fmt::Debug for Responder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Responder").finish_non_exhaustive()
    }
}
