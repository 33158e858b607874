//! Byte rules of HTTP messages, and scans that find the first byte that breaks one.
//!
//! The scans look at sixteen bytes at a time, as two `u64` with the first byte lowest. Two facts
//! carry them. For bytes below 0x80, `(w - n * ONES) & !w & HIGH` marks the bytes less than `n`;
//! and a borrow only travels upwards from a byte that is really marked, so the *lowest* mark is
//! always true.

/// Byte may stand in a token: field names, methods, chunk extension names.
const TOKEN: u8 = 1;
/// Byte may stand in a host name.
const HOST: u8 = 2;
/// Byte may stand in a quoted string without a backslash.
const QUOTED: u8 = 4;

static CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let b = i as u8;
        let alnum = b.is_ascii_alphanumeric();
        let mut class = 0;
        if alnum || in_set(b, b"!#$%&'*+-.^_`|~") {
            class |= TOKEN;
        }
        if alnum || in_set(b, b"-._~") {
            class |= HOST;
        }
        if b == b'\t' || ((b == b' ' || b.is_ascii_graphic()) && b != b'"' && b != b'\\') {
            class |= QUOTED;
        }
        table[i] = class;
        i += 1;
    }
    table
}

const fn in_set(b: u8, set: &[u8]) -> bool {
    let mut i = 0;
    while i < set.len() {
        if set[i] == b {
            return true;
        }
        i += 1;
    }
    false
}

#[inline]
fn has(b: u8, class: u8) -> bool {
    CLASS[b as usize] & class != 0
}

/// Is this a field name (RFC 9110 §5.6.2 token: one or more letters, digits, ``!#$%&'*+-.^_`|~``)?
pub fn is_field_name(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|&b| has(b, TOKEN))
}

/// Is this a field value: no control characters except tab, no line end, no NUL? Bytes from 0x80
/// up are allowed.
pub fn is_field_value(value: &[u8]) -> bool {
    find_value_end(value, 0) == value.len()
}

/// Is this `host` or `host:port` as a server should be named: letters, digits and `-._~`, or an
/// IPv6 address in brackets, with an optional port up to 65535? Not empty, no user, no list.
pub fn is_authority(authority: &[u8]) -> bool {
    let host_end = match authority.first() {
        Some(b'[') => match memchr::memchr(b']', authority) {
            Some(end) if is_ipv6(&authority[1..end]) => end + 1,
            _ => return false,
        },
        _ => authority
            .iter()
            .position(|&b| !has(b, HOST))
            .unwrap_or(authority.len()),
    };
    host_end > 0
        && match authority[host_end..].split_first() {
            None => true,
            Some((b':', port)) => is_port(port),
            Some(_) => false,
        }
}

fn is_ipv6(address: &[u8]) -> bool {
    std::str::from_utf8(address).is_ok_and(|text| text.parse::<core::net::Ipv6Addr>().is_ok())
}

/// [`is_authority`] of `bytes[start..end]`, quick for the usual short name or address.
#[inline]
pub(crate) fn is_authority_at(bytes: &[u8], start: usize, end: usize) -> bool {
    is_short_authority(bytes, start, end) || bytes.get(start..end).is_some_and(is_authority)
}

/// False does not mean that it is none.
#[inline]
fn is_short_authority(bytes: &[u8], start: usize, end: usize) -> bool {
    let len = end.wrapping_sub(start);
    if len == 0 || len > BLOCK {
        return false;
    }
    let Some((low, high)) = block(bytes, start) else {
        return false;
    };
    // Fill up with a byte that is allowed.
    let behind = |n: usize| if n < 8 { u64::MAX << (8 * n) } else { 0 };
    let (fill_low, fill_high) = (behind(len), behind(len.saturating_sub(8)));
    let low = (low & !fill_low) | (all(b'a') & fill_low);
    let high = (high & !fill_high) | (all(b'a') & fill_high);
    if host_bytes(low) & host_bytes(high) != HIGH {
        return false;
    }
    let (low, high) = (exactly(low, b':'), exactly(high, b':'));
    if low | high == 0 {
        return true;
    }
    let at = lowest(low, high);
    at > 0 && is_port(&bytes[start + at + 1..end])
}

/// Marks letters, digits and `-.:`, exactly those.
#[inline]
const fn host_bytes(w: u64) -> u64 {
    /// Marks bytes from `b` up, exactly, among bytes below 0x80: no sum crosses into the next.
    const fn from(w: u64, b: u8) -> u64 {
        w.wrapping_add(all(0x80 - b)) & HIGH
    }
    let ascii = w & !HIGH;
    let folded = ascii | all(0x20);
    let letters = from(folded, b'a') & !from(folded, b'z' + 1);
    let others = from(ascii, b'-') & !from(ascii, b':' + 1) & !exactly(ascii, b'/');
    (letters | others) & !w
}

/// Marks bytes equal to `b`, exactly, among bytes below 0x80.
#[inline]
const fn exactly(w: u64, b: u8) -> u64 {
    !(w ^ all(b)).wrapping_add(all(0x7f)) & HIGH
}

/// RFC 3986 §3.2.3 allows an empty port.
fn is_port(digits: &[u8]) -> bool {
    if digits.len() > 5 {
        return false;
    }
    let mut port = 0;
    for &b in digits {
        if !b.is_ascii_digit() {
            return false;
        }
        port = port * 10 + u32::from(b - b'0');
    }
    port <= 65_535
}

