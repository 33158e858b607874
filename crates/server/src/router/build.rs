//! From registered routes to the table that requests are matched with.

use std::collections::HashMap;
use std::sync::Arc;

use stepwell_proto::syntax;

use crate::error::Error;
use crate::request::path::is_plain;
use crate::response::Response;
use crate::router::middleware::Layer;
use crate::router::pattern::Pattern;
use crate::router::table::{Entry, Fallback, NONE, Node, Table, method_index};
use crate::router::{Endpoint, Route, RouteOptions, Router, endpoint};
use crate::status;

type Layers = Arc<[Layer]>;

/// The most routes a server may have; ids are 32 bits and the lists stay in cache.
const MAX_ROUTES: usize = 1 << 20;

pub(super) fn build(router: Router) -> Result<Table, Error> {
    let root: Layers = router.layers.clone().into();
    let mut builder = Builder::default();
    builder.add_router(router, "", &[])?;
    builder.finish(&root)
}

#[derive(Default)]
struct Builder {
    exact: HashMap<String, u32>,
    by_pattern: HashMap<String, u32>,
    patterns: matchit::Router<u32>,
    nodes: Vec<Draft>,
    routes: Vec<Entry>,
    fallbacks: Vec<Fallback>,
}

/// A path pattern while its methods are gathered.
struct Draft {
    pattern: String,
    /// Of the router that registered it first: these wrap the automatic answers.
    layers: Layers,
    methods: Vec<(String, u32)>,
    any: Option<u32>,
}

impl Builder {
    fn add_router(&mut self, router: Router, prefix: &str, outer: &[Layer]) -> Result<(), Error> {
        let layers: Layers = outer.iter().chain(&router.layers).cloned().collect();
        for route in router.routes {
            self.add_route(route, prefix, &layers)?;
        }
        if let Some(endpoint) = router.fallback {
            let (route, prefix) = if prefix.is_empty() {
                (String::from("(fallback)"), Vec::new())
            } else {
                (
                    format!("(fallback of {prefix})"),
                    Fallback::segments(prefix),
                )
            };
            let id = self.push(Entry::new("*", &route, endpoint, &layers))?;
            self.fallbacks.push(Fallback { prefix, id });
        }
        for (below, nested) in router.nested {
            let trimmed = below.strip_suffix('/').unwrap_or(&below);
            if !trimmed.starts_with('/') || trimmed.contains("{*") {
                return Err(Error::config("routes cannot be nested there")
                    .at(format_args!("\"{below}\""))
                    .mend("a prefix starts with a slash and has no {*rest}"));
            }
            let full = format!("{prefix}{trimmed}");
            Pattern::parse(&full)?;
            self.add_router(nested, &full, &layers)?;
        }
        Ok(())
    }

    fn add_route(&mut self, route: Route, prefix: &str, layers: &Layers) -> Result<(), Error> {
        // The registered pattern is checked by itself too: "x" below "/a" is not "/ax".
        Pattern::parse(&route.pattern)?;
        let full = match (prefix, &*route.pattern) {
            ("", pattern) => pattern.to_owned(),
            (prefix, "/") => prefix.to_owned(),
            (prefix, pattern) => format!("{prefix}{pattern}"),
        };
        let pattern = Pattern::parse(&full)?;
        if let Some(method) = &route.method {
            if !syntax::is_field_name(method.as_bytes()) {
                return Err(Error::config("the method is not a token")
                    .at(format_args!("\"{method}\" of \"{full}\""))
                    .mend("write a name such as \"PROPFIND\""));
            }
        }
        let node = self.node_of(&full, &pattern, layers)?;
        let method = route.method.as_deref().unwrap_or("*");
        let mut entry = Entry::new(method, &full, route.endpoint, layers);
        entry.names = pattern.names.into_iter().map(Into::into).collect();
        entry.options = route.options;
        let id = self.push(entry)?;
        let draft = &mut self.nodes[node as usize];
        let taken = match &route.method {
            None => draft.any.replace(id).is_some(),
            Some(method) => {
                let taken = draft.methods.iter().any(|(known, _)| known == method);
                draft.methods.push((method.clone(), id));
                taken
            }
        };
        if taken {
            let what = format!(
                "{} is routed twice",
                route.method.as_deref().unwrap_or("any")
            );
            return Err(Error::config(what)
                .at(format_args!("\"{full}\" and \"{}\"", draft.pattern))
                .mend("remove one of the two routes"));
        }
        Ok(())
    }

    /// The node of a pattern, made if it is new.
    fn node_of(&mut self, full: &str, pattern: &Pattern, layers: &Layers) -> Result<u32, Error> {
        let known = if pattern.is_exact() {
            &self.exact
        } else {
            &self.by_pattern
        };
        if let Some(&node) = known.get(&pattern.normal) {
            return Ok(node);
        }
        let node = self.nodes.len() as u32; // below MAX_ROUTES: every node has a route
        if pattern.is_exact() {
            self.exact.insert(pattern.normal.clone(), node);
        } else {
            self.patterns
                .insert(pattern.normal.clone(), node)
                .map_err(|error| {
                    let other = match &error {
                        matchit::InsertError::Conflict { with } => self.by_pattern.get(with),
                        _ => None,
                    };
                    let other = other.and_then(|&node| self.nodes.get(node as usize));
                    let place = match other {
                        Some(draft) => format!("\"{full}\" and \"{}\"", draft.pattern),
                        None => format!("\"{full}\""),
                    };
                    Error::config("the patterns overlap and neither is more precise")
                        .at(place)
                        .mend("change one of them")
                })?;
            self.by_pattern.insert(pattern.normal.clone(), node);
        }
        self.nodes.push(Draft {
            pattern: full.to_owned(),
            layers: layers.clone(),
            methods: Vec::new(),
            any: None,
        });
        Ok(node)
    }

