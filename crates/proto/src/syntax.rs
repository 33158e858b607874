//! Byte rules of HTTP messages, and scans that find the first byte that breaks one.
//!
//! The scans look at eight bytes at a time in a `u64` (little end first). Two facts carry them.
//! For bytes below 0x80, `(w - n * ONES) & !w & HIGH` marks the bytes less than `n`; and a borrow
//! only travels upwards from a byte that is really marked, so the *lowest* mark is always true.

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

#[inline]
fn load(bytes: &[u8], at: usize) -> Option<u64> {
    bytes
        .get(at..)?
        .first_chunk()
        .map(|c| u64::from_le_bytes(*c))
}

/// Index from `at` on of the first byte that may not stand in a field value, or the length.
#[inline]
pub(crate) fn find_value_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(w) = load(bytes, at) {
        let marks = less(w, b' ') | equal(w, 0x7f);
        if marks != 0 {
            at += (marks.trailing_zeros() / 8) as usize;
            if bytes[at] != b'\t' {
                return at;
            }
            at += 1;
        } else {
            at += 8;
        }
    }
    find_class_end(bytes, at, VALUE)
}

/// Index from `at` on of the first byte that may not stand in a request target, or the length.
#[inline]
pub(crate) fn find_target_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(w) = load(bytes, at) {
        let marks = less(w, b'!') | equal(w, 0x7f) | equal(w, b'#') | equal(w, b'\\') | (w & HIGH);
        if marks != 0 {
            return at + (marks.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    find_class_end(bytes, at, TARGET)
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
