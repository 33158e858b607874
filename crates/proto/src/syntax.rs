//! Byte rules of HTTP messages, and scans that find the first byte that breaks one.
//!
//! The scans look at sixteen bytes at a time, as two `u64` with the first byte lowest. Two facts
//! carry them. For bytes below 0x80, `(w - n * ONES) & !w & HIGH` marks the bytes less than `n`;
//! and a borrow only travels upwards from a byte that is really marked, so the *lowest* mark is
//! always true.

/// Byte may stand in a token: field names, methods, chunk extension names.
const TOKEN: u8 = 1;
/// Byte may stand in a request target.
const TARGET: u8 = 2;
/// Byte may stand in a field value.
const VALUE: u8 = 4;
/// Byte may stand in a host name.
const HOST: u8 = 8;
/// Byte may stand in a quoted string without a backslash.
const QUOTED: u8 = 16;

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
        // Visible ASCII; '#' would start a fragment, and '\' is '/' to some path libraries.
        if b.is_ascii_graphic() && b != b'#' && b != b'\\' {
            class |= TARGET;
        }
        if b == b'\t' || (b >= b' ' && b != 0x7f) {
            class |= VALUE;
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
    std::str::from_utf8(address).is_ok_and(|text| text.parse::<std::net::Ipv6Addr>().is_ok())
}

/// RFC 3986 §3.2.3 allows an empty port.
fn is_port(digits: &[u8]) -> bool {
    digits.len() <= 5
        && digits.iter().all(u8::is_ascii_digit)
        && digits
            .iter()
            .fold(0u32, |n, d| n * 10 + u32::from(d - b'0'))
            <= 65_535
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

/// Index from `at` on of the first byte that may not stand in a field value, or the length.
#[inline]
pub(crate) fn find_value_end(bytes: &[u8], mut at: usize) -> usize {
    const fn marks(w: u64) -> u64 {
        less(w, b' ') | equal(w, 0x7f)
    }
    loop {
        // Written so that compilers make vector code of it: a value is many blocks long.
        while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
            if chunk
                .iter()
                .fold(false, |bad, &b| bad | (b < b' ') | (b == 0x7f))
            {
                break;
            }
            at += BLOCK;
        }
        let Some((low, high)) = block(bytes, at) else {
            return find_class_end(bytes, at, VALUE);
        };
        at = (at + lowest(marks(low), marks(high))).min(bytes.len());
        if bytes.get(at) != Some(&b'\t') {
            return at;
        }
        at += 1;
    }
}

/// Index from `at` on of the first byte that may not stand in a request target, or the length.
#[inline]
pub(crate) fn find_target_end(bytes: &[u8], mut at: usize) -> usize {
    const fn marks(w: u64) -> u64 {
        less(w, b'!') | equal(w, 0x7f) | equal(w, b'#') | equal(w, b'\\') | (w & HIGH)
    }
    while let Some((low, high)) = block(bytes, at) {
        let found = lowest(marks(low), marks(high));
        at += found;
        if found < BLOCK {
            return at.min(bytes.len());
        }
    }
    find_class_end(bytes, at, TARGET)
}

/// Index from `at` on, but before `end`, of the first `?` or `%`.
#[inline]
pub(crate) fn find_query_or_escape(bytes: &[u8], mut at: usize, end: usize) -> Option<usize> {
    const fn marks(w: u64) -> u64 {
        equal(w, b'?') | equal(w, b'%')
    }
    while at < end {
        let Some((low, high)) = block(bytes, at) else {
            let rest = bytes
                .get(at..end)?
                .iter()
                .position(|b| matches!(b, b'?' | b'%'));
            return rest.map(|n| at + n);
        };
        at += lowest(marks(low), marks(high));
        if matches!(bytes.get(at), Some(b'?' | b'%')) {
            break;
        }
    }
    (at < end).then_some(at)
}

/// Index from `at` on of the first byte that may not stand in a token, or the length.
#[inline]
pub(crate) fn find_token_end(bytes: &[u8], at: usize) -> usize {
    find_class_end(bytes, at, TOKEN)
}

#[inline]
fn find_class_end(bytes: &[u8], mut at: usize, class: u8) -> usize {
    while at < bytes.len() && has(bytes[at], class) {
        at += 1;
    }
    at
}