    fn push(&mut self, entry: Entry) -> Result<u32, Error> {
        if self.routes.len() >= MAX_ROUTES {
            return Err(Error::config("too many routes").mend("use patterns with parameters"));
        }
        self.routes.push(entry);
        Ok(self.routes.len() as u32 - 1) // below MAX_ROUTES
    }

    /// An answer of the server itself, wrapped in the given middleware.
    fn builtin(
        &mut self,
        method: &str,
        name: &str,
        make: Endpoint,
        layers: &Layers,
    ) -> Result<u32, Error> {
        let mut entry = Entry::new(method, name, make, layers);
        entry.options = RouteOptions {
            builtin: layers.is_empty(),
            ..RouteOptions::default()
        };
        self.push(entry)
    }

    fn finish(mut self, root: &Layers) -> Result<Table, Error> {
        let mut nodes = Vec::with_capacity(self.nodes.len());
        let mut every = vec!["GET".to_owned(), "HEAD".to_owned(), "OPTIONS".to_owned()];
        for draft in std::mem::take(&mut self.nodes) {
            every.extend(draft.methods.iter().map(|(method, _)| method.clone()));
            nodes.push(self.node(&draft)?);
        }
        let status_of = |status| endpoint(move |_| Response::plain(status));
        let not_found = match self
            .fallbacks
            .iter()
            .find(|fallback| fallback.prefix.is_empty())
        {
            Some(fallback) => fallback.id,
            None => self.builtin("*", "(no route)", status_of(status::NOT_FOUND), root)?,
        };
        let bad_path = status_of(status::BAD_REQUEST);
        let bad_path = self.builtin("*", "(bad path)", bad_path, root)?;
        let unknown = status_of(status::NOT_IMPLEMENTED);
        let not_implemented = self.builtin("*", "(unknown method)", unknown, root)?;
        let everything = self.builtin("OPTIONS", "*", allowing(status::NO_CONTENT, every), root)?;
        // The longest prefix is asked first.
        self.fallbacks
            .retain(|fallback| !fallback.prefix.is_empty());
        self.fallbacks
            .sort_by_key(|fallback| std::cmp::Reverse(fallback.prefix.len()));
        Ok(Table {
            plain: self
                .exact
                .iter()
                .filter(|(path, _)| is_plain(path.as_bytes()))
                .map(|(path, &node)| (path.as_bytes().into(), node))
                .collect(),
            exact: self
                .exact
                .into_iter()
                .map(|(path, node)| (path.into(), node))
                .collect(),
            patterns: self.patterns,
            nodes,
            routes: self.routes,
            fallbacks: self.fallbacks,
            not_found,
            bad_path,
            not_implemented,
            everything,
        })
    }

    fn node(&mut self, draft: &Draft) -> Result<Node, Error> {
        let mut by_method = [draft.any.unwrap_or(NONE); Node::METHODS];
        let mut others = Vec::new();
        for (method, id) in &draft.methods {
            match method_index(method) {
                Some(index) => by_method[index] = *id,
                None => others.push((method.as_str().into(), *id)),
            }
        }
        let find = |method: &str| draft.methods.iter().find(|(known, _)| known == method);
        let mut allow: Vec<String> = draft
            .methods
            .iter()
            .map(|(method, _)| method.clone())
            .collect();
        if let (Some((_, get)), None) = (find("GET"), find("HEAD")) {
            by_method[Node::HEAD] = *get;
            allow.push("HEAD".to_owned());
        }
        let mut refused = NONE;
        if draft.any.is_none() {
            if find("OPTIONS").is_none() {
                allow.push("OPTIONS".to_owned());
                let answer = allowing(status::NO_CONTENT, allow.clone());
                by_method[Node::OPTIONS] =
                    self.builtin("OPTIONS", &draft.pattern, answer, &draft.layers)?;
            }
            let answer = allowing(status::METHOD_NOT_ALLOWED, allow);
            refused = self.builtin("(other)", &draft.pattern, answer, &draft.layers)?;
        }
        let other = draft.any.unwrap_or(refused);
        by_method
            .iter_mut()
            .filter(|id| **id == NONE)
            .for_each(|id| *id = refused);
        Ok(Node {
            by_method,
            others,
            other,
            refused,
        })
    }
}

/// Answers with the methods that are allowed, sorted.
fn allowing(status: u16, mut methods: Vec<String>) -> Endpoint {
    methods.sort();
    methods.dedup();
    let allow = methods.join(", ");
    endpoint(move |_| {
        let answer = if status < 400 {
            Response::new(status)
        } else {
            Response::plain(status)
        };
        answer.header("Allow", allow.clone())
    })
}
