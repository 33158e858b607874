//! Handlers that take their time, beside one that doesn't: sleeping, computing, and announcing.
//!
//! ```text
//! cargo run --release --example slow -- --bind 127.0.0.1:8080
//! for i in $(seq 100); do curl -s http://127.0.0.1:8080/sleep/1000 & done; \
//!     curl -w '%{time_total} s\n' http://127.0.0.1:8080/
//! ```
//!
//! None of them holds up the others: no `async`, no thread pool to size.

use std::hint::black_box;
use std::thread::sleep;
use std::time::{Duration, Instant};

use stepwell::{HttpError, Request, Router, Server, blocking};

fn main() -> stepwell::Result<()> {
    let mut router = Router::new();
    // Proves quick soon, and then runs on the event loop's own thread.
    router.get("/", |_| "quick\n");
    // Sleeps, as a handler that asks a database does.
    router.get("/sleep/{ms}", |req| {
        sleep(milliseconds(req)?);
        Ok("slept\n")
    });
    // Computes: another thread leads the event loop meanwhile.
    router.get("/burn/{ms}", |req| {
        let end = Instant::now() + milliseconds(req)?;
        let mut sum = 0_u64;
        while Instant::now() < end {
            sum = (0..1000).fold(sum, |sum, number| black_box(sum ^ number));
        }
        Ok(format!("{sum}\n"))
    });
    // Mostly quick, now and then slow. `blocking` says so beforehand, and the loop is handed over
    // at once instead of a millisecond later.
    router.get("/sometimes/{ms}", |req| {
        let time = milliseconds(req)?;
        if !time.is_zero() {
            blocking(|| sleep(time));
        }
        Ok("sometimes\n")
    });
    // Known to be slow: never tried on an event loop, and given up after two seconds.
    router
        .get("/report/{ms}", |req| {
            sleep(milliseconds(req)?);
            Ok("report\n")
        })
        .blocking()
        .timeout(Duration::from_secs(2));

    let running = Server::new(router)
        .bind(address())?
        .handle_signals()
        .start()?;
    println!("slow: http://{}/sleep/1000", running.addr());
    running.wait();
    Ok(())
}

fn milliseconds(req: &Request) -> Result<Duration, HttpError> {
    match req.param("ms").parse() {
        Ok(time @ 0..=10_000) => Ok(Duration::from_millis(time)),
        _ => Err(HttpError::bad_request("from 0 to 10000 milliseconds\n")),
    }
}

/// Where to listen: what follows `--bind` on the command line.
fn address() -> String {
    let mut args = std::env::args().skip_while(|arg| arg != "--bind").skip(1);
    args.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned())
}
