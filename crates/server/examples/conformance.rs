//! The endpoints that the HTTP/1.1 conformance suite asks for: `conformance/http11/run.py`.
//!
//! `cargo run --example conformance -- --bind 127.0.0.1:8080`

use std::time::Duration;

use stepwell::{Limits, Next, Request, Response, Router, Server};

fn main() -> stepwell::Result<()> {
    let mut router = Router::new();
    router.middleware(refuse_unknown_websockets);
    router.get("/", |_| "OK");
    // Reads the body itself, so that a long one is waited for instead of refused by its head.
    router
        .post("/", |req| Ok(Response::bytes(req.body()?.to_vec())))
        .stream_body()
        .body_limit(1 << 30);
    router.get("/echo", fields);
    router.post("/echo", fields);
    router.get("/cookie", cookies);
    router.post("/cookie", cookies);
    router.get("/{*anything}", |_| "OK");

    // A body that does not come is waited for as long as the suite waits for an answer, 5 s, and
    // then some: which of the two ends first must not be a matter of luck.
    let limits = Limits {
        body_grace: Duration::from_secs(15),
        ..Limits::default()
    };
    let running = Server::new(router)
        .limits(limits)
        .bind(address())?
        .handle_signals()
        .start()?;
    println!("conformance: http://{}/", running.addr());
    running.wait();
    Ok(())
}

/// There is no WebSocket here, but who asks for a version that nobody speaks is told the one that
/// exists (RFC 6455 §4.4).
fn refuse_unknown_websockets(req: &mut Request, next: Next<'_>) -> Response {
    match req.header("sec-websocket-version") {
        None | Some("13") => next.run(req),
        Some(_) => Response::text("speak version 13\n")
            .status(400)
            .header("Sec-WebSocket-Version", "13"),
    }
}

/// Every field of the request, one a line, as it arrived.
fn fields(req: &mut Request) -> Response {
    let mut lines = Vec::new();
    for (name, value) in req.headers() {
        lines.extend_from_slice(name.as_bytes());
        lines.extend_from_slice(b": ");
        lines.extend_from_slice(value);
        lines.push(b'\n');
    }
    Response::bytes(lines).content_type("text/plain")
}

/// Every cookie, one a line.
fn cookies(req: &mut Request) -> String {
    req.cookies()
        .map(|(name, value)| format!("{name}={value}\n"))
        .collect()
}

/// Where to listen: what follows `--bind` on the command line.
fn address() -> String {
    let mut args = std::env::args().skip_while(|arg| arg != "--bind").skip(1);
    args.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned())
}
