//! The figures of the running server: as JSON, and as a page that draws them.

use std::time::Instant;

use serde::Serialize;
use stepwell::{Request, Response, Stats};

const PAGE: &str = include_str!("stats.html");

#[derive(Serialize)]
struct Figures {
    version: &'static str,
    uptime_seconds: f64,
    /// Memory in use (resident); nothing where the system does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_kib: Option<u64>,
    #[serde(flatten)]
    stats: Stats,
}

/// JSON, or a page for those who prefer HTML.
pub(crate) fn answer(req: &mut Request, started: Instant) -> Response {
    let wants_page = req
        .header("accept")
        .is_some_and(|kinds| kinds.contains("text/html"));
    let response = if wants_page {
        super::page(PAGE)
    } else {
        Response::json(&Figures {
            version: env!("CARGO_PKG_VERSION"),
            uptime_seconds: started.elapsed().as_secs_f64(),
            memory_kib: memory_kib(),
            stats: req.server_stats(),
        })
    };
    response
        .header("Cache-Control", "no-store")
        .header("Vary", "Accept")
}

fn memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}
