//! Requests that are as they should be, for tests which are about something else.

/// A `GET` of `path` with a `Host`.
#[must_use]
pub fn get(path: &str) -> Vec<u8> {
    request("GET", path, &[], b"")
}

/// A `POST` of `body` to `path` with `Host` and `Content-Length`.
#[must_use]
pub fn post(path: &str, body: &[u8]) -> Vec<u8> {
    request("POST", path, &[], body)
}

/// A request with `Host: x`, the `fields` in their order and, unless the body is empty and the
/// method one that has none, `Content-Length`.
#[must_use]
pub fn request(method: &str, path: &str, fields: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{method} {path} HTTP/1.1\r\nHost: x\r\n").into_bytes();
    for (name, value) in fields {
        bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    if !body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH") {
        bytes.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}

/// `body` in chunks of `size` bytes, the last chunk and an empty trailer section included.
///
/// # Panics
/// When `size` is 0.
#[must_use]
pub fn in_chunks(body: &[u8], size: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for chunk in body.chunks(size) {
        bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_framed() {
        assert_eq!(get("/a"), b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
        let with_body = b"PUT /a HTTP/1.1\r\nHost: x\r\nA: b\r\nContent-Length: 2\r\n\r\nhi";
        assert_eq!(request("PUT", "/a", &[("A", "b")], b"hi"), with_body);
        assert!(post("/a", b"").ends_with(b"Content-Length: 0\r\n\r\n"));
        assert_eq!(in_chunks(b"abc", 2), b"2\r\nab\r\n1\r\nc\r\n0\r\n\r\n");
    }
}
