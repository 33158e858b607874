//! Serving until a signal ends it.

use std::io::{self, Write};

use stepwell::{Error, Result, Running, Server};

use crate::demo::Demo;
use crate::log;
use crate::options::Settings;

/// Serves the demo application until it is stopped by a signal.
///
/// # Errors
/// When the server cannot be started.
pub(crate) fn demo(settings: &Settings) -> Result<()> {
    let log =
        log::start(settings.log).map_err(|error| Error::os("the log cannot be started", error))?;
    let result = serve(settings);
    log.end();
    result
}

fn serve(settings: &Settings) -> Result<()> {
    let demo = Demo::start()?;
    let mut server = Server::new(demo.router())
        .grace(settings.grace)
        .body_limit(settings.body_limit)
        .handle_signals();
    for address in &settings.bind {
        server = server.bind(address)?;
    }
    if let Some(loops) = settings.loops {
        server = server.event_loops(loops);
    }
    if let Some(threads) = settings.threads {
        server = server.max_threads(threads);
    }
    let running = server.start()?;
    demo.reached_at(running.addresses());
    announce(&running);
    running.wait();
    Ok(())
}

/// One line for each listener, with a URL to click on.
fn announce(running: &Running) {
    let mut lines = String::new();
    for address in running.addresses() {
        lines += &format!("stepwell demo: {}\n", location(&address));
    }
    // Where standard error is closed there is nobody to tell.
    let _ = io::stderr().write_all(lines.as_bytes());
}

/// An address as a browser of this machine takes it.
fn location(address: &str) -> String {
    if address.starts_with("unix:") {
        return address.to_owned();
    }
    for (all, local) in [("0.0.0.0:", "127.0.0.1:"), ("[::]:", "[::1]:")] {
        if let Some(port) = address.strip_prefix(all) {
            return format!("http://{local}{port}/ and every other address of this machine");
        }
    }
    format!("http://{address}/")
}

#[cfg(test)]
mod tests {
    use super::location;

    #[test]
    fn locations_can_be_clicked_on() {
        assert_eq!(location("127.0.0.1:8080"), "http://127.0.0.1:8080/");
        assert!(location("0.0.0.0:80").starts_with("http://127.0.0.1:80/ "));
        assert!(location("[::]:80").starts_with("http://[::1]:80/ "));
        assert_eq!(location("unix:/run/x.sock"), "unix:/run/x.sock");
    }
}
