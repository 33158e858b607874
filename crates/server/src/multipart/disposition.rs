//! Header fields of a form and its parts: `Content-Type`, `Content-Disposition` and their
//! parameters.

use crate::http_error::HttpError;
use crate::status;

/// What is known of a part before its content.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PartHead {
    pub(super) name: String,
    /// As sent.
    pub(super) file_name: Option<String>,
    pub(super) content_type: Option<String>,
}

/// The longest name of a field.
const NAME: usize = 1024;
/// The most header fields of a part.
const FIELDS: usize = 16;

/// The boundary that a form's content type names.
pub(super) fn boundary_of(content_type: &str) -> Result<Vec<u8>, HttpError> {
    let (kind, parameters) = split(content_type);
    if !kind.eq_ignore_ascii_case("multipart/form-data") {
        return Err(HttpError::new(status::UNSUPPORTED_MEDIA_TYPE)
            .message("the body must be sent as multipart/form-data"));
    }
    let boundary = parameters
        .and_then(|parameters| find(parameters, "boundary"))
        .ok_or_else(|| HttpError::bad_request("the content type has no boundary"))?;
    // RFC 2046 §5.1.1
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"'()+_,-./:=? ".contains(&byte);
    let proper = (1..=70).contains(&boundary.len())
        && !boundary.ends_with(' ')
        && boundary.bytes().all(allowed);
    if proper {
        Ok(boundary.into_bytes())
    } else {
        Err(HttpError::bad_request("the boundary is not one"))
    }
}

/// Reads the header fields of a part, each line ended by CR LF but the last.
pub(super) fn part_head(block: &[u8]) -> Result<PartHead, HttpError> {
    let text = String::from_utf8_lossy(block);
    let mut head = PartHead::default();
    let mut named = false;
    for (index, line) in text.split("\r\n").enumerate() {
        if line.is_empty() {
            continue;
        }
        let (field, value) = line
            .split_once(':')
            .filter(|(field, _)| {
                index < FIELDS && !field.is_empty() && !field.contains([' ', '\t'])
            })
            .ok_or_else(|| malformed("a part's header field"))?;
        let value = value.trim_matches([' ', '\t']);
        if field.eq_ignore_ascii_case("content-disposition") {
            let (kind, parameters) = split(value);
            if named || !kind.eq_ignore_ascii_case("form-data") {
                return Err(malformed("a part's Content-Disposition"));
            }
            let parameters = parameters.unwrap_or_default();
            head.name = find(parameters, "name")
                .filter(|name| name.len() <= NAME)
                .ok_or_else(|| malformed("a part's name"))?;
            head.file_name = find(parameters, "filename");
            named = true;
        } else if field.eq_ignore_ascii_case("content-type") {
            head.content_type = Some(value.to_owned());
        }
    }
    if named {
        Ok(head)
    } else {
        Err(malformed("a part without Content-Disposition"))
    }
}

pub(super) fn malformed(what: &str) -> HttpError {
    HttpError::bad_request(format!("malformed form: {what}"))
}

/// The value and what follows its first semicolon.
fn split(value: &str) -> (&str, Option<&str>) {
    match value.split_once(';') {
        Some((value, parameters)) => (value.trim(), Some(parameters)),
        None => (value.trim(), None),
    }
}

/// The value of the first parameter of that name in `a=b; c="d"`. `None` as well from where the
/// text is malformed.
fn find(parameters: &str, name: &str) -> Option<String> {
    let mut rest = parameters;
    // Each round takes at least one character.
    while !rest.is_empty() {
        let (key, after) = rest.split_once('=')?;
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => unquote(quoted)?,
            None => match after.split_once(';') {
                Some((value, next)) => (value.trim().to_owned(), next),
                None => (after.trim().to_owned(), ""),
            },
        };
        if key.trim().eq_ignore_ascii_case(name) {
            return Some(value);
        }
        rest = next;
    }
    None
}

