use std::sync::Arc;

use crate::{Bytes, Cookie, HttpError, IntoResponse, Json, Response, Router, SameSite};

/// What the log hears and the client gets.
fn settled(mut response: Response) -> (u16, Option<String>, Vec<u8>) {
    let line = response.settle();
    let body = response.body_bytes().unwrap_or_default().to_vec();
    (response.status_code(), line, body)
}

#[test]
fn is_small() {
    assert!(
        size_of::<Response>() <= 128,
        "{} bytes",
        size_of::<Response>()
    );
}

const TEXT: Option<&str> = Some("text/plain; charset=utf-8");
const OCTETS: Option<&str> = Some("application/octet-stream");

#[track_caller]
fn becomes(value: impl IntoResponse, status: u16, kind: Option<&str>, body: &str) {
    let response = value.into_response();
    assert_eq!(response.status_code(), status);
    assert_eq!(response.get("Content-Type"), kind);
    assert_eq!(response.body_bytes(), Some(body.as_bytes()));
}

#[test]
fn anything_reasonable_is_a_response() {
    becomes("a", 200, TEXT, "a");
    becomes(String::from("b"), 200, TEXT, "b");
    becomes(vec![b'c'], 200, OCTETS, "c");
    becomes(&b"d"[..], 200, OCTETS, "d");
    becomes(
        Bytes::from(Arc::<str>::from("shared")),
        200,
        OCTETS,
        "shared",
    );
    becomes(Json([1]), 200, Some("application/json"), "[1]");
    becomes(
        Response::html("<p>"),
        200,
        Some("text/html; charset=utf-8"),
        "<p>",
    );
    becomes((), 204, None, "");
    becomes(201, 201, None, "");
    becomes(404, 404, TEXT, "404 Not Found\n");
    becomes((418, "tea"), 418, TEXT, "tea");
    becomes(Some("x"), 200, TEXT, "x");
    becomes(None::<&str>, 404, TEXT, "404 Not Found\n");
    becomes(Ok("y"), 200, TEXT, "y");
}

#[test]
fn errors_tell_the_log_and_not_the_client() {
    let error = std::io::Error::other("password is hunter2");
    let (status, line, body) = settled(Err::<(), _>(HttpError::from(error)).into_response());
    assert_eq!((status, &*body), (500, &b"500 Internal Server Error\n"[..]));
    assert_eq!(line.as_deref(), Some("password is hunter2"));

    let error = HttpError::bad_request("no such day").source("day 32");
    let (status, line, body) = settled(error.into_response());
    assert_eq!(
        (status, line.as_deref(), &*body),
        (400, Some("day 32"), &b"no such day"[..])
    );

    assert_eq!(HttpError::new(200).status(), 500, "an error is no success");
    assert_eq!(settled(HttpError::not_found().into_response()).1, None);
}

#[test]
fn a_question_mark_takes_any_error() {
    fn fails() -> Result<&'static str, HttpError> {
        let number: u32 = "x".parse()?;
        Err(format!("{number}"))?;
        Ok("never")
    }
    assert_eq!(fails().into_response().status_code(), 500);
    let mut router = Router::new();
    // The closure needs no type.
    router.get("/", |req| {
        Ok(req.query("n").ok_or("n is missing")?.to_owned())
    });
    assert!(router.build().is_ok());
}

#[test]
fn injected_headers_are_refused() {
    let attacks = [
        "a\r\nSet-Cookie: x=1",
        "a\nb",
        "a\rb",
        "a\0b",
        " a",
        "a\t",
        "\u{7f}",
    ];
    for value in attacks {
        for response in [
            Response::text("x").header("X-A", value),
            Response::text("x").append_header("X-A", value),
            Response::text("x").content_type(value),
            Response::text("x").cookie(Cookie::new("a", value)),
            Response::text("x").cookie(Cookie::new("a", "b").path(format!("{value}\r"))),
        ] {
            let (status, line, body) = settled(response);
            assert_eq!(
                (status, &*body),
                (500, &b"500 Internal Server Error\n"[..]),
                "{value:?}"
            );
            assert!(line.unwrap().contains("refused"));
        }
    }
    for name in [
        "",
        "X A",
        "X:",
        "X\r\n",
        "Ä",
        "Content-Length",
        "transfer-encoding",
        "Connection",
    ] {
        assert_eq!(
            settled(Response::text("x").header(name, "1")).0,
            500,
            "{name:?}"
        );
    }
    for location in ["/x\r\nSet-Cookie: a=b", "/x\ny"] {
        assert_eq!(settled(Response::redirect(location)).0, 500, "{location:?}");
    }
    for status in [0, 99, 100, 101, 199, 1000] {
        assert_eq!(settled(Response::new(status)).0, 500, "{status}");
    }
}

