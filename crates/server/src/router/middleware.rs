//! Functions around handlers.

use std::fmt;
use std::sync::Arc;

use crate::request::Request;
use crate::response::Response;
use crate::router::Endpoint;

/// A middleware function, its result converted already.
pub(crate) type Layer = Arc<dyn Fn(&mut Request, Next<'_>) -> Response + Send + Sync>;

/// The rest of the way to the handler; see [`Router::middleware`](crate::Router::middleware).
pub struct Next<'a> {
    pub(crate) layers: &'a [Layer],
    pub(crate) endpoint: &'a Endpoint,
}

impl Next<'_> {
    /// Lets the request go on, and returns what it was answered.
    pub fn run(self, req: &mut Request) -> Response {
        match self.layers.split_first() {
            Some((layer, layers)) => layer(
                req,
                Next {
                    layers,
                    endpoint: self.endpoint,
                },
            ),
            None => (self.endpoint)(req),
        }
    }
}

impl fmt::Debug for Next<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Next({} more layers)", self.layers.len())
    }
}