/// Reads a quoted string behind its first quote, and returns what follows the next semicolon. A
/// backslash only escapes a quote or a backslash: some clients send paths with bare backslashes.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => {
                let after = text.get(at + 1..)?.trim_start();
                let next = if after.is_empty() {
                    after
                } else {
                    after.strip_prefix(';')?
                };
                return Some((value, next));
            }
            '\\' => match characters.next_if(|&(_, next)| matches!(next, '"' | '\\')) {
                Some((_, escaped)) => value.push(escaped),
                None => value.push('\\'),
            },
            _ => value.push(character),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_boundaries() {
        let boundary = |value| boundary_of(value).map_err(|error| error.status());
        assert_eq!(
            boundary("multipart/form-data; boundary=abc"),
            Ok(b"abc".to_vec())
        );
        assert_eq!(
            boundary("Multipart/Form-Data;BOUNDARY=\"a b\""),
            Ok(b"a b".to_vec())
        );
        assert_eq!(
            boundary("multipart/form-data; charset=x; boundary=a"),
            Ok(b"a".to_vec())
        );
        assert_eq!(boundary("multipart/form-data"), Err(400));
        assert_eq!(boundary("multipart/form-data; boundary="), Err(400));
        assert_eq!(boundary("multipart/form-data; boundary=\"a"), Err(400));
        assert_eq!(boundary("multipart/form-data; boundary=\"a \""), Err(400));
        assert_eq!(boundary("multipart/form-data; boundary=a\u{e9}"), Err(400));
        let long = format!("multipart/form-data; boundary={}", "x".repeat(71));
        assert_eq!(boundary(&long), Err(400));
        assert_eq!(boundary("multipart/mixed; boundary=a"), Err(415));
        assert_eq!(boundary("text/plain"), Err(415));
    }

    #[test]
    fn reads_dispositions() {
        let names = |text: &str| {
            let block = format!("Content-Disposition: {text}");
            part_head(block.as_bytes())
                .ok()
                .map(|head| (head.name, head.file_name))
        };
        let some = |name: &str, file: Option<&str>| Some((name.to_owned(), file.map(String::from)));
        assert_eq!(names("form-data; name=\"a\""), some("a", None));
        assert_eq!(names("form-data; name=a; filename=b"), some("a", Some("b")));
        assert_eq!(
            names("form-data; filename=\"x; name=y\"; name=\"a\""),
            some("a", Some("x; name=y"))
        );
        assert_eq!(names(r#"form-data; name="a\"b\\c""#), some("a\"b\\c", None));
        assert_eq!(
            names(r#"form-data; name="a"; filename="C:\temp\x""#),
            some("a", Some("C:\\temp\\x"))
        );
        assert_eq!(names("form-data; name=\"\""), some("", None));
        assert_eq!(names("form-data; name=\"é\""), some("é", None));
        assert_eq!(names("form-data"), None);
        assert_eq!(names("form-data; name=\"a"), None);
        assert_eq!(names("form-data; name=\"a\"b"), None);
        assert_eq!(names("attachment; name=\"a\""), None);
        let long = format!("form-data; name=\"{}\"", "x".repeat(NAME + 1));
        assert_eq!(names(&long), None);
    }

    #[test]
    fn refuses_odd_header_blocks() {
        let good = b"content-disposition: form-data; name=a\r\nContent-Type: image/png\r\nX: y";
        assert_eq!(
            part_head(good).unwrap().content_type.as_deref(),
            Some("image/png")
        );
        for bad in [
            &b""[..],
            b"Content-Type: text/plain",
            b"Content-Disposition: form-data; name=a\r\n folded",
            b"Content-Disposition : form-data; name=a",
            b"Content-Disposition: form-data; name=a\r\nContent-Disposition: form-data; name=b",
            b"Content-Disposition: form-data; name=a\r\n: x",
        ] {
            assert!(part_head(bad).is_err(), "{}", bad.escape_ascii());
        }
        let many = format!(
            "Content-Disposition: form-data; name=a{}",
            "\r\nX: y".repeat(FIELDS)
        );
        assert!(part_head(many.as_bytes()).is_err());
    }
}
