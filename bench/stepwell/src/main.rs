//! Stepwell as it is measured: plain blocking handlers on the library, one event loop.
//!
//! `bench-stepwell ADDRESS [--hand-off on|off|inline] [--workers N]`: `on` is what users get,
//! `off` runs every handler on the pool, `inline` every handler on the loop, never parked.

use bench_record::Office;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;
use stepwell::{HandOff, Response, Router, Server};

fn router() -> Router {
    let office = Office::sample();
    let count = AtomicU64::new(0);
    let mut router = Router::new();
    router.get("/", |_| Response::text("Hello, World!"));
    router.get("/json", move |_| Response::json(&office));
    router.get("/slow", |req| {
        let milliseconds = req.query("ms").and_then(|ms| ms.parse().ok()).unwrap_or(0);
        sleep(Duration::from_millis(milliseconds));
        Response::text("slow")
    });
    router.get("/mixed", move |_| {
        if count.fetch_add(1, Ordering::Relaxed) % 20 == 0 {
            sleep(Duration::from_millis(20));
            return Response::text("slow");
        }
        Response::text("fast")
    });
    router
}

fn main() -> stepwell::Result<()> {
    let mut address = "127.0.0.1:8080".to_string();
    let (mut hand_off, mut workers) = (HandOff::On, 1);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--hand-off" => {
                hand_off = match args.next().as_deref() {
                    Some("off") => HandOff::Off,
                    Some("inline") => HandOff::Inline,
                    _ => HandOff::On,
                }
            }
            "--workers" => workers = args.next().and_then(|n| n.parse().ok()).unwrap_or(1),
            _ => address = arg,
        }
    }
    Server::new(router())
        .hand_off(hand_off)
        .event_loops(workers)
        .bind(&address)?
        .handle_signals()
        .serve()
}
