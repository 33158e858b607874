//! What the fields of a head say about host, body and connection.

use super::error::{Error, ErrorKind};
use crate::field::Field;
use crate::head::{Layout, Method, Version};
use crate::syntax;

/// Refuses a second field of a kind of which there can be only one.
pub(crate) fn repeated(field: Field) -> Result<(), Error> {
    match field {
        Field::Host => Err(ErrorKind::HostDuplicate.into()),
        Field::ContentLength => Err(ErrorKind::LengthDuplicate.into()),
        Field::TransferEncoding => Err(ErrorKind::EncodingInvalid.into()),
        Field::ContentType => Err(ErrorKind::ContentTypeDuplicate.into()),
        _ => Ok(()),
    }
}

/// The number in `raw`, all that stands between colon and line end: one optional blank, then
/// digits without a superfluous zero. Anything else has been read differently by somebody.
pub(crate) fn content_length(raw: &[u8]) -> Result<u64, Error> {
    let digits = raw.strip_prefix(b" ").unwrap_or(raw);
    let plain = match digits {
        [] | [b'0', _, ..] => false,
        _ => digits.iter().all(u8::is_ascii_digit),
    };
    digits
        .iter()
        .filter(|_| plain)
        .try_fold(0u64, |n, d| {
            n.checked_mul(10)?
                .checked_add(u64::from(d.wrapping_sub(b'0')))
        })
        .filter(|_| plain)
        .ok_or(ErrorKind::LengthInvalid.into())
}

/// Checks the fields of a complete head against each other.
#[inline]
pub(crate) fn check(layout: &mut Layout, bytes: &[u8]) -> Result<(), Error> {
    const FRAMING: u64 =
        Field::ContentLength.bit() | Field::TransferEncoding.bit() | Field::Expect.bit();
    host(layout, bytes)?;
    if layout.present & FRAMING != 0 {
        body(layout, bytes)
    } else {
        Ok(())
    }
}

#[inline]
fn host(layout: &mut Layout, bytes: &[u8]) -> Result<(), Error> {
    let Some(value) = layout.find(Field::Host).map(|slot| slot.value) else {
        return match layout.version {
            Version::Http10 => Ok(()),
            Version::Http11 => Err(ErrorKind::HostMissing.into()),
        };
    };
    if !syntax::is_authority_at(bytes, value.start as usize, value.end as usize) {
        return Err(ErrorKind::HostInvalid.into());
    }
    // The authority of an absolute target overrides the field (RFC 9112 §3.2.2).
    if layout.authority.is_none() {
        layout.authority = Some(value);
    }
    Ok(())
}

fn body(layout: &mut Layout, bytes: &[u8]) -> Result<(), Error> {
    if let Some(slot) = layout.find(Field::TransferEncoding) {
        if layout.version == Version::Http10 {
            return Err(ErrorKind::EncodingInHttp10.into());
        }
        if layout.has(Field::ContentLength) {
            return Err(ErrorKind::LengthAndEncoding.into());
        }
        transfer_encoding(slot.value.of(bytes))?;
        layout.chunked = true;
    }
    let announced = layout.chunked || layout.content_length.is_some_and(|n| n > 0);
    if announced && matches!(layout.method, Method::Trace | Method::Connect) {
        return Err(ErrorKind::BodyNotAllowed.into());
    }
    // HTTP/1.0 knows no expectations: a field left over from a proxy's client means nothing.
    if layout.has(Field::Expect) && layout.version != Version::Http10 {
        let all_known = layout
            .slots
            .iter()
            .filter(|s| s.known == Some(Field::Expect))
            .all(|s| s.value.of(bytes).eq_ignore_ascii_case(b"100-continue"));
        if !all_known {
            return Err(ErrorKind::Expectation.into());
        }
        layout.expects_continue = announced;
    }
    Ok(())
}

/// Only `chunked` alone is supported. A list that ends in it is legitimate but beyond us.
fn transfer_encoding(value: &[u8]) -> Result<(), Error> {
    if value.eq_ignore_ascii_case(b"chunked") {
        return Ok(());
    }
    let mut codings = value.split(|&b| b == b',').map(<[u8]>::trim_ascii).rev();
    let ends_chunked = codings
        .next()
        .is_some_and(|c| c.eq_ignore_ascii_case(b"chunked"));
    let others_fine =
        codings.all(|c| syntax::is_field_name(c) && !c.eq_ignore_ascii_case(b"chunked"));
    if ends_chunked && others_fine {
        Err(ErrorKind::EncodingUnsupported.into())
    } else {
        Err(ErrorKind::EncodingInvalid.into())
    }
}

/// Does the client want the connection to live on after this request (RFC 9112 §9.3)?
#[inline]
pub(crate) fn keeps_alive(layout: &Layout, bytes: &[u8]) -> bool {
    let by_default = layout.version == Version::Http11;
    if !layout.has(Field::Connection) {
        return by_default;
    }
    let (mut close, mut keep) = (false, by_default);
    let values = layout
        .slots
        .iter()
        .filter(|s| s.known == Some(Field::Connection));
    for option in values.flat_map(|s| s.value.of(bytes).split(|&b| b == b',')) {
        let option = option.trim_ascii();
        close |= option.eq_ignore_ascii_case(b"close");
        keep |= option.eq_ignore_ascii_case(b"keep-alive");
    }
    keep && !close
}
