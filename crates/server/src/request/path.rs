//! The canonical path: decoded once, dot segments resolved, slashes merged. What is matched is what
//! the handler sees and what files are opened by.

use stepwell_proto::RequestHead;

/// The decoded path of one request; recycled with its buffer.
#[derive(Debug, Default)]
pub(crate) struct DecodedPath {
    /// The canonical path where it differs from the raw one.
    text: String,
    form: Form,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Form {
    /// The raw path is canonical already and is borrowed from the head.
    #[default]
    Raw,
    Rewritten,
}

/// A path that is refused with 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadPath {
    /// `%` without two hexadecimal digits.
    Escape,
    /// An encoded NUL.
    Nul,
    /// `%2F`, `%5C` or a backslash: programs disagree about whether they separate segments, and
    /// whoever checks paths in front of us may see another path than we do.
    Separator,
    /// `..` above the root.
    AboveRoot,
    /// Not UTF-8 when decoded.
    Utf8,
    /// Doesn't start with a slash.
    Relative,
}

impl DecodedPath {
    /// Decodes `raw`. Most paths are canonical as they come: those cost one scan and no copy.
    pub(crate) fn prepare(&mut self, raw: &[u8]) -> Result<(), BadPath> {
        self.text.clear();
        self.form = Form::Raw;
        let result = if is_plain(raw) {
            std::str::from_utf8(raw)
                .map(|_| ())
                .map_err(|_| BadPath::Utf8)
        } else {
            self.rewrite(raw)
        };
        if result.is_err() {
            // Shown in logs only: no route is matched against it.
            self.form = Form::Rewritten;
            self.text.clear();
            self.text.push_str(&String::from_utf8_lossy(raw));
        }
        result
    }

    fn rewrite(&mut self, raw: &[u8]) -> Result<(), BadPath> {
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        canonicalise(raw, &mut bytes, None)?;
        self.text = String::from_utf8(bytes).map_err(|_| BadPath::Utf8)?;
        self.form = Form::Rewritten;
        Ok(())
    }

    /// The canonical path; `prepare` has been called with the path of this head.
    pub(crate) fn as_str<'a>(&'a self, head: &'a RequestHead) -> &'a str {
        match self.form {
            // `prepare` has checked that it is UTF-8.
            Form::Raw => std::str::from_utf8(head.path()).unwrap_or_default(),
            Form::Rewritten => &self.text,
        }
    }

    /// The raw bytes that the given range of the canonical path was decoded from.
    pub(crate) fn raw_of<'a>(&self, raw: &'a [u8], start: usize, end: usize) -> &'a [u8] {
        let (from, to) = match self.form {
            Form::Raw => (start, end),
            Form::Rewritten => {
                let (mut bytes, mut origins) = (Vec::new(), Vec::new());
                if canonicalise(raw, &mut bytes, Some(&mut origins)).is_err() {
                    return &[];
                }
                let first = origins.get(start).copied().unwrap_or(raw.len());
                let last = end
                    .checked_sub(1)
                    .and_then(|last| origins.get(last))
                    .copied();
                let after = match last {
                    Some(at) if end > start => at + if raw.get(at) == Some(&b'%') { 3 } else { 1 },
                    _ => first,
                };
                (first, after)
            }
        };
        raw.get(from..to).unwrap_or_default()
    }

    /// Forgets the path, so that the raw one counts as canonical; keeps a buffer of ordinary size.
    #[inline]
    pub(crate) fn clear(&mut self) {
        if self.form == Form::Rewritten {
            self.text.clear();
            self.text.shrink_to(4096);
            self.form = Form::Raw;
        }
    }
}

/// Whether the path is canonical as it stands: no escapes, no backslash, no segment that is empty
/// or starts with a dot (some of those are harmless, and then cost a copy).
pub(crate) fn is_plain(raw: &[u8]) -> bool {
    if raw.first() != Some(&b'/') {
        return false;
    }
    let mut previous = 0;
    for &byte in raw {
        let suspect = match byte {
            b'%' | b'\\' => true,
            b'/' | b'.' => previous == b'/',
            _ => false,
        };
        if suspect {
            return false;
        }
        previous = byte;
    }
    true
}

