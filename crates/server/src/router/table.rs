//! The table that requests are matched with, and the way from a match to a response.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use stepwell_proto::{Method, RequestHead};

use crate::conditional;
use crate::request::Request;
use crate::request::params::Params;
use crate::request::path::DecodedPath;
use crate::response::Response;
use crate::router::middleware::{Layer, Next};
use crate::router::{Endpoint, RouteOptions};
use crate::status;

/// Stands for "no route" where an id is expected.
pub(super) const NONE: u32 = u32::MAX;

/// A route of an [`App`]. Ids are dense from 0 on, so that a list can hold something for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RouteId(pub(crate) u32);

impl RouteId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Routes that have been checked and are ready to serve: what
/// [`Router::build`](crate::Router::build) makes. Cheap to clone.
#[derive(Clone)]
pub struct App {
    table: Arc<Table>,
}

/// Everything that requests are matched with. Immutable.
pub(crate) struct Table {
    /// Exact paths that stand in requests as they are written here: found without decoding.
    pub(super) plain: HashMap<Box<[u8]>, u32, BuildHasherDefault<PathHasher>>,
    pub(super) exact: HashMap<Box<str>, u32, BuildHasherDefault<PathHasher>>,
    pub(super) patterns: matchit::Router<u32>,
    pub(super) nodes: Vec<Node>,
    pub(crate) routes: Vec<Entry>,
    pub(super) fallbacks: Vec<Fallback>,
    pub(super) not_found: u32,
    pub(super) bad_path: u32,
    pub(super) not_implemented: u32,
    pub(super) everything: u32,
}

/// One route: a handler with all that is around it.
pub(crate) struct Entry {
    /// `*` for any method.
    pub(crate) method: Box<str>,
    pub(crate) pattern: Box<str>,
    pub(crate) names: Box<[Box<str>]>,
    pub(crate) options: RouteOptions,
    endpoint: Endpoint,
    layers: Arc<[Layer]>,
}

impl Entry {
    pub(super) fn new(
        method: &str,
        pattern: &str,
        endpoint: Endpoint,
        layers: &Arc<[Layer]>,
    ) -> Self {
        Self {
            method: method.into(),
            pattern: pattern.into(),
            names: Box::default(),
            options: RouteOptions::default(),
            endpoint,
            layers: layers.clone(),
        }
    }
}

/// The routes of one pattern, by method. Every slot is filled, with a refusal if need be.
pub(super) struct Node {
    pub(super) by_method: [u32; Node::METHODS],
    /// Methods that are not in [`Method`].
    pub(super) others: Vec<(Box<str>, u32)>,
    /// What any other method gets.
    pub(super) other: u32,
    /// The 405 of this pattern, or [`NONE`] if nothing is refused.
    pub(super) refused: u32,
}

impl Node {
    pub(super) const METHODS: usize = 9;
    pub(super) const HEAD: usize = 1;
    pub(super) const OPTIONS: usize = 6;

    #[inline]
    fn route(&self, head: &RequestHead) -> u32 {
        let index = match head.method() {
            Method::Get => 0,
            Method::Head => Self::HEAD,
            Method::Post => 2,
            Method::Put => 3,
            Method::Delete => 4,
            Method::Connect => 5,
            Method::Options => Self::OPTIONS,
            Method::Trace => 7,
            Method::Patch => 8,
            _ => return self.other_route(head.method_str()),
        };
        self.by_method[index]
    }

    #[cold]
    fn other_route(&self, method: &str) -> u32 {
        let known = self.others.iter().find(|(name, _)| **name == *method);
        known.map_or(self.other, |(_, id)| *id)
    }
}

/// The place of a method in [`Node::by_method`].
pub(super) fn method_index(method: &str) -> Option<usize> {
    const NAMES: [&str; Node::METHODS] = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH",
    ];
    NAMES.iter().position(|name| *name == method)
}

/// The fallback of a nested router.
pub(super) struct Fallback {
    /// The segments of the prefix; `None` is a parameter.
    pub(super) prefix: Vec<Option<String>>,
    pub(super) id: u32,
}

impl Fallback {
    pub(super) fn segments(prefix: &str) -> Vec<Option<String>> {
        let literal = |text: &str| text.replace("{{", "{").replace("}}", "}");
        let has_param = |text: &str| text.replace("{{", "").contains('{');
        prefix
            .split('/')
            .skip(1)
            .map(|segment| (!has_param(segment)).then(|| literal(segment)))
            .collect()
    }

    fn covers(&self, path: &str) -> bool {
        let mut segments = path.split('/').skip(1);
        self.prefix
            .iter()
            .all(|expected| match (expected, segments.next()) {
                (Some(expected), Some(segment)) => expected == segment,
                (None, Some(segment)) => !segment.is_empty(),
                (_, None) => false,
            })
    }
}

impl Table {
    /// The route of a request. Sets the path and the parameters.
    #[inline]
    fn select(&self, head: &RequestHead, path: &mut DecodedPath, params: &mut Params) -> u32 {
        if let Some(&node) = self.plain.get(head.path()) {
            if let Some(node) = self.nodes.get(node as usize) {
                let id = node.route(head);
                if id != node.refused {
                    path.clear();
                    return id;
                }
            }
        }
        self.search(head, path, params)
    }

