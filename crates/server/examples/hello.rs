//! The smallest server: one fixed answer and one with a parameter.
//!
//! `cargo run --example hello -- --bind 127.0.0.1:8080`

use stepwell::{Response, Router, Server};

fn main() -> stepwell::Result<()> {
    let mut router = Router::new();
    router.get("/", |_| Response::text("Hello, World!"));
    router.get("/hello/{name}", |req| Response::text(format!("Hello, {}!", req.param("name"))));

    let mut args = std::env::args().skip(1);
    let bind = match (args.next().as_deref(), args.next()) {
        (Some("--bind"), Some(address)) => address,
        _ => "127.0.0.1:8080".to_owned(),
    };
    Server::new(router).bind(bind)?.handle_signals().serve()
}
