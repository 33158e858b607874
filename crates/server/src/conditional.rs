//! Answers to clients that have a copy already: `304 Not Modified` (RFC 9110 §13).

use std::time::{Duration, SystemTime};

use stepwell_proto::{Field, Method};

use crate::body::Body;
use crate::compress;
use crate::request::Request;
use crate::response::Response;
use crate::status;

/// Replaces a response by 304 where its `ETag` or `Last-Modified` shows that the client's copy is
/// still good.
#[inline]
pub(crate) fn apply(req: &Request, response: &mut Response) {
    let head = &req.head;
    let tags = head.known(Field::IfNoneMatch);
    let since = head.known(Field::IfModifiedSince);
    if tags.is_some() || since.is_some() {
        check(req, response);
    }
}

#[cold]
fn check(req: &Request, response: &mut Response) {
    let asked_to_read = matches!(req.head.method(), Method::Get | Method::Head);
    if !asked_to_read || response.status != status::OK {
        return;
    }
    // If-None-Match, where it is sent, is the better witness and the only one heard.
    let fresh = match req.head.known(Field::IfNoneMatch) {
        Some(_) => response.get("etag").is_some_and(|tag| {
            req.head
                .get_all("if-none-match")
                .any(|list| lists_tag(list, tag))
        }),
        None => is_unmodified(req, response).unwrap_or(false),
    };
    if fresh {
        let full = std::mem::replace(response, Response::new(status::OK));
        *response = not_modified(full);
    }
}

fn is_unmodified(req: &Request, response: &Response) -> Option<bool> {
    let seen = parse_date(std::str::from_utf8(req.head.known(Field::IfModifiedSince)?).ok()?)?;
    Some(parse_date(response.get("last-modified")?)? <= seen)
}

/// Dates beyond the year 9999 or before 1970 are no dates of ours.
fn parse_date(text: &str) -> Option<Duration> {
    httpdate::parse_http_date(text)
        .ok()?
        .duration_since(SystemTime::UNIX_EPOCH)
        .ok()
}

/// Whether a list of entity tags has this one, by the weak comparison: it suffices for reading.
fn lists_tag(list: &[u8], tag: &str) -> bool {
    let opaque = tag.strip_prefix("W/").unwrap_or(tag).as_bytes();
    let mut rest = list.trim_ascii();
    if rest == b"*" {
        return true;
    }
    // Each round takes at least one tag; commas may stand inside of one.
    loop {
        let strong = rest.strip_prefix(b"W/").unwrap_or(rest);
        let Some(inner) = strong.strip_prefix(b"\"") else {
            return false;
        };
        let Some(end) = inner.iter().position(|&byte| byte == b'"') else {
            return false;
        };
        // The tag with both quotes: the inner part ends before `end`.
        if strong.get(..end + 2) == Some(opaque) {
            return true;
        }
        let after = inner.get(end + 1..).unwrap_or_default().trim_ascii_start();
        match after.strip_prefix(b",") {
            Some(next) => rest = next.trim_ascii_start(),
            None => return false,
        }
    }
}

/// The same answer without its body. Fields that describe the body alone go with it.
fn not_modified(mut response: Response) -> Response {
    if compress::may_vary(&response) {
        compress::add_vary(&mut response);
    }
    response.status = status::NOT_MODIFIED;
    response.content_type = None;
    response.body = Body::Empty;
    response.fields.retain(|field| {
        let name = &field.name;
        ![
            "content-encoding",
            "content-language",
            "content-range",
            "accept-ranges",
        ]
        .iter()
        .any(|described| name.eq_ignore_ascii_case(described))
    });
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::testing::{get, request};

    fn apply(req: &Request, mut response: Response) -> Response {
        super::apply(req, &mut response);
        response
    }

    fn tagged() -> Response {
        Response::text("x".repeat(2000))
            .header("ETag", "\"a,b\"")
            .header("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")
            .header("Cache-Control", "max-age=60")
    }

    #[test]
    fn a_good_copy_is_confirmed() {
        for (fields, status) in [
            ("If-None-Match: \"a,b\"", 304),
            ("If-None-Match: W/\"a,b\"", 304),
            ("If-None-Match: \"x\", W/\"y\" ,\"a,b\"", 304),
            ("If-None-Match: \"x\"\nIf-None-Match: \"a,b\"", 304),
            ("If-None-Match: *", 304),
            ("If-None-Match: \"a\"", 200),
            ("If-None-Match: a,b", 200),
            ("If-None-Match: \"a,b", 200),
            ("If-None-Match:", 200),
            ("If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT", 304),
            ("If-Modified-Since: Sunday, 06-Nov-94 08:49:38 GMT", 304),
            ("If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT", 200),
            ("If-Modified-Since: yesterday", 200),
            (
                "If-None-Match: \"x\"\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT",
                200,
            ),
            ("", 200),
        ] {
            assert_eq!(
                apply(&get("/", fields), tagged()).status,
                status,
                "{fields:?}"
            );
        }
    }

    #[test]
    fn only_reading_a_success_is_conditional() {
        let field = "If-None-Match: \"a,b\"";
        let post = request(&format!("POST / HTTP/1.1\nHost: a\n{field}"), b"");
        assert_eq!(apply(&post, tagged()).status, 200);
        let head = request(&format!("HEAD / HTTP/1.1\nHost: a\n{field}"), b"");
        assert_eq!(apply(&head, tagged()).status, 304);
        assert_eq!(apply(&get("/", field), tagged().status(404)).status, 404);
        assert_eq!(
            apply(&get("/", "If-None-Match: *"), Response::text("x")).status,
            200
        );
    }

    #[test]
    fn a_confirmation_has_no_body_and_the_fields_of_the_answer() {
        let response = apply(&get("/", "If-None-Match: *"), tagged());
        assert_eq!(response.body_bytes(), Some(&b""[..]));
        assert_eq!(response.get("content-type"), None);
        assert_eq!(response.get("etag"), Some("\"a,b\""));
        assert_eq!(response.get("cache-control"), Some("max-age=60"));
        assert_eq!(
            response.get("vary"),
            Some("Accept-Encoding"),
            "as the full answer would"
        );
    }
}