/// Appends the canonical form of `raw` to `out`, and for each byte the place in `raw` that it came
/// from to `origins`.
fn canonicalise(
    raw: &[u8],
    out: &mut Vec<u8>,
    mut origins: Option<&mut Vec<usize>>,
) -> Result<(), BadPath> {
    out.clear();
    if raw.first() != Some(&b'/') {
        return Err(BadPath::Relative);
    }
    let mut at = 0;
    while let Some(&byte) = raw.get(at) {
        let (decoded, width) = match byte {
            b'%' => (unescape(raw.get(at + 1..at + 3))?, 3),
            b'\\' => return Err(BadPath::Separator),
            _ => (byte, 1),
        };
        if byte == b'/' {
            end_segment(out, origins.as_deref_mut())?;
        } else {
            out.push(decoded);
            if let Some(origins) = origins.as_deref_mut() {
                origins.push(at);
            }
        }
        if byte == b'/' && out.last() != Some(&b'/') {
            out.push(b'/');
            if let Some(origins) = origins.as_deref_mut() {
                origins.push(at);
            }
        }
        at += width;
    }
    end_segment(out, origins)
}

/// Resolves the segment that has just ended if it is `.` or `..`.
fn end_segment(out: &mut Vec<u8>, origins: Option<&mut Vec<usize>>) -> Result<(), BadPath> {
    let start = out
        .iter()
        .rposition(|&byte| byte == b'/')
        .map_or(0, |slash| slash + 1);
    let keep = match out.get(start..) {
        Some(b".") => start,
        Some(b"..") => {
            // Without the slash before this segment: the one in front of its parent.
            let parent = out.get(..start.saturating_sub(1)).unwrap_or_default();
            parent
                .iter()
                .rposition(|&byte| byte == b'/')
                .ok_or(BadPath::AboveRoot)?
                + 1
        }
        _ => return Ok(()),
    };
    out.truncate(keep);
    if let Some(origins) = origins {
        origins.truncate(keep);
    }
    Ok(())
}

fn unescape(digits: Option<&[u8]>) -> Result<u8, BadPath> {
    let Some(&[high, low]) = digits else {
        return Err(BadPath::Escape);
    };
    let digit = |byte: u8| char::from(byte).to_digit(16).ok_or(BadPath::Escape);
    // Two digits of 0 to 15 fit a byte.
    let decoded = (digit(high)? << 4 | digit(low)?) as u8;
    match decoded {
        0 => Err(BadPath::Nul),
        b'/' | b'\\' => Err(BadPath::Separator),
        _ => Ok(decoded),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(raw: &str) -> Result<String, BadPath> {
        let mut path = DecodedPath::default();
        path.prepare(raw.as_bytes())?;
        Ok(if path.form == Form::Raw {
            raw.to_owned()
        } else {
            path.text
        })
    }

    #[test]
    fn resolves_what_has_one_meaning() {
        for (raw, expected) in [
            ("/", "/"),
            ("/a/b", "/a/b"),
            ("/a/", "/a/"),
            ("//", "/"),
            ("//a///b//", "/a/b/"),
            ("/a/./b", "/a/b"),
            ("/a/../b", "/b"),
            ("/a/b/..", "/a/"),
            ("/a/.", "/a/"),
            ("/a//../b", "/b"),
            ("/.well-known/x", "/.well-known/x"),
            ("/a/...", "/a/..."),
            ("/..a/b", "/..a/b"),
            ("/%61%2D", "/a-"),
            ("/a/%2e%2e/b", "/b"),
            ("/a/.%2E/b", "/b"),
            ("/caf%C3%A9", "/café"),
            ("/%252e%252e/x", "/%2e%2e/x"),
            ("/a%20b", "/a b"),
        ] {
            assert_eq!(canonical(raw).as_deref(), Ok(expected), "{raw}");
        }
    }

    #[test]
    fn refuses_what_is_ambiguous_or_malformed() {
        for (raw, reason) in [
            ("/..", BadPath::AboveRoot),
            ("/a/../..", BadPath::AboveRoot),
            ("/a/../../b", BadPath::AboveRoot),
            ("/%2e%2e/etc/passwd", BadPath::AboveRoot),
            ("/a%2fb", BadPath::Separator),
            ("/a%5Cb", BadPath::Separator),
            ("/a\\b", BadPath::Separator),
            ("/a%00", BadPath::Nul),
            ("/a%", BadPath::Escape),
            ("/a%4", BadPath::Escape),
            ("/a%zz", BadPath::Escape),
            ("/a%+1", BadPath::Escape),
            ("/%ff", BadPath::Utf8),
            ("*", BadPath::Relative),
            ("", BadPath::Relative),
        ] {
            assert_eq!(canonical(raw), Err(reason), "{raw}");
        }
    }

    #[test]
    fn finds_the_raw_bytes_of_a_decoded_range() {
        let raw = b"/x/../caf%C3%A9//b%20c/";
        let mut path = DecodedPath::default();
        path.prepare(raw).unwrap();
        assert_eq!(path.text, "/café/b c/");
        assert_eq!(path.raw_of(raw, 1, 6), b"caf%C3%A9");
        assert_eq!(path.raw_of(raw, 7, 10), b"b%20c");
        assert_eq!(path.raw_of(raw, 7, 7), b"");
    }
}