#[inline]
pub(crate) fn is_token_byte(b: u8) -> bool {
    has(b, TOKEN)
}

#[inline]
pub(crate) fn is_quoted_byte(b: u8) -> bool {
    has(b, QUOTED)
}

/// Bytes that are looked at together.
pub(crate) const BLOCK: usize = 16;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

const fn all(b: u8) -> u64 {
    ONES * b as u64
}

/// Marks bytes less than `n`; the lowest mark is true. Bytes from 0x80 up are not marked.
#[inline]
const fn less(w: u64, n: u8) -> u64 {
    w.wrapping_sub(all(n)) & !w & HIGH
}

/// Marks bytes equal to `b`; the lowest mark is true.
#[inline]
const fn equal(w: u64, b: u8) -> u64 {
    let x = w ^ all(b);
    x.wrapping_sub(ONES) & !x & HIGH
}

/// The two halves of the block that begins at `at`, with zeros where the bytes end before it does.
/// `None` if there are not that many bytes at all.
#[inline]
pub(crate) fn block(bytes: &[u8], at: usize) -> Option<(u64, u64)> {
    let whole = match bytes.get(at..)?.first_chunk::<BLOCK>() {
        Some(whole) => u128::from_le_bytes(*whole),
        // The last block overlaps the one before: shift out what has been looked at already.
        None => {
            let missing = at + BLOCK - bytes.len();
            let last = u128::from_le_bytes(*bytes.last_chunk::<BLOCK>()?);
            if missing < BLOCK {
                last >> (8 * missing)
            } else {
                0
            }
        }
    };
    Some((whole as u64, (whole >> 64) as u64))
}

/// Index of the lowest mark among the sixteen bytes of two halves, or 16.
#[inline]
pub(crate) fn lowest(low: u64, high: u64) -> usize {
    let bits = if low != 0 {
        low.trailing_zeros()
    } else {
        64 + high.trailing_zeros()
    };
    bits as usize / 8
}

/// Marks colons in both halves of a block.
#[inline]
pub(crate) fn colons((low, high): (u64, u64)) -> (u64, u64) {
    (equal(low, b':'), equal(high, b':'))
}

/// Index from `at` on of the first byte that stops the scan, or the length. `marks` must mark the
/// bytes for which `stops` holds, zero among them.
#[inline(always)]
fn scan(
    bytes: &[u8],
    mut at: usize,
    stops: impl Fn(u8) -> bool,
    marks: impl Fn(u64) -> u64,
) -> usize {
    // Compilers make vector code of this: is there anything in the block, wherever it is?
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        if chunk.iter().fold(false, |any, &b| any | stops(b)) {
            break;
        }
        at += BLOCK;
    }
    match block(bytes, at) {
        // The zeros behind the end stop it too.
        Some((low, high)) => {
            // Short things end in the first half: spare them the second.
            let found = match marks(low) {
                0 => lowest(0, marks(high)),
                first => lowest(first, 0),
            };
            (at + found).min(bytes.len())
        }
        None => {
            let rest = bytes.get(at..).unwrap_or(&[]);
            at + rest.iter().position(|&b| stops(b)).unwrap_or(rest.len())
        }
    }
}

/// Index from `at` on of the first byte that may not stand in a field value, or the length.
#[inline]
pub(crate) fn find_value_end(bytes: &[u8], mut at: usize) -> usize {
    loop {
        at = scan(
            bytes,
            at,
            |b| (b < b' ') | (b == 0x7f),
            |w| less(w, b' ') | equal(w, 0x7f),
        );
        // Tabs are rare enough to stop for.
        if bytes.get(at) != Some(&b'\t') {
            return at;
        }
        at += 1;
    }
}

const fn target_marks(w: u64) -> u64 {
    less(w, b'!') | equal(w, 0x7f) | equal(w, b'#') | equal(w, b'\\') | (w & HIGH)
}

/// Visible ASCII may stand in a target; but '#' would start a fragment, and '\' is '/' to some
/// path libraries.
#[inline(always)]
const fn stops_target(b: u8) -> bool {
    (b < b'!') | (b > b'~') | (b == b'#') | (b == b'\\')
}

/// Index from `at` on of the first byte that may not stand in a request target, or the length.
#[inline]
pub(crate) fn find_target_end(bytes: &[u8], at: usize) -> usize {
    scan(bytes, at, stops_target, target_marks)
}

/// The same, but `?` and `%` stop it too: what lies before is a path without escapes.
#[inline]
pub(crate) fn find_plain_path_end(bytes: &[u8], at: usize) -> usize {
    const fn marks(w: u64) -> u64 {
        target_marks(w) | equal(w, b'?') | equal(w, b'%')
    }
    // Many paths are short: look at one word before any block.
    let mut from = at;
    if let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let found = marks(u64::from_le_bytes(*word));
        if found != 0 {
            return at + lowest(found, 0);
        }
        from += 8;
    }
    scan(
        bytes,
        from,
        |b| stops_target(b) | (b == b'?') | (b == b'%'),
        marks,
    )
}

/// Index from `at` on of the first byte that may not stand in a token, or the length.
#[inline]
pub(crate) fn find_token_end(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(|&b| has(b, TOKEN)) {
        at += 1;
    }
    at
}
