use std::io::Read;
use std::os::unix::fs::MetadataExt;

use crate::multipart::Multipart;
use crate::request::Request;
use crate::request::testing::{Pieces, request};
use crate::{HttpError, Part};

const KIND: &str = "multipart/form-data; boundary=XX";

fn posted(body: &[u8]) -> Request {
    request(
        &format!("POST / HTTP/1.1\nHost: a\nContent-Length: 1\nContent-Type: {KIND}"),
        body,
    )
}

fn streamed(body: &[u8], length: usize, cut: usize) -> Request {
    let mut req = posted(b"");
    req.body.set_stream(Box::new(Pieces {
        bytes: body.to_vec(),
        at: 0,
        length,
        cut,
    }));
    req
}

type Summary = Vec<(String, Option<String>, Option<String>, Vec<u8>)>;

fn summary(parts: Multipart<'_>) -> Result<Summary, HttpError> {
    parts
        .map(|part| {
            let part = part?;
            let mut content = Vec::new();
            part.reader().read_to_end(&mut content)?;
            assert_eq!(part.size(), content.len() as u64);
            let (file, kind) = (part.raw_file_name(), part.content_type());
            Ok((
                part.name().into(),
                file.map(Into::into),
                kind.map(Into::into),
                content,
            ))
        })
        .collect()
}

fn status(body: &[u8]) -> u16 {
    match summary(posted(body).multipart().unwrap()) {
        Ok(_) => 200,
        Err(error) => error.status(),
    }
}

/// Contents that look like line ends and boundaries, and everything that surrounds parts.
const FORM: &[u8] = b"preamble --XX\r\n--XX \t\r\n\
    Content-Disposition: form-data; name=\"a\"\r\n\r\n\
    one\r\n--XX\r\n\
    content-disposition: form-data; name=\"f\"; filename=\"x.bin\"\r\n\
    Content-Type: application/x-y\r\n\r\n\
    \r\n--X\r\r\n-\r\n--\n--XX\r\r\n--XX\r\n\
    Content-Disposition: form-data; name=empty\r\n\r\n\
    \r\n--XX\r\n\
    Content-Disposition: form-data; name=bare\r\n\r\n\
    --XX\r\n\
    Content-Disposition: form-data; name=last\r\n\r\n\
    \r\n\r\n--XX--\r\nepilogue";

fn expected() -> Summary {
    let part = |name: &str, content: &[u8]| (name.to_owned(), None, None, content.to_vec());
    let file = Some("x.bin".to_owned());
    vec![
        part("a", b"one"),
        ("f".to_owned(), file, Some("application/x-y".to_owned()), {
            b"\r\n--X\r\r\n-\r\n--\n--XX\r".to_vec()
        }),
        part("empty", b""),
        part("bare", b""),
        part("last", b"\r\n"),
    ]
}

#[test]
fn reads_a_form_in_memory() {
    assert_eq!(
        summary(posted(FORM).multipart().unwrap()).unwrap(),
        expected()
    );
}

#[test]
fn reads_the_same_however_it_is_cut() {
    for cut in 0..FORM.len() {
        let req = streamed(FORM, usize::MAX, cut);
        assert_eq!(
            summary(req.multipart().unwrap()).unwrap(),
            expected(),
            "cut at {cut}"
        );
    }
    for length in 1..20 {
        let req = streamed(FORM, length, 0);
        assert_eq!(
            summary(req.multipart().unwrap()).unwrap(),
            expected(),
            "by {length}"
        );
    }
}

#[test]
fn a_form_that_ends_anywhere_early_is_refused() {
    let end = FORM.len() - b"\r\nepilogue".len();
    assert_eq!(status(&FORM[..end]), 200);
    for length in 0..end {
        assert_eq!(status(&FORM[..length]), 400, "{length} bytes");
    }
}

#[test]
fn refuses_what_is_malformed() {
    for body in [
        &b""[..],
        b"--XX",
        b"--XXX\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--XX--",
        b"--XX\r\nContent-Disposition: form-data\r\n\r\nx\r\n--XX--",
        b"--XX\r\n\r\nx\r\n--XX--",
        b"--XX\nContent-Disposition: form-data; name=a\n\nx\n--XX--",
    ] {
        assert_eq!(status(body), 400, "{}", body.escape_ascii());
    }
    assert_eq!(status(b"--XX--"), 200, "a form without parts");
    let long = format!("--XX\r\nX: {}\r\n\r\nx\r\n--XX--", "y".repeat(8 * 1024));
    assert_eq!(
        status(long.as_bytes()),
        400,
        "a header block that is too long"
    );
}