#[test]
fn nothing_of_a_refused_response_is_sent() {
    let secret = Response::text("secret")
        .header("X-Ok", "1")
        .header("X-Bad", "\n");
    let mut secret = secret.header("X-After", "2");
    assert!(secret.error().is_some());
    // Middleware learns what will be sent.
    assert_eq!(secret.status_code(), 500);
    secret.settle();
    assert_eq!(secret.status_code(), 500);
    assert_eq!(secret.headers().count(), 0);
    assert_eq!(
        secret.body_bytes(),
        Some(&b"500 Internal Server Error\n"[..])
    );
}

#[test]
fn a_field_is_set_or_added() {
    let response = Response::text("x")
        .header("X-A", "1")
        .header("x-a", "2")
        .append_header("X-A", "3")
        .header("Content-Type", "text/csv");
    let fields: Vec<_> = response.headers().collect();
    assert_eq!(fields, [("x-a", "2"), ("X-A", "3")]);
    assert_eq!(response.get("content-type"), Some("text/csv"));
    assert_eq!(
        Response::text("x").header("X-Utf8", "café").get("x-utf8"),
        Some("café")
    );
}

#[test]
fn cookies_are_written_and_checked() {
    let field = |cookie: Cookie| {
        Response::new(200)
            .cookie(cookie)
            .get("Set-Cookie")
            .map(String::from)
    };
    assert_eq!(field(Cookie::new("a", "b")).as_deref(), Some("a=b"));
    let full = Cookie::new("a", "b")
        .path("/x")
        .domain("example.com")
        .secure();
    let full = full.same_site(SameSite::None);
    let expected = "a=b; Path=/x; Domain=example.com; Secure; SameSite=None";
    assert_eq!(field(full).as_deref(), Some(expected));
    assert_eq!(
        field(Cookie::removal("a")).as_deref(),
        Some("a=; Max-Age=0")
    );
    for bad in [
        Cookie::new("", "b"),
        Cookie::new("a b", "c"),
        Cookie::new("a=", "c"),
        Cookie::new("a", "b;c"),
        Cookie::new("a", "b,c"),
        Cookie::new("a", "é"),
        Cookie::new("a", "b").path("/; Domain=evil"),
        Cookie::new("a", "b").domain("x\n"),
    ] {
        assert_eq!(
            settled(Response::new(200).cookie(bad.clone())).0,
            500,
            "{bad:?}"
        );
    }
    let two = Response::new(200)
        .cookie(Cookie::new("a", "1"))
        .cookie(Cookie::new("b", "2"));
    assert_eq!(two.headers().count(), 2);
}

#[test]
fn redirects_say_where_and_how() {
    for (response, status) in [
        (Response::redirect("/x"), 303),
        (Response::redirect_found("/x"), 302),
        (Response::redirect_temporary("/x"), 307),
        (Response::redirect_permanent("/x"), 308),
    ] {
        assert_eq!(
            (response.status_code(), response.get("location")),
            (status, Some("/x"))
        );
    }
    let encoded = Response::redirect("/caf\u{e9} x?a=%20");
    assert_eq!(encoded.get("location"), Some("/caf%C3%A9%20x?a=%20"));
}

#[test]
fn files_know_type_length_and_age_and_map_their_errors() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("page.html");
    std::fs::write(&path, "<p>hello").unwrap();
    let response = Response::file(&path);
    assert_eq!(response.status_code(), 200);
    assert_eq!(
        response.get("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert_eq!(response.body_ref().length(), Some(8));
    let modified = httpdate::parse_http_date(response.get("last-modified").unwrap()).unwrap();
    let on_disk = std::fs::metadata(&path).unwrap().modified().unwrap();
    assert!(on_disk.duration_since(modified).unwrap().as_secs() < 1);
    let tag = response.get("etag").unwrap().to_owned();
    assert!(tag.starts_with('"') && tag.ends_with("-8\""));
    std::fs::write(&path, "<p>hello!").unwrap();
    assert_ne!(Response::file(&path).get("etag"), Some(&*tag));

    for path in ["none", "page.html/x", "nul\0", "", &"x".repeat(5000)] {
        assert_eq!(
            Response::file(dir.path().join(path)).status_code(),
            404,
            "{path:?}"
        );
    }
    let unnamed = dir.path().join("noextension");
    std::fs::write(&unnamed, "x").unwrap();
    assert_eq!(
        Response::file(&unnamed).get("content-type"),
        Some("application/octet-stream")
    );
}

#[test]
fn json_that_cannot_be_made_is_an_error() {
    let unkeyed = std::collections::BTreeMap::from([(vec![1], 2)]);
    let (status, line, _) = settled(Response::json(&unkeyed));
    assert_eq!(status, 500);
    assert!(line.unwrap().contains("key"));
}
