//! Forms: fields and files by multipart, a redirect after they were sent, and a cookie.
//!
//! `cargo run --example forms -- --bind 127.0.0.1:8080`, then open the page in a browser.

use std::time::Duration;

use stepwell::{Cookie, HttpError, Request, Response, Router, SameSite, Server};

const PAGE: &str = r#"<!doctype html><meta charset="utf-8"><title>Guest book</title>
<h1>Guest book</h1>
<form method="post" action="/sign" enctype="multipart/form-data">
  <p><label>Name <input name="name" required></label>
  <p><label>Picture <input name="picture" type="file"></label>
  <p><button>Sign</button>
</form>
<form method="post" action="/forget"><button>Forget me</button></form>
"#;

fn main() -> stepwell::Result<()> {
    let mut router = Router::new();
    router.get("/", |_| Response::html(PAGE));
    // With stream_body() the form may be larger than memory: large files go to disk part by part.
    router
        .post("/sign", sign)
        .stream_body()
        .body_limit(100 << 20);
    router.get("/thanks", thanks);
    router.post("/forget", |_| {
        Response::redirect("/").cookie(Cookie::removal("guest").path("/"))
    });

    let running = Server::new(router)
        .bind(address())?
        .handle_signals()
        .start()?;
    println!("forms: http://{}/", running.addr());
    running.wait();
    Ok(())
}

fn sign(req: &mut Request) -> Result<Response, HttpError> {
    let mut guest = None;
    for part in req.multipart()?.max_part_bytes(50 << 20) {
        let part = part?;
        match part.file_name() {
            // part.save_as(path) would keep it; the name was chosen by the client.
            Some(file) => println!("{file:?}: {} bytes", part.size()),
            None if part.name() == "name" => guest = Some(part.text()?.into_owned()),
            None => {}
        }
    }
    let guest = guest.ok_or_else(|| HttpError::bad_request("the name is missing\n"))?;
    let cookie = Cookie::new("guest", encode(&guest))
        .path("/")
        .max_age(Duration::from_secs(3600))
        .http_only()
        .same_site(SameSite::Lax);
    // 303: the browser fetches the page, and reloading it doesn't send the form again.
    Ok(Response::redirect("/thanks").cookie(cookie))
}

fn thanks(req: &mut Request) -> Response {
    match req.cookie("guest") {
        Some(guest) => Response::text(format!("Thank you, {}!\n", decode(guest))),
        None => Response::redirect("/"),
    }
}

/// Cookies carry few characters as they are: here as hexadecimal bytes.
fn encode(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn decode(hex: &str) -> String {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = hex.as_bytes().chunks(2).map(byte).collect();
    String::from_utf8(bytes.unwrap_or_default()).unwrap_or_default()
}

/// Where to listen: what follows `--bind` on the command line.
fn address() -> String {
    let mut args = std::env::args().skip_while(|arg| arg != "--bind").skip(1);
    args.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned())
}
