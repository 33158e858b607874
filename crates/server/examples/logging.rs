//! An access log by middleware: the common format, with a request id and how long it took.
//!
//! `cargo run --example logging -- --bind 127.0.0.1:8080`

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Instant, SystemTime};

use stepwell::{HttpError, Next, Request, Response, Router, Server, Version};

/// What middleware leaves for handlers, by its type.
struct RequestId(String);

fn main() -> stepwell::Result<()> {
    // A terminal or a disk that hangs must not hold up handlers: lines are written by a thread of
    // their own, and dropped while a thousand of them wait.
    let (log, lines) = sync_channel::<String>(1000);
    let writer = std::thread::spawn(move || lines.iter().for_each(|line| println!("{line}")));

    let mut router = Router::new();
    router.middleware(move |req, next| access_log(&log, req, next));
    router.get("/", |_| "hello\n");
    router.get("/id", |req| {
        req.extensions()
            .get::<RequestId>()
            .map(|id| format!("you are {}\n", id.0))
    });
    router.get("/fail", |_| -> Result<Response, HttpError> {
        Err(HttpError::new(502)
            .message("no luck\n")
            .source("the neighbour is away"))
    });

    let running = Server::new(router)
        .bind(address())?
        .handle_signals()
        .start()?;
    println!("logging: http://{}/", running.addr());
    running.wait();
    // The router has the other end of the channel: without it the writer ends.
    drop(running);
    let _ = writer.join();
    Ok(())
}

fn access_log(log: &SyncSender<String>, req: &mut Request, next: Next<'_>) -> Response {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let id = format!("{:06}", NEXT.fetch_add(1, Ordering::Relaxed));
    req.extensions_mut().insert(RequestId(id.clone()));

    // 127.0.0.1 - - [784111777.000] "GET / HTTP/1.1" 200 6 "curl/8" 000001 0.1ms
    let who = req
        .remote_addr()
        .ip()
        .map_or("-".to_owned(), |ip| ip.to_string());
    let version = match req.version() {
        Version::Http10 => "HTTP/1.0",
        _ => "HTTP/1.1",
    };
    let request = format!("{} {} {version}", req.method_str(), req.raw_target());
    let agent = escape(req.header("user-agent").unwrap_or("-"));
    let start = Instant::now();

    let response = next.run(req);

    let status = response.status_code();
    let size = response
        .body_ref()
        .length()
        .map_or("-".to_owned(), |bytes| bytes.to_string());
    let took = start.elapsed().as_secs_f64() * 1000.0;
    let line = format!(
        "{who} - - [{}] \"{}\" {status} {size} \"{agent}\" {id} {took:.1}ms",
        now(),
        escape(&request),
    );
    let _ = log.try_send(line);
    if let Some(error) = response.error() {
        let _ = log.try_send(format!("{id} failed: {}", escape(&error.to_string())));
    }
    response.header("X-Request-Id", id)
}

/// Nothing that a client sends may end a line of the log, close a quotation or reach a terminal.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' | '\\' => escaped.extend(['\\', character]),
            _ if character.is_control() => {
                // Writing to a String cannot fail.
                let _ = write!(escaped, "\\x{:02x}", u32::from(character));
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

/// Seconds since 1970; a log with dates for people would use a crate for them.
fn now() -> String {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    format!("{:.3}", since.as_secs_f64())
}

/// Where to listen: what follows `--bind` on the command line.
fn address() -> String {
    let mut args = std::env::args().skip_while(|arg| arg != "--bind").skip(1);
    args.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned())
}
