//! Just enough of HTTP/1 to read responses, written apart from the server's own parser.
//!
//! Strict where tests rely on it: line ends are CRLF, lengths are digits, chunk framing is exact.

use crate::Answer;

/// How the end of a body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(usize),
    Chunked,
    Close,
}

/// The head of a response and the number of bytes it takes; `None` while it is not whole.
pub(crate) fn head(bytes: &[u8]) -> Result<Option<(Answer, usize)>, String> {
    let Some(end) = find(bytes, b"\r\n\r\n") else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&bytes[..end]);
    let mut lines = text.split("\r\n");
    let mut answer = status_line(lines.next().unwrap_or_default())?;
    answer.fields = lines.map(field).collect::<Result<_, _>>()?;
    Ok(Some((answer, end + 4)))
}

fn status_line(line: &str) -> Result<Answer, String> {
    let mut words = line.splitn(3, ' ');
    let (Some(version), Some(code), Some(reason)) = (words.next(), words.next(), words.next())
    else {
        return Err(format!("not a status line: {line:?}"));
    };
    if !version.starts_with("HTTP/1.") || code.len() != 3 {
        return Err(format!("not a status line: {line:?}"));
    }
    let status = code
        .parse()
        .map_err(|_| format!("not a status line: {line:?}"))?;
    Ok(Answer {
        version: version.into(),
        status,
        reason: reason.into(),
        ..Answer::default()
    })
}

fn field(line: &str) -> Result<(String, String), String> {
    let (name, value) = line
        .split_once(':')
        .ok_or_else(|| format!("not a field: {line:?}"))?;
    if name.is_empty() || name.contains(char::is_whitespace) || line.contains(['\r', '\n']) {
        return Err(format!("not a field: {line:?}"));
    }
    Ok((name.into(), value.trim().into()))
}

/// The framing of the body of `answer` to a request with `method`.
pub(crate) fn framing(answer: &Answer, method: &str) -> Result<Framing, String> {
    if method == "HEAD" || answer.status < 200 || matches!(answer.status, 204 | 304) {
        return Ok(Framing::Length(0));
    }
    let lengths = answer.headers("content-length");
    if answer.header("transfer-encoding").is_some() {
        if !lengths.is_empty() {
            return Err("both Content-Length and Transfer-Encoding".into());
        }
        return Ok(Framing::Chunked);
    }
    match lengths[..] {
        [] => Ok(Framing::Close),
        [one] => {
            let length = one.parse().map_err(|_| format!("Content-Length: {one}"))?;
            Ok(Framing::Length(length))
        }
        _ => Err("more than one Content-Length".into()),
    }
}

/// Reads a chunked body as it comes, each byte once.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    /// Where the next chunk or trailer line starts.
    at: usize,
    in_trailers: bool,
}

impl Chunks {
    /// Takes the chunks that are whole into `answer`. `bytes` is the body from its start, longer
    /// with every call. Gives the number of bytes that the body takes once it is whole.
    pub(crate) fn advance(
        &mut self,
        bytes: &[u8],
        answer: &mut Answer,
    ) -> Result<Option<usize>, String> {
        while let Some(length) = find(&bytes[self.at..], b"\r\n") {
            let line = String::from_utf8_lossy(&bytes[self.at..self.at + length]).into_owned();
            let next = self.at + length + 2;
            if self.in_trailers {
                self.at = next;
                if line.is_empty() {
                    return Ok(Some(next));
                }
                answer.trailers.push(field(&line)?);
                continue;
            }
            let digits = line.split(';').next().unwrap_or_default();
            let size = usize::from_str_radix(digits, 16)
                .map_err(|_| format!("not a chunk size: {line:?}"))?;
            if size == 0 {
                self.in_trailers = true;
                self.at = next;
                continue;
            }
            let Some(chunk) = bytes[next..].get(..size.saturating_add(2)) else {
                return Ok(None);
            };
            if !chunk.ends_with(b"\r\n") {
                return Err("a chunk is not as long as its size says".into());
            }
            answer.body.extend_from_slice(&chunk[..size]);
            answer.chunks.push(size);
            self.at = next + size + 2;
        }
        Ok(None)
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|w| w == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_when_it_is_whole() {
        let bytes = b"HTTP/1.1 200 OK\r\nA: b\r\na:c\r\n\r\nrest";
        assert_eq!(head(&bytes[..20]), Ok(None));
        let (answer, taken) = head(bytes).unwrap().unwrap();
        assert_eq!((answer.status, &bytes[taken..]), (200, &b"rest"[..]));
        assert_eq!(answer.headers("A"), ["b", "c"]);
        assert!(head(b"HTTP/1.1 20x OK\r\n\r\n").is_err());
        assert!(head(b"HTTP/1.1 200 OK\r\nA : b\r\n\r\n").is_err());
    }

    #[test]
    fn a_chunked_body_is_read_when_it_is_whole() {
        let bytes = b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: v\r\n\r\nrest";
        let (mut answer, mut reader) = (Answer::default(), Chunks::default());
        let whole = bytes.len() - 4;
        for end in 0..whole {
            assert_eq!(
                reader.advance(&bytes[..end], &mut answer),
                Ok(None),
                "{end}"
            );
        }
        assert_eq!(reader.advance(bytes, &mut answer), Ok(Some(whole)));
        assert_eq!(
            (answer.text().as_str(), &answer.chunks[..]),
            ("abcde", &[3, 2][..])
        );
        assert_eq!(answer.trailers, [("T".to_string(), "v".to_string())]);
        let wrong = |bytes: &[u8]| Chunks::default().advance(bytes, &mut Answer::default());
        assert!(wrong(b"3\r\nabcd\r\n0\r\n\r\n").is_err());
        assert!(wrong(b"z\r\n").is_err());
    }

    #[test]
    fn framing_follows_status_method_and_fields() {
        let with = |status, fields: &[(&str, &str)]| {
            let fields = fields
                .iter()
                .map(|(n, v)| (n.to_string(), v.to_string()))
                .collect();
            Answer {
                status,
                fields,
                ..Answer::default()
            }
        };
        let length = with(200, &[("content-length", "5")]);
        assert_eq!(framing(&length, "GET"), Ok(Framing::Length(5)));
        assert_eq!(framing(&length, "HEAD"), Ok(Framing::Length(0)));
        assert_eq!(framing(&with(204, &[]), "GET"), Ok(Framing::Length(0)));
        assert_eq!(framing(&with(100, &[]), "GET"), Ok(Framing::Length(0)));
        assert_eq!(framing(&with(200, &[]), "GET"), Ok(Framing::Close));
        let both = with(
            200,
            &[("content-length", "5"), ("transfer-encoding", "chunked")],
        );
        assert!(framing(&both, "GET").is_err());
        let twice = with(200, &[("content-length", "5"), ("content-length", "5")]);
        assert!(framing(&twice, "GET").is_err());
    }
}
