//! The request target and its four forms (RFC 9112 §3.2).

use super::error::{Error, ErrorKind};
use crate::head::{Layout, Method, Span};
use crate::syntax;

/// Checks the target at `start..end`, whose bytes are all allowed ones, and notes its parts.
#[inline]
pub(crate) fn check(
    layout: &mut Layout,
    bytes: &[u8],
    start: usize,
    end: usize,
) -> Result<(), Error> {
    layout.target = Span::new(start, end);
    let target = &bytes[start..end];
    if target.first() == Some(&b'/') && layout.method != Method::Connect {
        return path_and_query(layout, bytes, start, end);
    }
    match layout.method {
        Method::Connect => authority_form(layout, target, start, end),
        Method::Options if target == b"*" => {
            layout.path = layout.target;
            Ok(())
        }
        _ => absolute_form(layout, bytes, start, end),
    }
}

#[inline]
fn path_and_query(
    layout: &mut Layout,
    bytes: &[u8],
    start: usize,
    end: usize,
) -> Result<(), Error> {
    let mut at = start;
    loop {
        at = syntax::find_plain_path_end(bytes, at).min(end);
        if at < end && bytes[at] == b'%' {
            check_escape(&bytes[at + 1..end])?;
            at += 3;
        } else {
            break;
        }
    }
    if at < end {
        layout.query = Some(Span::new(at + 1, end));
    }
    layout.path = Span::new(start, at);
    Ok(())
}

/// An escape in a path must be two hex digits and stand for no control character: decoded, that
/// would cut strings short or forge lines.
fn check_escape(behind: &[u8]) -> Result<(), Error> {
    match behind {
        [b'0' | b'1', _, ..] | [b'7', b'f' | b'F', ..] => Err(ErrorKind::TargetEscape.into()),
        [a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => Ok(()),
        _ => Err(ErrorKind::TargetEscape.into()),
    }
}

fn authority_form(
    layout: &mut Layout,
    target: &[u8],
    start: usize,
    end: usize,
) -> Result<(), Error> {
    let has_port = target.last().is_some_and(u8::is_ascii_digit)
        && target.iter().rposition(|&b| b == b':') > target.iter().rposition(|&b| b == b']');
    if !has_port || !syntax::is_authority(target) {
        return Err(ErrorKind::TargetForm.into());
    }
    layout.path = Span::new(start, end);
    layout.authority = Some(Span::new(start, end));
    Ok(())
}

fn absolute_form(layout: &mut Layout, bytes: &[u8], start: usize, end: usize) -> Result<(), Error> {
    let target = &bytes[start..end];
    let scheme = [b"http://".as_slice(), b"https://"]
        .into_iter()
        .find(|s| {
            target
                .get(..s.len())
                .is_some_and(|t| t.eq_ignore_ascii_case(s))
        })
        .ok_or(ErrorKind::TargetForm)?;
    let from = start + scheme.len();
    let to = bytes[from..end]
        .iter()
        .position(|b| matches!(b, b'/' | b'?'))
        .map_or(end, |n| from + n);
    if !syntax::is_authority(&bytes[from..to]) {
        return Err(ErrorKind::HostInvalid.into());
    }
    layout.authority = Some(Span::new(from, to));
    path_and_query(layout, bytes, to, end)
}
