//! State: shared by all threads, and owned by each of them.
//!
//! ```text
//! cargo run --example state -- --bind 127.0.0.1:8080
//! curl -X PUT -d 'green' http://127.0.0.1:8080/notes/door
//! curl http://127.0.0.1:8080/notes/door
//! ```

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use stepwell::{HttpError, Json, Router, Server};

/// What a thread keeps for itself, such as a connection to a database: made before the thread
/// takes work, dropped with it, and never locked.
struct Client {
    number: u64,
    asked: u64,
}

impl Client {
    fn connect() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { number, asked: 0 }
    }

    fn ask(&mut self) -> String {
        self.asked += 1;
        format!("client {} was asked {} times\n", self.number, self.asked)
    }
}

fn main() -> stepwell::Result<()> {
    // Handlers are closures: each captures what it needs of the state.
    let notes = Arc::new(Mutex::new(BTreeMap::<String, String>::new()));
    let mut router = Router::new();

    let all = notes.clone();
    router.get("/notes", move |_| Json(all.lock().unwrap().clone()));

    let read = notes.clone();
    router.get("/notes/{name}", move |req| {
        read.lock().unwrap().get(req.param("name")).cloned()
    });

    let written = notes.clone();
    router.put("/notes/{name}", move |req| {
        let text = req.text()?.to_owned();
        let mut notes = written.lock().unwrap();
        if notes.len() >= 1000 {
            return Err(HttpError::new(507).message("no room for more notes\n"));
        }
        notes.insert(req.param("name").to_owned(), text);
        Ok(())
    });

    router.get("/ask", |req| req.thread_state::<Client>().ask());

    let server = Server::new(router).thread_state(Client::connect);
    let running = server.bind(address())?.handle_signals().start()?;
    println!("state: http://{}/notes", running.addr());
    running.wait();
    Ok(())
}

/// Where to listen: what follows `--bind` on the command line.
fn address() -> String {
    let mut args = std::env::args().skip_while(|arg| arg != "--bind").skip(1);
    args.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned())
}
