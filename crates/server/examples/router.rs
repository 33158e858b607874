//! Paths, parameters, queries, nested routers, and an answer for everything else.
//!
//! ```text
//! cargo run --example router -- --bind 127.0.0.1:8080
//! curl 'http://127.0.0.1:8080/offices/7/rooms?min_seats=4&with=screen&with=phone'
//! ```

use stepwell::{HttpError, Request, Response, Router, Server};

fn main() -> stepwell::Result<()> {
    let mut offices = Router::new();
    offices.get("/", |_| "all offices\n");
    offices.get("/{id}", office);
    offices.delete("/{id}", |req| {
        println!("closing office {}", req.param("id"))
    });
    offices.get("/{id}/rooms", rooms);
    offices.fallback(|req| (404, format!("offices have no {}\n", req.path())));

    let mut router = Router::new();
    router.get("/", |_| {
        Response::html("<h1>Offices</h1><a href=/offices>all of them</a>")
    });
    router.get("/files/{*path}", |req| {
        format!("the file {}\n", req.param("path"))
    });
    router.any("/echo-method", |req| format!("{}\n", req.method_str()));
    router.nest("/offices", offices);
    router.fallback(not_found);

    let running = Server::new(router)
        .bind(address())?
        .handle_signals()
        .start()?;
    println!("router: http://{}/", running.addr());
    running.wait();
    Ok(())
}

/// `?` turns any error into an answer. Here the client is told what was wrong; with a plain `?`
/// it would get 500, and the log the reason.
fn office(req: &mut Request) -> Result<String, HttpError> {
    let id: u32 = req.param("id").parse().map_err(|error| {
        HttpError::bad_request("the id of an office is a number\n").source(error)
    })?;
    Ok(format!("office {id}\n"))
}

fn rooms(req: &mut Request) -> String {
    let seats = req.query("min_seats").unwrap_or("1");
    let wishes: Vec<&str> = req.query_all("with").collect();
    format!(
        "rooms of office {} for {seats} with {wishes:?}\n",
        req.param("id")
    )
}

/// Everything that no route matches; `{:?}` escapes what a client may have put into the path.
fn not_found(req: &mut Request) -> (u16, String) {
    (404, format!("nothing at {:?}, try /offices\n", req.path()))
}

/// Where to listen: what follows `--bind` on the command line.
fn address() -> String {
    let mut args = std::env::args().skip_while(|arg| arg != "--bind").skip(1);
    args.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned())
}
