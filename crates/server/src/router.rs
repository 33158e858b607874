//! Which handler answers which request.

mod build;
pub(crate) mod middleware;
mod pattern;
pub(crate) mod table;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use crate::into_response::IntoResponse;
use crate::request::Request;
use crate::response::Response;

use middleware::{Layer, Next};

pub use table::App;

/// A handler, its result converted already.
pub(crate) type Endpoint = Arc<dyn Fn(&mut Request) -> Response + Send + Sync>;

/// Maps methods and paths to handlers.
///
/// # Patterns
/// A pattern is a path as people write it, not percent-encoded. `{name}` stands for one segment or
/// a part of one and is never empty; `{*rest}` at the end for everything that is left, slashes
/// included, and is never empty either. Braces that mean themselves are doubled. A literal segment
/// goes before a parameter, a parameter before `{*rest}`. `/a` and `/a/` are two paths.
///
/// # What comes by itself
/// `HEAD` is answered by the handler of `GET`, `OPTIONS` with the methods of the path; a method
/// that a path lacks gets 405 with `Allow`, a path without a route 404, a path that is malformed
/// or ambiguous (`..` above the root, an encoded slash or backslash) 400. Middleware of the router
/// sees these answers too.
///
/// # Mistakes
/// A pattern that is malformed or registered twice is reported by [`build`](Self::build), or when
/// the server starts.
///
/// ```
/// use stepwell::{Response, Router};
///
/// let mut offices = Router::new();
/// offices.get("/", |_| "all offices");
/// offices.get("/{id}", |req| format!("office {}", req.param("id")));
/// offices.delete("/{id}", |_| ());
///
/// let mut router = Router::new();
/// router.get("/", |_| Response::html("<h1>Welcome</h1>"));
/// router.get("/files/{*path}", |req| Response::file(format!("public/{}", req.param("path"))));
/// router.nest("/offices", offices);
/// router.fallback(|req| (404, format!("nothing at {}", req.path())));
/// assert!(router.build().is_ok());
/// ```
#[derive(Default)]
pub struct Router {
    routes: Vec<Route>,
    layers: Vec<Layer>,
    fallback: Option<Endpoint>,
    nested: Vec<(String, Router)>,
}