    fn search(&self, head: &RequestHead, path: &mut DecodedPath, params: &mut Params) -> u32 {
        if path.prepare(head.path()).is_err() {
            return self.without_path(head);
        }
        let path = path.as_str(head);
        let mut refused = NONE;
        if let Some(node) = self
            .exact
            .get(path)
            .and_then(|&node| self.nodes.get(node as usize))
        {
            let id = node.route(head);
            if id != node.refused {
                return id;
            }
            refused = id;
        }
        if let Ok(found) = self.patterns.at(path) {
            if let Some(node) = self.nodes.get(*found.value as usize) {
                let id = node.route(head);
                // A path of its own that lacks the method leaves it to a pattern that has it.
                if id != node.refused || refused == NONE {
                    for (_, value) in found.params.iter() {
                        // The value is a piece of the path: its place is the distance between them.
                        let start = value.as_ptr() as usize - path.as_ptr() as usize;
                        params.push(start, start + value.len());
                    }
                    return id;
                }
            }
        }
        if refused == NONE {
            self.miss(head, path)
        } else {
            refused
        }
    }

    /// `OPTIONS *`, `CONNECT host:port`, or a path that is refused.
    #[cold]
    fn without_path(&self, head: &RequestHead) -> u32 {
        match head.method() {
            Method::Options if head.path() == b"*" => self.everything,
            Method::Connect => self.not_implemented,
            _ => self.bad_path,
        }
    }

    #[cold]
    fn miss(&self, head: &RequestHead, path: &str) -> u32 {
        if let Some(fallback) = self.fallbacks.iter().find(|fallback| fallback.covers(path)) {
            return fallback.id;
        }
        match head.method() {
            Method::Other => self.not_implemented,
            _ => self.not_found,
        }
    }
}

impl App {
    pub(super) fn new(table: Table) -> Self {
        Self {
            table: Arc::new(table),
        }
    }

    /// How many routes there are, those of the server itself included: ids are below.
    pub(crate) fn len(&self) -> usize {
        self.table.routes.len()
    }

    /// Chooses the route of a request whose head is complete; sets its path and parameters. Every
    /// request has a route: 400, 404, 405 and automatic answers are routes too.
    pub(crate) fn find(&self, req: &mut Request) -> RouteId {
        req.params.clear();
        let id = self.table.select(&req.head, &mut req.path, &mut req.params);
        // A recycled request knows the table already: no shared counter is touched.
        if !req
            .table
            .as_ref()
            .is_some_and(|table| Arc::ptr_eq(table, &self.table))
        {
            req.table = Some(self.table.clone());
        }
        req.route = id;
        RouteId(id)
    }

    /// The method (`*` for any), pattern and options of a route.
    pub(crate) fn route(&self, id: RouteId) -> Option<&Entry> {
        self.table.routes.get(id.index())
    }

    /// Runs middleware and handler. Panics of theirs pass through.
    #[inline]
    pub(crate) fn run(&self, id: RouteId, req: &mut Request) -> Response {
        let Some(entry) = self.route(id) else {
            return Response::plain(status::INTERNAL_SERVER_ERROR);
        };
        let mut response = Next {
            layers: &entry.layers,
            endpoint: &entry.endpoint,
        }
        .run(req);
        if response.is_faulty() {
            response = self.settle(id, response);
        } else {
            conditional::apply(req, &mut response);
        }
        response
    }

    /// Logs what the log must hear of a response, and replaces it if it must not be sent. For
    /// responses that don't come from [`run`](Self::run).
    #[cold]
    pub(crate) fn settle(&self, id: RouteId, mut response: Response) -> Response {
        let route = self.route(id);
        let method = route.map_or("", |route| &*route.method);
        let pattern = route.map_or("", |route| &*route.pattern);
        if let Some(cause) = response.settle() {
            let status = response.status;
            let cause = cause.escape_debug();
            if status >= 500 {
                tracing::error!("{method} {pattern}: answered {status}: {cause}");
            } else {
                tracing::debug!("{method} {pattern}: answered {status}: {cause}");
            }
        }
        response
    }
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let routes = self
            .table
            .routes
            .iter()
            .map(|route| (&route.method, &route.pattern));
        f.debug_list().entries(routes).finish()
    }
}

/// A quick hash for paths. The set of keys is the program's own and never grows, so that nobody
/// outside can fill one bucket.
#[derive(Default)]
pub(super) struct PathHasher(u64);

impl PathHasher {
    #[inline]
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for PathHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            let mut word = [0; 8];
            word.copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
        let mut word = [0; 8];
        let rest = chunks.remainder();
        word[..rest.len()].copy_from_slice(rest); // a remainder is shorter than 8
        self.mix(u64::from_le_bytes(word) ^ (bytes.len() as u64) << 56);
    }

    #[inline]
    fn write_usize(&mut self, _: usize) {
        // The length prefix of bytes; it is mixed in above.
    }

    #[inline]
    fn write_u8(&mut self, _: u8) {
        // The end mark of a str; the length is mixed in above.
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }
}