#[test]
fn nothing_comes_after_an_error() {
    let req = posted(b"--XX\r\nContent-Disposition: nothing\r\n\r\nx\r\n--XX--");
    let mut parts = req.multipart().unwrap();
    assert!(parts.next().unwrap().is_err());
    assert!(parts.next().is_none());
}

fn form(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, content) in parts {
        let head = format!("--XX\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--XX--\r\n");
    body
}

fn noise(length: usize) -> Vec<u8> {
    (0..length as u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect()
}

#[test]
fn large_parts_are_spilled_to_a_nameless_private_file() {
    let big = noise(200_000);
    let at_limit = noise(64 * 1024);
    let body = form(&[("big", &big), ("limit", &at_limit), ("small", b"x")]);
    let req = streamed(&body, 1000, 0);
    let parts: Vec<Part> = req.multipart().unwrap().map(Result::unwrap).collect();
    let spilled: Vec<bool> = parts.iter().map(Part::is_spilled).collect();
    assert_eq!(spilled, [true, false, false]);
    let metadata = parts[0].spill_metadata().unwrap();
    assert_eq!((metadata.nlink(), metadata.mode() & 0o777), (0, 0o600));

    let mut first = parts[0].reader();
    first.read_exact(&mut [0; 10]).unwrap();
    let saved = tempfile::NamedTempFile::new().unwrap();
    assert_eq!(parts[0].save_as(saved.path()).unwrap(), 200_000);
    assert_eq!(std::fs::read(saved.path()).unwrap(), big);
    let mut rest = Vec::new();
    first.read_to_end(&mut rest).unwrap();
    assert_eq!(
        rest,
        &big[10..],
        "a reader keeps its place while the file is saved"
    );
    assert_eq!(parts[0].bytes().unwrap(), big);
    assert_eq!(parts[1].bytes().unwrap(), at_limit);
    assert_eq!(parts[2].text().unwrap(), "x");
    assert_eq!(parts[0].text().unwrap_err().status(), 400);
}

#[test]
fn limits_are_answered_with_413() {
    let body = form(&[("a", b"12345"), ("b", b"12345")]);
    let req = posted(&body);
    let status = |parts: Multipart<'_>| summary(parts).map_or_else(|e| e.status(), |_| 200);
    let parts = || req.multipart().unwrap();
    assert_eq!(status(parts().max_parts(2)), 200);
    assert_eq!(status(parts().max_parts(1)), 413);
    assert_eq!(status(parts().max_part_bytes(5)), 200);
    assert_eq!(status(parts().max_part_bytes(4)), 413);
    assert_eq!(status(parts().max_total_bytes(10)), 200);
    assert_eq!(status(parts().max_total_bytes(9)), 413);
    let many = form(&vec![("a", &b"x"[..]); 257]);
    assert_eq!(status(posted(&many).multipart().unwrap()), 413);
    let large = form(&[("a", &noise(1024 * 1024 + 1))]);
    let req = posted(&large);
    let part = req.multipart().unwrap().next().unwrap().unwrap();
    assert_eq!(part.bytes().unwrap_err().status(), 413);
}

#[test]
fn file_names_are_made_harmless() {
    for (sent, name) in [
        ("photo.jpg", "photo.jpg"),
        ("/etc/passwd", "passwd"),
        ("../../x", "x"),
        ("C:\\temp\\y.txt", "y.txt"),
        ("a/..", "unnamed"),
        (".", "unnamed"),
        ("dir/", "unnamed"),
        ("", "unnamed"),
        ("nul\u{1}l", "unnamed"),
        ("日本.txt", "日本.txt"),
    ] {
        let body = format!(
            "--XX\r\nContent-Disposition: form-data; name=f; filename=\"{sent}\"\r\n\r\n\r\n--XX--"
        );
        let req = posted(body.as_bytes());
        let part = req.multipart().unwrap().next().unwrap().unwrap();
        assert_eq!(part.file_name(), Some(name), "{sent:?}");
        assert_eq!(part.raw_file_name(), Some(sent));
    }
}

#[test]
fn another_content_type_is_refused() {
    let req = request("POST / HTTP/1.1\nHost: a\nContent-Length: 1", b"x");
    assert_eq!(req.multipart().unwrap_err().status(), 415);
}