macro_rules! methods {
    ($($(#[$doc:meta])* $function:ident $method:literal;)+) => {
        $(
            $(#[$doc])*
            pub fn $function<H, R>(&mut self, pattern: &str, handler: H) -> &mut Route
            where
                H: Fn(&mut Request) -> R + Send + Sync + 'static,
                R: IntoResponse,
            {
                self.route($method, pattern, handler)
            }
        )+
    };
}

impl Router {
    /// A router without routes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    methods! {
        /// Answers `GET`, and `HEAD` unless that has a handler of its own.
        get "GET";
        /// Answers `POST`.
        post "POST";
        /// Answers `PUT`.
        put "PUT";
        /// Answers `DELETE`.
        delete "DELETE";
        /// Answers `PATCH`.
        patch "PATCH";
        /// Answers `HEAD` where the handler of `GET` would do too much.
        head "HEAD";
        /// Answers `OPTIONS` instead of the automatic answer.
        options "OPTIONS";
    }

    /// Answers every method that has no handler of its own at this pattern, `HEAD` and `OPTIONS`
    /// among them.
    pub fn any<H, R>(&mut self, pattern: &str, handler: H) -> &mut Route
    where
        H: Fn(&mut Request) -> R + Send + Sync + 'static,
        R: IntoResponse,
    {
        self.add(None, pattern, handler)
    }

    /// Answers any method by its name, such as `"PROPFIND"`; names are case-sensitive.
    pub fn route<H, R>(&mut self, method: &str, pattern: &str, handler: H) -> &mut Route
    where
        H: Fn(&mut Request) -> R + Send + Sync + 'static,
        R: IntoResponse,
    {
        self.add(Some(method.to_owned()), pattern, handler)
    }

    fn add<H, R>(&mut self, method: Option<String>, pattern: &str, handler: H) -> &mut Route
    where
        H: Fn(&mut Request) -> R + Send + Sync + 'static,
        R: IntoResponse,
    {
        let index = self.routes.len();
        self.routes.push(Route {
            method,
            pattern: pattern.to_owned(),
            endpoint: endpoint(handler),
            options: RouteOptions::default(),
        });
        // The element that has just been pushed.
        &mut self.routes[index]
    }

    /// Answers what no route matches, instead of a plain 404. On a nested router it answers for the
    /// paths below its prefix.
    pub fn fallback<H, R>(&mut self, handler: H)
    where
        H: Fn(&mut Request) -> R + Send + Sync + 'static,
        R: IntoResponse,
    {
        self.fallback = Some(endpoint(handler));
    }

    /// Puts all routes of another router below a prefix, which may have parameters. The other
    /// router's `/` becomes the prefix itself, without a slash at the end.
    pub fn nest(&mut self, prefix: &str, router: Router) {
        self.nested.push((prefix.to_owned(), router));
    }

    /// Wraps every route of this router, nested ones included and wherever they are registered, in
    /// a function that may look at the request, answer it itself, or let it pass with
    /// [`next.run(req)`](Next::run) and look at the response. What is added first is outermost.
    ///
    /// ```
    /// use std::time::Instant;
    /// use stepwell::Router;
    ///
    /// let mut router = Router::new();
    /// router.middleware(|req, next| {
    ///     let start = Instant::now();
    ///     let line = format!("{} {}", req.method_str(), req.path());
    ///     let response = next.run(req);
    ///     eprintln!("{line} {} {:?}", response.status_code(), start.elapsed());
    ///     response
    /// });
    /// ```
    pub fn middleware<M, R>(&mut self, layer: M)
    where
        M: Fn(&mut Request, Next<'_>) -> R + Send + Sync + 'static,
        R: IntoResponse,
    {
        self.layers
            .push(Arc::new(move |req: &mut Request, next: Next<'_>| {
                layer(req, next).into_response()
            }));
    }

    /// Checks all routes and makes them ready to serve.
    ///
    /// # Errors
    /// Names the first pattern that is malformed, ambiguous or registered twice.
    pub fn build(self) -> crate::Result<App> {
        build::build(self).map(App::new)
    }
}

impl std::fmt::Debug for Router {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let routes = self
            .routes
            .iter()
            .map(|route| (route.method.as_deref(), &route.pattern));
        f.debug_map().entries(routes).finish()
    }
}

fn endpoint<H, R>(handler: H) -> Endpoint
where
    H: Fn(&mut Request) -> R + Send + Sync + 'static,
    R: IntoResponse,
{
    Arc::new(move |req: &mut Request| handler(req).into_response())
}

/// A registered route, whose limits may be refined.
///
/// ```
/// use std::time::Duration;
/// use stepwell::Router;
///
/// let mut router = Router::new();
/// router
///     .post("/photos", |req| {
///         format!("{:?}", std::io::copy(&mut req.reader(), &mut std::io::sink()))
///     })
///     .stream_body()
///     .body_limit(50 << 20)
///     .timeout(Duration::from_secs(60));
/// ```
pub struct Route {
    method: Option<String>,
    pattern: String,
    endpoint: Endpoint,
    options: RouteOptions,
}

impl Route {
    /// Starts the handler before the body has arrived; it reads it with
    /// [`reader`](Request::reader) or [`multipart`](Request::multipart). Without a
    /// [`body_limit`](Self::body_limit) such a body may have any length.
    pub fn stream_body(&mut self) -> &mut Self {
        self.options.stream_body = true;
        self
    }

    /// The longest body in bytes; a longer one is answered with 413. Without it the server's limit
    /// applies.
    pub fn body_limit(&mut self, bytes: u64) -> &mut Self {
        self.options.body_limit = Some(bytes);
        self
    }

    /// How long a request may take from its head to its response, waiting for a thread included.
    /// The client then gets 503; the handler is not interrupted but can ask whether it is
    /// cancelled.
    pub fn timeout(&mut self, time: Duration) -> &mut Self {
        self.options.timeout = Some(time);
        self
    }

    /// Says that the handler waits for something: it always runs on a thread of its own, and the
    /// server doesn't try whether it is quick.
    pub fn blocking(&mut self) -> &mut Self {
        self.options.blocking = true;
        self
    }
}

impl std::fmt::Debug for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Route")
            .field("method", &self.method)
            .field("pattern", &self.pattern)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// What a route asks of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RouteOptions {
    /// The handler starts before the body is there and reads it itself.
    pub(crate) stream_body: bool,
    /// In bytes; `None` is the server's limit for a buffered body and no limit for a streamed one.
    pub(crate) body_limit: Option<u64>,
    pub(crate) timeout: Option<Duration>,
    /// Never run in place.
    pub(crate) blocking: bool,
    /// An answer of the server itself that runs no code of the application: it may run in place
    /// from the start and needs no body.
    pub(crate) builtin: bool,
}
