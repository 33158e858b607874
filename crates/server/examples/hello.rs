//! The smallest server: one fixed answer and one with a parameter.
//!
//! `cargo run --example hello -- --bind 127.0.0.1:8080`

use stepwell::{Response, Router, Server};

fn main() -> stepwell::Result<()> {
    let mut router = Router::new();
    router.get("/", |_| Response::text("Hello, World!"));
    router.get("/hello/{name}", |req| {
        Response::text(format!("Hello, {}!", req.param("name")))
    });

    let running = Server::new(router)
        .bind(address())?
        .handle_signals()
        .start()?;
    println!("hello: http://{}/hello/you", running.addr());
    running.wait();
    Ok(())
}

/// Where to listen: what follows `--bind` on the command line.
fn address() -> String {
    let mut args = std::env::args().skip_while(|arg| arg != "--bind").skip(1);
    args.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned())
}
