//! The demo application: every ability of the server behind one page that tries them.

mod bodies;
mod clock;
mod figures;
mod office;
mod stall;

use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use stepwell::{HttpError, Request, Response, Result, Router};

use clock::Clock;
use stall::Stall;

const PAGE: &str = include_str!("page.html");

/// The longest sleep that `/slow` grants, in milliseconds.
const LONGEST_SLEEP: u64 = 10_000;

/// What the pages may load: their own styles and scripts, and this server's answers.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
    connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What the endpoints of the demo share.
pub(crate) struct Demo {
    clock: Arc<Clock>,
    stall: Arc<Stall>,
    started: Instant,
}

impl Demo {
    /// Starts the clock.
    ///
    /// # Errors
    /// When the system has no thread for it.
    pub(crate) fn start() -> Result<Self> {
        Ok(Self {
            clock: Clock::start()?,
            stall: Arc::default(),
            started: Instant::now(),
        })
    }

    /// The server listens at these addresses now.
    pub(crate) fn reached_at(&self, addresses: impl Iterator<Item = String>) {
        self.stall.reach(addresses);
    }

    pub(crate) fn router(&self) -> Router {
        let (clock, stall, started) = (self.clock.clone(), self.stall.clone(), self.started);
        let mut router = Router::new();
        router.get("/", |_| page(PAGE));
        router.get("/hello/{name}", |req| {
            Response::text(format!("Hello, {}!\n", req.param("name")))
        });
        router.get("/json", |_| Response::json(&office::record()));
        router.get("/slow", slow);
        router.post("/upload", bodies::upload).stream_body();
        router.put("/upload", bodies::upload).stream_body();
        router
            .post("/form", bodies::form)
            .stream_body()
            .body_limit(bodies::LARGEST_FORM);
        router.get("/events", move |req| clock.attend(req));
        router.get("/stats", move |req| figures::answer(req, started));
        router
            .post("/stall", move |req| stall.answer(req))
            .blocking();
        router.fallback(|req| {
            (
                404,
                format!(
                    "Nothing at {:?}. The page at / lists what there is.\n",
                    req.path()
                ),
            )
        });
        router
    }
}

/// An HTML page of the demo.
fn page(text: &'static str) -> Response {
    Response::html(text)
        .header("Content-Security-Policy", POLICY)
        .header("X-Content-Type-Options", "nosniff")
}

/// Sleeps for `ms` milliseconds, as a handler that asks a database does.
fn slow(req: &mut Request) -> std::result::Result<String, HttpError> {
    let time = number(req, "ms", 10, LONGEST_SLEEP)?;
    sleep(Duration::from_millis(time));
    Ok(format!("slept {time} ms\n"))
}

/// A number of the query, within bounds.
fn number(
    req: &Request,
    name: &str,
    default: u64,
    most: u64,
) -> std::result::Result<u64, HttpError> {
    match req.query(name).map_or(Ok(default), str::parse) {
        Ok(number) if number <= most => Ok(number),
        _ => Err(HttpError::bad_request(format!(
            "{name} is a number from 0 to {most}\n"
        ))),
    }
}
