//! Bodies that are larger than memory, both ways, and Server-Sent Events.
//!
//! ```text
//! cargo run --example streaming -- --bind 127.0.0.1:8080
//! head -c 5G /dev/zero | curl -T - http://127.0.0.1:8080/count
//! curl -o /dev/null 'http://127.0.0.1:8080/numbers?upto=100000000'
//! curl -N http://127.0.0.1:8080/clock
//! ```

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use stepwell::{Event, HttpError, Request, Response, Router, Server};

fn main() -> stepwell::Result<()> {
    let mut router = Router::new();
    router.put("/count", count).stream_body();
    router.get("/numbers", numbers);
    router.get("/clock", clock);

    let running = Server::new(router)
        .bind(address())?
        .handle_signals()
        .start()?;
    println!("streaming: http://{}/clock", running.addr());
    running.wait();
    Ok(())
}

/// Reads an upload piece by piece. The client is held back while nobody reads.
fn count(req: &mut Request) -> Result<String, HttpError> {
    let (mut bytes, mut lines) = (0, 0);
    let mut body = req.reader();
    let mut piece = vec![0; 64 * 1024];
    loop {
        let length = body.read(&mut piece)?;
        if length == 0 {
            return Ok(format!("{bytes} bytes, {lines} lines\n"));
        }
        bytes += length as u64;
        lines += piece[..length]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count();
    }
}

/// Writes a download while it is sent. A write waits for a slow client, and fails once it is gone.
fn numbers(req: &mut Request) -> Result<Response, HttpError> {
    let upto: u64 = req
        .query("upto")
        .unwrap_or("1000000")
        .parse()
        .map_err(|_| HttpError::bad_request("upto is a number\n"))?;
    Ok(Response::stream("text/plain", move |body| {
        let mut body = io::BufWriter::new(body);
        for number in 1..=upto {
            writeln!(body, "{number}")?;
        }
        body.flush()
    }))
}

/// Sends an event a second until the client leaves. The handler itself returns at once: the stream
/// is fed by a thread of its own here, and could be by one thread for all clients.
fn clock(req: &mut Request) {
    let events = req.event_stream();
    let start = Instant::now();
    std::thread::spawn(move || {
        for tick in 0u64.. {
            let time = format!("{:.1} s", start.elapsed().as_secs_f64());
            let event = Event::data(time).event("tick").id(tick.to_string());
            if events.send(&event).is_err() {
                return; // the client has left, or the server stops
            }
            std::thread::sleep(Duration::from_secs(1));
        }
    });
}

/// Where to listen: what follows `--bind` on the command line.
fn address() -> String {
    let mut args = std::env::args().skip_while(|arg| arg != "--bind").skip(1);
    args.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned())
}
